"""The PostgreSQL store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.stores.postgres.database import Database, probe
from mnemic.stores.postgres.dialect import LATEST
from mnemic.stores.postgres.erasure import Erasure
from mnemic.stores.postgres.feed import Feed
from mnemic.stores.postgres.integrity import PostgresIntegrity
from mnemic.stores.postgres.vectors import NearestVectors, PostgresEmbedding
from mnemic.stores.sql.store import SqlStore

if TYPE_CHECKING:
    from mnemic.stores.sql.connection import Durability

__all__ = ["PostgresStore"]


class PostgresStore(SqlStore[Database]):
    """A record in one schema of a database. Safe for several threads, processes and machines at once.

    Args:
        url: ``postgresql://user:password@host:port/database?schema=name``; the schema (default ``mnemic``) is created if
            missing.
        durability: ``FULL`` survives power loss of the server; ``NORMAL`` may lose the last transactions with it.
    """

    def __init__(self, url: str, *, durability: Durability = "FULL") -> None:
        super().__init__(Database(url, durability=durability), LATEST, PostgresIntegrity())

    @staticmethod
    def at(url: str) -> tuple[str, bool]:
        """The URL without secrets, and whether a record exists there; creates nothing.

        Raises:
            StoreError: the server cannot be reached, or the schema belongs to another program.
        """
        return probe(url)

    @property
    def embedding(self) -> PostgresEmbedding:
        """Vectors: missing ones, the rebuild for another model, and nearest neighbours."""
        return PostgresEmbedding(self._db)

    @property
    def erasure(self) -> Erasure:
        """Erasure, with the purge of bytes."""
        return Erasure(self._db)

    @property
    def index(self) -> NearestVectors:
        """The vector index, for users with too many vectors for exact search."""
        return NearestVectors(self.embedding)

    def feed(self) -> Feed:
        """The record as an outbox for a derived index. The first call gives the record its unique name.

        Raises:
            StoreReadOnly: the record cannot be written, and so not named.
        """
        return Feed(self._db)
