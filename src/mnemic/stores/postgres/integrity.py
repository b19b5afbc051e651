"""What only a record in PostgreSQL has to check and to put right: indexes, postings, what filters look up, and vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence

from mnemic.stores.postgres.dialect import facets_of, invalid_indexes
from mnemic.stores.postgres.setup import quoted
from mnemic.stores.sql import integrity, queries
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.texts import Searchable, pages
from mnemic.text.terms import analyse
from mnemic.vectors import LENGTH_TOLERANCE

__all__ = ["mend", "misfiled", "missing_index", "unfound", "unusable"]

_AMONG = "IN (SELECT value FROM json_each(?))"


def unfound(db: Connection) -> Generator[Searchable]:
    """Records whose terms in the index are not those of their text, or are under another user."""
    for page in pages(db):
        named, held = db.dialect.many([one.doc for one in page]), dict[int, dict[tuple[int, str], int]]()
        for doc, user, term, count in db.execute(
            f"SELECT doc, user_id, term, count FROM postings WHERE doc {_AMONG}", (named,)
        ):
            held.setdefault(doc, {})[user, term] = count
        for one in page:
            counts = Counter(analyse(one.text)[0]) or {"": 0}
            if held.get(one.doc) != {(one.user, term): count for term, count in counts.items()}:
                yield one


def misfiled(db: Connection) -> Generator[Searchable]:
    """Records of which filters look up something else than their tags and metadata."""
    for page in pages(db):
        named = db.dialect.many([one.doc for one in page])
        held = dict(db.execute(f"SELECT doc, facets FROM records WHERE doc {_AMONG}", (named,)).fetchall())
        for one in page:
            if sorted(map(bytes, held.get(one.doc) or ())) != facets_of(one.values):
                yield one


def unusable(db: Connection) -> Sequence[int]:
    """Docs whose vector is no direction: far too long or too short."""
    sql = "SELECT doc FROM vectors WHERE abs(l2_norm(vector) - 1) > CAST(? AS float8)"
    return [doc for (doc,) in db.execute(sql, (LENGTH_TOLERANCE,)).fetchall()]


def missing_index(db: Connection) -> bool:
    """Whether the vectors have no index, though their dimension is known."""
    sql = """SELECT 1 FROM header WHERE key = 'dimension' AND NOT EXISTS (SELECT 1 FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = CAST('vectors' AS regclass)
        AND c.relname = 'vectors_hnsw')"""
    return bool(db.execute(sql).fetchall())


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
    done += integrity.mend(db, idle=idle)
    return done + _texts(db) + _filters(db)


def _vectors(db: Connection) -> list[str]:
    done = integrity.unclaimed(db)
    if misfits := db.execute(_MISFITS).fetchall():
        for statement in _REWRITTEN:
            db.execute(statement)
        done.append(f"{len(misfits)} vectors of another length than the model's removed, to be made anew")
        integrity.unclaim(db)
    if spoiled := unusable(db):
        db.execute(f"DELETE FROM vectors WHERE doc {_AMONG}", (db.dialect.many(spoiled),))
        done.append(f"{len(spoiled)} vectors that are none removed, to be made anew")
    if "model" not in queries.header(db):
        db.execute("DROP INDEX IF EXISTS vectors_hnsw")  # the next model makes one of its own length
    if missing_index(db):
        db.dialect.vectors.claimed(db, "vectors", int(queries.header(db)["dimension"]))
        done.append("the index over the vectors made anew")
    return done


def _texts(db: Connection) -> list[str]:
    """Full text, record by record: what is right is left alone."""
    sql = "DELETE FROM postings WHERE doc NOT IN (SELECT doc FROM records) RETURNING doc"
    gone = len({doc for (doc,) in db.execute(sql).fetchall()})
    wrong = list(unfound(db))
    for one in wrong:
        db.execute("DELETE FROM postings WHERE doc = ?", (one.doc,))
        db.dialect.index(db, one.user, one.doc, analyse(one.text)[0])
    told = [f"the full text of {len(wrong)} records made anew from their texts"] if wrong else []
    return told + ([f"full text of {gone} records that are gone removed"] if gone else [])


def _filters(db: Connection) -> list[str]:
    wrong = list(misfiled(db))
    for one in wrong:
        db.execute("UPDATE records SET facets = ? WHERE doc = ?", (facets_of(one.values) or None, one.doc))
    return [f"what filters look up of {len(wrong)} records made again"] if wrong else []
