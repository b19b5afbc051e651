"""What is known at one level, at hand while new memories are compared with it."""

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

__all__ = ["Neighbours", "Snapshot"]

Vector = NDArray[np.float32]
Neighbours = tuple[list[MemoryRecord], NDArray[np.float64] | None]
"""Memories and their cosines with another one, shape (n,), as the default embedder would give them; None without vectors."""

DIGITS = 3
"""Digits of a cosine that count: a vector that is stored has lost the others."""
LATE = 512
"""Memories kept beside the snapshot before a new one is taken."""


class Snapshot:
    """The memories of one user at one level that are not archived, with those that were just made.

    Args:
        runtime: where they are.
        user: whose they are.
        project: their project, or None.
        session: their session, or None for those of the whole level.

    Attributes:
        base: cosine of records that have nothing to do with each other.
    """

    base: float

    def __init__(self, runtime: Runtime, user: str, project: str | None, session: str | None = None) -> None:
        self._runtime, self._user, self._project, self._session = runtime, user, project, session
        self._records: dict[int, MemoryRecord] = {}
        self._take()

    def _take(self) -> None:
        """See what is stored now."""
        self._late: dict[str, tuple[MemoryRecord, Vector | None]] = {}
        self._late_ids: list[str] = []
        self._late_matrix = np.empty((0, 0), np.float32)
        self._ended: dict[str, datetime] = {}
        self._revised: dict[str, MemoryRecord] = {}
        self._view = view = self._runtime.views.of(self._user)
        self._live = self._over = np.empty(0, np.bool_)
        self.base = 0.0 if view is None else view.base
        if view is None:
            return
        c = view.columns
        here = (c.kind == KINDS["memory"]) & (c.status != STATUSES["archived"])
        here &= c.project == c.names.project.get(self._project)
        here &= c.session == c.names.session.get(self._session)
        ended = np.zeros(len(c), np.bool_)
        ended[c.rows_of(c.beliefs.doc[c.beliefs.expired < FOREVER])] = True
        self._live, self._over = here & ~ended, here & ended

    def near(self, vector: Vector | None, most: int) -> Neighbours:
        """The believed memories most like one, the nearest first, and as many that have ended.

        The same whether they are stored or about to be, so that a run that was interrupted ends as one that was not. Without a
        vector: those made last.
        """
        if vector is None:
            return [self._now(record) for record, _ in list(self._late.values())[-most:]], None
        more = most + len(self._ended)  # those that ended since count among the ended
        found = {
            record.id: (self._now(record), round(cosine, DIGITS))
            for record, cosine in (
                *self._stored_near(vector, self._live, more),
                *self._stored_near(vector, self._over, most),
                *self._late_near(vector, more),
            )
        }
        order = sorted(found.values(), key=lambda pair: (-pair[1], pair[0].id))
        live = [pair for pair in order if pair[0].expired_at is None][:most]
        over = [pair for pair in order if pair[0].expired_at is not None][:most]
        cosines = np.array([cosine for _, cosine in (*live, *over)], np.float64)
        return [record for record, _ in (*live, *over)], eased(cosines, self.base)

    def _stored_near(self, vector: Vector, among: NDArray[np.bool_], most: int) -> list[tuple[MemoryRecord, float]]:
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

    def _late_near(self, vector: Vector, most: int) -> list[tuple[MemoryRecord, float]]:
        if not self._late_ids or self._late_matrix.shape[1] != len(vector):
            return []
        cosines = dot(self._late_matrix[: len(self._late_ids)], vector)
        return [
            (self._late[self._late_ids[i]][0], float(cosines[i])) for i in np.argsort(-cosines, kind="stable")[:most]
        ]

    def _fetched(self, docs: Sequence[int]) -> dict[int, MemoryRecord]:
        missing = [doc for doc in docs if doc not in self._records]
        if missing and self._view is not None:
            for doc, stored in self._runtime.store.fetch(self._view.user, missing).items():
                if isinstance(stored.value, MemoryRecord):
                    self._records[doc] = stored.value
        return {doc: self._records[doc] for doc in docs if doc in self._records}

    def _now(self, record: MemoryRecord) -> MemoryRecord:
        """The record as it is after what was decided since the snapshot."""
        record = self._revised.get(record.id, record)
        ended = self._ended.get(record.id)
        return record if ended is None else replace(record, expired_at=ended)

    def learn(self, record: MemoryRecord, vector: Vector | None) -> None:
        """A memory that is about to be stored."""
        fits = vector is not None and (not self._late_ids or self._late_matrix.shape[1] == len(vector))
        if fits and vector is not None and record.id not in self._late:
            self._stack(record.id, vector)
        self._late[record.id] = (record, vector)

    def _stack(self, id_: str, vector: Vector) -> None:
        """The matrix of what is learned doubles as it grows: to copy it for each of thousands would take minutes."""
        count = len(self._late_ids)
        if count == len(self._late_matrix):
            grown = np.zeros((max(64, 2 * count), len(vector)), np.float32)
            if count:
                grown[:count] = self._late_matrix
            self._late_matrix = grown
        self._late_matrix[count] = vector
        self._late_ids.append(id_)

    def twin(self, spoken: str, twins: Mapping[str, str]) -> MemoryRecord | None:
        """The believed memory with the same words, after what was decided since the snapshot.

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
        record = self._runtime.store.get(self._user, stored).value
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
            self.discard()

    def discard(self) -> None:
        """What was learned was not stored, or is no longer needed: see what is stored now."""
        self._take()
        self._records.clear()
