"""Export of one user as JSON lines, and import: an export after an import is equal byte for byte.

The first line is a header with the version of the format and counts. Then come messages in the order they were stored,
episodes and memories after their sources, and links. Not included: the audit trail, undo data of consolidations, and the
times when messages were stored.
"""

from __future__ import annotations

import base64
import heapq
import io
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import UnionType
from typing import IO, TYPE_CHECKING, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from mnemic import validation
from mnemic.errors import Conflict, InvalidInput, NotFound, StoreCorrupt
from mnemic.paths import path_of
from mnemic.protocols import Progress
from mnemic.runtime.indexer import unwrap_store
from mnemic.runtime.runtime import Runtime
from mnemic.secrets.policy import redact_record, refuse_secrets
from mnemic.services.files import atomic_path, atomic_write
from mnemic.stores import SqliteStore, write_lines
from mnemic.stores.sql.rows import canonical
from mnemic.text.terms import clean
from mnemic.text.values import as_object, check_name, jsonable, now, shown, to_json, to_micros
from mnemic.transfer.importers.sources import text_of_file
from mnemic.types import Emotion, Episode, Link, MemoryRecord, Message, Record, Scope, Stored, changes
from mnemic.types.literals import PREFERENCE, TRANSITIONS
from mnemic.types.records import least_trust
from mnemic.validation import MAX_CONTENT, json_object
from mnemic.vectors import packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mnemic.secrets.policy import SecretPolicy

VERSION = 1
"""The version of the format."""
EXPORTED = "archived when it was exported"
"""Why a record is archived whose line does not say it."""
ATTEMPTS = 10
"""Attempts to read a record that is being written to."""
BATCH = 256


_KINDS: Mapping[str, type[Record | Link]] = {
    "message": Message, "episode": Episode, "memory": MemoryRecord, "link": Link,
}  # fmt: skip
_COMMON = {
    "reason": str | None, "quarantine": str | None, "forgotten": bool, "vector": str | None, "passages": str | None,
}  # fmt: skip
_EXTRA_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "message": {
        "project": str | None, "status": Literal["short_term", "archived"], "settled": bool, "emotion": Emotion | None,
        **_COMMON,
    },
    "episode": {"earlier": tuple[str, ...], "refine": bool, **_COMMON},
    "memory": {"earlier": tuple[str, ...], "enrich": bool, "everywhere": bool, **_COMMON},
    "link": {},
}  # fmt: skip
"""Fields of a line besides those of its record. ``reason``: why it is archived; ``quarantine``: the reason of that;
``forgotten``: archived before it; ``everywhere``: forgotten in its messages as well."""


@dataclass(frozen=True, slots=True)
class Line:
    """One parsed line: its value, its additional fields, and its number in the file."""

    number: int
    kind: str
    value: Record | Link
    extra: Mapping[str, Any]


def _line_error(number: int, what: str) -> InvalidInput:
    """The error for an invalid line."""
    return InvalidInput(f"Line {number} {what}. Nothing was stored.")


# Export


def export(runtime: Runtime, scope: Scope, file: str | Path | IO[str], *, vectors: bool = False) -> dict[str, int]:
    """Write all records of the scope's user, at every level, to a JSONL file.

    Args:
        runtime: the record.
        scope: the user; project and session are ignored.
        file: a path, written atomically and readable by its owner only, and encrypted if the record is; or a text file open
            for writing, which gets plain lines. Pipes and devices are written directly; for a symbolic link its target is
            written.
        vectors: include the vectors as base64 of float16, so that the import needs no embedder.

    Returns:
        The number of written records by kind.

    Raises:
        Conflict: the record kept changing while it was read.
        StoreCorrupt: the record is damaged.
        StoreUnavailable: the file cannot be written.
    """
    runtime.uses.settle(scope.user)
    for _ in range(ATTEMPTS):
        user_id = runtime.store.user(scope.user)
        before = 0 if user_id is None else runtime.store.last_event(user_id)
        lines, fault = list[dict[str, object]](), None
        try:
            lines = _lines(runtime, scope.user, user_id, vectors=vectors)
        except (LookupError, TypeError, CycleError, NotFound) as error:  # a row refers to a missing one
            fault = error
        unchanged = user_id is None or runtime.store.last_event(user_id) == before
        if user_id == runtime.store.user(scope.user) and unchanged:
            if fault is not None:
                raise StoreCorrupt(
                    f"{runtime.store.location} has inconsistent rows ({type(fault).__name__}: {fault}). Nothing was written. "
                    "Check it with mnemic doctor --deep, or restore a backup."
                ) from fault
            _write(runtime, file, (f"{to_json(line)}\n" for line in lines))
            return cast("dict[str, int]", lines[0]["counts"])
    raise Conflict(
        "The record was changed during every attempt to read it. Nothing was written; try again when it is idle."
    )


