"""Purge of erased bytes from tables and indexes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from mnemic.errors import StoreError
from mnemic.stores import schema
from mnemic.stores.postgres.connection import Driver, run
from mnemic.stores.postgres.database import Database, is_locked, quote_name
from mnemic.stores.sql import queries
from mnemic.stores.sql.erasure import ErasedRows
from mnemic.types import Purge

REWRITTEN = 256 * 1024 * 1024
"""Up to this size in bytes the tables are rewritten, which locks each of them in the meantime."""
TABLES = (*(table.name for table in schema.TABLES), "postings", "header")

_REMAIN = "the rows are deleted, but their bytes are still in the tables:"
_RETRY = "Tried again when the record is opened or closed."


class Erasure(ErasedRows[Database]):
    """Erasure for a PostgreSQL record.

    Bytes of erased rows may stay in the write-ahead log until it is recycled, in free space of the statistics catalog, and in
    backups and replicas of the server; these are up to its operator.
    """

    def purge(self, needles: Sequence[bytes] = (), *, patience: float = 3.0) -> Purge:  # noqa: ARG002
        """Rewrite the tables, so that no page contains a deleted row.

        Args:
            needles: ignored: the files of a server cannot be searched.
            patience: seconds to wait for other sessions that use a table.
        """
        try:
            with self._db.read() as db:
                mark = self._mark(db)
                small = queries.size(db) <= REWRITTEN
            with self._db.maintenance(patience) as driver:
                if run(driver, _FOREIGN_TABLES).fetchall():
                    return Purge(pending=f"{_REMAIN} this role does not own them. Open the record once as their owner.")
                visible = _are_visible(driver, patience)
                for table in TABLES:
                    _forget_samples(driver, table)
                    run(driver, f"VACUUM ({'FULL, ' if small else ''}ANALYZE) {table}")  # FULL rewrites and locks it
            if visible:
                return Purge(
                    pending=f"{_REMAIN} a transaction that is open in this database, even on other tables, may still see them. "
                    f"Look in pg_stat_activity, pg_prepared_xacts and pg_replication_slots. {_RETRY}"
                )
            self._clear_mark(mark)
        except StoreError as error:
            if is_locked(error.__cause__):
                return Purge(
                    pending=f"{_REMAIN} another session used one of them for longer than {patience:g} s. Look in "
                    f"pg_stat_activity for one that holds a transaction open. {_RETRY}"
                )
            return Purge(pending=f"{error} {_RETRY}")
        if small:
            return Purge()
        return Purge(
            pending=f"the rows are deleted, and new ones will overwrite them on disk; the tables are larger than "
            f"{REWRITTEN >> 20} MB and were not rewritten: VACUUM FULL does that, and locks them in the meantime"
        )


_FOREIGN_TABLES = """SELECT 1 FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    AND relkind = 'r' AND NOT pg_has_role(relowner, 'USAGE') LIMIT 1"""
"""A table of the record that this role does not own: VACUUM only warns of it."""
_HOLDERS = """SELECT 1 FROM pg_stat_activity WHERE pid != pg_backend_pid() AND backend_type != 'autovacuum worker'
    AND coalesce(datname, current_database()) = current_database()
    AND greatest(age(backend_xmin), age(backend_xid)) >= age(CAST(CAST($1 AS text) AS xid))
    UNION ALL SELECT 1 FROM pg_prepared_xacts WHERE database = current_database()
    UNION ALL SELECT 1 FROM pg_replication_slots WHERE age(xmin) >= age(CAST(CAST($1 AS text) AS xid))"""
"""What may still see rows that were deleted before a transaction: VACUUM keeps these rows."""
_PAUSE = 0.05
"""Seconds between two looks."""


def _are_visible(driver: Driver, patience: float) -> bool:
    """Whether rows that were deleted before now may still be seen after so many seconds."""
    (now,) = run(driver, "SELECT CAST(CAST(pg_current_xact_id() AS xid) AS text)").fetchall()[0]
    end = time.monotonic() + patience
    while seen := bool(run(driver, _HOLDERS, (now,)).fetchall()):
        if time.monotonic() > end:
            break
        time.sleep(_PAUSE)
    return seen


# Planner statistics: sampled values stay readable in ``pg_stats`` after their rows are deleted. Another ANALYZE is not
# enough: for an empty table PostgreSQL keeps the old statistics, and a new sample may quote remaining users. So columns
# with personal data are not sampled at all; every query on them also uses a key.

PERSONAL_TYPES = ["text", "bytea", "_bytea", "halfvec"]
"""Types of columns with personal data: texts, hashes of them, vectors."""
ENUM_COLUMNS = ["kind", "status", "type"]
"""Columns with a few fixed values, whose statistics the planner needs."""

# Expressions of an index are columns of it, and are sampled too.
_COLUMNS = """SELECT CAST(c.relname AS text), CAST(a.attname AS text), a.attnum, format_type(a.atttypid, a.atttypmod) ||
        coalesce((SELECT ' COLLATE ' || quote_ident(n.nspname) || '.' || quote_ident(l.collname) FROM pg_collation l
        JOIN pg_namespace n ON n.oid = l.collnamespace WHERE l.oid = a.attcollation), ''),
        t.typname = ANY($2::text[]) AND a.attname <> ALL($3::text[]), coalesce(a.attstattarget, -1) <> 0,
        EXISTS (SELECT 1 FROM pg_stats s WHERE s.schemaname = current_schema() AND s.tablename = c.relname
            AND s.attname = a.attname)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_index i ON i.indexrelid = c.oid
    WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND (c.relname = $1 OR i.indrelid = CAST(CAST($1 AS text) AS regclass) AND i.indkey[a.attnum - 1] = 0)
        AND a.attnum > 0 AND NOT a.attisdropped"""


class _Column(NamedTuple):
    relation: str
    name: str
    number: int
    declared: str
    personal: bool
    is_sampled: bool
    was_sampled: bool


def _forget_samples(driver: Driver, table: str) -> None:
    """Remove samples of personal columns of a table from the statistics, and disable sampling for them.

    For an empty table all samples are removed. PostgreSQL drops the statistics of a column only when its type is altered,
    even to the same one; that also rebuilds indexes with expressions on it, without their statistics.
    """
    columns = _columns(driver, table)
    empty = not run(driver, f"SELECT 1 FROM {table} LIMIT 1").fetchall()
    if any(column.was_sampled and (empty or column.personal) for column in columns):
        alterations = [
            f"ALTER {quote_name(c.name)} TYPE {c.declared}"
            for c in columns
            if c.relation == table and (empty or c.personal)
        ]
        _alter(driver, table, f"ALTER TABLE {table} {', '.join(alterations)}")
        columns = _columns(driver, table)
    for column in columns:
        if column.personal and column.is_sampled:
            of_table = column.relation == table
            kind, name = ("TABLE", quote_name(column.name)) if of_table else ("INDEX", str(column.number))
            run(driver, f"ALTER {kind} {quote_name(column.relation)} ALTER COLUMN {name} SET STATISTICS 0")


def _alter(driver: Driver, table: str, sql: str) -> None:
    """Run ALTER TABLE; the views on ``records`` are dropped and created again, because they block it."""
    with driver.transaction():
        if table == schema.RECORDS.name:
            run(driver, f"DROP VIEW {', '.join(view.name for view in schema.VIEWS)}")
        run(driver, sql)
        if table == schema.RECORDS.name:
            for statement in schema.views():
                run(driver, statement)


def _columns(driver: Driver, table: str) -> list[_Column]:
    return [_Column(*row) for row in run(driver, _COLUMNS, (table, PERSONAL_TYPES, ENUM_COLUMNS)).fetchall()]
