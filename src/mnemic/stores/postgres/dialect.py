"""PostgreSQL's values, tables and dialect: locks by user, postings as rows, filters by hash, vectors of pgvector."""

from __future__ import annotations

import hashlib
import json
import secrets
import struct
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import psycopg
from psycopg import adapt, pq
from psycopg.types.numeric import Int8Dumper

from mnemic.stores import schema
from mnemic.stores.sql.connection import Connection
from mnemic.text.values import to_json

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from psycopg.abc import Buffer

# PostgreSQL's text type cannot store NUL. To keep messages byte for byte, NUL is escaped as DLE 0, and
# DLE (U+0010) as DLE 1.
_ESCAPES = {0x00: "\x100", 0x10: "\x101"}
_HEAD = struct.Struct(">HH")
_ARRAY = struct.Struct(">iiIii")
_BIGINT = 20
MOST_INDEXED = 4_000
"""Dimensions of the longest vectors for which pgvector makes an HNSW index; longer ones are searched exactly."""
_ELEMENT = np.dtype([("length", ">i4"), ("value", ">i8")])


def escape(text: str) -> str:
    """Text without NUL; distinct texts stay distinct."""
    return text.translate(_ESCAPES) if "\x00" in text or "\x10" in text else text


def unescape(text: str) -> str:
    """The original of an escaped text."""
    return text.replace("\x100", "\x00").replace("\x101", "\x10") if "\x10" in text else text


class Half(bytes):
    """A vector in the binary format of halfvec."""

    __slots__ = ()

    @classmethod
    def of(cls, vector: NDArray[np.float32]) -> Half:
        """The dimension, then the numbers as big-endian float16."""
        return cls(_HEAD.pack(len(vector), 0) + vector.astype(">f2").tobytes())


class Numbers(bytes):
    """Integers in the binary format of bigint[]; thousands are sent at a time."""

    __slots__ = ()

    @classmethod
    def of(cls, values: Sequence[int]) -> Numbers:
        """A one-dimensional array without nulls, each number preceded by its length; at least one."""
        body = np.empty(len(values), _ELEMENT)
        body["length"], body["value"] = 8, values
        return cls(_ARRAY.pack(1, 0, _BIGINT, len(values), 1) + body.tobytes())


def parameter(value: object) -> object:
    """A value to be bound; a list becomes an array."""
    if not isinstance(value, list | tuple | set):
        return value
    values = list(cast("Iterable[object]", value))
    return Numbers.of(cast("list[int]", values)) if values and isinstance(values[0], int) else values


class _BinaryDumper(adapt.Dumper):
    """Values that are in the binary format of their type."""

    format = pq.Format.BINARY

    def dump(self, obj: bytes) -> bytes:
        return obj


class _NumbersDumper(_BinaryDumper):
    oid = 1016  # bigint[]


class _TextDumper(adapt.Dumper):
    """Text as unknown type, which the server infers."""

    def dump(self, obj: str) -> bytes:
        return escape(obj).encode()


class _TextLoader(adapt.Loader):
    def load(self, data: Buffer) -> str:
        text = str(data, "utf-8")
        return unescape(text) if "\x10" in text else text


class _BinaryTextLoader(_TextLoader):
    format = pq.Format.BINARY


class _HalfLoader(adapt.Loader):
    """Little-endian float16 bytes, the format of the caches."""

    format = pq.Format.BINARY

    def load(self, data: Buffer) -> bytes:
        numbers = array("H", bytes(data)[_HEAD.size :])  # faster than numpy for so few
        if sys.byteorder == "little":
            numbers.byteswap()
            return numbers.tobytes()
        return np.frombuffer(data, ">f2", offset=_HEAD.size).astype("<f2").tobytes()


def adapters(halfvec: int) -> adapt.AdaptersMap:
    """The adapters for a database in which ``halfvec`` is the oid of that type."""

    class HalfDumper(_BinaryDumper):
        oid = halfvec

    adapters_map = adapt.AdaptersMap(psycopg.adapters)
    adapters_map.register_dumper(str, _TextDumper)
    adapters_map.register_dumper(int, Int8Dumper)  # one type, so that a statement is prepared once
    adapters_map.register_dumper(Half, HalfDumper)
    adapters_map.register_dumper(Numbers, _NumbersDumper)
    adapters_map.register_loader("text", _TextLoader)
    adapters_map.register_loader("text", _BinaryTextLoader)
    adapters_map.register_loader(halfvec, _HalfLoader)
    return adapters_map


TEXT = 'text COLLATE "C"'  # ordered by its bytes, as in SQLite, whatever the locale of the server
POSTGRES = schema.Engine(
    "postgres",
    {
        "serial": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "integer": "bigint", "real": "double precision",
        "text": TEXT, "blob": "bytea",
        # The dimension is known with the first vector; the index is created then.
        "vector": "halfvec",
    },
    # An update writes a new row version; free space keeps it in the same page.
    busy=" WITH (fillfactor = 70)",
)  # fmt: skip
_OWN = (
    "CREATE SEQUENCE docs",
    # A covering key: the postings of one term of one user are one index range.
    f"""CREATE TABLE postings(user_id bigint, term {TEXT}, doc bigint, count bigint NOT NULL,
        PRIMARY KEY(user_id, term, doc) INCLUDE (count))""",
    "CREATE INDEX postings_by_doc ON postings(doc)",
    "ALTER TABLE records ADD COLUMN facets bytea[]",
    "CREATE INDEX records_by_facet ON records USING gin(facets)",
)


