"""An in-memory column cache of one user's records for filters and ranking.

A search must not need a query per row. The catalog holds the narrow columns of every record in arrays, follows the events of
the store, and returns snapshots that later changes do not affect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mnemic.types import CatalogDelta, CatalogRows, Coded, RecordFilter
from mnemic.types.literals import SILENT_ROLES

MAX_SOURCES = 2
"""The maximum number of source messages of a memory on one statement: an answer and its question."""
FOREVER = np.iinfo(np.int64).max
Times = NDArray[np.int64]


def _no_times() -> Times:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Validity:
    """Valid time and transaction time of memories: a snapshot, one entry per memory, ascending by doc.

    Times are microseconds since 1970, ``FOREVER`` for an open end. ``origins`` maps a memory to the docs it was derived from,
    ``derived`` a doc to those derived from it; ``pairs`` has both as (2, n) columns of memory and origin. ``unsaid`` are
    memories that no origin says. ``successors`` maps a memory to the one that superseded it.
    """

    doc: Times = field(default_factory=_no_times)
    since: Times = field(default_factory=_no_times)
    until: Times = field(default_factory=_no_times)
    expired: Times = field(default_factory=_no_times)
    known: Times = field(default_factory=_no_times)
    begins: Times = field(default_factory=_no_times)
    origins: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    derived: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    unsaid: frozenset[int] = frozenset()
    successors: Mapping[int, int] = field(default_factory=dict[int, int])
    pairs: Times = field(default_factory=lambda: _no_times().reshape(2, 0))

    def __len__(self) -> int:
        return len(self.doc)

    @property
    def any_expired(self) -> bool:
        """Whether a memory has expired, as every superseded one has."""
        return bool((self.expired < FOREVER).any())

    def hidden(self, filters: RecordFilter, now: int) -> Times:
        """Docs of the memories that are not valid, or not known, at the times of the filters."""
        if filters.expired:
            return self.doc[:0]
        known_at = filters.known_at
        moment = FOREVER - 1 if known_at is None else known_at
        current = self.expired > moment
        ended_later = current & (self.expired < FOREVER)  # the end was not known yet
        until = np.where(ended_later, FOREVER, self.until)
        if filters.at is None:
            today = now if known_at is None else known_at
            shown = current & (until > today) & (self.begins <= today)
        else:
            shown = (self.since <= filters.at) & (filters.at < until) & (current | (until < FOREVER))
        return self.doc[~(shown & (self.known <= moment))]

    def successor(self, doc: int, at: int | None, known_at: int | None = None) -> int | None:
        """The doc at the end of the supersession chain of a memory, as of the given times; None without a successor."""
        last: int | None = None
        seen = {doc}
        while (following := self.successors.get(doc)) is not None and following not in seen:
            index = int(np.searchsorted(self.doc, following))
            if (at is not None and self.since[index] > at) or (known_at is not None and self.known[index] > known_at):
                break
            last = doc = following
            seen.add(doc)
        return last

    def superseding(self, doc: int, at: int | None, known_at: int | None = None) -> list[int]:
        """The docs that superseded a memory, or all memories derived from a message; empty if any of them is still current.

        Memories with other sources do not count. Whether a message says more than its memories, the store knows.
        """
        memories = self._with_few_sources(doc, self.saying(doc))
        successors = [self.successor(memory, at, known_at) for memory in memories]
        if None in successors:
            return []
        return list(dict.fromkeys(s for s in successors if s is not None and s not in memories))

    def ended(self, doc: int, at: int | None, known_at: int | None = None) -> bool:
        """Whether a memory, or all memories derived from a message, ended for what is erased: they have no successor."""
        memories = self._with_few_sources(doc, self._statements(doc))
        unreplaced = [m for m in memories if m not in self.successors]
        indexes = np.searchsorted(self.doc, unreplaced)
        last, known_until = (FOREVER - 1 if time is None else time for time in (at, known_at))
        has_ended = (self.until[indexes] <= last) & (self.expired[indexes] <= known_until)
        return bool(has_ended.any()) and not (self.until[indexes] == FOREVER).any()

    def _with_few_sources(self, doc: int, derived: Sequence[int]) -> list[int]:
        """A memory itself, or those derived from a message that are on one statement."""
        return [doc] if self._is_memory(doc) else [m for m in derived if len(self.origins[m]) <= MAX_SOURCES]

    def saying(self, doc: int) -> list[int]:
        """The memories that say what a record says: those derived from it, but for one that took the place of another.

        One with a lifetime, such as the summary of a session, is not what somebody said.
        """
        memories = self._statements(doc)
        corrections = {self.successors[memory] for memory in memories if memory in self.successors}
        return [m for m in memories if m not in corrections and (m in self.successors or self._has_no_end(m))]

    def _statements(self, doc: int) -> list[int]:
        """The memories derived from a record that do not only follow from it."""
        return [memory for memory in self.derived.get(doc, ()) if memory not in self.unsaid]

    def _has_no_end(self, doc: int) -> bool:
        index = int(np.searchsorted(self.doc, doc))
        return index == len(self.doc) or int(self.until[index]) == FOREVER

    def _is_memory(self, doc: int) -> bool:
        index = int(np.searchsorted(self.doc, doc))
        return index < len(self.doc) and int(self.doc[index]) == doc

    def apply(self, delta: CatalogDelta) -> Validity:
        """A snapshot that includes a delta."""
        touched = {row[0] for row in delta.validity} | set(delta.touched)
        if not touched:
            return self
        rest = ~np.isin(self.doc, sorted(touched)) if len(self) else np.empty(0, np.bool_)
        columns = [column[rest] for column in (self.doc, self.since, self.until, self.expired, self.known, self.begins)]
        if delta.validity:
            columns = [np.append(old, new) for old, new in zip(columns, _columns(delta.validity), strict=True)]
        order = np.argsort(columns[0], kind="stable")
        doc, since, until, expired, known, begins = (column[order] for column in columns)
        successors = dict(self.successors)
        for memory in touched:
            successors.pop(memory, None)
        successors |= {row[0]: row[6] for row in delta.validity if row[6] is not None}
        origins = {row[0]: tuple(json.loads(row[5])) for row in delta.validity}
        unsaid = (self.unsaid - touched) | {row[0] for row in delta.validity if row[8] and origins[row[0]]}
        changed = {memory for memory in touched if self.origins.get(memory, ()) != origins.get(memory, ())}
        validity = replace(
            self, doc=doc, since=since, until=until, expired=expired, known=known, begins=begins, successors=successors,
            unsaid=unsaid,
        )  # fmt: skip
        return validity._with_origins(changed, origins) if changed else validity  # noqa: SLF001 - our own class

    def _with_origins(self, changed: Collection[int], new_origins: Mapping[int, Sequence[int]]) -> Validity:
        """A copy with new origins of some memories; the rest is shared."""
        origins, derived = dict(self.origins), dict(self.derived)
        for doc in sorted(changed):
            for parent in origins.pop(doc, ()):
                derived[parent] = [child for child in derived[parent] if child != doc]
                if not derived[parent]:
                    del derived[parent]
            if new_origins.get(doc):
                origins[doc] = new_origins[doc]
                for parent in new_origins[doc]:
                    derived[parent] = [*derived.get(parent, ()), doc]
        new_pairs = [(doc, parent) for doc in sorted(changed) for parent in new_origins.get(doc, ())]
        unchanged = ~np.isin(self.pairs[0], sorted(changed))
        pairs = np.hstack([self.pairs[:, unchanged], np.array(new_pairs, np.int64).reshape(-1, 2).T])
        return replace(self, origins=origins, derived=derived, pairs=pairs)


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[Times]:
    def times(index: int, default: int = FOREVER) -> Times:
        return np.array([default if row[index] is None else row[index] for row in rows], np.int64)

    return [*(times(index) for index in range(5)), times(7, -FOREVER)]


KINDS = {"message": 0, "episode": 1, "memory": 2}
STATUSES = {"short_term": 0, "consolidating": 1, "long_term": 2, "archived": 3, "quarantined": 3}
MINUTE, DAY = 60_000_000, 86_400_000_000  # in microseconds
EPOCH_DAY, LAST_DAY = 719_163, 3_652_059  # ordinals of 1 January 1970 and 31 December 9999
MEMO = 32  # values kept per snapshot; filters repeat often
AGENTS_SHARE = 0.2
"""Share of its turns from which agents make a conversation of several people one with an assistant."""
ASSISTANTS = ("assistant",)
"""Roles of an agent if the message has no name: a chat of two people is stored as user and assistant, too."""
LIVE = ("short_term", "consolidating", "long_term")

Value = TypeVar("Value")

_DTYPES: dict[str, Any] = {
    "doc": np.int64, "kind": np.int8, "status": np.int8, "group": np.int32, "session": np.int32, "project": np.int32,
    "time": np.int64, "label": np.int32, "speaker": np.int32, "length": np.float32,
    "traits": np.int32, "salience": np.float32, "boost": np.float32, "last_use": np.int64,
    "day": np.int64, "previous": np.int32, "following": np.int32,
}  # fmt: skip

_SAME = ("doc", "time", "length", "traits", "salience", "boost", "last_use")
"""The columns that come from the store as they are."""
_CHAINING = frozenset(("kind", "status", "group", "time"))
"""The columns that determine the order of turns."""


class Codes(Generic[Value]):
    """Codes of values, in order of first use; 0 is None."""

    def __init__(self) -> None:
        self._code: dict[Value | None, int] = {None: 0}

    def encode(self, values: Sequence[Value | None]) -> list[int]:
        """The codes of values, adding new ones."""
        code = self._code
        for value in dict.fromkeys(values):
            code.setdefault(value, len(code))
        return list(map(code.__getitem__, values))

    def get(self, value: Value | None) -> int:
        """The code of a value; -1 if it has none."""
        return self._code.get(value, -1)

    def items(self) -> list[tuple[Value, int]]:
        """Every value with its code."""
        return [(value, code) for value, code in list(self._code.items()) if value is not None]

    def __len__(self) -> int:
        return len(self._code)


@dataclass(frozen=True, slots=True)
class Names:
    """The codes behind the columns: sessions, projects, speakers, labels (roles and types), conversations."""

    session: Codes[str] = field(default_factory=Codes[str])
    project: Codes[str] = field(default_factory=Codes[str])
    speaker: Codes[str] = field(default_factory=Codes[str])
    label: Codes[str] = field(default_factory=Codes[str])
    group: Codes[int] = field(default_factory=Codes[int])


def _recode(column: Coded, numbers: Callable[[Sequence[str | None]], Sequence[int]]) -> NDArray[np.int32]:
    """A coded column with other codes."""
    return np.array(numbers(column.words), np.int32)[column.codes]


@lru_cache(maxsize=16_384)
def _periods(text: str) -> tuple[tuple[int, int], ...]:
    return tuple((start, end) for start, end in json.loads(text))


def _among(column: NDArray[np.int8], codes: Iterable[int]) -> NDArray[np.bool_]:
    """Membership of small codes by table look-up, ten times faster than np.isin."""
    table = np.zeros(len(STATUSES) + 1, np.bool_)
    table[list(codes)] = True
    return table[column]


@dataclass(frozen=True, slots=True)
class Columns:
    """A snapshot: arrays of the same length, one entry per record, ascending by ``doc``.

    ``previous`` and ``following`` are the rows of the neighbouring turns of the same conversation, -1 for none.
    ``periods`` maps docs to the dates that a text mentions, as JSON; ``periods_of`` parses them.
    """

    doc: NDArray[np.int64]
    kind: NDArray[np.int8]
    status: NDArray[np.int8]
    group: NDArray[np.int32]
    session: NDArray[np.int32]
    project: NDArray[np.int32]
    time: NDArray[np.int64]
    label: NDArray[np.int32]
    speaker: NDArray[np.int32]
    length: NDArray[np.float32]
    traits: NDArray[np.int32]
    salience: NDArray[np.float32]
    boost: NDArray[np.float32]
    last_use: NDArray[np.int64]
    day: NDArray[np.int64]
    previous: NDArray[np.int32]
    following: NDArray[np.int32]
    version: int
    names: Names = field(repr=False)
    groups: int = 0
    memo: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any], repr=False)
    periods: Mapping[int, str] = field(default_factory=dict[int, str], repr=False)
    validity: Validity = field(default_factory=Validity, repr=False)

    def __len__(self) -> int:
        return len(self.doc)

    def rows_of(self, docs: Sequence[int] | NDArray[np.int64]) -> NDArray[np.intp]:
        """The rows of docs; unknown docs are left out."""
        targets = np.asarray(docs, dtype=np.int64)
        rows = np.searchsorted(self.doc, targets)
        rows[rows == len(self.doc)] = 0
        return rows[self.doc[rows] == targets] if len(self.doc) else rows[:0]

    def periods_of(self, doc: int) -> Sequence[tuple[int, int]]:
        """The periods that a text mentions, as (start, end) ordinals of days; parsed on demand."""
        text = self.periods.get(doc)
        return _periods(text) if text else ()

    def cached(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """A read-only value worked out once per snapshot."""
        value = self.memo.get(key)
        if value is None:
            if len(self.memo) > MEMO:
                self.memo.clear()
            value = self.memo[key] = make()
        return value

    def padded(self, name: str) -> NDArray[Any]:
        """A column with one more entry, the value for row -1 (no turn). Read-only."""
        return self.cached(("padded", name), lambda: self._padded(name))

    def _padded(self, name: str) -> NDArray[Any]:
        column: NDArray[Any] = getattr(self, name)
        if name in ("previous", "following"):  # turns after this snapshot are left out
            column = column.copy()  # a turn that comes in meanwhile is linked from one of these
            return np.append(np.where(column < len(self), column, np.int32(-1)), np.int32(-1))
        return np.append(column, column.dtype.type(0))

    @property
    def agents(self) -> NDArray[np.bool_]:
        """Mask of messages of an unnamed assistant, a tool, the system or a document. Read-only."""
        return self.cached("agents", self._agents)

    def _agents(self) -> NDArray[np.bool_]:
        nameless = self.has_role(ASSISTANTS) & (self.speaker == 0)
        return (nameless | self.has_role(SILENT_ROLES)) & (self.kind == KINDS["message"])

    @property
    def documents(self) -> NDArray[np.bool_]:
        """Mask of pieces of documents. Read-only."""
        return self.cached("documents", lambda: self.has_role(("document",)) & (self.kind == KINDS["message"]))

    def has_role(self, roles: Sequence[str]) -> NDArray[np.bool_]:
        """Mask of the records of one of the roles."""
        table = np.zeros(len(self.names.label), np.bool_)
        table[[code for role in roles if (code := self.names.label.get(role)) >= 0]] = True
        return table[self.label]

    @property
    def assisted(self) -> NDArray[np.bool_]:
        """(groups,) whether agents say ``AGENTS_SHARE`` of a conversation, or anything to a person alone.

        Where one person speaks and no agent, and in entry 0, no conversation: whether most other turns are in such ones.
        """
        return self.cached("assisted", self._assisted)

    def _assisted(self) -> NDArray[np.bool_]:
        turns = np.bincount(self.group, minlength=self.groups)
        by_agents = np.bincount(self.group[self.agents], minlength=self.groups)
        assisted = (by_agents > 0) & (self.one_person | (by_agents >= AGENTS_SHARE * turns))
        alone = self.one_person & (by_agents == 0)
        turns[alone] = 0
        assisted[0] = turns[1:][assisted[1:]].sum() * 2 > turns[1:].sum()
        return assisted | (alone & assisted[0])

    @property
    def one_person(self) -> NDArray[np.bool_]:
        """(groups,) whether at most one person speaks in a conversation. Read-only."""
        return self.cached("one person", self._one_person)

    def _one_person(self) -> NDArray[np.bool_]:
        group, speaker = self.group[~self.agents], self.speaker[~self.agents]
        lowest, highest = np.full(self.groups, len(self), np.int64), np.zeros(self.groups, np.int64)
        np.minimum.at(lowest, group, speaker)
        np.maximum.at(highest, group, speaker)
        return lowest >= highest

    def derived(self) -> NDArray[np.intp]:
        """(2, n) rows of memories and the sources that say the same, one column per pair. Read-only."""
        return self.cached("derived", self._derived)

    def _derived(self) -> NDArray[np.intp]:
        docs, origins, unsaid = self.validity.pairs, self.validity.origins, self.validity.unsaid
        if unsaid:
            docs = docs[:, ~np.isin(docs[0], sorted(unsaid))]
        corrected = {(new, parent) for old, new in self.validity.successors.items() for parent in origins.get(old, ())}
        if corrected:
            docs = docs[:, [(child, parent) not in corrected for child, parent in docs.T.tolist()]]
        rows = np.minimum(np.searchsorted(self.doc, docs), max(len(self) - 1, 0))
        return rows[:, (self.doc[rows] == docs).all(axis=0)] if len(self) else rows[:, :0]

    @property
    def abridged(self) -> frozenset[int]:
        """Docs of the sources of memories that are archived or have an end: something they say may be forgotten or ended."""
        v = self.validity
        return self.cached(
            "abridged", lambda: self.forgotten | self._sources(v.doc[np.minimum(v.expired, v.until) < FOREVER])
        )

    @property
    def forgotten(self) -> frozenset[int]:
        """Docs of the sources of archived memories: something they say may be forgotten."""
        return self.cached("forgotten", lambda: self._sources(self.doc[self.status == STATUSES["archived"]]))

    def _sources(self, docs: NDArray[np.int64]) -> frozenset[int]:
        child, parent = self.validity.pairs[0], self.validity.pairs[1]
        return frozenset(parent[np.isin(child, docs)].tolist())

    def mask(self, filters: RecordFilter) -> NDArray[np.bool_]:
        """Mask of rows that match the filters, except those that the store looks up; see ``RecordFilter.without_stored``."""
        key = replace(filters.without_stored(), exclude=(), known_at=None, expired=False)
        return self.cached(key, lambda: self._mask(filters)).copy()

    def _mask(self, filters: RecordFilter) -> NDArray[np.bool_]:
        statuses = filters.status if filters.status is not None else LIVE
        mask = _among(self.kind, (KINDS[kind] for kind in filters.kinds))
        mask &= _among(self.status, (STATUSES[status] for status in statuses))
        mask &= self._reach_mask(filters)
        if filters.in_session is not None:
            mask &= self.session == self.names.session.get(filters.in_session)
        if filters.role is not None:
            mask &= (self.kind == KINDS["message"]) & (self.label == self.names.label.get(filters.role))
        if filters.types is not None:
            mask &= self.kind == KINDS["memory"]
            mask &= np.isin(self.label, [self.names.label.get(name) for name in filters.types])
        if filters.since is not None:
            mask &= self.time >= filters.since
        if filters.until is not None:
            mask &= self.time < filters.until
        if filters.at is not None:
            mask &= (self.kind == KINDS["memory"]) | (self.time <= filters.at)
        return mask

    def _reach_mask(self, filters: RecordFilter) -> NDArray[np.bool_]:
        """Mask of rows within reach: memories of a session only in it, records of a project according to ``reach``."""
        here = self.session == self.names.session.get(filters.session)
        anywhere = (self.kind != KINDS["memory"]) | (self.session == 0) | here
        mask = here if filters.reach == "session" else anywhere
        project = self.names.project.get(filters.project)
        if filters.reach == "project":
            mask &= self.project == project
        elif filters.reach != "user" and filters.project is not None:
            mask &= (self.project == project) | (self.project == 0)
        return mask


class Catalog:
    """The columns of one user, grown in place. Not thread-safe: callers lock around ``apply`` and ``snapshot``."""

    def __init__(self) -> None:
        self._size = 0
        self._version = 0
        self._columns: dict[str, NDArray[Any]] = {name: np.empty(0, dtype) for name, dtype in _DTYPES.items()}
        self._names = Names()
        self._validity = Validity()
        self._last_of: dict[int, int] = {}
        self._memo: dict[Hashable, Any] = {}
        self._periods: dict[int, str] = {}
        self.event = -1
        self.moment = 0

    @property
    def last_doc(self) -> int:
        """The highest doc; -1 if empty."""
        return int(self._columns["doc"][self._size - 1]) if self._size else -1

    @property
    def size(self) -> int:
        """The number of rows, including erased ones."""
        return self._size

    def snapshot(self) -> Columns:
        """The current columns; later changes do not affect the snapshot."""
        n = self._size
        views = {name: column[:n] for name, column in self._columns.items()}
        return Columns(
            **views,
            version=self._version,
            names=self._names,
            groups=len(self._names.group),
            periods=self._periods,
            memo=self._memo,
            validity=self._validity,
        )

    def apply(self, delta: CatalogDelta) -> None:
        """Apply the changes of the store since ``self.event``."""
        self._mark_erased(delta)
        if delta.rows:
            self._upsert(delta.rows)
        self._validity = self._validity.apply(delta)
        if delta.rows or delta.touched or delta.reembedded:
            self._version += 1
            self._memo = {}
        self.event, self.moment = delta.event, delta.moment

    def _upsert(self, rows: CatalogRows) -> None:
        """Append new rows, and replace existing ones."""
        changed = int(np.searchsorted(rows.doc, self.last_doc, "right"))
        for doc in rows.doc[:changed].tolist():
            self._periods.pop(doc, None)
        self._periods.update(rows.periods)
        encoded = self._encode(rows)
        if changed:
            self._replace({name: column[:changed] for name, column in encoded.items()})
        if changed < len(rows):
            self._append({name: column[changed:] for name, column in encoded.items()})

    def _encode(self, rows: CatalogRows) -> dict[str, NDArray[Any]]:
        names = self._names
        days = (rows.moment + rows.offset * MINUTE) // DAY + EPOCH_DAY
        columns = {
            **{name: getattr(rows, name) for name in _SAME},
            "kind": _recode(rows.kind, lambda words: [KINDS[str(word)] for word in words]),
            "status": _recode(rows.status, lambda words: [STATUSES[str(word)] for word in words]),
            "session": _recode(rows.session, names.session.encode),
            "project": _recode(rows.project, names.project.encode),
            "label": _recode(rows.label, names.label.encode),
            "speaker": _recode(
                rows.speaker, lambda words: names.speaker.encode([word and word.casefold() for word in words])
            ),
            "day": np.clip(days, 1, LAST_DAY),
        }
        columns["group"] = self._conversations(columns)
        return columns

    def _conversations(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int32]:
        """Codes of conversations (pairs of project and session); 0 for records that are not messages."""
        pairs = columns["project"].astype(np.int64) << 32 | columns["session"]
        distinct, inverse = np.unique(pairs, return_inverse=True)
        codes = np.array(self._names.group.encode(distinct.tolist()), np.int32)
        return np.where(columns["kind"] == KINDS["message"], codes[inverse], 0).astype(np.int32)

    def _append(self, encoded: Mapping[str, NDArray[Any]]) -> None:
        start, end = self._size, self._size + len(encoded["doc"])
        self._reserve(end)
        for name, values in encoded.items():
            self._columns[name][start:end] = values
        self._columns["previous"][start:end] = -1
        self._columns["following"][start:end] = -1
        self._size = end
        if end - start > 64 or not self._link(start, end):
            self._link_all()

    def _reserve(self, size: int) -> None:
        capacity = len(self._columns["doc"])
        if size <= capacity:
            return
        grown = max(size, capacity + capacity // 4, 64)
        for name, column in self._columns.items():
            bigger = np.empty(grown, column.dtype)
            bigger[: self._size] = column[: self._size]
            self._columns[name] = bigger

    def _link(self, start: int, end: int) -> bool:
        """Link new turns to the last ones of their conversations; False if a turn is older than the last one."""
        c = self._columns
        for row in range(start, end):
            if c["kind"][row] != KINDS["message"] or c["status"][row] == STATUSES["archived"]:
                continue
            group = int(c["group"][row])
            last = self._last_of.get(group, -1)
            if last >= 0:
                if c["time"][last] > c["time"][row]:
                    return False
                c["following"][last] = row
            c["previous"][row] = last
            self._last_of[group] = row
        return True

    def _link_all(self) -> None:
        """Link all turns of each conversation by time, in new arrays: snapshots use the old ones."""
        n, c = self._size, self._columns
        turns = np.flatnonzero((c["kind"][:n] == KINDS["message"]) & (c["status"][:n] != STATUSES["archived"]))
        order = turns[np.lexsort((turns, c["time"][turns], c["group"][turns]))]
        together = c["group"][order[1:]] == c["group"][order[:-1]]
        for name, here, there in (("previous", order[1:], order[:-1]), ("following", order[:-1], order[1:])):
            column = np.full(len(c[name]), -1, np.int32)
            column[here[together]] = there[together]
            c[name] = column
        ends = np.append(~together, True)[: len(order)]
        self._last_of = {int(c["group"][row]): int(row) for row in order[ends]}

    def _replace(self, encoded: Mapping[str, NDArray[Any]]) -> None:
        """Replace changed rows in copies of the columns, so that snapshots stay as they are.

        Unchanged columns are not copied; turns are linked again only if one moved.
        """
        c = self._columns
        rows = np.searchsorted(c["doc"][: self._size], encoded["doc"])
        moved = False
        for name, values in encoded.items():
            changed = c[name][rows] != values
            if not changed.any():
                continue
            if name in _CHAINING:
                moved |= bool((changed & (c["kind"][rows] == KINDS["message"])).any())
            column = c[name].copy()
            column[rows] = values
            c[name] = column
        if moved:
            self._link_all()

    def _mark_erased(self, delta: CatalogDelta) -> None:
        """Mark the rows of erased records as archived; rows are never removed, so that row numbers stay valid."""
        erased = set(delta.touched) - set(delta.rows.doc.tolist() if delta.rows else ())
        column = self._columns["doc"][: self._size]
        if len(docs := column[np.isin(column, sorted(erased))] if erased else column[:0]):
            self._replace({"doc": docs, "status": np.full(len(docs), STATUSES["archived"], np.int8)})