def _write(runtime: Runtime, file: str | Path | IO[str], lines: Iterable[str]) -> None:
    """Write lines to a file: an encrypted one for an encrypted record."""
    store = unwrap_store(runtime.store)
    cipher = store.cipher if isinstance(store, SqliteStore) else None
    if cipher is None or not isinstance(file, (str, Path)):
        with atomic_write(file) as out:
            out.writelines(lines)
        return
    path = Path(os.path.realpath(path_of(file)))
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{file} is not a file, and an encrypted export is one. Name a file.")
    with atomic_path(path) as partial:
        write_lines(partial, cipher, lines)


def _lines(runtime: Runtime, user: str, user_id: int | None, *, vectors: bool) -> list[dict[str, object]]:
    """The lines of a user, the header with the counts by kind first."""
    header: dict[str, object] = {"mnemic": VERSION}
    lines: list[dict[str, object]] = []
    if user_id is not None:
        delta = runtime.store.catalog(user_id, after=0, event=-1, vectors=vectors)
        stored = _fetch_all(runtime, user_id, delta.rows.doc.tolist() if delta.rows else [])
        builder = _LineBuilder(runtime, user, user_id, stored)
        if vectors and delta.model is not None and delta.vectors:
            header |= {"model": delta.model, "dimension": delta.dimension}
            docs = delta.vectors.doc.tolist()
            builder.vectors = dict(zip(docs, map(_packed, delta.vectors.values), strict=True))
            parts = runtime.store.embedding.passages_of(user_id, docs)
            builder.passages = {doc: _packed(rows) for doc, rows in parts.items()}
        for kind in ("message", "episode", "memory"):
            records = {doc: item for doc, item in stored.items() if item.kind == kind}
            lines += [builder.line(doc, records[doc]) for doc in _topological_order(records)]
        _sort_sources(lines)
        lines += [{"kind": "link", **as_object(link)} for link in runtime.store.relations.all_links(user)]
    header["counts"] = _counts(str(line["kind"]) for line in lines)
    return [header, *lines]


def _counts(kinds: Iterable[str]) -> dict[str, int]:
    """The number of lines of each kind."""
    return dict.fromkeys(_KINDS, 0) | Counter(kinds)


def _fetch_all(runtime: Runtime, user_id: int, docs: Sequence[int]) -> dict[int, Stored]:
    stored: dict[int, Stored] = {}
    for start in range(0, len(docs), BATCH):
        stored |= runtime.store.fetch(user_id, docs[start : start + BATCH])
    return dict(sorted(stored.items()))


