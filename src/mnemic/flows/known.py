"""What is known at one level, at hand while new statements are compared with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.flows.engine import Engine, View
from mnemic.indexes.catalog import KINDS, STATUSES
from mnemic.types import MemoryRecord
from mnemic.vectors import base_cosine, dot

__all__ = ["Known", "Neighbours", "base_of"]

Vector = NDArray[np.float32]
Neighbours = tuple[list[MemoryRecord], NDArray[np.float32] | None]
"""Memories and their vectors, shape (n, dimension); rows of NaN for those without one."""

SAMPLE = 64
"""Records that are compared to see how alike an embedder holds any two."""
LATE = 512
"""Memories kept beside the snapshot before a new one is taken."""


def base_of(view: View) -> float:
    """The cosine that a user's records have when they have nothing to do with each other."""
    if not len(view.columns) or not view.vectors.dimension:
        return 0.0
    key = ("base", view.model)
    base = view.columns.memo.get(key)
    if base is None:
        rows = np.unique(np.linspace(0, len(view.columns) - 1, SAMPLE).astype(np.intp))
        base = view.columns.memo[key] = np.array(base_cosine(view.vectors.of(rows)))
    return float(base)


class Known:
    """The live memories of one user at one level (a project, or None), with those that were just made.

    Args:
        engine: where they are.
        user: whose they are.
        project: their level.

    Attributes:
        base: cosine of records that have nothing to do with each other.
    """

    base: float

    def __init__(self, engine: Engine, user: str, project: str | None) -> None:
        self._engine, self._user, self._project = engine, user, project
        self._records: dict[int, MemoryRecord] = {}
        self._look()

    def _look(self) -> None:
        """Take a snapshot of what is stored."""
        self._late: dict[str, tuple[MemoryRecord, Vector | None]] = {}
        self._late_ids: list[str] = []
        self._late_matrix = np.empty((0, 0), np.float32)
        self._late_in: dict[str, list[str]] = {}
        self._ended: dict[str, datetime] = {}
        self._revised: dict[str, MemoryRecord] = {}
        self._view = view = self._engine.view(self._user)
        self._docs = np.empty(0, np.int64)
        self._matrix = np.empty((0, 0), np.float32)
        self.base = 0.0 if view is None else base_of(view)
        if view is None:
            return
        c = view.columns
        here = (c.kind == KINDS["memory"]) & (c.status != STATUSES["archived"]) & (c.session == 0)
        here &= c.project == c.names.project.get(self._project)
        self._docs = c.doc[here]
        self._matrix = view.vectors.of(here)

    def near(self, vectors: Sequence[Vector | None], slots: Sequence[Iterable[str]], most: int) -> list[Neighbours]:
        """For each statement the memories most like it, and all that state something of the same slots."""
        return [self._near(vector, set(wanted), most) for vector, wanted in zip(vectors, slots, strict=True)]

    def _near(self, vector: Vector | None, slots: set[str], most: int) -> Neighbours:
        found: dict[str, tuple[MemoryRecord, Vector | None]] = {}
        if vector is not None:
            for record, own in (*self._stored_near(vector, most), *self._late_near(vector, most)):
                found[record.id] = (record, own)
        elif not slots:
            found |= dict(list(self._late.items())[-most:])
        if slots:
            found |= self._of_slots(slots, set(found))
        records = [self._now(record) for record, _ in found.values()]
        vectors = [own for _, own in found.values()]
        if vector is None or not records:
            return records, None
        blank = np.full(len(vector), np.nan, np.float32)
        return records, np.stack([blank if own is None else own for own in vectors])

    def _stored_near(self, vector: Vector, most: int) -> list[tuple[MemoryRecord, Vector | None]]:
        if not self._matrix.size or self._matrix.shape[1] != len(vector):
            return []
        cosines = dot(self._matrix, vector)
        best = np.argpartition(-cosines, min(most, len(cosines) - 1))[:most]
        best = best[np.lexsort((best, -cosines[best]))]
        records = self._fetched([int(doc) for doc in self._docs[best]])
        return [(records[int(self._docs[i])], self._matrix[i]) for i in best if int(self._docs[i]) in records]

    def _late_near(self, vector: Vector, most: int) -> list[tuple[MemoryRecord, Vector | None]]:
        if not self._late_ids or self._late_matrix.shape[1] != len(vector):
            return []
        cosines = dot(self._late_matrix[: len(self._late_ids)], vector)
        return [self._late[self._late_ids[i]] for i in np.argsort(-cosines, kind="stable")[:most]]

    def _fetched(self, docs: Sequence[int]) -> dict[int, MemoryRecord]:
        missing = [doc for doc in docs if doc not in self._records]
        if missing and self._view is not None:
            for doc, stored in self._engine.store.fetch(self._view.user, missing).items():
                if isinstance(stored.value, MemoryRecord):
                    self._records[doc] = stored.value
        return {doc: self._records[doc] for doc in docs if doc in self._records}

    def _of_slots(self, slots: set[str], held: set[str]) -> dict[str, tuple[MemoryRecord, Vector | None]]:
        ids = [id_ for id_ in self._engine.store.knowledge.in_slots(self._user, slots) if id_ not in held]
        vectors = self._engine.store.knowledge.vectors(self._user, ids) if ids else {}
        late = [id_ for slot in sorted(slots) for id_ in self._late_in.get(slot, ())]
        found = {id_: self._late[id_] for id_ in late if id_ not in held}
        stored = self._engine.store.knowledge.records(self._user, [id_ for id_ in ids if id_ not in found])
        for id_, record in stored.items():
            if isinstance(record, MemoryRecord) and record.project == self._project and record.session is None:
                found[id_] = (record, vectors.get(id_))
        return found

    def _now(self, record: MemoryRecord) -> MemoryRecord:
        """The record as it is after what was decided since the snapshot."""
        record = self._revised.get(record.id, record)
        ended = self._ended.get(record.id)
        return record if ended is None else replace(record, expired_at=ended)

    def learn(self, record: MemoryRecord, vector: Vector | None, slots: Iterable[str]) -> None:
        """A memory that is about to be stored."""
        fits = vector is not None and (not self._late_ids or self._late_matrix.shape[1] == len(vector))
        if fits and vector is not None and record.id not in self._late:
            self._stack(record.id, vector)
        self._late[record.id] = (record, vector)
        for slot in slots:
            self._late_in.setdefault(slot, []).append(record.id)

    def _stack(self, id_: str, vector: Vector) -> None:
        """The matrix of what is learned grows to twice its size: to make it anew for each of thousands would take minutes."""
        count = len(self._late_ids)
        if count == len(self._late_matrix):
            grown = np.zeros((max(64, 2 * count), len(vector)), np.float32)
            if count:
                grown[:count] = self._late_matrix
            self._late_matrix = grown
        self._late_matrix[count] = vector
        self._late_ids.append(id_)

    def twin(self, spoken: str, twins: Mapping[str, str]) -> MemoryRecord | None:
        """The memory that is believed and says the same, word for word, after what was decided since the snapshot.

        Args:
            spoken: the statement, with its speaker's name.
            twins: ids of statements that the store believes, by their words.
        """
        for record, _ in self._late.values():
            if record.spoken == spoken and record.id not in self._ended:
                return record
        stored = twins.get(spoken)
        if stored is None or stored in self._ended:
            return None
        if stored in self._revised:
            return self._revised[stored]
        record = self._engine.store.get(self._user, stored).value
        return record if isinstance(record, MemoryRecord) else None

    def revise(self, record: MemoryRecord) -> None:
        """The next version of a memory, as it is about to be stored."""
        if record.id in self._late:
            self._late[record.id] = (record, self._late[record.id][1])
        else:
            self._revised[record.id] = record

    def end(self, id: str, moment: datetime) -> None:
        """A memory that was replaced."""
        self._ended[id] = moment

    def settle(self) -> None:
        """What was learned is stored: take a new snapshot when there is much of it."""
        if len(self._late) > LATE:
            self._look()
            self._records.clear()

    def discard(self) -> None:
        """What was learned was not stored: forget it."""
        self._look()
        self._records.clear()
