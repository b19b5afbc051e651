"""Queries of consolidation and retention, and the consolidation lock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields
from itertools import chain
from typing import Any

import numpy as np

from mnemic import types
from mnemic.services.processes import process_lock
from mnemic.stores.schema import LIVE, NOT_ENDED
from mnemic.stores.sql import queries, rows
from mnemic.stores.sql.changes import Transaction
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.consolidation import original, promotions
from mnemic.stores.sql.queries import ALL, AMONG, LEVEL, Reader, events
from mnemic.stores.sql.rows import BOOST, LAST_USE, SALIENCE, USED, importance_sql
from mnemic.text.values import from_micros, now, to_json, to_micros

# Memories with a lifetime or an end are left out: they never become long-term. The value of a key is
# merged with none: it would leave its key, or take what is said of another. A preference of an early version has no key.
_CANDIDATES = f"""SELECT m.doc, m.status != 'long_term', {SALIENCE}, {BOOST}, {LAST_USE}, m.created_at,
    coalesce(last_at, 0), CASE WHEN m.updated_at > j.at THEN 0 ELSE coalesce(j.at, 0) END, m.trust,
    CASE WHEN m.key IS NOT NULL OR (m.category = 'preference' AND {{}}) THEN 1 ELSE 0 END
    FROM memories m LEFT JOIN {USED} AS used ON used_doc = m.doc LEFT JOIN judged j ON j.doc = m.doc
    WHERE m.user_id = ? AND m.{LIVE} AND m.expired_at IS NULL AND m.invalid_at IS NULL AND m.delete_after IS NULL"""
_COLUMNS: Mapping[str, type[np.generic]] = {
    "doc": np.int64, "fresh": np.bool_, "salience": np.float64, "boost": np.float64, "last_use": np.int64,
    "created_at": np.int64, "last_access": np.int64, "judged": np.int64, "trust": np.float64, "apart": np.bool_,
}  # fmt: skip
"""The columns that the query selects."""


def _read(db: Connection, user_id: int, docs: Sequence[int] | None = None) -> types.Candidates:
    """The live memories of a user, optionally restricted to some docs."""
    has_key, values = db.dialect.has_key(user_id, "m", "preference")
    sql = _CANDIDATES.format(has_key)
    bound = [*values, user_id]
    if docs is not None:
        sql, bound = f"{sql} AND m.doc IN {AMONG}", [*bound, docs]
    selected = db.execute(f"{sql} ORDER BY m.doc", bound)
    columns = np.fromiter(chain.from_iterable(selected), np.float64).reshape(-1, len(_COLUMNS)).T
    return types.Candidates(**{name: columns[i].astype(kind) for i, (name, kind) in enumerate(_COLUMNS.items())})


def _merge(first: types.Candidates, second: types.Candidates) -> types.Candidates:
    """The union, ascending by doc."""
    order = np.argsort(np.append(first.doc, second.doc), kind="stable")
    return types.Candidates(
        **{c.name: np.append(getattr(first, c.name), getattr(second, c.name))[order] for c in fields(types.Candidates)}
    )


@dataclass(slots=True)
class _Snapshot:
    """The live memories of a user at an event and at a time (microseconds since 1970) for accesses."""

    user_id: int
    event: int
    moment: int
    candidates: types.Candidates


def _refresh(db: Connection, snapshot: _Snapshot, moment: int) -> _Snapshot:
    """The snapshot with the changes and accesses since."""
    event, changed, *_ = queries.changes_since(db, snapshot.user_id, snapshot.event)
    docs = {*changed, *queries.used_docs(db, snapshot.user_id, snapshot.moment)}
    if not docs:
        return _Snapshot(snapshot.user_id, event, moment, snapshot.candidates)
    updated = _read(db, snapshot.user_id, sorted(docs))
    unchanged = ~np.isin(snapshot.candidates.doc, np.fromiter(docs, np.int64, len(docs)))
    return _Snapshot(snapshot.user_id, event, moment, _merge(snapshot.candidates[unchanged], updated))


# All ancestors of live memories, through archived members too: a representative relies on the evidence of its members.
_CITED = f"""WITH RECURSIVE cited(doc) AS (SELECT l.parent FROM lineage l JOIN memories r ON r.doc = l.child
        WHERE r.user_id = ?1 AND r.{LIVE}
    UNION SELECT l.parent FROM lineage l JOIN cited ON l.child = cited.doc)"""

_VALID = NOT_ENDED.format(now="?2")


def keep_questions(t: Transaction, change: types.KeepQuestions) -> types.Receipt:
    """Add questions to the last ones of a user; nothing follows them, so they leave no event."""
    for question in change.asked:
        mood = (question.mood.valence, question.mood.arousal) if question.mood else (None, None)
        level = (question.project, question.session)
        sql = f"DELETE FROM questions WHERE user_id = ? AND text = ? AND {LEVEL}"
        t.db.execute(sql, (t.user_id, question.text, *level))
        row = (t.user_id, to_micros(question.asked_at), question.text, *level, *mood)
        t.db.execute(f"INSERT INTO questions({_QUESTION}) VALUES(?, ?, ?, ?, ?, ?, ?)", row)
    return _trim(t, "questions", change.most)


def keep_contexts(t: Transaction, change: types.KeepContexts) -> types.Receipt:
    """Add contexts to the last ones of a user; as for questions, nothing follows them.

    One that was asked for before something was erased is dropped: its text may have it.
    """
    for context in change.given:
        if _is_outdated(t, context):
            continue
        data = {name: value for name, value in asdict(context).items() if name not in _CONTEXT_COLUMNS}
        row = (t.user_id, to_micros(context.given_at), context.project, context.session, to_json(data))
        t.db.execute("INSERT INTO contexts(user_id, at, project, session, data) VALUES(?, ?, ?, ?, ?)", row)
    return _trim(t, "contexts", change.most)


def _trim(t: Transaction, table: str, most: int) -> types.Receipt:
    """Delete all but the last rows of a user."""
    sql = f"""DELETE FROM {table} WHERE user_id = ?1 AND number NOT IN
        (SELECT number FROM {table} WHERE user_id = ?1 ORDER BY number DESC LIMIT ?2)"""
    t.db.execute(sql, (t.user_id, most))
    return types.Receipt(id="", outcome="stored")


def _is_outdated(t: Transaction, context: types.GivenContext) -> bool:
    """Whether something of the user was erased since a context was asked for."""
    sql = "SELECT 1 FROM events WHERE user_id = ? AND operation = 'erase' AND at >= ? LIMIT 1"
    if t.db.execute(sql, (t.user_id, to_micros(context.given_at))).fetchone():
        return True
    ids = sorted({hit.id for hit in context.hits})
    (count,) = t.db.execute(
        f"SELECT count(*) FROM records WHERE user_id = ? AND id IN {AMONG}", (t.user_id, ids)
    ).fetchone()
    return count < len(ids)


def _context(number: int, moment: int, project: str | None, session: str | None, data: str) -> types.GivenContext:
    """A context from its row."""
    values: dict[str, Any] = json.loads(data)
    values["hits"] = tuple(types.RecalledHit(**hit) for hit in values["hits"])
    return types.GivenContext(**values, number=number, given_at=from_micros(moment), project=project, session=session)


_CONTEXT_COLUMNS = ("number", "given_at", "project", "session")
_QUESTION = "user_id, at, text, project, session, valence, arousal"


class Lifecycle(Reader[Database]):
    """Queries of consolidation and retention, and the lock that admits one consolidating process."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._lock = process_lock()
        self._cached: _Snapshot | None = None  # of the user consolidated last

    def candidates(self, user: str, before: int) -> types.Candidates:
        """The live memories created until ``before`` (microseconds since 1970), ascending by doc."""
        with self._snapshot(user) as (db, user_id), self._lock:
            moment, snapshot = to_micros(now()), self._cached
            if snapshot is None or snapshot.user_id != user_id:
                snapshot = _Snapshot(user_id, queries.last_event(db, user_id), moment, _read(db, user_id))
            else:
                snapshot = _refresh(db, snapshot, moment)
            self._cached = snapshot
        mask = snapshot.candidates.created_at <= before
        return snapshot.candidates if mask.all() else snapshot.candidates[mask]

    def previous_texts(self, user: str, consolidation: str) -> list[types.MemoryRecord]:
        """Memories that a consolidation rewrote, with their previous text, as next versions."""
        with self._snapshot(user) as (db, user_id):
            promoted = promotions(db, user_id, "AND c.id = ? AND c.undone_at IS NULL", (consolidation,))
            return [previous for promotion in promoted if (previous := original(db, [promotion]))]

    def quarantined(self, user: str) -> list[str]:
        """Ids of the quarantined records, oldest first."""
        return self._column(user, "SELECT id FROM records WHERE user_id = ? AND status = 'quarantined' ORDER BY doc")

    def tiers(self, user: str) -> dict[str, int]:
        """The number of unexpired memories by tier."""
        sql = "SELECT status, count(*) FROM memories WHERE user_id = ? AND expired_at IS NULL GROUP BY status"
        return rows.counts_by_status(self._rows(user, sql))

    def log(
        self,
        user: str,
        *,
        kinds: Sequence[types.Kind],
        operations: Sequence[str] | None = None,
        before: int = ALL,
        limit: int | None,
    ) -> tuple[types.Event, ...]:
        """Events before a sequence number, newest first; an erasure has no kind and counts as one of each."""
        where = f"""sequence < ? AND (operation = 'erase' OR
            EXISTS (SELECT 1 FROM records r WHERE r.doc = events.doc AND r.kind IN {AMONG}))"""
        last, most = "ORDER BY sequence DESC LIMIT ?", ALL if limit is None else limit
        with self._snapshot(user) as (db, user_id):
            values = (before, kinds)
            if operations is None:
                return events(db, user_id, f"{where} {last}", (*values, most))
            # one by one: each is read in the order of its index
            selected = [
                event
                for operation in dict.fromkeys(operations)
                for event in events(db, user_id, f"operation = ? AND {where} {last}", (operation, *values, most))
            ]
            return tuple(sorted(selected, key=lambda event: -event.sequence)[:most])

    def questions(self, user: str) -> list[types.Question]:
        """The questions that are kept of a user, the last first."""
        sql = f"SELECT {_QUESTION} FROM questions WHERE user_id = ? ORDER BY number DESC"
        return [
            types.Question(
                text=text, asked_at=from_micros(moment), project=project, session=session,
                mood=None if valence is None else types.Emotion(valence=valence, arousal=arousal),
            )
            for _, moment, text, project, session, valence, arousal in self._rows(user, sql)
        ]  # fmt: skip

    def contexts(self, user: str) -> list[types.GivenContext]:
        """The contexts that are kept of a user, the last first."""
        sql = "SELECT number, at, project, session, data FROM contexts WHERE user_id = ? ORDER BY number DESC"
        return [_context(*row) for row in self._rows(user, sql)]

    def overdue(self, user: str, now: int) -> list[str]:
        """Ids of the memories whose lifetime has ended (``now`` in microseconds since 1970) and that no live memory cites."""
        sql = f"""{_CITED} SELECT id FROM memories WHERE user_id = ?1 AND {LIVE} AND delete_after <= ?2
            AND doc NOT IN (SELECT doc FROM cited) ORDER BY delete_after"""
        return self._column(user, sql, now)

    def uncited(self, user: str, before: int) -> list[str]:
        """Ids of the messages said before a time that no live memory cites, oldest first."""
        sql = f"""{_CITED} SELECT id FROM messages WHERE user_id = ?1 AND {LIVE} AND said_at < ?2
            AND doc NOT IN (SELECT doc FROM cited) ORDER BY said_at"""
        return self._column(user, sql, before)

    def over_capacity(self, user: str, limit: int, now: int) -> list[str]:
        """Ids of the uncited short-term memories above the limit, least important and oldest first.

        Only memories valid at ``now`` (microseconds since 1970) count and are returned.
        """
        over = f"""SELECT CASE WHEN count(*) > ?3 THEN count(*) - ?3 ELSE 0 END FROM memories
            WHERE user_id = ?1 AND {_VALID} AND {LIVE}"""
        sql = f"""{_CITED} SELECT id FROM memories WHERE user_id = ?1 AND {_VALID} AND status = 'short_term' AND pinned = 0
            AND doc NOT IN (SELECT doc FROM cited)
            ORDER BY {importance_sql("memories", "?2")}, created_at, doc LIMIT ({over})"""
        return self._column(user, sql, now, limit)

    def recover(self) -> None:
        """Return memories claimed by an interrupted consolidation to short-term, unless one is running."""
        if self.has_claims():
            with self.exclusive() as alone:
                if alone:
                    self.release()

    def release(self) -> None:
        """Return memories claimed by an interrupted consolidation to short-term; the caller must hold the lock."""
        if self.has_claims():
            with self._db.write() as db:
                db.execute("UPDATE records SET status = 'short_term' WHERE status = 'consolidating'")

    def has_claims(self) -> bool:
        """Whether memories are claimed by a consolidation."""
        return bool(self._all("SELECT 1 FROM records WHERE status = 'consolidating' LIMIT 1"))

    def exclusive(self) -> AbstractContextManager[bool]:
        """Try to take the consolidation lock; yields whether it was free. It ends with the block or the process."""
        return self._db.consolidation_lock()
