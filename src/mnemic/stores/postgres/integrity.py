"""Checks and repairs specific to PostgreSQL: indexes, postings, facets and vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence

from mnemic.stores.postgres.dialect import facets_of, invalid_indexes
from mnemic.stores.postgres.setup import quoted
from mnemic.stores.sql import integrity, queries
from mnemic.stores.sql.connection import Connection
from mnemic.text.terms import analyse
from mnemic.vectors import LENGTH_TOLERANCE

__all__ = ["mend", "missing_index", "unusable_vectors", "wrong_facets", "wrong_postings"]

_AMONG = "IN (SELECT value FROM json_each(?))"


def wrong_postings(db: Connection) -> Generator[integrity.Searchable]:
    """Records whose postings do not match their text and user."""
    for page in integrity.pages(db):
        named, held = db.dialect.bind_list([one.doc for one in page]), dict[int, dict[tuple[int, str], int]]()
        for doc, user, term, count in db.execute(
            f"SELECT doc, user_id, term, count FROM postings WHERE doc {_AMONG}", (named,)
        ):
            held.setdefault(doc, {})[user, term] = count
        for one in page:
            counts = Counter(analyse(one.text)[0]) or {"": 0}
            if held.get(one.doc) != {(one.user, term): count for term, count in counts.items()}:
                yield one


def wrong_facets(db: Connection) -> Generator[integrity.Searchable]:
    """Records whose facets do not match their tags and metadata."""
    for page in integrity.pages(db):
        named = db.dialect.bind_list([one.doc for one in page])
        held = dict(db.execute(f"SELECT doc, facets FROM records WHERE doc {_AMONG}", (named,)).fetchall())
        for one in page:
            if sorted(map(bytes, held.get(one.doc) or ())) != facets_of(one.values):
                yield one


def unusable_vectors(db: Connection) -> Sequence[int]:
    """Docs whose vector is invalid: its norm is far from 1."""
    sql = "SELECT doc FROM vectors WHERE abs(l2_norm(vector) - 1) > CAST(? AS float8)"
    return [doc for (doc,) in db.execute(sql, (LENGTH_TOLERANCE,)).fetchall()]


def missing_index(db: Connection) -> bool:
    """Whether the index on the vectors is missing although their dimension is known."""
    sql = """SELECT 1 FROM header WHERE key = 'dimension' AND NOT EXISTS (SELECT 1 FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = CAST('vectors' AS regclass)
        AND c.relname = 'vectors_hnsw')"""
    return bool(db.execute(sql).fetchall())


_MISFITS = """DELETE FROM vectors WHERE vector_dims(vector) != (SELECT CAST(value AS int) FROM header
    WHERE key = 'dimension') OR NOT EXISTS (SELECT 1 FROM header WHERE key = 'dimension') RETURNING doc"""

# CREATE INDEX also reads rows deleted in this transaction, and fails on vectors of another length among them: so the table is
# rewritten. Readers wait for the lock before their snapshot begins, and never see the table empty.
_REWRITTEN = (
    "CREATE TEMPORARY TABLE vectors_kept ON COMMIT DROP AS SELECT user_id, doc, vector FROM vectors",
    "TRUNCATE vectors",
    "INSERT INTO vectors SELECT user_id, doc, vector FROM vectors_kept",
)


def mend(db: Connection, *, idle: bool) -> list[str]:
    """Repair what is safe, in the caller's transaction; returns a line for each repair."""
    done: list[str] = []
    for name in invalid_indexes(db):
        db.execute(f"REINDEX INDEX {quoted(name)}")
        done.append(f"the index {name} rebuilt")
    done += _vectors(db)
    done += integrity.mend(db, idle=idle)
    return done + _texts(db) + _filters(db)


def _vectors(db: Connection) -> list[str]:
    done = integrity.drop_half_model(db)
    if misfits := db.execute(_MISFITS).fetchall():
        for statement in _REWRITTEN:
            db.execute(statement)
        done.append(f"{len(misfits)} vectors of the wrong length removed, to be computed again")
        integrity.forget_model(db)
    if spoiled := unusable_vectors(db):
        db.execute(f"DELETE FROM vectors WHERE doc {_AMONG}", (db.dialect.bind_list(spoiled),))
        done.append(f"{len(spoiled)} invalid vectors removed, to be computed again")
    if "model" not in queries.header(db):
        db.execute("DROP INDEX IF EXISTS vectors_hnsw")  # the next model creates one for its dimension
    if missing_index(db):
        db.dialect.vectors.set_dimension(db, "vectors", int(queries.header(db)["dimension"]))
        done.append("the index on the vectors rebuilt")
    return done


def _texts(db: Connection) -> list[str]:
    """Rebuild wrong full text, record by record."""
    sql = "DELETE FROM postings WHERE doc NOT IN (SELECT doc FROM records) RETURNING doc"
    gone = len({doc for (doc,) in db.execute(sql).fetchall()})
    wrong = list(wrong_postings(db))
    for one in wrong:
        db.execute("DELETE FROM postings WHERE doc = ?", (one.doc,))
        db.dialect.index(db, one.user, one.doc, analyse(one.text)[0])
    done = [f"the full text of {len(wrong)} records rebuilt"] if wrong else []
    return done + ([f"full text of {gone} missing records removed"] if gone else [])


def _filters(db: Connection) -> list[str]:
    wrong = list(wrong_facets(db))
    for one in wrong:
        db.execute("UPDATE records SET facets = ? WHERE doc = ?", (facets_of(one.values) or None, one.doc))
    return [f"the filter columns of {len(wrong)} records rebuilt"] if wrong else []
