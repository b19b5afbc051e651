"""The memories that consolidation weighs, kept between two cycles: a cycle touches fifty of a hundred thousand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.services.process import process_lock
from mnemic.stores.sql import reading
from mnemic.stores.sql.connection import Connection
from mnemic.text.clock import now, to_micros
from mnemic.types import Candidates

__all__ = ["Weighing"]

LATE = 60_000_000
"""Microseconds by which a use may be written down after its moment; a writer waits half as long at most."""

# What has a lifetime is never kept for good, and takes nothing with it; the value of a key is nobody else's.
_CANDIDATES = """SELECT m.doc, m.status != 'long_term', m.salience, m.importance, m.pinned, m.created_at,
    coalesce(a.count, 0), coalesce(a.last_at, 0), coalesce(m.arousal * m.emotion_confidence, 0.0),
    CASE WHEN m.updated_at > j.at THEN 0 ELSE coalesce(j.at, 0) END, m.trust,
    CASE WHEN m.category = 'preference' AND {} THEN 1 ELSE 0 END
    FROM memories m LEFT JOIN access a ON a.doc = m.doc LEFT JOIN judged j ON j.doc = m.doc
    WHERE m.user_id = ? AND m.status NOT IN ('archived', 'quarantined') AND m.expired_at IS NULL AND m.delete_after IS NULL"""
_AMONG = " AND m.doc IN (SELECT value FROM json_each(?))"
_WHOLE = {"doc": 0, "created_at": 5, "accesses": 6, "last_access": 7, "judged": 9}
_FLAGS = {"fresh": 1, "pinned": 4, "apart": 11}
_REAL = {"salience": 2, "importance": 3, "arousal": 8, "trust": 10}


def _read(db: Connection, user: int, docs: Sequence[int] | None = None) -> Candidates:
    """All live memories of a user, or those among some docs."""
    has_key, values = db.dialect.filters.keyed("m", "preference")
    sql = _CANDIDATES.format(has_key)
    bound = [*values, user]
    if docs is not None:
        sql, bound = sql + _AMONG, [*bound, db.dialect.many(docs)]
    rows = db.execute(f"{sql} ORDER BY m.doc", bound)
    found = np.fromiter(chain.from_iterable(rows), np.float64).reshape(-1, 12).T
    columns = {name: found[at].astype(np.int64) for name, at in _WHOLE.items()}
    flags = {name: found[at] != 0 for name, at in _FLAGS.items()}
    return Candidates(**columns, **flags, **{name: found[at] for name, at in _REAL.items()})


def _chosen(held: Candidates, rows: NDArray[Any]) -> Candidates:
    return Candidates(**{column.name: getattr(held, column.name)[rows] for column in fields(Candidates)})


def _joined(first: Candidates, second: Candidates) -> Candidates:
    """Both together, ascending by doc."""
    order = np.argsort(np.append(first.doc, second.doc), kind="stable")
    return Candidates(
        **{c.name: np.append(getattr(first, c.name), getattr(second, c.name))[order] for c in fields(Candidates)}
    )


@dataclass(slots=True)
class _Held:
    """The live memories of a user as they were at an event, and at a moment of the clock of uses."""

    user: int
    event: int
    moment: int
    found: Candidates


class Weighing:
    """The live memories of the user who was consolidated last; thread-safe.

    What changed since is read from the events, as other caches do, and from the uses that were written down since.
    """

    def __init__(self) -> None:
        self._lock = process_lock()
        self._held: _Held | None = None

    def candidates(self, db: Connection, user: int, before: int) -> Candidates:
        """The live memories made until a moment, ascending by doc; for one transaction."""
        with self._lock:
            moment, held = to_micros(now()), self._held
            if held is None or held.user != user:
                event = reading.last_event(db, user)
                held = _Held(user, event, moment, _read(db, user))
            else:
                held = self._followed(db, held, moment)
            self._held = held
        old = held.found.created_at <= before
        return held.found if old.all() else _chosen(held.found, old)

    @staticmethod
    def _followed(db: Connection, held: _Held, moment: int) -> _Held:
        event, changed, *_ = reading.changed(db, held.user, held.event)
        used = db.execute("SELECT doc FROM access WHERE last_at >= ?", (held.moment - LATE,)).fetchall()
        docs = {*changed, *(row[0] for row in used)}
        if not docs:
            return _Held(held.user, event, moment, held.found)
        fresh = _read(db, held.user, sorted(docs))
        kept = ~np.isin(held.found.doc, np.fromiter(docs, np.int64, len(docs)))
        return _Held(held.user, event, moment, _joined(_chosen(held.found, kept), fresh))