class _LineBuilder:
    """Builds the lines of records with their additional fields."""

    def __init__(self, runtime: Runtime, user: str, user_id: int, stored: Mapping[int, Stored]) -> None:
        knowledge = runtime.store.knowledge
        most = max(1, len(stored))
        self._runtime, self._user = runtime, user
        messages = [doc for doc, item in stored.items() if item.kind == "message"]
        self._emotions = runtime.store.relations.emotions(user_id, messages)
        self._enrich = set(knowledge.pending(user, "enrich"))
        self._refine = {record.id for record in knowledge.unrefined(user, most)}
        self._quarantined = set(runtime.store.lifecycle.quarantined(user))
        self.vectors: Mapping[int, str] = {}
        self.passages: Mapping[int, str] = {}

    def line(self, doc: int, stored: Stored) -> dict[str, object]:
        value = stored.value
        extra: dict[str, object]
        match value:
            case Message():
                extra = {"project": stored.project, "status": stored.status, "settled": stored.episode == 0}
                extra["emotion"] = jsonable(self._emotions.get(doc))
            case Episode():
                extra = {"earlier": self._earlier(value), "refine": value.id in self._refine}
            case MemoryRecord():
                value = replace(
                    value, importance=value.importance if value.pinned else value.salience, superseded_by=()
                )
                extra = {"earlier": self._earlier(value), "enrich": value.id in self._enrich}
                extra["access_count"] = value.access_count or None
        extra |= self._archival(stored.id) if stored.status == "archived" else {}
        vectors = {"vector": self.vectors.get(doc), "passages": self.passages.get(doc)}
        line = {"kind": stored.kind, **as_object(value), **extra, **vectors}
        if line["status"] == "consolidating":  # claimed by a running or interrupted consolidation
            line["status"] = "short_term"
        return {name: item for name, item in line.items() if item not in (None, (), []) and item is not False}

    def _archival(self, id: str) -> dict[str, object]:
        """Why a record is archived, and the reason of its quarantine if it is in one."""
        events = self._runtime.store.history(self._user, id)
        transitions = [e for e in events if e.operation in TRANSITIONS and "quarantine" not in e.detail]
        last = transitions[-1] if transitions else None
        detail: Mapping[str, Any] = last.detail if last is not None and last.operation == "archive" else {}
        reason = None if detail.get("reason") == EXPORTED else detail.get("reason")
        extra: dict[str, object] = {"reason": reason, "everywhere": detail.get("everywhere")}
        if id in self._quarantined:
            detail = [event.detail for event in events if "quarantine" in event.detail][-1]
            extra |= {"quarantine": detail.get("reason", ""), "forgotten": detail["before"] is not None}
        return extra

    def _earlier(self, value: Episode | MemoryRecord) -> tuple[str, ...]:
        """The texts of earlier versions, oldest first."""
        if value.version == 1:
            return ()
        events = self._runtime.store.history(self._user, value.id)
        texts = {event.version: event.content for event in events if event.version is not None}
        if value.version > 2 * len(texts) + 100:  # an absurd number would exhaust the memory
            raise LookupError(f"version {value.version} of {value.id!r}, and {len(texts)} events of it")
        return tuple(texts.get(version) or value.content for version in range(1, value.version))


def _topological_order(records: Mapping[int, Stored]) -> list[int]:
    """Docs in ascending order, except that sources come before the records derived from them."""
    docs = {stored.id: doc for doc, stored in records.items()}
    sources = {doc: {docs[id_] for id_ in _source_ids(s.value) if id_ in docs} for doc, s in records.items()}
    sorter = TopologicalSorter(sources)
    sorter.prepare()
    free, order = list[int](), list[int]()
    while sorter.is_active():
        for doc in sorter.get_ready():
            heapq.heappush(free, doc)
        order.append(heapq.heappop(free))
        sorter.done(order[-1])
    return order


def _sort_sources(lines: Sequence[dict[str, object]]) -> None:
    """Sort sources by the order of the file, which does not depend on docs."""
    position = {str(line["id"]): number for number, line in enumerate(lines)}
    for line in lines:
        if "source_ids" in line:
            line["source_ids"] = sorted(cast("list[str]", line["source_ids"]), key=position.__getitem__)


# Import


def restore_from(
    runtime: Runtime,
    scope: Scope,
    file: str | Path | IO[str],
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
    key: str | bytes | None = None,
) -> dict[str, int]:
    """Import an export into a user without records, in one transaction.

    Vectors of the file are used if they are of the handle's embedder; else all texts are embedded.

    Args:
        runtime: the record.
        scope: the new user of the records, whoever they were exported from.
        file: a path, or a text file open for reading.
        dry_run: check the file and the user, and store nothing.
        progress: called with (done, total) while texts are embedded.
        key: of an encrypted file, if it is another one than that of the record.

    Returns:
        The number of stored records by kind.

    Raises:
        InvalidInput: the file is not an export, is damaged, or of a newer version; or the user has records.
        WrongKey: the file is encrypted under another key.
        StoreError: the record cannot be written; nothing was stored.
    """
    header, lines = _read(file, key or encryption_key(runtime))
    lines = [_redact(runtime.secrets, line) for line in lines]
    user_id = runtime.store.user(scope.user)
    if user_id is not None and runtime.store.statistics.size(user_id):
        raise InvalidInput(
            f"The user {scope.user!r} has records already; an export is imported into an empty user. Name another user or "
            "folder."
        )
    counts = _counts(line.kind for line in lines)
    if dry_run:
        return counts
    model = runtime.indexer.embedder.id
    carried = model if header.get("model") == model else None
    indexing = _index_all(runtime, [line for line in lines if line.kind != "link"], progress, carried)
    receipts = runtime.store.apply(scope.user, _restoring_changes(lines, indexing))
    if refused := [receipt for receipt in receipts if receipt.outcome == "rejected"]:
        raise Conflict(f"{refused[0].id!r} was rejected: {refused[0].reason}. Another process wrote for this user.")
    return counts


