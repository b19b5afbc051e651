"""Search views: one user's records in memory, cached between searches and kept in sync with the store."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from mnemic.indexes.catalog import Catalog, Columns
from mnemic.indexes.keyword import Fts5Index, RankBM25Index
from mnemic.indexes.vector.exact import Centre, ExactIndex, IndexedRows, RowVectors, centre_of, sample_size
from mnemic.protocols import KeywordIndex, VectorSearch
from mnemic.services.processes import process_lock
from mnemic.types import searchable
from mnemic.vectors import DEFAULT_MODELS, base_cosine

if TYPE_CHECKING:
    from mnemic.stores import Store

MAX_CACHED_ROWS = 2_000_000
USER_ROWS = 10
"""Cost of an empty cache, in rows."""
SAMPLE = 64
"""Records sampled to estimate the base cosine of an embedder."""


@dataclass(frozen=True, slots=True)
class View:
    """A snapshot of one user's records for searching."""

    user: int
    columns: Columns
    vectors: RowVectors
    keyword: KeywordIndex
    model: str | None

    @property
    def base(self) -> float:
        """The typical cosine of unrelated records; 0 for the default embedder, whose cosines need no scaling.

        In a few records on one subject, restatements would look like unrelated ones.
        """
        if self.model in DEFAULT_MODELS or not len(self.columns) or not self.vectors.dimension:
            return 0.0
        key = ("base", self.model)
        base = self.columns.memo.get(key)
        if base is None:
            rows = np.unique(np.linspace(0, len(self.columns) - 1, SAMPLE).astype(np.intp))
            base = self.columns.memo[key] = np.array(base_cosine(self.vectors.of(rows)))
        return float(base)


@dataclass(slots=True)
class _Cache:
    """The cached indexes of one user, guarded by its own lock."""

    user_id: int
    make_keyword: Callable[[], KeywordIndex]
    index: VectorSearch | None = None
    keyword: KeywordIndex = field(init=False)
    catalog: Catalog = field(default_factory=Catalog)
    vectors: ExactIndex = field(default_factory=ExactIndex)
    distant: bool = False
    model: str | None = None
    dimension: int = 0
    rows: int = 0
    updating: bool = False
    centre: tuple[tuple[str | None, int], Centre | None] = ((None, 0), None)
    lock: Lock = field(default_factory=process_lock)

    def __post_init__(self) -> None:
        self.keyword = self.make_keyword()

    def _reset(self) -> None:
        self.catalog, self.vectors, self.keyword = Catalog(), ExactIndex(), self.make_keyword()
        self.updating = False

    def _catch_up(self, store: Store) -> None:
        """Apply the changes since the last search."""
        delta = store.catalog(
            self.user_id,
            after=self.catalog.last_doc,
            event=self.catalog.event,
            used_since=self.catalog.moment,
            vectors=not self.distant,
        )
        self.catalog.apply(delta)
        columns = self.catalog.snapshot()
        if not self.distant:
            self.vectors.apply(delta, columns)
        self.keyword.apply(delta, columns)
        self.model, self.dimension = delta.model, delta.dimension or 0

    def _choose_index(self, store: Store) -> None:
        """Use the vector index for users with many records if it is available, else vectors in memory."""
        if self.index is None:
            return
        size = self.catalog.size or store.statistics.size(self.user_id)
        distant = size > self.index.exact_below and self.index.serves(self.model or store.embedding.model())
        if distant and not self.distant:
            self.vectors = ExactIndex()
        elif self.distant and not distant:
            self._reset()
        self.distant = distant

    def view(self, store: Store) -> View:
        """The records as they are committed now."""
        with self.lock:
            # an update failed, or a fork interrupted it: start over rather than keep half a change
            if self.updating:
                self._reset()
            self._choose_index(store)
            if self.catalog.event < 0 or store.last_event(self.user_id) != self.catalog.event:
                self.updating = True
                self._catch_up(store)
                self.updating = False
            columns = self.catalog.snapshot()
            return View(self.user_id, columns, self._rows(store, columns), self.keyword, self.model)

    def _rows(self, store: Store, columns: Columns) -> RowVectors:
        centred = self.model not in DEFAULT_MODELS  # all thresholds are made for its plain cosines
        if self.index is None or not self.distant:
            return self.vectors.rows(centred=centred)
        rows = partial(
            IndexedRows, columns.doc, self.dimension, partial(store.embedding.vectors_of, self.user_id), self.index,
            user=self.user_id, model=self.model,
        )  # fmt: skip
        key = self.model, sample_size(len(columns)) if centred else 0
        if key != self.centre[0]:
            self.centre = key, centre_of(rows().of(np.arange(key[1])))
        return rows(centre=self.centre[1])


class Views:
    """The views of the most recent users of one record; thread-safe.

    Args:
        store: the record.
        in_memory: keywords through rank-bm25 instead of FTS5.
        index: vector index for users with very many vectors; None compares all of them.
    """

    def __init__(self, store: Store, *, in_memory: bool, index: VectorSearch | None) -> None:
        self._store, self._in_memory, self._index = store, in_memory, index
        self._users: dict[str, int] = {}
        self._caches: OrderedDict[int, _Cache] = OrderedDict()
        self._rows = 0
        self._lock = process_lock()

    def of(self, user: str) -> View | None:
        """A user's records as they are committed now; None for an unknown user."""
        user_id = self._store.user(user)
        if self._users.get(user) != user_id:  # the user was erased, and perhaps created again
            self.drop(user)
        if user_id is None:
            return None
        self._users[user] = user_id
        with self._lock:
            cache = self._caches.get(user_id)
            if cache is None:
                cache = self._caches[user_id] = _Cache(user_id, partial(self._keyword_index, user_id), self._index)
            self._caches.move_to_end(user_id)
        view = cache.view(self._store)
        self._evict(user_id, cache)
        return view

    def drop(self, user: str) -> None:
        """Drop the cache of a user."""
        with self._lock:
            if cache := self._caches.pop(self._users.pop(user, -1), None):
                self._rows -= cache.rows

    def _keyword_index(self, user_id: int) -> KeywordIndex:
        def texts(docs: Sequence[int]) -> dict[int, str]:
            return {doc: searchable(stored.value) for doc, stored in self._store.fetch(user_id, docs).items()}

        if self._in_memory:
            return RankBM25Index(texts)
        return Fts5Index(lambda term: self._store.postings(user_id, term), texts)

    def _evict(self, user_id: int, cache: _Cache) -> None:
        """Update the size of a user's cache, and drop the least recently used ones until all fit."""
        with self._lock:
            if self._caches.get(user_id) is cache:  # not dropped meanwhile
                self._rows -= cache.rows
                cache.rows = USER_ROWS + cache.catalog.size
                self._rows += cache.rows
            while len(self._caches) > 1 and self._rows > MAX_CACHED_ROWS:
                self._rows -= self._caches.popitem(last=False)[1].rows
