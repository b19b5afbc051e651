"""The command ``mnemic import``."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.cli import transfer
from mnemic.cli.handles import open_memory, progress_bar
from mnemic.cli.output import counted, plain, say, say_json, warn
from mnemic.errors import InvalidInput, MnemicError
from mnemic.memory import Memory
from mnemic.runtime import factory, scopes
from mnemic.runtime.redaction import policy_from, redact_scope
from mnemic.transfer.importers import files, memories
from mnemic.transfer.importers.fields import LEFT_OUT
from mnemic.transfer.importers.found import Damage, Found
from mnemic.types import Message, Receipt

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.runtime.runtime import Runtime

__all__ = ["COMMANDS"]

BATCH = 64
"""Messages per step of the progress bar; each batch is one transaction."""

SHOWN = 20
"""Maximum number of listed rejections; ``--json`` lists all."""

AGAIN = "Import the file again to continue: nothing is stored twice."


def _import(arguments: Namespace) -> bool:
    content = _content(arguments.file)
    if arguments.format == "mnemic" or (arguments.format == "auto" and transfer.is_export(content)):
        return _preview_export(arguments, content) if arguments.dry_run else transfer.import_export(arguments, content)
    read = files.parse_lines(content)
    name = files.detect(read.data) if arguments.format == "auto" else arguments.format
    if name in files.MEMORY_FORMATS:
        return _memories(arguments, read, name)
    if arguments.user_from or arguments.only:
        raise InvalidInput(f"--user-from and --only are for {', '.join(files.MEMORY_FORMATS)}; this file is {name}.")
    return _messages(arguments, read, name)


def _content(file: str) -> str:
    name = "stdin" if file == "-" else file
    try:
        if file != "-":
            return Path(file).read_text(encoding="utf-8-sig")
        if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - None when it was closed
            raise InvalidInput("stdin is closed. Name a file, or pipe one in.")
        return sys.stdin.buffer.read().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is not UTF-8 ({error.reason} at byte {error.start}). Convert it first.") from error


def _preview_export(arguments: Namespace, content: str) -> bool:
    """Import an export into a temporary record in RAM."""
    with Memory(":memory:", embedder="hashing") as memory:
        counts = memory.admin.import_from(io.StringIO(content))
    if arguments.json:
        say_json({"file": arguments.file, "format": "mnemic", "counts": counts, "dry_run": True})
    else:
        say(f"{arguments.file} (mnemic): {counted(counts)} would be stored for {arguments.user}; nothing was.")
    return True


# Messages


@dataclass(slots=True)
class _Tally:
    """Counts of the outcomes for the messages of a file."""

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
        parts = f"{self.stored} stored, {self.duplicate} already stored, {len(self.rejected)} rejected"
        empty = f", {self.without_text} without text" if self.without_text else ""
        return f"{self.file} ({self.format}): {self.messages} messages: {parts}{empty}"


def _messages(arguments: Namespace, read: files.Parsed, name: str) -> bool:
    path = Path(arguments.file)
    session = arguments.session or ("stdin" if arguments.file == "-" else path.stem)
    messages = files.read_messages(files.undamaged(read), format=name, session=session)
    tally = _Tally(str(path), name, len(messages))
    if not messages:
        warn(f"{path} contains no messages.")
        return False
    if arguments.dry_run:
        _preview(arguments, messages, tally)
        _print_tally(tally, messages, {}, arguments)
        return not tally.rejected
    with open_memory(arguments, make=True) as memory:
        try:
            _store(memory, messages, tally)
        except (MnemicError, KeyboardInterrupt):
            warn(f"stopped early. {tally.line()}. {AGAIN}")
            raise
        pending = memory.stats().pending
    _print_tally(tally, messages, pending, arguments)
    return not tally.rejected


def _preview(arguments: Namespace, messages: Sequence[Message], tally: _Tally) -> None:
    """Count the expected outcomes of the messages, without storing them."""
    known: dict[str | None, str] = {}
    if transfer.has_record(arguments.dir):
        with open_memory(arguments) as memory:
            known = {message.id: message.content for message in memory.messages(reach="user")}
    receipts: list[Receipt] = []
    for message in messages:
        held = known.setdefault(message.id, message.content)
        first = held is message.content
        same = "duplicate" if held == message.content else "rejected"
        receipts.append(
            Receipt(
                id=str(message.id),
                outcome="rejected" if not message.content.strip() else "stored" if first else same,
                reason="another message has this id" if same == "rejected" else "",
            )
        )
    tally.count(messages, receipts)


def _store(memory: Memory, messages: Sequence[Message], tally: _Tally) -> None:
    """Store in batches, with a progress bar on a terminal; then embed all pending records."""
    done = 0
    with progress_bar("message") as step:
        for batch in _batches(messages):
            tally.count(batch, memory.add(batch))
            done += len(batch)
            step(done, len(messages))
    memory.admin.flush(process=False)


def _batches(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    for start in range(0, len(messages), BATCH):
        yield messages[start : start + BATCH]


def _print_tally(tally: _Tally, messages: Sequence[Message], pending: Mapping[str, int], arguments: Namespace) -> None:
    undated = sum(message.sent_at is None for message in messages)
    partial = Counter(what for message in messages for what in message.metadata.get(LEFT_OUT, ()))
    if arguments.json:
        rejected = [{"id": receipt.id, "reason": receipt.reason} for receipt in tally.rejected]
        extra = {"rejected": rejected, "undated": undated, "left_out": partial, "pending": pending}
        say_json({**plain(tally), **extra, "dry_run": arguments.dry_run})
        return
    say(tally.line())
    _print_rejected([f"rejected {receipt.id}: {receipt.reason}" for receipt in tally.rejected])
    if undated:
        say(f"  {undated} have no time and are dated now")
    if partial:
        say("  not text, left out: " + ", ".join(f"{what} ({count})" for what, count in partial.items()))
    _print_pending(pending, dry_run=arguments.dry_run)


def _print_rejected(lines: Sequence[str]) -> None:
    say(*(f"  {line}" for line in lines[:SHOWN]))
    if len(lines) > SHOWN:
        say(f"  ... and {len(lines) - SHOWN} more; --json lists all")


def _print_pending(pending: Mapping[str, int], *, dry_run: bool) -> None:
    if pending.get("embed"):
        say(f"  {pending['embed']} have no vector yet and are found by keyword until then: see mnemic doctor")
    if dry_run:
        say("  nothing was stored: this was a dry run")


# Memories


@dataclass(slots=True)
class _Outcome:
    """The result of importing a file of memories."""

    file: str
    format: str
    users: dict[str, memories.Tally]
    damaged: list[Damage]
    others: int
    undated: int

    @property
    def fine(self) -> bool:
        return not self.damaged and not any(tally.rejected for tally in self.users.values())

    def total(self) -> memories.Tally:
        whole = memories.Tally()
        for tally in self.users.values():
            whole.memories += tally.memories
            whole.stored += tally.stored
            whole.replacing += tally.replacing
            whole.duplicate += tally.duplicate
            whole.rejected += tally.rejected
        return whole

    def line(self) -> str:
        total = self.total()
        damaged = f", {len(self.damaged)} not imported" if self.damaged else ""
        return f"{self.file} ({self.format}): {counted({'memory': total.memories})}: {total.line()}{damaged}"


def _memories(arguments: Namespace, read: files.Parsed, name: str) -> bool:
    found, damaged = files.read_memories(read, name)
    owned, nobodys, others = memories.by_user(
        found, user=arguments.user, field=arguments.user_from, only=arguments.only
    )
    undated = sum(one.changed is None for mine in owned.values() for one in mine)
    outcome = _Outcome(arguments.file, name, {}, [*damaged, *nobodys], others, undated)
    if not found and not outcome.damaged:
        warn(f"{arguments.file} contains no memories.")
        return False
    pending: Mapping[str, int] = {}
    if arguments.dry_run:
        _preview_memories(arguments, owned, outcome)
    elif owned:
        pending = _store_all(arguments, owned, outcome)
    _print_outcome(outcome, pending, arguments)
    return outcome.fine


def _runtime(folder: str, embedder: str | None) -> Runtime:
    return factory.open_runtime(
        folder, embedder=embedder, tokenizer=None, reranker=None, llm=None, processing=None, consolidator=None,
        idle=None, retention=None, secrets=policy_from("redact"), durability="FULL",
    )  # fmt: skip


def _preview_memories(arguments: Namespace, owned: Mapping[str, Sequence[Found]], outcome: _Outcome) -> None:
    """Count the expected outcomes of the memories, without storing them or creating a record."""
    there = transfer.has_record(arguments.dir)
    runtime = _runtime(arguments.dir, arguments.embedder) if there else _runtime(":memory:", "hashing")
    try:
        for user, mine in owned.items():
            scope, zone = (
                redact_scope(runtime.secrets, scopes.scope(user, arguments.project)),
                factory.time_zone(arguments.timezone),
            )
            outcome.users[user] = memories.preview(runtime, scope, mine, zone)
    finally:
        runtime.close()


def _store_all(arguments: Namespace, owned: Mapping[str, Sequence[Found]], outcome: _Outcome) -> Mapping[str, int]:
    """Store the memories of each user; returns the pending tasks."""
    transfer.refuse_ram(arguments.dir)
    runtime = _runtime(arguments.dir, arguments.embedder)
    total, zone = sum(map(len, owned.values())), factory.time_zone(arguments.timezone)
    done, pending = 0, Counter[str]()
    try:
        with progress_bar("memory") as bar:

            def step() -> None:
                nonlocal done
                done += 1
                bar(done, total)

            for user, mine in owned.items():
                tally = outcome.users[user] = memories.Tally()
                scope = redact_scope(runtime.secrets, scopes.scope(user, arguments.project))
                memories.store(runtime, scope, mine, zone, tally=tally, step=step)
                pending.update(runtime.store.stats(user).pending)
        return pending
    except (MnemicError, KeyboardInterrupt):
        warn(f"stopped early. {outcome.line()}. {AGAIN}")
        raise
    finally:
        runtime.close()


def _print_outcome(outcome: _Outcome, pending: Mapping[str, int], arguments: Namespace) -> None:
    if arguments.json:
        document = plain(outcome)
        say_json({**plain(outcome.total()), **document, "pending": pending, "dry_run": arguments.dry_run})
        return
    say(outcome.line())
    if len(outcome.users) > 1 or arguments.user_from not in (None, memories.NOBODY):
        _print_rejected([f"{user}: {counted({'memory': tally.memories})}" for user, tally in outcome.users.items()])
    rejected = [receipt for tally in outcome.users.values() for receipt in tally.rejected]
    _print_rejected([damage.reason for damage in outcome.damaged])
    _print_rejected([f"rejected {receipt.id}: {receipt.reason}" for receipt in rejected])
    if outcome.others:
        say(f"  {outcome.others} of other users left out, as --only says")
    if outcome.undated:
        say(f"  {outcome.undated} have no time and are dated now")
    _print_pending(pending, dry_run=arguments.dry_run)


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {"import": _import}
