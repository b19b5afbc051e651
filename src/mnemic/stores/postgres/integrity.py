"""Checks and repairs specific to PostgreSQL: indexes, postings, facets and vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence

from mnemic.stores.postgres.database import quote_name
from mnemic.stores.postgres.dialect import MOST_INDEXED, facets_of
from mnemic.stores.sql import queries
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.integrity import Integrity, Searchable, finding, pages
from mnemic.stores.sql.queries import AMONG
from mnemic.text.terms import analyse
from mnemic.text.values import counted
from mnemic.vectors import LENGTH_TOLERANCE

# CREATE INDEX also reads rows deleted in this transaction, and fails on vectors of another length among them: so the table is
# rewritten. Readers wait for the lock before their snapshot begins, and never see the table empty.
_REWRITTEN = (
    "CREATE TEMPORARY TABLE vectors_kept ON COMMIT DROP AS SELECT * FROM vectors",
    "TRUNCATE vectors",
    "INSERT INTO vectors SELECT * FROM vectors_kept",
)


class PostgresIntegrity(Integrity):
    """See ``Integrity``. Every reference is checked when it is written, and every page when it is read."""

    misfits = """vector_dims(vector) != (SELECT CAST(value AS int) FROM header WHERE key = 'dimension')
        OR octet_length(passages) % (2 * vector_dims(vector)) != 0"""
    invariants = {  # noqa: RUF012 - never changed
        "a record has no full text": "SELECT doc FROM records WHERE doc NOT IN (SELECT doc FROM postings)",
        "full text without a record": "SELECT DISTINCT doc FROM postings WHERE doc NOT IN (SELECT doc FROM records)",
        "full text filed under another user": """SELECT DISTINCT p.doc FROM postings p
            JOIN records r ON r.doc = p.doc WHERE p.user_id != r.user_id""",
    }

    def damage(self, db: Connection) -> list[str]:
        """Invalid indexes."""
        db.execute("SET LOCAL work_mem = '512MB'")  # the checks join all records
        return [f"the index {name} is not valid: rebuild it with REINDEX" for name in _invalid_indexes(db)]

    def unusable_vectors(self, db: Connection) -> Sequence[int]:
        """Docs whose vector has a norm far from 1."""
        sql = "SELECT doc FROM vectors WHERE abs(l2_norm(vector) - 1) > CAST(? AS float8)"
        return [doc for (doc,) in db.execute(sql, (LENGTH_TOLERANCE,)).fetchall()]

    def underivable(self, db: Connection) -> list[str]:
        """Findings on full text, filter columns and the index on the vectors."""
        return [
            *finding("full text that does not match the text", [r.doc for r in _wrong_postings(db)]),
            *finding("filter columns that do not match tags and metadata", [r.doc for r in _wrong_facets(db)]),
            *["the vectors have no index: searches of many records are slow"] * _missing_index(db),
        ]

    def after_misfits(self, db: Connection) -> None:
        """Rewrite the table."""
        for statement in _REWRITTEN:
            db.execute(statement)

    def repair(self, db: Connection, *, idle: bool) -> list[str]:
        """Repair what is safe, in the caller's transaction; returns a line for each repair."""
        repairs: list[str] = []
        for name in _invalid_indexes(db):
            db.execute(f"REINDEX INDEX {quote_name(name)}")
            repairs.append(f"the index {name} rebuilt")
        repairs += super().repair(db, idle=idle)
        if "model" not in queries.header(db):
            db.execute("DROP INDEX IF EXISTS vectors_hnsw")  # the next model creates one for its dimension
        if _missing_index(db):
            db.dialect.set_dimension(db, "vectors", int(queries.header(db)["dimension"]))
            repairs.append("the index on the vectors rebuilt")
        return repairs + _repair_postings(db) + _repair_facets(db)


def _invalid_indexes(db: Connection) -> list[str]:
    """Indexes marked invalid, such as after an interrupted CREATE INDEX."""
    sql = """SELECT CAST(c.relname AS text) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND NOT (i.indisvalid AND i.indisready)"""
    return [name for (name,) in db.execute(sql).fetchall()]


def _wrong_postings(db: Connection) -> Generator[Searchable]:
    """Records whose postings do not match their text and user."""
    for page in pages(db):
        postings: dict[int, dict[tuple[int, str], int]] = {}
        sql = f"SELECT doc, user_id, term, count FROM postings WHERE doc IN {AMONG}"
        for doc, user_id, term, count in db.execute(sql, ([record.doc for record in page],)):
            postings.setdefault(doc, {})[user_id, term] = count
        for record in page:
            counts = Counter(analyse(record.text)[0]) or {"": 0}
            if postings.get(record.doc) != {(record.user_id, term): count for term, count in counts.items()}:
                yield record


def _wrong_facets(db: Connection) -> Generator[Searchable]:
    """Records whose facets do not match their tags and metadata."""
    for page in pages(db):
        sql = f"SELECT doc, facets FROM records WHERE doc IN {AMONG}"
        facets = dict(db.execute(sql, ([record.doc for record in page],)).fetchall())
        for record in page:
            if sorted(map(bytes, facets.get(record.doc) or ())) != facets_of(record.values):
                yield record


def _missing_index(db: Connection) -> bool:
    """Whether the index on the vectors is missing although their dimension is known."""
    sql = f"""SELECT 1 FROM header WHERE key = 'dimension' AND CAST(value AS integer) <= {MOST_INDEXED}
        AND NOT EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE i.indrelid = CAST('vectors' AS regclass) AND c.relname = 'vectors_hnsw')"""
    return bool(db.execute(sql).fetchall())


def _repair_postings(db: Connection) -> list[str]:
    """Rebuild wrong full text, record by record."""
    sql = "DELETE FROM postings WHERE doc NOT IN (SELECT doc FROM records) RETURNING doc"
    orphans = len({doc for (doc,) in db.execute(sql).fetchall()})
    records = list(_wrong_postings(db))
    for record in records:
        db.execute("DELETE FROM postings WHERE doc = ?", (record.doc,))
        db.dialect.index(db, record.user_id, record.doc, analyse(record.text)[0])
    repairs = [f"the full text of {counted({'record': len(records)})} rebuilt"] if records else []
    return repairs + ([f"full text of {orphans} missing records removed"] if orphans else [])


def _repair_facets(db: Connection) -> list[str]:
    records = list(_wrong_facets(db))
    for record in records:
        db.execute("UPDATE records SET facets = ? WHERE doc = ?", (facets_of(record.values) or None, record.doc))
    return [f"the filter columns of {counted({'record': len(records)})} rebuilt"] if records else []
