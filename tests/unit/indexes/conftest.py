"""A store with the caches that follow it, driven by random operations."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from tests.internals import whole

from mnemic.indexes.catalog import Catalog
from mnemic.indexes.keyword import Fts5Index, RankBM25Index
from mnemic.indexes.vector.exact import ExactIndex
from mnemic.runtime.indexer import Indexer
from mnemic.stores import InMemoryStore
from mnemic.testing.fakes import memory_record, message
from mnemic.text.dates import mentioned_periods
from mnemic.types import AddMemory, AddMessage, Archive, Restore, Revise, searchable

NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)
USER = "ana"


class Followed:
    """A store, and the catalog and indexes of one user that follow it. Operations are tuples of plain values."""

    def __init__(self, store, user: str = USER) -> None:
        self.store, self.name = store, user
        self.made = 0
        store.apply(user, [self.message("seed")])
        self.user = store.user(user)
        self.restart()

    def restart(self) -> None:
        """Forget the caches; the next ``follow`` builds them from scratch."""
        self.catalog, self.vectors = Catalog(), ExactIndex()

        def texts(docs):
            return {doc: searchable(s.value) for doc, s in self.store.fetch(self.user, docs).items()}

        self.fts5 = Fts5Index(lambda term: self.store.postings(self.user, term), texts)
        self.rank_bm25 = RankBM25Index(texts)

    def message(self, text, *, session=None, project=None, minute=0, offset=0, name=None, role="user", id=None):
        self.made += 1
        moment = (NOON + timedelta(minutes=minute)).astimezone(timezone(timedelta(hours=offset)))
        said = message(text, id=id or f"m{self.made}", session=session, sent_at=moment, name=name, role=role)
        return AddMessage(message=said, project=project, indexing=self.indexing(said, moment))

    def memory(self, text, *, session=None, project=None, minute=0, type="semantic", importance=0.5, tags=()):
        self.made += 1
        moment = NOON + timedelta(minutes=minute)
        record = memory_record(
            text, id=f"r{self.made}", session=session, project=project, created_at=moment, updated_at=moment, type=type,
            importance=importance, tags=tags,
        )  # fmt: skip
        return AddMemory(record=record, indexing=self.indexing(record, moment))

    @staticmethod
    def indexing(record, moment):
        indexer = SimpleNamespace(
            embedder=SimpleNamespace(id="test"), _vectors=lambda texts, _: whole(vectors([one.text for one in texts]))
        )
        ((_, found),) = Indexer.indexed(indexer, [record])
        assert found.periods == tuple(mentioned_periods(record.content, moment.toordinal()))
        return found

    @staticmethod
    def vector(text):
        """The vector this world gives to a text."""
        return vectors([text])[0]

    def apply(self, *changes) -> None:
        self.store.apply(self.name, changes)

    def revise(self, id, text) -> None:
        from dataclasses import replace

        held = self.store.get(self.name, id).value
        record = replace(held, content=text, version=held.version + 1)
        self.apply(Revise(record=record, indexing=self.indexing(record, held.created_at)))

    def archive(self, id) -> None:
        self.apply(Archive(id=id))

    def restore(self, id) -> None:
        self.apply(Restore(id=id))

    def follow(self):
        """Bring the caches up to date and return the snapshot."""
        delta = self.store.catalog(self.user, after=self.catalog.last_doc, event=self.catalog.event)
        self.catalog.apply(delta)
        columns = self.catalog.snapshot()
        self.vectors.apply(delta, columns)
        self.fts5.apply(delta, columns)
        self.rank_bm25.apply(delta, columns)
        return columns

    def ids(self, columns):
        stored = self.store.fetch(self.user, columns.doc.tolist())
        return [stored[int(doc)].value.id for doc in columns.doc]


def vectors(texts):
    """Two numbers made of the text."""
    import zlib

    import numpy as np

    angles = [zlib.crc32(text.encode()) / 2**32 for text in texts]
    return [np.array([np.cos(angle), np.sin(angle)], np.float32) for angle in angles]


@pytest.fixture
def followed() -> Iterator[type]:
    """Makes followed stores, each a new one in RAM unless one is given."""
    stores = []

    def make(store=None, user=USER):
        if store is None:
            store = InMemoryStore()
            stores.append(closing(store))
        return Followed(store, user)

    yield make
    for store in stores:
        with store:
            pass
