"""What only a record in PostgreSQL has to put right: indexes, postings, what filters look up, and vectors."""

from __future__ import annotations

from mnemic.stores.postgres.derived import astray, misfiled, missing_index, unfound, unusable
from mnemic.stores.postgres.dialect import invalid_indexes
from mnemic.stores.postgres.opening import quoted
from mnemic.stores.sql import mending, reading
from mnemic.stores.sql.connection import Connection
from mnemic.text.terms import analysed

__all__ = ["mend"]

_AMONG = "(SELECT value FROM json_each(?))"
_MISFITS = """DELETE FROM vectors WHERE vector_dims(vector) != (SELECT CAST(value AS int) FROM header
    WHERE key = 'dimension') OR NOT EXISTS (SELECT 1 FROM header WHERE key = 'dimension') RETURNING doc"""

# An index takes in what was only just deleted, and refuses a vector of another length there too: so the rows are written anew.
# Readers wait for the lock before they choose their moment, and never see the table empty.
_REWRITTEN = (
    "CREATE TEMPORARY TABLE vectors_kept ON COMMIT DROP AS SELECT user_id, doc, vector FROM vectors",
    "TRUNCATE vectors",
    "INSERT INTO vectors SELECT user_id, doc, vector FROM vectors_kept",
)


def mend(db: Connection, *, idle: bool) -> list[str]:
    """Put right what is safe, in the caller's transaction; a line for each thing that was done."""
    done: list[str] = []
    for name in invalid_indexes(db):
        db.execute(f"REINDEX INDEX {quoted(name)}")
        done.append(f"the index {name} made anew")
    done += _vectors(db)
    done += mending.mend(db, idle=idle)
    return done + _texts(db) + _filters(db)


def _vectors(db: Connection) -> list[str]:
    done = mending.unclaimed(db)
    if misfits := db.execute(_MISFITS).fetchall():
        for statement in _REWRITTEN:
            db.execute(statement)
        done.append(f"{len(misfits)} vectors of another length than the model's removed, to be made anew")
        mending.unclaim(db)
    if spoiled := unusable(db):
        db.execute(f"DELETE FROM vectors WHERE doc IN {_AMONG}", (db.dialect.many(spoiled),))
        done.append(f"{len(spoiled)} vectors that are none removed, to be made anew")
    if "model" not in reading.header(db):
        db.execute("DROP INDEX IF EXISTS vectors_hnsw")  # the next model makes one of its own length
    if missing_index(db):
        db.dialect.vectors.claimed(db, "vectors", int(reading.header(db)["dimension"]))
        done.append("the index over the vectors made anew")
    return done


def _texts(db: Connection) -> list[str]:
    """Full text, record by record: what is right is left alone."""
    gone = _removed(db, "postings")
    wrong = list(unfound(db))
    for one in wrong:
        db.execute("DELETE FROM postings WHERE doc = ?", (one.doc,))
        db.dialect.index(db, one.user, one.doc, analysed(one.text)[0])
    told = [f"the full text of {len(wrong)} records made anew from their texts"] if wrong else []
    return told + ([f"full text of {gone} records that are gone removed"] if gone else [])


def _filters(db: Connection) -> list[str]:
    gone = _removed(db, "facets")
    wrong = list(misfiled(db))
    for one in wrong:
        db.execute("DELETE FROM facets WHERE doc = ?", (one.doc,))
        db.dialect.filters.filed(db, one.user, one.values)
    told = [f"what filters look up of {len(wrong)} records made anew"] if wrong else []
    return told + ([f"filter entries of {gone} records that are gone removed"] if gone else [])


def _removed(db: Connection, table: str) -> int:
    if docs := astray(db, table):
        db.execute(f"DELETE FROM {table} WHERE doc IN {_AMONG}", (db.dialect.many(docs),))
    return len(docs)
