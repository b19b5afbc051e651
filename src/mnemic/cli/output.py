"""Output of the commands: results on stdout, everything else on stderr, without control characters."""

from __future__ import annotations

import errno
import json
import re
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from typing import TextIO, cast

from mnemic.protocols import Progress
from mnemic.text.markup import speaker_label
from mnemic.text.values import as_object, counted, error_excerpt, jsonable, one_line, size
from mnemic.types import Episode, Event, Hit, MemoryRecord, Message, Procedure, Receipt, Record, Stats

LONGEST = 100
"""Maximum characters of a text on one line."""

# Stored text may contain escape sequences, which must not reach the terminal.
_CONTROL = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a command.

    Attributes:
        document: what ``--json`` prints; None: nothing.
        lines: what is printed on stdout without ``--json``.
        notes: what is printed on stderr without ``--json``.
        fine: whether the exit code is 0, else 1.
    """

    document: object
    lines: Sequence[str] = ()
    notes: Sequence[str] = ()
    fine: bool = True


def found(document: object, lines: Sequence[str], empty: str = "nothing found.") -> Answer:
    """A result of several lines; without any, the exit code is 1 and ``empty`` is said."""
    return Answer(document, lines, [] if lines else [empty], fine=bool(lines))


def _encodable(text: str, encoding: str | None) -> str:
    """The text with unencodable characters replaced."""
    name = encoding or "utf-8"
    return text.encode(name, "replace").decode(name)


def stdout() -> TextIO:
    """The stream for results.

    Raises:
        OSError: stdout was closed before the program started.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - None when it was closed
        raise OSError(errno.EBADF, "stdout is closed")
    return sys.stdout


def say(*lines: str) -> None:
    """Print lines on stdout."""
    for line in lines:
        print(_encodable(_CONTROL.sub("", line.replace("\r\n", "\n")), stdout().encoding))


def masked(message: str) -> str:
    """A message without secrets, of bounded length: it may repeat an argument, and end in a log."""
    from mnemic.secrets.policy import SecretPolicy

    return error_excerpt(SecretPolicy().redacted(message)[0])


def warn(message: str) -> None:
    """Print a message on stderr as one line without secrets, if it is open."""
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - None when it was closed
        return
    with suppress(OSError):
        print(
            _encodable(f"mnemic: {_CONTROL.sub('', one_line(masked(message)))}", sys.stderr.encoding), file=sys.stderr
        )


def say_json(value: object) -> None:
    """Print one JSON document on stdout."""
    plain = (stdout().encoding or "utf-8").lower().replace("-", "") == "utf8"
    print(json.dumps(jsonable(value), ensure_ascii=not plain, indent=2))


@contextmanager
def progress_bar(unit: str) -> Generator[Progress]:
    """A progress bar on stderr if it is a terminal; yields a function to call with (done, total)."""
    from tqdm import tqdm

    with tqdm(unit=unit, file=sys.stderr, disable=None, leave=False) as bar:

        def step(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)
            bar.refresh()  # steps are rare: show each

        yield step


def table(rows: Iterable[tuple[str, object]]) -> list[str]:
    """Names and values in two columns."""
    pairs = [(name, str(value)) for name, value in rows]
    width = max((len(name) for name, _ in pairs), default=0)
    return [f"{name:<{width}}  {value}" for name, value in pairs]


def facts(value: object, *without: str) -> list[tuple[str, object]]:
    """The fields of a dataclass as rows of a table, all but some and those that are empty."""
    names = [name for name in as_object(value) if name not in without]
    rows = [(name.replace("_", " "), enumerated(getattr(value, name))) for name in names]
    return [(name, text) for name, text in rows if text]


def place(stats: Stats) -> str:
    """Where a record is, and how large it is."""
    return f"{stats.location} (schema {stats.schema_version}, {size(stats.bytes_on_disk)})"


def enumerated(value: object) -> str:
    """A value in words: the items of a list, or ``name value`` for those of an object; empty for None and False."""
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case datetime():
            return moment(value)
        case float():
            return f"{value:.2f}"
        case list() | tuple():
            return ", ".join(map(str, cast("Sequence[object]", value)))
        case Mapping():
            return ", ".join(f"{name} {item}" for name, item in cast("Mapping[str, object]", value).items())
        case _ if is_dataclass(value):
            return enumerated(as_object(value))
        case _:
            return one_line(str(value))


