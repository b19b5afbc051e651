"""What consolidation reads of the record, and who may consolidate."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from mnemic.stores.sqlite import reading, rows
from mnemic.stores.sqlite.database import Database
from mnemic.types import Candidates, MemoryRecord

__all__ = ["Lifecycle"]

# What has a lifetime is never kept for good, and takes nothing with it; the value of a key is nobody else's.
_CANDIDATES = """SELECT m.doc, m.status != 'long_term', m.salience, m.importance, m.pinned, m.created_at,
    ifnull(a.count, 0), ifnull(a.last_at, 0), ifnull(m.arousal * m.emotion_confidence, 0.0),
    iif(m.updated_at > j.at, 0, ifnull(j.at, 0)), m.trust,
    CASE m.category WHEN 'preference' THEN json_type(m.metadata, '$.preference') IS NOT NULL ELSE 0 END
    FROM memories m LEFT JOIN access a ON a.doc = m.doc LEFT JOIN judged j ON j.doc = m.doc
    WHERE m.user = ? AND m.status != 'archived' AND m.expired_at IS NULL AND m.delete_after IS NULL AND m.created_at <= ?
    ORDER BY m.doc"""
# What live memories were made from, through archived members too: the evidence of a representative is that of its members.
_CITED = """WITH RECURSIVE cited(doc) AS (SELECT l.parent FROM lineage l JOIN memories r ON r.doc = l.child
        WHERE r.user = ? AND r.status != 'archived'
    UNION SELECT l.parent FROM lineage l JOIN cited ON l.child = cited.doc)"""


class Lifecycle:
    """Questions of consolidation, and the lock that lets one process do it at a time."""

    def __init__(self, database: Database, folder: Path | None) -> None:
        self._db = database
        self._folder = folder

    def candidates(self, user: str, before: int) -> Candidates:
        """The live memories made until a moment (microseconds since 1970), ascending by doc."""
        with self._db.read() as db, db:
            found = db.execute(_CANDIDATES, (reading.user_number(db, user), before))
            values = np.fromiter(itertools.chain.from_iterable(found), np.float64).reshape(-1, 12).T
        whole = {"doc": 0, "created_at": 5, "accesses": 6, "last_access": 7, "judged": 9}
        yes = {"fresh": 1, "pinned": 4, "apart": 11}
        real = {"salience": 2, "importance": 3, "arousal": 8, "trust": 10}
        columns = {name: values[at].astype(np.int64) for name, at in whole.items()}
        flags = {name: values[at] != 0 for name, at in yes.items()}
        return Candidates(**columns, **flags, **{name: values[at] for name, at in real.items()})

    def reworded(self, user: str, consolidation: str) -> list[MemoryRecord]:
        """Memories that a consolidation gave another text, as they were, as the versions that would follow now."""
        with self._db.read() as db, db:
            number = reading.user_number(db, user)
            sql = "SELECT plan FROM consolidations WHERE user = ? AND id = ? AND undone_at IS NULL"
            plans = [json.loads(plan) for (plan,) in db.execute(sql, (number, consolidation)).fetchall()]
            found: list[MemoryRecord] = []
            for held in (promotion for plan in plans for promotion in plan["promotions"] if promotion["revised"]):
                sql = """SELECT v.row FROM memories m JOIN versions v ON v.doc = m.doc AND v.version = m.version - 1
                    WHERE m.doc = ? AND m.version = ? AND m.status != 'archived' AND m.expired_at IS NULL"""
                for (row,) in db.execute(sql, (held["doc"], held["revised"])).fetchall():
                    old = json.loads(row)
                    record = rows.memory_from([old[name] for name in rows.MEMORY_COLUMNS.split(", ")])
                    found.append(
                        replace(
                            record, status=held["status"], importance=held["importance"], version=held["revised"] + 1
                        )
                    )
            return found

    def tiers(self, user: str) -> dict[str, int]:
        """How many memories that are believed are in each tier."""
        with self._db.read() as db, db:
            sql = "SELECT status, count(*) FROM memories WHERE user = ? AND expired_at IS NULL GROUP BY status"
            return dict(db.execute(sql, (reading.user_number(db, user),)).fetchall())

    def last_consolidation(self, user: str) -> str | None:
        """The id of the newest consolidation that was not taken back."""
        with self._db.read() as db, db:
            sql = """SELECT id FROM consolidations WHERE user = ? AND undone_at IS NULL ORDER BY at DESC, id DESC LIMIT 1"""
            row = db.execute(sql, (reading.user_number(db, user),)).fetchone()
            return row[0] if row else None

    def overdue(self, user: str, now: int) -> list[str]:
        """Ids of the memories whose lifetime is over at a moment (microseconds since 1970), but for those that are cited."""
        sql = f"""{_CITED} SELECT id FROM memories WHERE user = ? AND status != 'archived' AND delete_after <= ?
            AND doc NOT IN cited ORDER BY delete_after"""
        return self._ids(user, sql, now)

    def uncited(self, user: str, before: int) -> list[str]:
        """Ids of the messages said before a moment that no live memory was made from, oldest first."""
        sql = f"""{_CITED} SELECT id FROM messages WHERE user = ? AND status != 'archived' AND sent_at < ?
            AND doc NOT IN cited ORDER BY sent_at"""
        return self._ids(user, sql, before)

    def beyond(self, user: str, limit: int) -> list[str]:
        """Ids of the short-term memories that are too many, least important and oldest first; what others cite stays."""
        sql = f"""{_CITED} SELECT id FROM memories WHERE user = ? AND status = 'short_term' AND NOT pinned
            AND doc NOT IN cited ORDER BY importance, created_at, doc LIMIT ?"""
        with self._db.read() as db, db:
            number = reading.user_number(db, user)
            counted = "SELECT count(*) FROM memories WHERE user = ? AND status != 'archived'"
            live = db.execute(counted, (number,)).fetchone()[0]
            return [row[0] for row in db.execute(sql, (number, number, max(0, live - limit)))]

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

    @contextmanager
    def alone(self) -> Generator[bool]:
        """Whether this process is the one that consolidates now; the lock ends with the block, or with the process."""
        if self._folder is None:
            lock = _RAM.setdefault(self._db, threading.Lock())
            free = lock.acquire(blocking=False)
            try:
                yield free
            finally:
                if free:
                    lock.release()
            return
        with _locked(self._folder / "consolidation.lock") as free:
            yield free


_RAM: WeakKeyDictionary[Database, threading.Lock] = WeakKeyDictionary()
"""A lock for each record that has no folder."""


@contextmanager
def _locked(path: Path) -> Generator[bool]:
    """Hold a lock on a file if nobody does; the system lets go of it when the process ends."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:  # a record that cannot be written is not consolidated
        yield False
        return
    try:
        yield _take(handle)
    finally:
        _let_go(handle)
        os.close(handle)


def _let_go(handle: int) -> None:
    """A child forked meanwhile holds the file open too, and with it the lock, until it is given back in so many words."""
    if os.name != "nt":
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_UN)


def _take(handle: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