def encryption_key(runtime: Runtime) -> str | bytes | None:
    """The key of a record."""
    store = unwrap_store(runtime.store)
    return store.key if isinstance(store, SqliteStore) else None


def _read(file: str | Path | IO[str], key: str | bytes | None) -> tuple[Mapping[str, Any], list[Line]]:
    """The header and the checked lines."""
    texts = _texts(file, key)
    header = _object(1, next(texts, ""))
    version = header.get("mnemic")
    if isinstance(version, bool) or not isinstance(version, int):
        raise InvalidInput("The first line is not the header of an export. Pass a file written by mnemic export.")
    if version > VERSION:
        raise InvalidInput(f"The export has format {version}, this Mnemic reads up to {VERSION}. Upgrade Mnemic.")
    lines = [_line(number, text) for number, text in enumerate(texts, start=2) if text.strip()]
    counts = _counts(line.kind for line in lines)
    if header.get("counts") != counts:
        raise InvalidInput(
            f"The header counts {shown(header.get('counts'), 200)}, but the file has {counts}: it is truncated or changed."
        )
    _check(lines)
    return header, lines


def _redact(policy: SecretPolicy, line: Line) -> Line:
    """A line without secrets; its vectors are dropped if there were any."""
    if isinstance(line.value, Link):
        link, kinds = redact_record(policy, line.value)
        refuse_secrets(policy, f"Line {line.number}", kinds)
        return replace(line, value=link)
    if (reason := line.extra["quarantine"]) is not None:
        line = replace(line, extra={**line.extra, "quarantine": policy.redacted(reason)[0]})
    value, kinds = redact_record(policy, _record(line))
    earlier = [policy.redacted(content) for content in line.extra.get("earlier") or ()]
    kinds = (*kinds, *(kind for _, text_kinds in earlier for kind in text_kinds))
    refuse_secrets(policy, f"Line {line.number}", tuple(dict.fromkeys(kinds)))
    if not kinds:
        return line
    extra = {**line.extra, "vector": None, "passages": None} | (
        {"earlier": [text for text, _ in earlier]} if earlier else {}
    )
    return replace(line, value=value, extra=extra)


