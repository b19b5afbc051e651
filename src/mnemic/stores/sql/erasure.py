"""The side of a record that lets things go for good; removing their bytes is the engine's own matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from mnemic.stores.sql import erasing, family, reading
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.transaction import Transaction
from mnemic.types import Erase, EraseUser, Family

__all__ = ["ErasedRows"]

D = TypeVar("D", bound=Database)


class ErasedRows(Generic[D]):
    """Erasing rows."""

    def __init__(self, database: D) -> None:
        self._db = database

    def family(self, user: str, ids: Sequence[str]) -> Family:
        """Records of a user with all that was made from them."""
        with self._db.read() as db, db:
            number = reading.user_number(db, user)
            return Family(kin={}) if number is None else family.family(db, number, ids)

    def erase(self, user: str, change: Erase | EraseUser, *, model: str = "") -> dict[str, int]:
        """Apply the change; rows removed, by table.

        Raises:
            Conflict: something was made of the records meanwhile; nothing was erased.
        """

        def work(db: Connection) -> dict[str, int]:
            number = db.dialect.known(db, user)
            if number is None:  # erased meanwhile: the name is not written again
                return {}
            t = Transaction(db, number, model)
            return erasing.erase(t, change) if isinstance(change, Erase) else erasing.erase_user(t, change)

        return self._db.apply(work)

    def unfinished(self) -> bool:
        """Whether bytes of erased rows may still be on disk."""
        with self._db.read() as db:
            return bool(db.execute("SELECT 1 FROM header WHERE key = ?", (erasing.MARK,)).fetchall())
