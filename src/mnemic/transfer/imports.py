"""Importing a file: a history or memories of another product, or an export of Mnemic."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from importlib.metadata import entry_points
from itertools import count, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from mnemic import ingest, validation
from mnemic.errors import InvalidInput, MnemicError
from mnemic.ingest import CheckedRecord, check_record, role_of, with_redactions
from mnemic.knowledge import remember
from mnemic.lifecycle import edits, maintenance
from mnemic.paths import path_of
from mnemic.protocols import Progress
from mnemic.secrets.policy import redact_scope
from mnemic.text.values import aware, now
from mnemic.transfer import export
from mnemic.transfer.importers import files, sources, users
from mnemic.transfer.importers.fields import LEFT_OUT, Damage, ParsedMemory, mapping, maybe_json
from mnemic.transfer.importers.users import Reading
from mnemic.types import (
    Event,
    ImportFormat,
    ImportReport,
    MemoryRecord,
    Message,
    Receipt,
    RecordFilter,
    Scope,
    Status,
)

if TYPE_CHECKING:
    from mnemic.runtime.runtime import Runtime

MNEMIC = "mnemic"
"""The format of an export of Mnemic."""

IMPORTERS = "mnemic.importers"
"""The entry points of other packages: each is a function from the path of a file to its messages."""

BATCH = 64
"""Records of one transaction, and of one step of the progress."""

NOTHING = "Nothing was imported; correct the file or the arguments."

NAMED = 10
"""Maximum number of roles named in a remark."""

TRUST = 0.7
"""The trust of imported memories, as of all records with the source ``model_inference``."""


@dataclass(slots=True)
class Tally:
    """What became of the records of a file so far: their number by user and kind; ``roles`` are those that are not known."""

    users: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    stored: int = 0
    duplicate: int = 0
    without_text: int = 0
    rejected: list[Receipt] = field(default_factory=list[Receipt])
    pending: Counter[str] = field(default_factory=Counter[str])
    roles: Counter[str] = field(default_factory=Counter[str])

    @property
    def counts(self) -> Counter[str]:
        """The number of records by kind."""
        total = Counter[str]()
        for counts in self.users.values():
            total.update(counts)
        return total

    def count(self, user: str, kind: str, receipt: Receipt, text: str) -> None:
        """Count a record of a user by its receipt."""
        self.users[user][kind] += 1
        match receipt.outcome:
            case "stored" | "superseded":
                self.stored += 1
            case "duplicate":
                self.duplicate += 1
            case _ if kind == "message" and not text.strip():
                self.without_text += 1
            case _:
                self.rejected.append(receipt)

    def report(self, reading: Reading, *, dry_run: bool) -> ImportReport:
        """The counts as a report on the file."""
        times = [message.sent_at for message in reading.messages] + [memory.changed for memory in reading.memories]
        return ImportReport(
            file=reading.file, format=reading.format, counts=dict(self.counts), stored=self.stored,
            duplicate=self.duplicate, without_text=self.without_text, rejected=tuple(self.rejected),
            damaged=tuple(damage.reason for damage in reading.damaged),
            undated=sum(moment is None for moment in times),
            left_out=Counter(part for message in reading.messages for part in message.metadata.get(LEFT_OUT, ())),
            remarks=(*reading.remarks, *_unknown_roles(self.roles)), pending=dict(self.pending), dry_run=dry_run,
        )  # fmt: skip


def _unknown_roles(roles: Counter[str]) -> list[str]:
    """A remark on roles that are not known, with the number of their messages."""
    if not roles:
        return []
    some = ", ".join(f"{role} ({count})" for role, count in roles.most_common(NAMED))
    more = ", ..." if len(roles) > NAMED else ""
    return [f"roles that are not known, stored as untrusted text of tools: {some}{more}"]


def read(
    path: str | Path, *, format: str = "auto", session: str | None = None, strict: bool = False,
    key: str | bytes | None = None,
) -> Reading:  # fmt: skip
    """Read a file, or a folder or ZIP archive as a product hands out its export; ``-`` is stdin.

    Args:
        path: the file.
        format: an ``ImportFormat``, or the name of an installed importer.
        session: of messages that have none; else they are named after the file.
        strict: refuse a file with a damaged part.
        key: of an encrypted export.

    Raises:
        InvalidInput: it cannot be read, its format is unknown, or it is damaged as a whole.
    """
    file = str(path) if str(path) == "-" else str(path_of(path))
    if format not in get_args(ImportFormat):
        return Reading(file, format, files.with_ids(_by_importer(format, file, session)))
    parsed = sources.export_of(file, format)
    content = sources.text_of(file, key) if parsed is None else ""
    is_export = {"mnemic", "counts"} <= mapping(maybe_json(content.partition("\n")[0])).keys()
    if parsed is None and (format == MNEMIC or (format == "auto" and is_export)):
        return Reading(file, MNEMIC, export=content)
    name = "stdin" if file == "-" else file
    try:
        parsed = parsed or sources.note_of(name, content, format) or files.parse_lines(content, format)
        named = session or Path(name).stem
        return _understood(parsed, file, format, named, guessed=session is None, strict=strict)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error} {NOTHING}") from error


def _understood(parsed: files.Parsed, file: str, format: str, session: str, *, guessed: bool, strict: bool) -> Reading:
    """The messages and memories in the values of a file.

    Raises:
        InvalidInput: its format is unknown, all of it is damaged, or a part of it while it is ``strict``.
    """
    name = files.detect(parsed.data) if format == "auto" else format
    statements, messages, damaged, unread = list[ParsedMemory](), list[Message](), list[Damage](), list[Damage]()
    if name in files.MEMORY_FORMATS:
        statements, damaged = files.read_memories(parsed, name)
    if name in files.MESSAGE_FORMATS:
        messages, unread = files.messages_of(parsed, name, session, guessed=guessed)
        damaged = [*dict.fromkeys([*damaged, *unread])]
    records = [*sorted(statements, key=_when_changed), *messages]
    if refused := damaged if strict else unread if not records else []:
        raise InvalidInput(refused[0].reason)
    left_out = [f"left out: {', '.join(parsed.left_out)}"] if parsed.left_out else []
    return Reading(file, name, records, damaged, [*files.remarks(parsed.data, name), *left_out])


def _by_importer(format: str, file: str, session: str | None) -> list[Message]:
    """The messages of a file by the importer that a package has installed; those without a session are of ``session``."""
    importers = {importer.name: importer for importer in entry_points(group=IMPORTERS)}
    importer = importers[validation.one_of("format", format, sorted({*get_args(ImportFormat), *importers}))]
    if file == "-":
        raise InvalidInput(f"The importer {format!r} reads files. Write stdin to a file first.")
    try:
        messages: Iterable[Message] = importer.load()(Path(file))
        return [replace(m, session=m.session or session or Path(file).stem) for m in messages]
    except MnemicError:
        raise
    except Exception as error:  # a package of somebody else may raise anything
        message = f"The importer {format!r} ({importer.value}) failed on {file}: {error}. {NOTHING}"
        raise InvalidInput(message) from error


def store(
    runtime: Runtime,
    project: str | None,
    parts: Mapping[str, Reading],
    zone: tzinfo,
    tally: Tally,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> None:
    """Store the part of each user in a project, or count what would become of it; ``tally`` counts along.

    Raises:
        InvalidInput: an export is damaged, or the user of an export has records.
        StoreError: the record cannot be written; what was stored before stays, and importing again continues.
    """
    total, done = sum(len(part.records) for part in parts.values()), count(1)
    for user, part in parts.items():
        scope = redact_scope(runtime.secrets, validation.scope(user, project))
        tally.users[user] = Counter()
        if part.format == MNEMIC:
            content = io.StringIO(part.export)
            tally.users[user].update(export.restore_from(runtime, scope, content, dry_run=dry_run, progress=progress))
            tally.stored = tally.counts.total()
            continue
        roles = Counter(role_of(message.role) for message in part.messages if message.source is None)
        unknown = roles.keys() - ingest.SOURCE_OF_ROLE.keys()
        tally.roles.update({runtime.secrets.name(role): roles[role] for role in unknown})
        for kind, receipt, text in _receipts(runtime, scope, part, zone, dry_run=dry_run):
            tally.count(user, kind, receipt, text)
            if progress is not None:
                progress(next(done), total)
        if not dry_run:
            maintenance.embed_pending(runtime)
            tally.pending.update(runtime.store.statistics.stats(scope.user).pending)


def _receipts(
    runtime: Runtime, scope: Scope, reading: Reading, zone: tzinfo, *, dry_run: bool
) -> Iterator[tuple[str, Receipt, str]]:
    """The kind, receipt and text of each record, as it is stored."""
    statements = reading.memories
    receipts = store_memories(runtime, scope, statements, zone, dry_run=dry_run)
    for memory, receipt in zip(statements, receipts, strict=True):
        yield "memory", receipt, memory.content
    messages = iter(reading.messages)
    texts: dict[str, str | None] = {}
    while batch := list(islice(messages, BATCH)):
        receipts = (
            [_expected(runtime, scope, message, zone, texts) for message in batch]
            if dry_run
            else add_valid(lambda some: ingest.add(runtime, scope, some, None, zone), batch)
        )
        for message, receipt in zip(batch, receipts, strict=True):
            yield "message", receipt, message.content


def add_valid(add: Callable[[Sequence[Message]], Sequence[Receipt]], batch: Sequence[Message]) -> Sequence[Receipt]:
    """Store messages in one transaction; where one is not valid, each by itself, so that the others are stored."""
    try:
        return add(batch)
    except InvalidInput as error:
        if len(batch) == 1:
            return [Receipt(id=str(batch[0].id), outcome="rejected", reason=str(error))]
        return [receipt for message in batch for receipt in add_valid(add, [message])]


def _expected(runtime: Runtime, scope: Scope, message: Message, zone: tzinfo, texts: dict[str, str | None]) -> Receipt:
    """The outcome of a message, if it were stored after those that ``texts`` has by id."""
    try:
        checked = check_record(runtime.secrets, runtime.fence, ingest.complete(message, scope, None, zone, now()))
    except InvalidInput as error:
        return Receipt(id=str(message.id), outcome="rejected", reason=str(error))
    if not ingest.storable(checked):
        return ingest.unstored(checked)
    id_, content = str(checked.record.id), checked.record.content
    if id_ not in texts and runtime.store.docs_of(scope.user, [id_], kind="message"):
        texts[id_] = runtime.store.get(scope.user, id_).value.content
    existing = texts.setdefault(id_, None)
    if existing is None:
        texts[id_] = content
        return Receipt(id=id_, outcome="stored")
    if existing == content:
        return Receipt(id=id_, outcome="duplicate")
    return Receipt(id=id_, outcome="rejected", reason="another message has this id")


def import_file(
    runtime: Runtime, scope: Scope, path: str | Path, zone: tzinfo, *, format: str, session: str | None,
    user_from: str | None, strict: bool, dry_run: bool, progress: Progress | None, key: str | bytes | None,
) -> ImportReport:  # fmt: skip
    """Import a file for one user; see ``Admin.import_file``."""
    reading = read(
        path, format=format, session=session or scope.session, strict=strict, key=key or export.encryption_key(runtime)
    )
    only = None if user_from in (None, users.NOBODY) else scope.user
    reading, parts = users.by_user(reading, user=scope.user, field=user_from, only=only)
    tally = Tally()
    store(runtime, scope.project, parts, zone, tally, dry_run=dry_run, progress=progress)
    return tally.report(reading, dry_run=dry_run)


# Memories: new ones, duplicates, and what changed since an earlier import


def _when_changed(memory: ParsedMemory) -> datetime:
    """The sort key by time of change; undated memories come last."""
    return aware(memory.changed, UTC) if memory.changed else datetime.max.replace(tzinfo=UTC)


class _Stored:
    """The memories of a user by id, live or not: an import must not bring any of them back."""

    def __init__(self, runtime: Runtime, scope: Scope) -> None:
        self._runtime, self._scope = runtime, scope
        filters = RecordFilter(kinds=("memory",), reach="user", status=get_args(Status), expired=True)
        records = runtime.store.list_memories(scope.user, filters, order="oldest", limit=None, offset=0)
        self._by_id = {record.id: record for record in records}
        self._imported: set[str] = set()
        self._ids_by_text = {
            record.content.strip(): record.id
            for record in records
            if (record.project, record.session) == (scope.project, None)
        }

    def get(self, id: str) -> MemoryRecord | None:
        """The memory with an id, as it was before this import or became by it."""
        return self._by_id.get(id)

    def add(self, record: MemoryRecord) -> None:
        """Add a memory that was imported."""
        before = self._by_id.get(record.id)
        if before is not None and self._ids_by_text.get(before.content.strip()) == record.id:
            del self._ids_by_text[before.content.strip()]
        self._by_id[record.id] = record
        self._ids_by_text[record.content.strip()] = record.id
        self._imported.add(record.id)

    def duplicate_of(self, record: MemoryRecord) -> Receipt | None:
        """The receipt for a duplicate of the text of a memory that was valid at that time."""
        duplicate = self._ids_by_text.get(record.content.strip())
        if duplicate is None:
            return None
        ended = self._by_id[duplicate].invalid_at
        if ended is not None and (record.valid_at or record.created_at) >= ended:
            return None
        return Receipt(id=duplicate, outcome="duplicate", reason="the same statement is already stored")

    def is_later(self, record: MemoryRecord) -> bool:
        """Whether a record was changed after the text that is stored under its id, here or where it comes from."""
        existing, changed = self._by_id[record.id], record.said_at or record.created_at
        if changed <= (existing.said_at or existing.created_at):
            return False
        texts = [] if record.id in self._imported else self._texts(record.id)
        return all(event.at < changed for before, event in pairwise(texts) if event.content != before.content)

    def said(self, record: MemoryRecord) -> bool:
        """Whether the memory with the id of a record says the same, or did before it was edited."""
        if self._by_id[record.id].content == record.content:
            return True
        return record.id not in self._imported and record.content in {event.content for event in self._texts(record.id)}

    def _texts(self, id: str) -> list[Event]:
        return [event for event in self._runtime.store.history(self._scope.user, id) if event.content is not None]


def store_memories(
    runtime: Runtime, scope: Scope, memories: Iterable[ParsedMemory], zone: tzinfo, *, dry_run: bool = False
) -> Iterator[Receipt]:
    """Store memories, oldest first, so that later statements supersede earlier ones.

    What was changed since an earlier import becomes the next version of its memory. A dry run gives the expected receipts,
    without storing anything.
    """
    stored, waiting = _Stored(runtime, scope), list[CheckedRecord]()
    for memory in memories:
        checked = check_record(runtime.secrets, runtime.fence, _record(memory, scope, zone))
        record: MemoryRecord = checked.record
        if len(waiting) == BATCH or any(_are_related(record, other.record) for other in waiting):
            yield from _written(runtime, scope, stored, waiting)
        old = stored.get(record.id)
        changes = {} if old is None else _new_values(stored, old, record, dated=memory.changed is not None)
        receipt = _outcome(stored, old, record, changes) if old else stored.duplicate_of(record)
        receipt = ingest.unstored(checked) if checked.refusal else receipt
        if receipt is None and old is None and not dry_run:
            waiting.append(checked)
            continue
        yield from _written(runtime, scope, stored, waiting)
        if receipt is None:
            receipt = (
                Receipt(id=record.id, outcome="stored")
                if dry_run
                else with_redactions(_revise(runtime, scope, record, changes, zone), checked.kinds)
            )
        if receipt.changed:
            stored.add(record)
        yield receipt
    yield from _written(runtime, scope, stored, waiting)


def _are_related(record: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether what becomes of a memory depends on whether another one is stored."""
    return record.id == other.id or record.content.strip() == other.content.strip()


