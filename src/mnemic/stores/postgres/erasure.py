"""Purge of erased bytes from tables and indexes."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.errors import StoreError
from mnemic.stores import schema
from mnemic.stores.postgres.database import Database
from mnemic.stores.postgres.errors import is_locked
from mnemic.stores.sql import queries
from mnemic.stores.sql.erasure import MARK, ErasedRows
from mnemic.types import Purge

__all__ = ["Erasure"]

REWRITTEN = 256 * 1024 * 1024
"""Up to this size in bytes the tables are rewritten, which locks each of them in the meantime."""
TABLES = (*(table.name for table in schema.TABLES), "postings", "header")


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
                mark = db.execute("SELECT value FROM header WHERE key = ?", (MARK,)).fetchone()
                small = queries.size(db) <= REWRITTEN
            self._db.vacuum(TABLES, whole=small, patience=patience)
            if mark is not None:
                with self._db.write() as db:
                    db.execute("DELETE FROM header WHERE key = ? AND value = ?", (MARK, mark[0]))
        except StoreError as error:
            again = "Tried again when the record is opened or closed."
            if is_locked(error.__cause__):
                return Purge(
                    pending=f"the rows are deleted, but their bytes are still in the tables: another session used one of them "
                    f"for longer than {patience:g} s. Look in pg_stat_activity for one that holds a transaction open. {again}"
                )
            return Purge(pending=f"{error} {again}")
        if small:
            return Purge()
        return Purge(
            pending=f"the rows are deleted, and new ones will overwrite them on disk; the tables are larger than "
            f"{REWRITTEN >> 20} MB and were not rewritten: VACUUM FULL does that, and locks them in the meantime"
        )
