"""Snapshot of the known memories at one level, for comparison with new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic import recall
from mnemic.indexes.catalog import FOREVER, KINDS, STATUSES
from mnemic.runtime.runtime import Runtime
from mnemic.types import MemoryRecord
from mnemic.vectors import dot, eased

Vector = NDArray[np.float32]
Neighbours = tuple[list[MemoryRecord], NDArray[np.float64] | None]
"""Memories and their cosines with another one, shape (n,), as the default embedder would give them; None without vectors."""

DIGITS = 3
"""Significant digits of a cosine, given the precision of stored vectors."""
MAX_ADDED = 512
"""Memories added before the snapshot is reloaded."""


class Snapshot:
    """The unarchived memories of one user at one level, including those about to be stored.

    Args:
        runtime: gives access to the store.
        user: the owner.
        project: their project, or None.
        session: their session, or None for those of the whole level.

    Attributes:
        base: typical cosine of unrelated records.
    """

    base: float

    def __init__(self, runtime: Runtime, user: str, project: str | None, session: str | None = None) -> None:
        self._runtime, self._user, self._project, self._session = runtime, user, project, session
        self._records: dict[int, MemoryRecord] = {}
        self._load()

    def _load(self) -> None:
        """Load the stored state."""
        self._added: dict[str, tuple[MemoryRecord, Vector | None]] = {}
        self._added_ids: list[str] = []
        self._added_matrix = np.empty((0, 0), np.float32)
        self._ended: dict[str, datetime] = {}
        self._revised: dict[str, MemoryRecord] = {}
        self._view = view = self._runtime.views.of(self._user)
        self._live_rows = self._ended_rows = np.empty(0, np.bool_)
        self.base = 0.0 if view is None else view.base
        if view is None:
            return
        c = view.columns
        here = (c.kind == KINDS["memory"]) & (c.status != STATUSES["archived"])
        here &= c.project == c.names.project.get(self._project)
        here &= c.session == c.names.session.get(self._session)
        ended = np.zeros(len(c), np.bool_)
        ended[c.rows_of(c.validity.doc[c.validity.expired < FOREVER])] = True
        self._live_rows, self._ended_rows = here & ~ended, here & ended

    def nearest(self, vector: Vector | None, most: int) -> Neighbours:
        """The nearest believed memories, nearest first, then as many ended ones.

        Stored memories and those about to be stored are treated alike, so that an interrupted run gives the same
        result. Without a vector: those added last.
        """
        if vector is None:
            return [self._current(record) for record, _ in list(self._added.values())[-most:]], None
        more = most + len(self._ended)  # some of the live rows have ended since
        found = {
            record.id: (self._current(record), round(cosine, DIGITS))
            for record, cosine in (
                *self._nearest_stored(vector, self._live_rows, more),
                *self._nearest_stored(vector, self._ended_rows, most),
                *self._nearest_added(vector, more),
            )
        }
        order = sorted(found.values(), key=lambda pair: (-pair[1], pair[0].id))
        live = [pair for pair in order if pair[0].expired_at is None][:most]
        over = [pair for pair in order if pair[0].expired_at is not None][:most]
        cosines = np.array([cosine for _, cosine in (*live, *over)], np.float64)
        return [record for record, _ in (*live, *over)], eased(cosines, self.base)

    def _nearest_stored(self, vector: Vector, among: NDArray[np.bool_], most: int) -> list[tuple[MemoryRecord, float]]:
        view = self._view
        if view is None or view.vectors.dimension != len(vector) or not among.any():
            return []
        cosines = view.vectors.cosines([vector], plain=True)
        cosines.settle(among)
        rows = recall.top(cosines.values, among, most, above=-1.0)
        docs = [int(doc) for doc in view.columns.doc[rows]]
        records = self._fetched(docs)
        return [
            (records[doc], float(cosines.values[row])) for doc, row in zip(docs, rows, strict=True) if doc in records
        ]

    def _nearest_added(self, vector: Vector, most: int) -> list[tuple[MemoryRecord, float]]:
        if not self._added_ids or self._added_matrix.shape[1] != len(vector):
            return []
        cosines = dot(self._added_matrix[: len(self._added_ids)], vector)
        return [
            (self._added[self._added_ids[i]][0], float(cosines[i])) for i in np.argsort(-cosines, kind="stable")[:most]
        ]

    def _fetched(self, docs: Sequence[int]) -> dict[int, MemoryRecord]:
        missing = [doc for doc in docs if doc not in self._records]
        if missing and self._view is not None:
            for doc, stored in self._runtime.store.fetch(self._view.user, missing).items():
                if isinstance(stored.value, MemoryRecord):
                    self._records[doc] = stored.value
        return {doc: self._records[doc] for doc in docs if doc in self._records}

    def _current(self, record: MemoryRecord) -> MemoryRecord:
        """The record with the changes decided since the snapshot."""
        record = self._revised.get(record.id, record)
        ended = self._ended.get(record.id)
        return record if ended is None else replace(record, expired_at=ended)

    def add(self, record: MemoryRecord, vector: Vector | None) -> None:
        """Add a memory that is about to be stored."""
        fits = vector is not None and (not self._added_ids or self._added_matrix.shape[1] == len(vector))
        if fits and vector is not None and record.id not in self._added:
            self._stack(record.id, vector)
        self._added[record.id] = (record, vector)

    def _stack(self, id_: str, vector: Vector) -> None:
        """Append a vector; the matrix doubles as it grows, to avoid a copy per memory."""
        count = len(self._added_ids)
        if count == len(self._added_matrix):
            grown = np.zeros((max(64, 2 * count), len(vector)), np.float32)
            if count:
                grown[:count] = self._added_matrix
            self._added_matrix = grown
        self._added_matrix[count] = vector
        self._added_ids.append(id_)

    def twin(self, spoken: str, twins: Mapping[str, str]) -> MemoryRecord | None:
        """The believed memory with the same words, with the changes since the snapshot.

        Args:
            spoken: the statement with its speaker's name.
            twins: ids of believed stored statements by their words.
        """
        for record, _ in self._added.values():
            if record.spoken == spoken and record.id not in self._ended:
                return record
        stored = twins.get(spoken)
        if stored is None or stored in self._ended:
            return None
        if stored in self._revised:
            return self._revised[stored]
        record = self._runtime.store.get(self._user, stored).value
        return record if isinstance(record, MemoryRecord) else None

    def revise(self, record: MemoryRecord) -> None:
        """Note the next version of a memory that is about to be stored."""
        if record.id in self._added:
            self._added[record.id] = (record, self._added[record.id][1])
        else:
            self._revised[record.id] = record

    def mark_ended(self, id: str, moment: datetime) -> None:
        """Note that a memory was superseded."""
        self._ended[id] = moment

    def commit(self) -> None:
        """The added memories are stored: reload the snapshot if there are many."""
        if len(self._added) > MAX_ADDED:
            self.reload()

    def reload(self) -> None:
        """Drop the added memories and load the stored state."""
        self._load()
        self._records.clear()
