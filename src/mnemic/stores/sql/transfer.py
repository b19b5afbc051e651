"""Moving users between records, row by row.

The rows of a user are portable: they belong to the user 0, docs count from the first one of the user, and numbers that the
database assigns are left out. Their digest is the same in every record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mnemic.errors import Conflict
from mnemic.stores import schema
from mnemic.stores.schema import RECORDS, VECTORS, Table
from mnemic.stores.sql import queries, rows
from mnemic.stores.sql.changes import check_header, insert, lock_user
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.queries import AMONG, Reader
from mnemic.stores.sql.tombstones import put_tombstones
from mnemic.text.terms import analyse
from mnemic.text.values import to_json
from mnemic.types import searchable

Page = Sequence[rows.Row]
Step = Callable[[int], None]

PAGE = 1_000
_OF_RECORDS = "SELECT doc FROM records WHERE user_id = ? {} ORDER BY doc"
_NUMBERED = (schema.EVENTS, schema.QUESTIONS, schema.CONTEXTS)
_PARTS: Sequence[tuple[str, Mapping[Table, str]]] = (
    (_OF_RECORDS.format("AND kind = 'episode'"), {RECORDS: "doc"}),  # messages refer to them
    (_OF_RECORDS.format("AND kind != 'episode'"), {RECORDS: "doc"}),
    (
        _OF_RECORDS.format(""),
        {
            schema.VERSIONS: "doc", schema.LINEAGE: "child", schema.LINKS: "source", schema.PENDING: "doc",
            schema.ACCESS: "doc", schema.JUDGED: "doc", VECTORS: "doc",
        },
    ),
    *((f"SELECT {t.names[0]} FROM {t.name} WHERE user_id = ? ORDER BY 1", {t: t.names[0]}) for t in _NUMBERED),
    (
        "SELECT id FROM consolidations WHERE user_id = ? ORDER BY id",
        {schema.CONSOLIDATIONS: "id", **dict.fromkeys(schema.OUTCOMES, "consolidation")},
    ),
)  # fmt: skip
"""Queries for keys, and the tables with the columns of these keys, in an order in which every reference resolves."""


class Extent(NamedTuple):
    """A user at one moment: the last event, the lowest and highest doc, and the numbers of records and events."""

    event: int
    low: int
    high: int
    records: int
    events: int

    @property
    def size(self) -> int:
        """The number of records and events."""
        return self.records + self.events


class Transfer(Reader[Database]):
    """Reads users from a record, and writes users to it."""

    def users(self) -> list[str]:
        """All users with rows, oldest first."""
        sql = """SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM records r WHERE r.user_id = u.user_id)
            OR EXISTS (SELECT 1 FROM events e WHERE e.user_id = u.user_id) ORDER BY user_id"""
        return [name for (name,) in self._all(sql)]

    def extent(self, name: str) -> Extent:
        """The extent of a user."""
        with self._snapshot(name) as (db, user_id):
            return _extent(db, user_id)

    def copy(self, name: str, source: Transfer, step: Step) -> str:
        """Copy a user of another record and compare all rows, in one transaction; one that is here is only compared.

        Args:
            name: the user.
            source: the other record, which is read as it is at one moment.
            step: called with the number of records and events of each page that was read, on either side.

        Returns:
            A hash over the rows.

        Raises:
            Conflict: this user has other rows here, or was written to in the source meanwhile.
            EmbeddingMismatch: this record holds vectors of another model.
        """
        extent = source.extent(name)
        first = self._prepare(source, extent)

        def work(db: Connection) -> str:
            user_id = lock_user(db, name)
            here = _extent(db, user_id).size > 0
            with source._snapshot(name) as (other, source_id):
                _take_model(db, other)  # it may have changed; if not, nothing is locked
                write = None if here else partial(_write, db, user_id, first - 1)
                digest = _digest(_pages(other, source_id), step, write)
            if source.extent(name) != extent:
                raise Conflict(
                    f"The user {name!r} was changed in the source during the migration. Nothing of this user was stored in the "
                    "target. Stop all writers of the source, and migrate again: completed users are kept."
                )
            if digest != _digest(_pages(db, user_id), step):
                raise Conflict(
                    f"The rows of the user {name!r} in the target are not those of the source: it has other memories of this "
                    "user, or one of both was used since they were migrated. Nothing of this user was changed there; migrate "
                    "to an empty store, or erase the user there first."
                )
            return digest

        return self._db.apply(work)

    def _prepare(self, source: Transfer, extent: Extent) -> int:
        """Take over the model of another record and reserve docs; returns the first. On a server this locks all users."""
        with source._db.read() as other, self._db.write() as db:
            _take_model(db, other)
            return db.dialect.next_docs(db, extent.high - extent.low + 1)

    def copy_tombstones(self, source: Transfer) -> None:
        """Add what was erased in another record, of all users."""
        tombstones = source._all(f"SELECT {schema.TOMBSTONES.listed} FROM tombstones")
        with self._db.write() as db:
            for owner, record, moment in tombstones:
                put_tombstones(db, owner, {record: moment})


def _take_model(db: Connection, source: Connection) -> None:
    if (model := queries.model_of(source)) is not None:
        check_header(db, *model, claim=True)


_EXTENT = """SELECT coalesce(max(sequence), 0), coalesce(min(doc), 1), coalesce(max(doc), 1), count(*) - count(sequence),
    count(sequence) FROM (SELECT doc, sequence FROM events WHERE user_id = ?1
    UNION ALL SELECT doc, NULL FROM records WHERE user_id = ?1) d"""


def _extent(db: Connection, user_id: int) -> Extent:
    return Extent(*db.execute(_EXTENT, (user_id,)).fetchone())


def _pages(db: Connection, user_id: int) -> Iterator[tuple[Table, Page]]:
    """The portable rows of a user, table by table, in an order that does not depend on the engine."""
    shift = 1 - _extent(db, user_id).low
    for sql, tables in _PARTS:
        keys = [key for (key,) in db.execute(sql, (user_id,))]
        for start in range(0, len(keys), PAGE):
            for table, key in tables.items():
                names = [column.name for column in table.columns if column.type != "serial"]
                rest = f"WHERE user_id = ? AND {key} IN {AMONG} ORDER BY {table.key or key}"
                page = rows.select(db, table, rest, (user_id, keys[start : start + PAGE]), names=names)
                yield table, [_renumber(table, row, 0, shift) for row in page]


def _renumber(table: Table, row: rows.Row, user_id: int, shift: int) -> dict[str, Any]:
    """A row for another user number, with docs shifted by ``shift``."""
    docs = {name: row[name] + shift for name in table.docs if row.get(name) is not None}
    if table is schema.VERSIONS:
        docs["row"] = to_json(_renumber(RECORDS, json.loads(row["row"]), user_id, shift))
    return {**row, "user_id": user_id, **docs}


def _digest(pages: Iterable[tuple[Table, Page]], step: Step, write: Callable[[Table, Page], None] | None = None) -> str:
    """A hash over all rows; each page is given to ``write``."""
    digest = hashlib.blake2b(digest_size=16)
    for table, page in pages:
        for row in page:
            line = to_json(
                [table.name, *(value.hex() if isinstance(value, bytes) else value for value in row.values())]
            )
            digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
        if write:
            write(table, page)
        if table in (RECORDS, schema.EVENTS):
            step(len(page))
    return digest.hexdigest()


def _write(db: Connection, user_id: int, shift: int, table: Table, page: Page) -> None:
    """Insert portable rows, with full text and filter columns."""
    for portable in page:
        row = _renumber(table, portable, user_id, shift)
        if table is RECORDS:
            db.dialect.index(db, user_id, row["doc"], analyse(searchable(rows.record_from(row)))[0])
            row |= db.dialect.filter_columns(row)
        elif table is VECTORS:
            row["vector"] = db.dialect.bind_vector(np.frombuffer(row["vector"], "<f2").astype(np.float32))
        insert(db, table.name, row)
