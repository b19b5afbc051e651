"""The bytes of erased rows: out of the tables and their indexes."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.errors import StoreError
from mnemic.stores import schema
from mnemic.stores.postgres.database import Database
from mnemic.stores.postgres.errors import is_locked
from mnemic.stores.sql.erasure import MARK, ErasedRows
from mnemic.types import Purge

__all__ = ["Erasure"]

REWRITTEN = 256 * 1024 * 1024
"""Bytes up to which the tables are rewritten, which locks each of them meanwhile."""
TABLES = (*(table.name for table in schema.TABLES), "postings", "header")


class Erasure(ErasedRows[Database]):
    """Erasing for a record in PostgreSQL.

    What leaves the tables may still be in the write-ahead log until it is recycled, in free space of the catalog of what the
    planner samples, and in backups and replicas of the server: these follow the rules of its operator.
    """

    def purge(self, needles: Sequence[bytes] = (), *, patience: float = 3.0) -> Purge:  # noqa: ARG002
        """Rewrite the tables, so that no page holds a deleted row; the files of a server are not searched for ``needles``.

        Args:
            needles: of no use here.
            patience: seconds to wait for those who use a table.
        """
        try:
            with self._db.read() as db:
                mark = db.execute("SELECT value FROM header WHERE key = ?", (MARK,)).fetchone()
                small = db.dialect.size(db) <= REWRITTEN
            self._db.vacuum(TABLES, whole=small, patience=patience)
            if mark is not None:
                with self._db.write() as db:
                    db.execute("DELETE FROM header WHERE key = ? AND value = ?", (MARK, mark[0]))
        except StoreError as error:
            again = "Tried again when the record is opened or closed."
            if is_locked(error.__cause__):
                return Purge(
                    pending=f"the rows are gone, but their bytes are still in the tables: another session used one of them for "
                    f"longer than {patience:g} s. Look in pg_stat_activity for one that holds a transaction open. {again}"
                )
            return Purge(pending=f"{error} {again}")
        if small:
            return Purge()
        return Purge(
            pending=f"the rows are gone, and new ones will take their place on disk; the tables are larger than "
            f"{REWRITTEN >> 20} MB and were not rewritten: VACUUM FULL does, and locks them meanwhile"
        )
