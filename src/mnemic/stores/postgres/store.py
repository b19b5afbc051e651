"""The record in a PostgreSQL database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.stores.postgres.database import Database
from mnemic.stores.postgres.embedding import NearestVectors, PostgresEmbedding
from mnemic.stores.postgres.erasure import Erasure
from mnemic.stores.postgres.migrations import MIGRATIONS
from mnemic.stores.sql.store import SqlStore

if TYPE_CHECKING:
    from mnemic.stores.sql.connection import Durability

__all__ = ["PostgresStore"]


class PostgresStore(SqlStore[Database]):
    """A record in one schema of a database. Safe for several threads, processes and machines at once.

    Args:
        url: ``postgresql://user:password@host:port/database?schema=name``; the schema is ``mnemic`` unless said otherwise, and
            is made when missing.
        durability: ``FULL`` survives power loss of the server; ``NORMAL`` may lose the last transactions with it.
    """

    def __init__(self, url: str, *, durability: Durability = "FULL") -> None:
        super().__init__(Database(url, durability=durability), len(MIGRATIONS))

    @property
    def embedding(self) -> PostgresEmbedding:
        """The side of the record that holds vectors: what is missing, what is being rebuilt, what is near."""
        return PostgresEmbedding(self._db)

    @property
    def erasure(self) -> Erasure:
        """The side of the record that lets things go for good."""
        return Erasure(self._db)

    @property
    def index(self) -> NearestVectors:
        """Which vectors are near, for users whose vectors are too many to compare."""
        return NearestVectors(self.embedding)
