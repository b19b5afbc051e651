"""What is derived from the texts of a record in PostgreSQL, compared with them: postings, what filters look up, vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence

from mnemic.stores.postgres.dialect import facets_of
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.texts import Searchable, pages
from mnemic.text.terms import analysed
from mnemic.vectors import NEAR

__all__ = ["astray", "misfiled", "missing_index", "unfound", "unusable"]

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
            counts = Counter(analysed(one.text)[0]) or {"": 0}
            if held.get(one.doc) != {(one.user, term): count for term, count in counts.items()}:
                yield one


def misfiled(db: Connection) -> Generator[Searchable]:
    """Records of which filters look up something else than their tags and metadata."""
    for page in pages(db):
        named, held = db.dialect.many([one.doc for one in page]), dict[int, set[tuple[int, bytes]]]()
        for doc, user, facet in db.execute(f"SELECT doc, user_id, facet FROM facets WHERE doc {_AMONG}", (named,)):
            held.setdefault(doc, set()).add((user, bytes(facet)))
        for one in page:
            if held.get(one.doc, set()) != {(one.user, facet) for facet in facets_of(one.values)}:
                yield one


def astray(db: Connection, table: str) -> list[int]:
    """Docs in a derived table that no record has."""
    found = db.execute(f"SELECT DISTINCT doc FROM {table} WHERE doc NOT IN (SELECT doc FROM records)")
    return [doc for (doc,) in found]


def unusable(db: Connection) -> Sequence[int]:
    """Docs whose vector is no direction: far too long or too short."""
    sql = "SELECT doc FROM vectors WHERE abs(l2_norm(vector) - 1) > CAST(? AS float8)"
    return [doc for (doc,) in db.execute(sql, (NEAR,)).fetchall()]


def missing_index(db: Connection) -> bool:
    """Whether the vectors have no index, though their dimension is known."""
    sql = """SELECT 1 FROM header WHERE key = 'dimension' AND NOT EXISTS (SELECT 1 FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = CAST('vectors' AS regclass)
        AND c.relname = 'vectors_hnsw')"""
    return bool(db.execute(sql).fetchall())
