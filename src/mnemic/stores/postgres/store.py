"""The PostgreSQL store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mnemic.stores.postgres import integrity
from mnemic.stores.postgres.database import Database, probe
from mnemic.stores.postgres.erasure import Erasure
from mnemic.stores.postgres.feed import Feed
from mnemic.stores.postgres.migrations import LATEST
from mnemic.stores.postgres.vectors import NearestVectors, PostgresEmbedding
from mnemic.stores.sql.store import SqlStore
from mnemic.types import VerifyReport

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
        super().__init__(Database(url, durability=durability), LATEST)

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Check every invariant of the record; ``deep`` also checks full text, filter columns and vectors."""
        report = super().verify(deep=deep)
        changed = any("hash" in finding for finding in report.findings)  # a changed text does not match its full text
        if not deep or not report.checks or changed:
            return report
        with self._db.read() as db, db:
            found = {
                "full text that does not match the text": [one.doc for one in integrity.wrong_postings(db)],
                "filter columns that do not match tags and metadata": [one.doc for one in integrity.wrong_facets(db)],
                "an invalid vector": integrity.unusable_vectors(db),
            }
            missing = ["the vectors have no index: searches of many records are slow"] * integrity.missing_index(db)
        more = [f"{what}: {len(docs)} (number {', '.join(map(str, docs[:5]))})" for what, docs in found.items() if docs]
        return replace(report, findings=(*report.findings, *more, *missing))

    def mend(self) -> tuple[str, ...]:
        """Repair what is safe, with all other writers excluded; returns a line for each repair."""
        idle = self._idle()
        with self._db.write() as db:
            return tuple(integrity.mend(db, idle=idle))

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
