"""What consolidation reads of the record, and who may consolidate."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import cast
from weakref import WeakKeyDictionary

from mnemic.stores.schema import LIVE
from mnemic.stores.sql import quarantining, reading, rows
from mnemic.stores.sql.connection import Database
from mnemic.stores.sql.promotions import promotions
from mnemic.stores.sql.weighing import Weighing
from mnemic.types import Candidates, Event, Kind, MemoryRecord, Status

__all__ = ["Lifecycle"]

# What live memories were made from, through archived members too: the evidence of a representative is that of its members.
_CITED = f"""WITH RECURSIVE cited(doc) AS (SELECT l.parent FROM lineage l JOIN memories r ON r.doc = l.child
        WHERE r.user_id = ? AND r.{LIVE}
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
            found: list[MemoryRecord] = []
            if number is None:
                return found
            chosen = "AND c.id = ? AND c.undone_at IS NULL AND p.revised IS NOT NULL"
            for held in promotions(db, number, chosen, (consolidation,)):
                sql = f"""SELECT v.row FROM memories m JOIN versions v ON v.doc = m.doc AND v.version = m.version - 1
                    WHERE m.doc = ? AND m.version = ? AND m.{LIVE} AND m.expired_at IS NULL"""
                for (row,) in db.execute(sql, (held.doc, held.revised)).fetchall():
                    record, status = rows.memory_from(rows.earlier(row)), cast("Status", held.status)
                    version = (held.revised or 0) + 1
                    found.append(replace(record, status=status, importance=held.importance, version=version))
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
            return rows.counted(db.execute(sql, (reading.user_number(db, user),)).fetchall())

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
        sql = f"""{_CITED} SELECT id FROM memories WHERE user_id = ? AND {LIVE} AND delete_after <= ?
            AND doc NOT IN (SELECT doc FROM cited) ORDER BY delete_after"""
        return self._ids(user, sql, now)

    def uncited(self, user: str, before: int) -> list[str]:
        """Ids of the messages said before a moment that no live memory was made from, oldest first."""
        sql = f"""{_CITED} SELECT id FROM messages WHERE user_id = ? AND {LIVE} AND said_at < ?
            AND doc NOT IN (SELECT doc FROM cited) ORDER BY said_at"""
        return self._ids(user, sql, before)

    def beyond(self, user: str, limit: int, now: int) -> list[str]:
        """Ids of the short-term memories that are too many, least important and oldest first; what others cite stays.

        Only what holds at a moment (microseconds since 1970) counts and goes: what was replaced or is over makes room already.
        """
        sql = f"""{_CITED} SELECT id FROM memories WHERE user_id = ? AND {_HOLDS} AND status = 'short_term' AND pinned = 0
            AND doc NOT IN (SELECT doc FROM cited) ORDER BY importance, created_at, doc LIMIT ?"""
        with self._db.read() as db, db:
            number = reading.user_number(db, user)
            counted = f"SELECT count(*) FROM memories WHERE user_id = ? AND {_HOLDS} AND {LIVE}"
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
                db.execute("UPDATE records SET status = 'short_term' WHERE status = 'consolidating'")

    def _at_work(self) -> bool:
        with self._db.read() as db:
            return bool(db.execute("SELECT 1 FROM records WHERE status = 'consolidating' LIMIT 1").fetchall())

    def alone(self) -> AbstractContextManager[bool]:
        """Whether this process is the one that consolidates now; the lock ends with the block, or with the process."""
        return self._db.alone()


_WEIGHING: WeakKeyDictionary[Database, Weighing] = WeakKeyDictionary()
"""What is kept between two cycles, for each open record."""
