"""Tombstones: what a record keeps of an erased one, so that it does not come back from another device."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.queries import AMONG

Tombstones = Mapping[bytes, int]
"""The time of an erasure (microseconds since 1970) by the digest of the id."""
EVERYTHING = b""
"""In place of the digest of an id: all records of the user."""


def digest(text: str) -> bytes:
    """The digest of the name of a user or of an id, 16 bytes."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def covers(tombstones: Tombstones, id: str, first: int) -> bool:
    """Whether a record is erased whose first event was at a time; one that was added again later is not."""
    return first <= max(tombstones.get(digest(id), 0), tombstones.get(EVERYTHING, 0))


def tombstones(db: Connection, owner: bytes) -> Tombstones:
    """The tombstones of a user."""
    selected = db.execute("SELECT record, at FROM tombstones WHERE owner = ?", (owner,)).fetchall()
    return {bytes(record): moment for record, moment in selected}


def put_tombstones(db: Connection, owner: bytes, new: Tombstones) -> None:
    """Add tombstones; of two for one id the later one stays."""
    for record, moment in new.items():
        sql = """INSERT INTO tombstones VALUES(?, ?, ?) ON CONFLICT(owner, record) DO UPDATE SET at = excluded.at
            WHERE excluded.at > tombstones.at"""
        db.execute(sql, (owner, record, moment))


def owner_of(db: Connection, user_id: int) -> bytes:
    """The digest of the name of a user."""
    return digest(db.execute("SELECT name FROM users WHERE user_id = ?", (user_id,)).fetchone()[0])


def leave_tombstones(db: Connection, user_id: int, ids: Mapping[int, str], moment: int) -> None:
    """Leave a tombstone for records, given by doc, before their events are deleted.

    Its time is not before their last event. One that is there for this erasure, from another device, keeps its time.
    """
    owner = owner_of(db, user_id)
    earlier = tombstones(db, owner)
    sql = f"SELECT doc, min(at), max(at) FROM events WHERE doc IN {AMONG} AND operation != 'embed' GROUP BY doc"
    spans = {doc: (first, last) for doc, first, last in db.execute(sql, (sorted(ids),)).fetchall()}
    new = {
        digest(id_): max(moment, spans[doc][1])
        for doc, id_ in ids.items()
        if doc in spans and not covers(earlier, id_, spans[doc][0])
    }
    put_tombstones(db, owner, new)


def leave_user_tombstone(db: Connection, user_id: int, moment: int) -> None:
    """Leave one tombstone for a user, in place of those of records."""
    owner = owner_of(db, user_id)
    earlier = tombstones(db, owner).get(EVERYTHING, 0)
    spans = "SELECT max(at) AS at, min(at) AS began FROM events WHERE user_id = ? AND operation != 'embed' GROUP BY doc"
    last, first = db.execute(f"SELECT max(at), max(began) FROM ({spans}) e", (user_id,)).fetchone()
    db.execute("DELETE FROM tombstones WHERE owner = ?", (owner,))
    put_tombstones(
        db, owner, {EVERYTHING: earlier if earlier >= (first or 0) and earlier else max(moment, last or 0, earlier)}
    )


def last_erased(db: Connection, owner: bytes, id: str) -> int:
    """The time of the last erasure of an id or of its user (microseconds since 1970); 0 without one."""
    sql = "SELECT max(at) FROM tombstones WHERE owner = ? AND record IN (?, ?)"
    return db.execute(sql, (owner, EVERYTHING, digest(id))).fetchone()[0] or 0