def hit_lines(rank: int, hit: Hit) -> list[str]:
    """One hit: a heading with its relevance, then its text."""
    who = one_line(speaker_label(hit) or hit.type or hit.kind)
    ended = f"    replaced by {', '.join(map(one_line, hit.superseded_by)) or 'what is erased'}"
    head = f"{rank:>2}. {moment(hit.sent_at)}  {who}{_place(hit.session)}  [{one_line(hit.id)}]  {hit.relevance:.2f}"
    return [head, indented(hit.text), *([] if hit.current else [ended])]


def procedure_lines(rank: int, procedure: Procedure) -> list[str]:
    """One procedure: its steps and how they went, then the requests that it was done for."""
    head = f"{rank:>2}. {', then '.join(map(one_line, procedure.steps))}  {procedure.score:.2f}"
    runs, last = procedure.successes + procedure.failures, moment(procedure.last_used)
    results = f"    worked {procedure.successes} of {runs} times, last on {last}"
    return [head, results, *(indented(one_line(hit.text, LONGEST)) for hit in procedure.requests)]


def explained(hit: Hit) -> list[str]:
    """What each signal adds to a hit's rank, largest first, with bars of up to twenty marks."""
    parts = sorted(hit.contributions.items(), key=lambda part: -abs(part[1]))
    longest = max((abs(value) for _, value in parts), default=0.0)
    return [f"    {name:<16}{value:+8.3f}  {'#' * max(1, round(20 * abs(value) / longest))}" for name, value in parts]


def _place(session: str | None) -> str:
    return f"  in {one_line(session)}" if session else ""


def heading(record: Record) -> str:
    """A heading of a record, with its id in brackets."""
    name = f"[{one_line(str(record.id))}]"
    match record:
        case Message():
            return f"{moment(record.sent_at)}  {one_line(speaker_label(record))}{_place(record.session)}  {name}"
        case Episode():
            count = counted({"message": len(record.message_ids)})
            return f"{moment(record.started_at)}  {one_line(record.title)}{_place(record.session)}  {count}  {name}"
        case MemoryRecord():
            tags = "".join(f"  #{one_line(tag)}" for tag in record.tags)
            what = f"{record.type}  {record.status}  {record.importance:.2f}"
            return f"{moment(record.said_at or record.created_at)}  {what}{tags}{_validity_note(record)}  {name}"


def _validity_note(record: MemoryRecord) -> str:
    if record.expired_at is not None:
        return f"  believed until {moment(record.expired_at)}"
    return f"  true until {moment(record.invalid_at)}" if record.invalid_at is not None else ""


def receipt_line(receipt: Receipt) -> str:
    """The outcome of one write."""
    reason = f": {one_line(receipt.reason)}" if receipt.reason else ""
    return f"{receipt.outcome}  [{one_line(receipt.id)}]{reason}"


def event_line(event: Event, *, named: bool) -> str:
    """One line of a history; with ``named`` it includes the id and the beginning of the text."""
    name = f"  [{one_line(event.id)}]" if named else ""
    version = f"  version {event.version}" if event.version not in (None, 1) else ""
    told = {
        key: value for key, value in event.detail.items() if not (value in (None, "", []) or isinstance(value, bool))
    }
    details = (f"{key} {plain_value(value)}" for key, value in told.items())
    text = [one_line(event.content, LONGEST)] if named and event.content else []
    return "  ".join([f"{event.at:%Y-%m-%d %H:%M:%S}  {event.operation}{name}{version}", *details, *text])


def plain_value(value: object) -> str:
    """A value on one line: text as it is, else JSON."""
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def moment(value: datetime | None) -> str:
    """A formatted time with its zone."""
    return f"{value:%Y-%m-%d %H:%M %Z}".rstrip() if value else "undated"


def indented(text: str) -> str:
    """Indented text."""
    return "    " + text.strip().replace("\n", "\n    ")
