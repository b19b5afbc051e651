"""What consolidation reads of the record, and who may consolidate."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mnemic.stores.sqlite import reading
from mnemic.stores.sqlite.database import Database
from mnemic.types import Candidate

__all__ = ["Lifecycle"]

TRUSTED = 0.5
"""Trust from which a memory may become long-term by itself."""

_CANDIDATES = f"""SELECT m.doc, m.status, m.salience, m.importance, m.pinned, m.created_at, ifnull(a.count, 0),
    ifnull(a.last_at, 0), ifnull(m.arousal * m.emotion_confidence, 0.0), ifnull(j.at, 0), m.trust >= {TRUSTED}
    FROM memories m LEFT JOIN access a ON a.doc = m.doc LEFT JOIN judged j ON j.doc = m.doc
    WHERE m.user = ? AND m.status IN ('short_term', 'long_term') AND m.expired_at IS NULL AND m.created_at <= ?
    ORDER BY m.doc"""


class Lifecycle:
    """Questions of consolidation, and the lock that lets one process do it at a time."""

    def __init__(self, database: Database, folder: Path | None) -> None:
        self._db = database
        self._folder = folder

    def candidates(self, user: str, before: int) -> list[Candidate]:
        """The live memories made until a moment (microseconds since 1970), ascending by doc."""
        with self._db.read() as db, db:
            found = db.execute(_CANDIDATES, (reading.user_number(db, user), before)).fetchall()
        return [
            Candidate(
                doc=row[0], status=row[1], salience=row[2], importance=row[3], pinned=bool(row[4]), created_at=row[5],
                accesses=row[6], last_access=row[7], arousal=row[8], judged=row[9], trusted=bool(row[10]),
            )
            for row in found
        ]  # fmt: skip

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
        """Ids of the memories whose lifetime is over at a moment (microseconds since 1970)."""
        sql = "SELECT id FROM memories WHERE user = ? AND status != 'archived' AND delete_after <= ? ORDER BY delete_after"
        return self._ids(user, sql, now)

    def uncited(self, user: str, before: int) -> list[str]:
        """Ids of the messages said before a moment that no live memory was made from, oldest first."""
        sql = """SELECT m.id FROM messages m WHERE m.user = ? AND m.status != 'archived' AND m.sent_at < ?
            AND NOT EXISTS (SELECT 1 FROM lineage l JOIN memories r ON r.doc = l.child
                WHERE l.parent = m.doc AND r.status != 'archived') ORDER BY m.sent_at"""
        return self._ids(user, sql, before)

    def beyond(self, user: str, limit: int) -> list[str]:
        """Ids of the short-term memories that are too many, least important and oldest first; what others cite stays."""
        sql = """SELECT id FROM memories m WHERE user = ? AND status = 'short_term' AND NOT pinned
            AND NOT EXISTS (SELECT 1 FROM lineage l JOIN memories r ON r.doc = l.child
                WHERE l.parent = m.doc AND r.status != 'archived') ORDER BY importance, created_at, doc LIMIT ?"""
        with self._db.read() as db, db:
            number = reading.user_number(db, user)
            counted = "SELECT count(*) FROM memories WHERE user = ? AND status != 'archived'"
            live = db.execute(counted, (number,)).fetchone()[0]
            return [row[0] for row in db.execute(sql, (number, max(0, live - limit)))]

    def _ids(self, user: str, sql: str, moment: int) -> list[str]:
        with self._db.read() as db, db:
            return [row[0] for row in db.execute(sql, (reading.user_number(db, user), moment))]

    def release(self) -> None:
        """Put back what an interrupted consolidation left on the workbench; for the holder of the lock."""
        with self._db.read() as db:
            left = db.execute("SELECT 1 FROM memories WHERE status = 'consolidating' LIMIT 1").fetchall()
        if left:
            with self._db.write() as db:
                db.execute("UPDATE memories SET status = 'short_term' WHERE status = 'consolidating'")

    @contextmanager
    def alone(self) -> Generator[bool]:
        """Whether this process is the one that consolidates now; the lock ends with the block, or with the process."""
        if self._folder is None:
            free = _RAM.acquire(blocking=False)
            try:
                yield free
            finally:
                if free:
                    _RAM.release()
            return
        with _locked(self._folder / "consolidation.lock") as free:
            yield free


_RAM = threading.Lock()


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
        os.close(handle)


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
