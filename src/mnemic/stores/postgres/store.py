"""The record in a PostgreSQL database."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mnemic.stores.postgres import integrity
from mnemic.stores.postgres.database import Database, looked_up
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
        url: ``postgresql://user:password@host:port/database?schema=name``; the schema is ``mnemic`` unless said otherwise, and
            is made when missing.
        durability: ``FULL`` survives power loss of the server; ``NORMAL`` may lose the last transactions with it.
    """

    def __init__(self, url: str, *, durability: Durability = "FULL") -> None:
        super().__init__(Database(url, durability=durability), LATEST)

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Check every invariant of the record; ``deep`` also compares with the texts what was made from them."""
        report = super().verify(deep=deep)
        changed = any("hash" in finding for finding in report.findings)  # then the full text is another matter
        if not deep or not report.checks or changed:
            return report
        with self._db.read() as db, db:
            found = {
                "full text that is not that of the text": [one.doc for one in integrity.unfound(db)],
                "filters that look up something else than tags and metadata": [
                    one.doc for one in integrity.misfiled(db)
                ],
                "a vector that is none": integrity.unusable(db),
            }
            missing = ["the vectors have no index: searches of many records are slow"] * integrity.missing_index(db)
        more = [f"{what}: {len(docs)} (number {', '.join(map(str, docs[:5]))})" for what, docs in found.items() if docs]
        return replace(report, findings=(*report.findings, *more, *missing))

    def mend(self) -> tuple[str, ...]:
        """Put right what can be without guessing, while nobody writes; a line for each thing that was done."""
        idle = self._idle()
        with self._db.write() as db:
            return tuple(integrity.mend(db, idle=idle))

    @staticmethod
    def at(url: str) -> tuple[str, bool]:
        """The name of an address, which tells no password, and whether there is a record; none is made.

        Raises:
            StoreError: the server cannot be reached, or something else is there.
        """
        return looked_up(url)

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

    def feed(self) -> Feed:
        """The record as an outbox, for an index that is derived from it; names the record for good.

        Raises:
            StoreReadOnly: it cannot be written, and so not named.
        """
        return Feed(self._db)