def _written(runtime: Runtime, scope: Scope, stored: _Stored, waiting: list[CheckedRecord]) -> Iterator[Receipt]:
    """Store the memories that wait, which are none then, in one transaction."""
    batch, waiting[:] = list(waiting), []
    receipts = remember.store_all(runtime, scope, [checked.record for checked in batch]) if batch else []
    for checked, receipt in zip(batch, receipts, strict=True):
        if receipt.changed:
            stored.add(checked.record)
        yield with_redactions(receipt, checked.kinds)


def _new_values(stored: _Stored, existing: MemoryRecord, record: MemoryRecord, *, dated: bool) -> dict[str, Any]:
    """What a memory of a file changes in the one with its id: an earlier end, and whatever was changed later."""
    end, changes = record.invalid_at, dict[str, Any]()
    if dated and stored.is_later(record):
        new = {name: getattr(record, name) for name in ("content", "tags", "metadata", "delete_after")}
        changes = {name: value for name, value in new.items() if value and value != getattr(existing, name)}
        changes |= {"said_at": record.said_at} if changes else {}
        changes |= {"valid_at": record.valid_at} if "content" in changes else {}
    holds = end is None or (existing.invalid_at and existing.invalid_at <= end)
    return changes if holds else {**changes, "invalid_at": end}


