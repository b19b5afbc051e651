"""The commands that use a memory. Each prints its answer and says whether all was fine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mnemic.cli import importers
from mnemic.cli.output import complain, hit_lines, jsonable, say, say_json, size, table
from mnemic.errors import ConfigurationError, InvalidInput, MnemicError, StoreUnavailable
from mnemic.memory import Memory
from mnemic.types import Message, Receipt

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["COMMANDS", "open_memory", "record_file"]

BATCH = 64
"""Messages between two steps of the progress bar; each batch is one transaction."""

SHOWN = 20
"""How many rejected messages are listed; ``--json`` lists all."""


def record_file(folder: str) -> Path:
    """Where the record of a folder is, whether or not there is one.

    Raises:
        ConfigurationError: the folder is ``:memory:``.
    """
    if folder == ":memory:":
        raise ConfigurationError("A memory in RAM is gone when the command ends. Give --dir a folder.")
    from mnemic.stores.sqlite.store import FILE_NAME

    return Path(folder).expanduser() / FILE_NAME


def open_memory(arguments: Namespace, *, make: bool = False) -> Memory:
    """The memory that the options name.

    Args:
        arguments: the parsed command line.
        make: begin a new one when the folder holds none; reading commands never do.

    Raises:
        StoreUnavailable: there is none, and none may be made.
    """
    if not record_file(arguments.dir).exists() and not make:
        raise StoreUnavailable(
            f"There is no memory in {arguments.dir}. Name its folder with --dir or MNEMIC_DIR, or begin one with: "
            "mnemic import FILE"
        )
    return Memory(
        arguments.dir,
        user=arguments.user,
        project=arguments.project,
        session=arguments.session,
        timezone=arguments.timezone,
        embedder=arguments.embedder,
    )


# import


@dataclass(slots=True)
class _Tally:
    """What became of the messages of a file."""

    file: str
    format: str
    messages: int
    stored: int = 0
    duplicate: int = 0
    without_text: int = 0
    rejected: list[Receipt] = field(default_factory=list[Receipt])

    def count(self, messages: Sequence[Message], receipts: Sequence[Receipt]) -> None:
        for message, receipt in zip(messages, receipts, strict=True):
            if receipt.outcome == "stored":
                self.stored += 1
            elif receipt.outcome == "duplicate":
                self.duplicate += 1
            elif not message.content.strip():
                self.without_text += 1
            else:
                self.rejected.append(receipt)

    def line(self) -> str:
        parts = f"{self.stored} stored, {self.duplicate} already there, {len(self.rejected)} rejected"
        empty = f", {self.without_text} without text" if self.without_text else ""
        return f"{self.file} ({self.format}): {self.messages} messages: {parts}{empty}"


def _import(arguments: Namespace) -> bool:
    path = Path(arguments.file)
    data = importers.parse(_content(path))
    name = importers.detect(data) if arguments.format == "auto" else arguments.format
    messages = importers.read_messages(data, format=name, session=arguments.session or path.stem)
    tally = _Tally(str(path), name, len(messages))
    if not messages:
        complain(f"{path} holds no messages.")
        return False
    with open_memory(arguments, make=True) as memory:
        try:
            _store(memory, messages, tally)
        except (MnemicError, KeyboardInterrupt):
            complain(f"stopped early. {tally.line()}. Import the file again to go on: nothing is stored twice.")
            raise
        pending = memory.stats().pending
    _report(tally, messages, pending, as_json=arguments.json)
    return not tally.rejected


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 ({error.reason} at byte {error.start}). Convert it first.") from error


def _store(memory: Memory, messages: Sequence[Message], tally: _Tally) -> None:
    """Store in batches, with a bar on a terminal; then embed whatever had to wait, now or earlier."""
    from tqdm import tqdm

    with tqdm(total=len(messages), unit="message", file=sys.stderr, disable=None, leave=False) as bar:
        for batch in _batches(messages):
            tally.count(batch, memory.add(batch))
            bar.update(len(batch))
    memory.flush(process=False)


def _batches(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    for start in range(0, len(messages), BATCH):
        yield messages[start : start + BATCH]


def _report(tally: _Tally, messages: Sequence[Message], pending: Mapping[str, int], *, as_json: bool) -> None:
    undated = sum(message.sent_at is None for message in messages)
    partial = Counter(what for message in messages for what in message.metadata.get(importers.LEFT_OUT, ()))
    if as_json:
        rejected = [{"id": receipt.id, "reason": receipt.reason} for receipt in tally.rejected]
        extra = {"rejected": rejected, "undated": undated, "left_out": partial, "pending": pending}
        say_json({**_plain(tally), **extra})
        return
    say(tally.line())
    say(*(f"  rejected {receipt.id}: {receipt.reason}" for receipt in tally.rejected[:SHOWN]))
    if len(tally.rejected) > SHOWN:
        say(f"  ... and {len(tally.rejected) - SHOWN} more; --json lists all")
    if undated:
        say(f"  {undated} have no time and are dated now")
    if partial:
        say("  not text, left out: " + ", ".join(f"{what} ({count})" for what, count in partial.items()))
    if pending.get("embed"):
        say(f"  {pending['embed']} wait for their vector and are found by keyword until then: see mnemic doctor")


def _plain(value: object) -> dict[str, object]:
    return cast("dict[str, object]", jsonable(value))


# search, context, stats


def _search(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        result = memory.search(arguments.query, k=arguments.k, min_evidence=arguments.min_evidence, **_asked(arguments))
    if arguments.json:
        say_json({"query": arguments.query, "recipe": arguments.recipe, **_plain(result)})
        return bool(result)
    for rank, hit in enumerate(result, start=1):
        say(*hit_lines(rank, hit))
    found = f"evidence: {result.evidence}, probability {result.probability:.2f}" if result else "nothing found"
    complain(f"{found}.")
    return bool(result)


def _context(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        found = memory.get_memory_context(arguments.query, max_tokens=arguments.max_tokens, **_asked(arguments))
    if arguments.json:
        say_json({"query": arguments.query, **_plain(found)})
    elif not found:
        complain("nothing found.")
    else:
        say(found.text)
        rest = ", more was found than fits" if found.truncated else ""
        complain(f"{found.token_count} tokens from {len(found.hits)} records{rest}; evidence: {found.evidence}.")
    return bool(found)


def _asked(arguments: Namespace) -> dict[str, Any]:
    return {
        "recipe": arguments.recipe,
        "since": arguments.since,
        "until": arguments.until,
        "session": arguments.session,
    }


def _stats(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        stats = memory.stats()
    if arguments.json:
        say_json({"user": arguments.user, **_plain(stats)})
        return True
    model = f"{stats.embedding_model}, {stats.dimension} numbers each" if stats.embedding_model else "none yet"
    rows: list[tuple[str, object]] = [
        ("memory", f"{stats.location} (schema {stats.schema_version}, {size(stats.bytes_on_disk)})"),
        ("user", arguments.user),
        ("messages", f"{stats.messages} in {stats.sessions} sessions"),
        ("memories", _counts(stats.memories)),
        ("projects", stats.projects),
        ("pending", _counts(stats.pending)),
        ("vectors", model),
    ]
    say(*table(rows))
    return True


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {
    "import": _import,
    "search": _search,
    "context": _context,
    "stats": _stats,
}