def _texts(file: str | Path | IO[str], key: str | bytes | None) -> Iterator[str]:
    lines = io.StringIO(text_of_file(file, key)) if isinstance(file, (str, Path)) else file
    if not isinstance(lines, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidInput(f"An export is read from a path or an open text file, not from {shown(file)}.")
    for line in lines:
        if not isinstance(line, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"An export is read as lines of text, not of {shown(line)}. Open the file as text.")
        yield line


def _object(number: int, text: str) -> dict[str, Any]:
    def refuse(word: str) -> float:
        raise ValueError(word)

    try:
        value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise _line_error(number, f"is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise _line_error(number, "is not an object")
    return cast("dict[str, Any]", value)


def _line(number: int, text: str) -> Line:
    values = _object(number, text)
    kind = values.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise _line_error(number, f"has the kind {shown(kind)}; there are {list(_KINDS)}")
    record_type: Any = _KINDS[kind]
    extra, hints = _EXTRA_FIELDS[kind], _hints(kind)
    if unknown := sorted(set(values) - set(hints)):
        raise _line_error(number, f"has a field {shown(unknown[0])} that a {kind} has not")
    try:
        checked = {name: _coerce(name, hints[name], value) for name, value in values.items()}
        names = {field.name for field in fields(record_type)}
        value: Record | Link = record_type(**{name: item for name, item in checked.items() if name in names})
        if isinstance(value, MemoryRecord) and value.category == PREFERENCE and value.key is None:
            key = value.metadata.get(PREFERENCE)  # of a version that kept it in the metadata alone
            value = replace(value, key=None if key is None else str(key))
        if not isinstance(value, Link):
            _check_record(value, cast("str | None", checked.get("project")))
    except (TypeError, ValueError) as error:
        raise _line_error(number, f"is no {kind}: {error}") from error
    return Line(number, kind, value, {name: checked.get(name) for name in extra})


@cache
def _hints(kind: str) -> Mapping[str, Any]:
    """The types of the fields of a line."""
    return {**get_type_hints(_KINDS[kind]), **_EXTRA_FIELDS[kind]}


def _index_all(
    runtime: Runtime, lines: Sequence[Line], progress: Progress | None, carried: str | None
) -> dict[str, changes.Indexing]:
    """The index data of all records, by id; ``carried`` is the model of the vectors that the lines have."""
    by_id: dict[str, changes.Indexing] = {}
    for start in range(0, len(lines), BATCH):
        batch = lines[start : start + BATCH]
        indexed = runtime.indexer.indexed(map(_record, batch), embed=carried is None)
        for line, (record, index) in zip(batch, indexed, strict=True):
            by_id[str(record.id)] = index if carried is None else replace(index, **_vectors(line), model=carried)
        if progress:
            progress(start + len(batch), len(lines))
    return by_id


def _record(line: Line) -> Record:
    return cast("Record", line.value)


def _packed(vectors: NDArray[np.float32]) -> str:
    return base64.b64encode(packed(vectors)).decode()


def _vectors(line: Line) -> dict[str, NDArray[np.float32] | None]:
    """The vector of a line, and those of its passages."""
    if line.extra["vector"] is None:
        return {"vector": None}
    vector = _unpacked(line, "vector")
    if line.extra["passages"] is None:
        return {"vector": vector}
    parts = _unpacked(line, "passages")
    if len(parts) % len(vector):
        raise _line_error(line.number, "holds passages of another dimension than its vector")
    return {"vector": vector, "passages": parts.reshape(-1, len(vector))}


def _unpacked(line: Line, name: str) -> NDArray[np.float32]:
    try:
        values = np.frombuffer(base64.b64decode(line.extra[name], validate=True), "<f2").astype(np.float32)
    except ValueError as error:
        raise _line_error(line.number, f"holds no vector: {error}") from error
    if not values.size or not np.isfinite(values).all():
        raise _line_error(line.number, "holds a vector that is empty or not finite")
    return values


def _restoring_changes(lines: Sequence[Line], indexing: Mapping[str, changes.Indexing]) -> list[changes.Change]:
    """The changes that restore the records, in an order in which none is rejected."""
    shared = Counter(key for line in lines for key in _statement_keys(line))
    first: list[changes.Change] = []
    last: list[changes.Change] = []
    quarantines: list[changes.Change] = []
    for line in lines:
        value = line.value
        if isinstance(value, Link):
            last.append(changes.PutLink(link=value))
            continue
        first += _version_changes(line, value, indexing[str(value.id)])
        archived = changes.Archive(
            id=str(value.id), reason=EXPORTED if line.extra["reason"] is None else line.extra["reason"],
            everywhere=line.extra.get("everywhere") or False,
        )  # fmt: skip
        if (reason := line.extra["quarantine"]) is not None:
            # A memory is archived at once, because others may have the same text; other records after their descendants.
            fate = [archived] if line.extra["forgotten"] else []
            quarantine = changes.Quarantine(ids=(str(value.id),), reason=reason)
            if isinstance(value, MemoryRecord):
                first += [*fate, quarantine]
            else:
                last += fate
                quarantines.append(quarantine)
        elif (line.extra["status"] if isinstance(value, Message) else value.status) == "archived":
            (first if isinstance(value, MemoryRecord) else last).append(archived)
        elif any(shared[key] > 1 for key in _statement_keys(line)):  # others have or had the same text
            first.append(replace(archived, reason="while an export was read"))
            last.append(changes.Restore(id=str(value.id)))
    if settled := tuple(str(_record(line).id) for line in lines if line.extra.get("settled")):
        last.append(changes.MarkProcessed(ids=settled))
    emotions = {str(line.value.id): line.extra["emotion"] for line in lines if isinstance(line.value, Message)}
    if emotions := {id_: emotion for id_, emotion in emotions.items() if emotion}:
        last.append(changes.SetEmotions(emotions=emotions))
    return [*first, *last, *reversed(quarantines)]  # each with its own reason, before its sources


def _version_changes(line: Line, value: Record, index: changes.Indexing) -> Iterator[changes.Change]:
    """The versions of a record in order."""
    if isinstance(value, Message):
        yield changes.AddMessage(message=value, project=line.extra["project"], indexing=index)
        return
    for version, content in enumerate((*(line.extra["earlier"] or ()), value.content), start=1):
        indexing = index if version == value.version else _EARLIER
        status = "short_term" if value.status == "archived" else value.status
        if isinstance(value, Episode):
            episode = replace(value, content=content, version=version, status="short_term")
            refine = bool(line.extra["refine"]) and indexing is index
            yield changes.AddEpisode(record=episode, indexing=indexing, refine=refine)
            continue
        record = replace(value, content=content, version=version, status=status)
        if version == 1:
            yield changes.AddMemory(record=record, indexing=indexing, enrich=bool(line.extra["enrich"]))
        else:
            yield changes.Revise(record=record, indexing=indexing)


_EARLIER = changes.Indexing(terms=(), length=0, traits=0)


def _statement_keys(line: Line) -> set[tuple[object, ...]]:
    """What all versions of a memory say: while one is added, no other that says it may be live."""
    value = line.value
    if not isinstance(value, MemoryRecord):
        return set()
    return {_key_of(value, content) for content in (value.content, *(line.extra["earlier"] or ()))}


# Validation: types of values, rules of the public methods, consistency with previous lines

_SIGNED = {"valence", "arousal"}


def _coerce(name: str, hint: Any, value: object) -> object:
    """Convert a JSON value to the type of its field; raises ValueError."""
    if get_origin(hint) in (Union, UnionType):
        if value is None:
            return None
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    match get_origin(hint) or hint, value:
        case (origin, str()) if origin is str or value in get_args(hint):
            return clean(value)
        case (origin, str()) if origin is datetime:
            return _moment(name, value)
        case (origin, bool()) if origin is bool:
            return value
        case (origin, _) if origin in (int, float):
            return _number(name, origin, value)
        case (origin, list()) if origin is tuple:
            return tuple(_coerce(name, str, item) for item in cast("list[object]", value))
        case (origin, dict()) if origin is Emotion:
            return Emotion(**{part: _number(part, float, item) for part, item in cast("dict[str, Any]", value).items()})
        case (origin, dict()) if origin is Mapping:
            return cast("object", value)
        case _:
            raise ValueError(f"{name} is {shown(value, 60)}")


def _number(name: str, kind: Any, value: object) -> float:
    """A count, or a number in 0..1; emotions may be negative."""
    least, most = (0, 2**53) if kind is int else (-1 if name in _SIGNED else 0, 1)
    allowed = int if kind is int else (int, float)
    if isinstance(value, bool) or not isinstance(value, allowed) or not least <= value <= most:
        raise ValueError(f"{name} is {shown(value, 60)}")
    return kind(value)


def _moment(name: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name} is {shown(text, 60)}, which is not a time") from None
    if moment.utcoffset() is None:
        raise ValueError(f"{name} has no time zone")
    to_micros(moment)
    return moment


_NAMES = ("id", "role", "name", "speaker", "category")
_TEXTS = ("content", "title", "summary")
_WORDS = ("tags", "keywords", "related_entities")


def _source_ids(value: Record) -> tuple[str, ...]:
    """The sources of a record; none for a message."""
    return () if isinstance(value, Message) else value.source_ids


def _key_of(value: MemoryRecord, content: str) -> tuple[object, ...]:
    """What memories that say the same have in common: level and content."""
    return value.project, value.session, value.speaker, canonical(content)


def _check_record(value: Record, project: str | None) -> None:
    """Check a record of a project.

    Raises:
        ValueError: no public method would have stored it.
    """
    try:
        validation.scope("-", project, value.session)
        json_object("metadata", value.metadata)
        for name in _NAMES:
            if (text := getattr(value, name, None)) is not None:
                check_name(name, text)
    except InvalidInput as error:
        raise ValueError(str(error).removesuffix(".")) from error
    texts = [(name, getattr(value, name, None)) for name in _TEXTS]
    texts += [(name, word) for name in _WORDS for word in getattr(value, name, ())]
    for name, text in texts:
        if text is not None and len(text) > MAX_CONTENT:
            raise ValueError(f"{name} has {len(text):,} characters, more than {MAX_CONTENT:,}")
    if not isinstance(value, Episode) and not value.content.strip():
        raise ValueError("its content is empty")
    if isinstance(value, Message) and not value.role:
        raise ValueError("its role is empty")
    if isinstance(value, MemoryRecord) and value.status == "consolidating":
        raise ValueError("its status is that of a running consolidation")


def _check(lines: Sequence[Line]) -> None:
    """Check what the store would reject later: duplicate ids, sources after their records, duplicate memories."""
    seen, live = dict[str, Line](), defaultdict[tuple[object, ...], set[str | None]](set)
    for line in lines:
        value = line.value
        if missing := sorted(_references(value).difference(seen)):
            raise _line_error(line.number, f"names {shown(missing[0], 60)}, which is not in the file before it")
        if isinstance(value, Link):
            if value.type == "supersedes" and getattr(seen[value.target].value, "expired_at", 0) is None:
                what = f"replaces {shown(value.target, 60)}, whose time has not ended (expired_at)"
                raise _line_error(line.number, what)
            continue
        _check_next(line, value, seen)
        if isinstance(value, MemoryRecord) and _holds(value):
            keys = live[_key_of(value, value.content)]
            if value.key in keys or (keys and None in {*keys, value.key}):
                raise _line_error(line.number, "repeats the content of a previous memory")
            keys.add(value.key)
        seen[str(value.id)] = line


def _holds(value: MemoryRecord) -> bool:
    """Whether a memory holds now, so that no other one may say the same under its key."""
    if value.expired_at is not None or value.status == "archived":
        return False
    moment, ends = to_micros(now()), filter(None, (value.invalid_at, value.delete_after))
    return all(to_micros(end) > moment for end in ends) and (not value.valid_at or to_micros(value.valid_at) <= moment)


def _check_next(line: Line, value: Record, seen: Mapping[str, Line]) -> None:
    """Check a record against the previous lines, by id: it must not be trusted more than its sources."""
    if not value.id or value.id in seen:
        raise _line_error(line.number, f"has the id {shown(value.id, 60)}, which is empty or taken")
    if value.trust is None or (isinstance(value, Message) and None in (value.sent_at, value.source)):
        raise _line_error(line.number, "is a message without sent_at, source or trust")
    if value.trust > least_trust(cast("Record", seen[source].value).trust for source in _references(value)):
        raise _line_error(line.number, "has a higher trust than its sources")
    if isinstance(value, Episode):
        _check_episode(line, value, [seen[id_] for id_ in value.message_ids])
    if not isinstance(value, Message) and len(line.extra["earlier"] or ()) != value.version - 1:
        raise _line_error(line.number, f"is version {value.version} without those before")


def _check_episode(line: Line, episode: Episode, lines: Sequence[Line]) -> None:
    """Check that the messages of an episode have its project and, if it has one, its session."""
    messages = [(source, source.value) for source in lines if isinstance(source.value, Message)]
    if not messages or len(messages) < len(lines):
        raise _line_error(line.number, "is an episode without messages, or with records of other kinds")
    project, session = episode.project, episode.session
    if any(line.extra["project"] != project or session not in (None, message.session) for line, message in messages):
        raise _line_error(line.number, "is an episode of another project or conversation than its messages")


def _references(value: Record | Link) -> set[str]:
    """The ids that a record or link refers to."""
    if isinstance(value, Link):
        return {value.source, value.target}
    return {*_source_ids(value), *(value.message_ids if isinstance(value, Episode) else ())}
