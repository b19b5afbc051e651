"""What consolidation reads of the record, and who may consolidate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from weakref import WeakKeyDictionary

from mnemic.stores.sql import quarantining, reading, rows
from mnemic.stores.sql.connection import Database
from mnemic.stores.sql.weighing import Weighing
from mnemic.types import Candidates, Event, Kind, MemoryRecord

__all__ = ["Lifecycle"]

# What live memories were made from, through archived members too: the evidence of a representative is that of its members.
_CITED = """WITH RECURSIVE cited(doc) AS (SELECT l.parent FROM lineage l JOIN memories r ON r.doc = l.child
        WHERE r.user_id = ? AND r.status != 'archived'
    UNION SELECT l.parent FROM lineage l JOIN cited ON l.child = cited.doc)"""

_HOLDS = """expired_at IS NULL AND (invalid_at IS NULL OR invalid_at > ?)
    AND (delete_after IS NULL OR delete_after > ?)"""


class Lifecycle:
    """Questions of consolidation, and the lock that lets one process do it at a time."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def candidates(self, user: str, before: int) -> Candidates:
        """The live memories made until a moment (microseconds since 1970), ascending by doc."""
        weighing = _WEIGHING.setdefault(self._db, Weighing())
        with self._db.read() as db, db:
            return weighing.candidates(db, reading.user_number(db, user) or 0, before)

    def reworded(self, user: str, consolidation: str) -> list[MemoryRecord]:
        """Memories that a consolidation gave another text, as they were, as the versions that would follow now."""
        with self._db.read() as db, db:
            number = reading.user_number(db, user)
            sql = "SELECT plan FROM consolidations WHERE user_id = ? AND id = ? AND undone_at IS NULL"
            plans = [json.loads(plan) for (plan,) in db.execute(sql, (number, consolidation)).fetchall()]
            found: list[MemoryRecord] = []
            for held in (promotion for plan in plans for promotion in plan["promotions"] if promotion["revised"]):
                sql = """SELECT v.row FROM memories m JOIN versions v ON v.doc = m.doc AND v.version = m.version - 1
                    WHERE m.doc = ? AND m.version = ? AND m.status != 'archived' AND m.expired_at IS NULL"""
                for (row,) in db.execute(sql, (held["doc"], held["revised"])).fetchall():
                    record = rows.memory_from(json.loads(row))
                    found.append(
                        replace(
                            record, status=held["status"], importance=held["importance"], version=held["revised"] + 1
                        )
                    )
            return found

    def quarantined(self, user: str) -> list[str]:
        """Ids of the records in quarantine, in the order they were stored."""
        with self._db.read() as db, db:
            number = reading.user_number(db, user)
            return [] if number is None else quarantining.quarantined(db, number)

    def tiers(self, user: str) -> dict[str, int]:
        """How many memories that are believed are in each tier."""
        with self._db.read() as db, db:
            sql = "SELECT status, count(*) FROM memories WHERE user_id = ? AND expired_at IS NULL GROUP BY status"
            return dict(db.execute(sql, (reading.user_number(db, user),)).fetchall())

    def last_consolidation(self, user: str) -> str | None:
        """The id of the newest consolidation that was not taken back."""
        with self._db.read() as db, db:
            sql = """SELECT id FROM consolidations WHERE user_id = ? AND undone_at IS NULL ORDER BY at DESC, id DESC LIMIT 1"""
            row = db.execute(sql, (reading.user_number(db, user),)).fetchone()
            return row[0] if row else None

    def log(self, user: str, *, kinds: Sequence[Kind], limit: int | None) -> tuple[Event, ...]:
        """The audit trail of all records of some kinds, the newest first."""
        with self._db.read() as db, db:
            number = reading.user_number(db, user)
            return () if number is None else tuple(reading.log(db, number, kinds, limit))

    def overdue(self, user: str, now: int) -> list[str]:
        """Ids of the memories whose lifetime is over at a moment (microseconds since 1970), but for those that are cited."""
        sql = f"""{_CITED} SELECT id FROM memories WHERE user_id = ? AND status != 'archived' AND delete_after <= ?
            AND doc NOT IN (SELECT doc FROM cited) ORDER BY delete_after"""
        return self._ids(user, sql, now)

    def uncited(self, user: str, before: int) -> list[str]:
        """Ids of the messages said before a moment that no live memory was made from, oldest first."""
        sql = f"""{_CITED} SELECT id FROM messages WHERE user_id = ? AND status != 'archived' AND sent_at < ?
            AND doc NOT IN (SELECT doc FROM cited) ORDER BY sent_at"""
        return self._ids(user, sql, before)

    def beyond(self, user: str, limit: int, now: int) -> list[str]:
        """Ids of the short-term memories that are too many, least important and oldest first; what others cite stays.

        Only what holds at a moment (microseconds since 1970) counts and goes: what was replaced or is over makes room already.
        """
        sql = f"""{_CITED} SELECT id FROM memories WHERE user_id = ? AND {_HOLDS} AND status = 'short_term' AND pinned = 0
            AND doc NOT IN (SELECT doc FROM cited) ORDER BY importance, created_at, doc LIMIT ?"""
        with self._db.read() as db, db:
            number = reading.user_number(db, user)
            counted = f"SELECT count(*) FROM memories WHERE user_id = ? AND {_HOLDS} AND status != 'archived'"
            live = db.execute(counted, (number, now, now)).fetchone()[0]
            return [row[0] for row in db.execute(sql, (number, number, now, now, max(0, live - limit)))]

    def _ids(self, user: str, sql: str, moment: int) -> list[str]:
        with self._db.read() as db, db:
            number = reading.user_number(db, user)
            return [row[0] for row in db.execute(sql, (number, number, moment))]

    def recover(self) -> None:
        """Put back what an interrupted consolidation left on the workbench, unless one is at it right now."""
        if self._at_work():
            with self.alone() as alone:
                if alone:
                    self.release()

    def release(self) -> None:
        """Put back what an interrupted consolidation left on the workbench; for the holder of the lock."""
        if self._at_work():
            with self._db.write() as db:
                db.execute("UPDATE memories SET status = 'short_term' WHERE status = 'consolidating'")

    def _at_work(self) -> bool:
        with self._db.read() as db:
            return bool(db.execute("SELECT 1 FROM memories WHERE status = 'consolidating' LIMIT 1").fetchall())

    def alone(self) -> AbstractContextManager[bool]:
        """Whether this process is the one that consolidates now; the lock ends with the block, or with the process."""
        return self._db.alone()


_WEIGHING: WeakKeyDictionary[Database, Weighing] = WeakKeyDictionary()
"""What is kept between two cycles, for each open record."""