def _outcome(stored: _Stored, old: MemoryRecord, record: MemoryRecord, changes: Mapping[str, Any]) -> Receipt | None:
    """The receipt of a memory whose id is stored, unless it changes that."""
    if old.status == "archived" or (not changes and stored.said(record)):
        return Receipt(id=record.id, outcome="duplicate", reason="already imported")
    if not changes:
        why = "another text is stored under its id, and the file does not say that its own is later"
        return Receipt(id=record.id, outcome="rejected", reason=why)
    if "content" in changes and old.expired_at is not None:
        why = (
            "it was changed where it comes from, but another memory has taken its place here: update() it, or the other"
        )
        return Receipt(id=record.id, outcome="rejected", reason=why)
    return None


def _revise(runtime: Runtime, scope: Scope, record: MemoryRecord, changes: dict[str, Any], zone: tzinfo) -> Receipt:
    existing = runtime.store.get(scope.user, record.id).value
    assert isinstance(existing, MemoryRecord)
    return edits.revise(runtime, scope, existing, changes, zone)


def _record(memory: ParsedMemory, scope: Scope, zone: tzinfo) -> MemoryRecord:
    """The memory record of an item, with its times."""
    moment = now().astimezone(zone)
    changed = aware(memory.changed, zone) if memory.changed else moment
    created = aware(memory.created, zone) if memory.created else changed
    return MemoryRecord(
        id=memory.id, content=memory.content, type=memory.type, category=memory.category, tags=memory.tags,
        metadata=memory.metadata, project=scope.project, source="model_inference", trust=TRUST, said_at=changed,
        valid_at=changed,
        invalid_at=None if memory.ended is None else aware(memory.ended, zone), created_at=created, updated_at=changed,
        delete_after=None if memory.until is None else aware(memory.until, zone),
    )  # fmt: skip