def create_record(db: Connection) -> None:
    """Create all tables but the header, and write the fence into it."""
    for statement in (*schema.definitions(POSTGRES), *_OWN):
        db.execute(statement)
    db.execute("INSERT INTO header VALUES('fence', ?)", (secrets.token_hex(4),))


def _facet(*parts: object) -> bytes:
    """A hash of one value that filters look up: index keys must be short."""
    return hashlib.blake2b(to_json(parts).encode(), digest_size=16).digest()


def _comparable(value: object) -> object:
    """A value such that 1 and 1.0 are equal, true and 1 are not, as in SQLite's JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def facets_of(row: Mapping[str, Any]) -> list[bytes]:
    """The facets (hashes for filters) of one row; they include the user, so that index lookups stay within one user."""
    user_id = row["user_id"]
    facets = {_facet(user_id, "tag", tag) for tag in json.loads(row.get("tags") or "[]")}
    for key, value in json.loads(row["metadata"]).items():
        facets |= {_facet(user_id, "key", key), _facet(user_id, "value", key, _comparable(value))}
    return sorted(facets)


class PostgresDialect:
    """See ``Dialect``.

    Tags and metadata are stored as JSON text, because jsonb would change them (NUL, lone surrogates, 1e22, -0.0); a GIN index
    holds hashes of them.
    """

    # Writers of a user wait for its row, so that events become visible in the order of their numbers. The lock also excludes
    # ``Database.write``, which locks the whole table.
    user_lock = "FOR NO KEY UPDATE"
    size = """SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bigint) FROM pg_class c
        WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind = 'r'"""

    def next_docs(self, db: Connection, count: int = 1) -> int:
        """From a sequence; higher than all docs of the user, because the user is locked, or all users are for several docs."""
        if count > 1:
            db.execute("LOCK TABLE users IN EXCLUSIVE MODE")
        first = int(db.execute("SELECT nextval('docs')").fetchone()[0])
        if count > 1:
            db.execute("SELECT setval('docs', ?)", (first + count - 1,)).fetchall()
        return first

    def index(self, db: Connection, user_id: int, doc: int, terms: Sequence[str]) -> None:
        """A row for each term; a record without terms gets a placeholder row."""
        counts = Counter(terms) or {"": 0}
        db.execute(
            "INSERT INTO postings SELECT ?1, t.term, ?2, t.count FROM unnest(?3::text[], ?4::bigint[]) AS t(term, count)",
            (user_id, doc, list(counts), list(counts.values())),
        )

    def unindex(self, db: Connection, doc: int) -> None:
        """By the index on docs."""
        db.execute("DELETE FROM postings WHERE doc = ?", (doc,))

    def postings(self, db: Connection, user_id: int, term: str) -> list[int]:
        """A range scan of the primary key."""
        sql = "SELECT doc, count FROM postings WHERE user_id = ? AND term = ? ORDER BY doc"
        return [doc for doc, count in db.execute(sql, (user_id, term)) for _ in range(count)]

    def bind_vector(self, vector: NDArray[np.float32]) -> Half:
        """A halfvec."""
        return Half.of(vector)

    def set_dimension(self, db: Connection, table: str, dimension: int) -> None:
        """Create one HNSW index over the vectors of all users, while the table is empty; very long ones have none."""
        if dimension > MOST_INDEXED:
            return
        db.execute(
            f"CREATE INDEX IF NOT EXISTS {table}_hnsw ON {table} USING hnsw "
            f"((vector::halfvec({int(dimension)})) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)"
        )

    def create_next(self, db: Connection) -> None:
        """Create a new table, because the index of the old one is for another dimension."""
        db.execute("DROP TABLE IF EXISTS vectors_next")
        db.execute(schema.create_table(schema.VECTORS_NEXT, POSTGRES))

    def swap(self, db: Connection) -> None:
        """Rename the tables: nothing is copied, and the index exists already.

        Running readers keep the old table until they end (see ``PostgresConnection.__enter__``).
        """
        db.execute("DELETE FROM vectors_next WHERE vector IS NULL")
        db.execute("DROP TABLE vectors")
        db.execute("ALTER TABLE vectors_next RENAME TO vectors")
        db.execute("ALTER INDEX vectors_next_pkey RENAME TO vectors_pkey")
        db.execute("ALTER INDEX IF EXISTS vectors_next_hnsw RENAME TO vectors_hnsw")
        self.create_next(db)

    def filter_columns(self, row: Mapping[str, Any]) -> dict[str, object]:
        """The facets; most records have none."""
        return {"facets": facets_of(row) or None}

    def has_tags(self, user_id: int, table: str, tags: Sequence[str]) -> tuple[str, list[object]]:
        """A condition on any of the hashes of the tags."""
        return _facet_condition(table, [_facet(user_id, "tag", tag) for tag in tags])

    def each_tag(self, selected: str) -> str:
        """By the JSON functions of PostgreSQL."""
        return (
            f"({selected}) AS selected CROSS JOIN LATERAL jsonb_array_elements_text(selected.tags::jsonb) AS tag(value)"
        )

    def has_metadata(self, user_id: int, table: str, key: str, value: object) -> tuple[str, list[object]]:
        """A condition on the hash of key and value."""
        return _facet_condition(table, [_facet(user_id, "value", key, _comparable(value))])

    def has_key(self, user_id: int, table: str, key: str) -> tuple[str, list[object]]:
        """A condition on the hash of the key."""
        return _facet_condition(table, [_facet(user_id, "key", key)])


def _facet_condition(table: str, facets: list[bytes]) -> tuple[str, list[object]]:
    return f"{table}.doc IN (SELECT doc FROM records WHERE facets && CAST(? AS bytea[]))", [facets]
