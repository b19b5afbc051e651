"""What only a record in one file has to put right: its full text, and vectors of another length."""

from __future__ import annotations

import apsw

from mnemic.stores.sql import mending
from mnemic.stores.sqlite import fulltext, numbers
from mnemic.stores.sqlite.connection import SqliteConnection

__all__ = ["mend"]

_AMONG = "(SELECT value FROM json_each(?))"
_MISFITS = """DELETE FROM vectors WHERE length(vector) != 2 * (SELECT value FROM header WHERE key = 'dimension')
    OR NOT EXISTS (SELECT 1 FROM header WHERE key = 'dimension') RETURNING doc"""
_NEXT = """INSERT INTO header SELECT 'next_doc', 1 + max(coalesce((SELECT max(doc) FROM records), 0),
    coalesce((SELECT max(doc) FROM events), 0)) WHERE true ON CONFLICT DO NOTHING RETURNING key"""


def mend(db: SqliteConnection, *, idle: bool) -> list[str]:
    """Put right what is safe, in the caller's transaction; a line for each thing that was done."""
    done = mending.unclaimed(db)
    if db.execute(_NEXT).fetchall():
        done.append("the number of the next record found again")
    if misfits := db.execute(_MISFITS).fetchall():
        done.append(f"{len(misfits)} vectors of another length than the model's removed, to be made anew")
        mending.unclaim(db)
    if unusable := numbers.unusable(db):
        db.execute(f"DELETE FROM vectors WHERE doc IN {_AMONG}", (db.dialect.many(unusable),))
        done.append(f"{len(unusable)} vectors that are none removed, to be made anew")
    done += mending.mend(db, idle=idle)
    if _wrong(db):
        done.append(f"the full text of {fulltext.rebuild(db)} records made anew from their texts")
    return done


def _wrong(db: SqliteConnection) -> bool:
    try:
        return bool(fulltext.wrong(db))
    except apsw.CorruptError:  # derived from the texts: it is made anew
        return True
