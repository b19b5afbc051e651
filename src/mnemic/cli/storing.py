"""The commands that store: ``add``, ``remember`` and ``import``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.cli import importers, keeping
from mnemic.cli.opening import open_memory, progress_bar, text_given
from mnemic.cli.output import complain, plain, receipt_line, say, say_json
from mnemic.errors import InvalidInput, MnemicError
from mnemic.memory import Memory
from mnemic.types import Message, Receipt

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["COMMANDS"]

BATCH = 64
"""Messages between two steps of the progress bar; each batch is one transaction."""

SHOWN = 20
"""How many rejected messages are listed; ``--json`` lists all."""


# add, remember


def _add(arguments: Namespace) -> bool:
    content = text_given(arguments.text)
    with open_memory(arguments, make=True) as memory:
        receipt = memory.add_message(
            content, role=arguments.role, name=arguments.name, sent_at=arguments.sent_at, id=arguments.id
        )
    return _told(receipt, as_json=arguments.json)


def _remember(arguments: Namespace) -> bool:
    content = text_given(arguments.text)
    with open_memory(arguments, make=True) as memory:
        receipt = memory.remember(
            content, type=arguments.type, category=arguments.category, tags=arguments.tag,
            importance=arguments.importance, source_ids=arguments.source_id, valid_at=arguments.valid_at,
            source=arguments.source, id=arguments.id,
        )  # fmt: skip
    return _told(receipt, as_json=arguments.json)


def _told(receipt: Receipt, *, as_json: bool) -> bool:
    if as_json:
        say_json(receipt)
    else:
        say(receipt_line(receipt))
        if "embed" in receipt.pending:
            complain("it waits for its vector and is found by keyword until then: see mnemic doctor")
    return receipt.outcome != "rejected"


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
    content = _content(path)
    if arguments.format == "mnemic" or (arguments.format == "auto" and keeping.is_export(content)):
        return keeping.read_back(arguments, content)
    data = importers.parse(content)
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
    done = 0
    with progress_bar("message") as step:
        for batch in _batches(messages):
            tally.count(batch, memory.add(batch))
            done += len(batch)
            step(done, len(messages))
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
        say_json({**plain(tally), **extra})
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


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {"add": _add, "import": _import, "remember": _remember}
