"""The engine behind every handle: the record, the embedder, and the caches that follow the record."""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mnemic import errors
from mnemic.embedders import checked
from mnemic.indexes.catalog import Catalog, Columns
from mnemic.indexes.keyword import Fts5Index, RankBM25Index
from mnemic.indexes.vector import ExactIndex
from mnemic.protocols import Embedder, KeywordIndex, Reranker, Store, TokenCounter
from mnemic.text.cues import traits
from mnemic.text.dates import told_periods
from mnemic.text.render import searchable
from mnemic.text.terms import analysed
from mnemic.text.tokens import token_counter
from mnemic.types import Indexing, MemoryRecord, Message

__all__ = ["Engine", "View"]

MAX_CACHED_ROWS = 2_000_000


@dataclass(frozen=True, slots=True)
class View:
    """One user's records at one moment, ready to search."""

    user: int
    columns: Columns
    matrix: NDArray[np.float32]
    keyword: KeywordIndex
    model: str | None


@dataclass(slots=True)
class _Cache:
    """What is kept between searches of one user; synchronised under its own lock."""

    user: int
    make_keyword: Callable[[], KeywordIndex]
    keyword: KeywordIndex = field(init=False)
    catalog: Catalog = field(default_factory=Catalog)
    vectors: ExactIndex = field(default_factory=ExactIndex)
    model: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.keyword = self.make_keyword()

    def _follow(self, store: Store) -> None:
        """Take in what changed since the last search."""
        delta = store.catalog(self.user, after=self.catalog.last_doc, event=self.catalog.event)
        self.catalog.apply(delta)
        columns = self.catalog.snapshot()
        self.vectors.apply(delta, columns)
        self.keyword.apply(delta, columns)
        self.model = delta.model

    def view(self, store: Store) -> View:
        with self.lock:
            if self.catalog.event < 0 or store.last_event(self.user) != self.catalog.event:
                try:
                    self._follow(store)
                except BaseException:  # half of a change is worse than none: begin anew next time
                    self.catalog, self.vectors, self.keyword = Catalog(), ExactIndex(), self.make_keyword()
                    raise
            return View(self.user, self.catalog.snapshot(), self.vectors.matrix(), self.keyword, self.model)


def _said(record: Message | MemoryRecord) -> int:
    """The day a record was said, by its own clock."""
    moment = record.sent_at if isinstance(record, Message) else record.valid_at or record.created_at
    assert moment is not None
    return moment.toordinal()


def _indexing(record: Message | MemoryRecord, text: str, vector: NDArray[np.float32] | None) -> Indexing:
    terms, length = analysed(text)
    told = tuple(told_periods(record.content, _said(record)))
    return Indexing(terms=terms, length=length, traits=traits(record.content), told=told, vector=vector)


class Engine:
    """Shared by every handle on one record; thread-safe.

    Args:
        store: the record.
        embedder: texts to vectors; one that cannot be had leaves its work in ``pending``.
        tokenizer: see ``text.tokens.token_counter``; resolved at first use.
        reranker: a second opinion on the first hits, or none.
        in_memory: keywords through rank-bm25 instead of FTS5.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        tokenizer: str | TokenCounter | None,
        reranker: Reranker | None,
        in_memory: bool,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self._tokenizer = tokenizer
        self.reranker = reranker
        self._in_memory = in_memory
        self._users: dict[str, int] = {}  # a number, once given, stays
        self._caches: OrderedDict[int, _Cache] = OrderedDict()
        self._lock = threading.Lock()
        self._warned = False
        self.fence = store.fence

    @property
    def count_tokens(self) -> TokenCounter:
        """The handle's tokenizer."""
        return token_counter(self._tokenizer)

    def view(self, user: str) -> View | None:
        """A user's records as they are committed now; None when there are none."""
        number = self._users.get(user)
        if number is None:
            number = self.store.user(user)
            if number is None:
                return None
            self._users[user] = number
        with self._lock:
            cache = self._caches.get(number)
            if cache is None:
                cache = self._caches[number] = _Cache(number, partial(self._keyword_index, number))
            self._caches.move_to_end(number)
        view = cache.view(self.store)
        self._evict()
        return view

    def _keyword_index(self, user: int) -> KeywordIndex:
        def texts(docs: Sequence[int]) -> dict[int, str]:
            return {doc: searchable(stored.value) for doc, stored in self.store.fetch(user, docs).items()}

        return (
            RankBM25Index(texts) if self._in_memory else Fts5Index(lambda term: self.store.postings(user, term), texts)
        )

    def _evict(self) -> None:
        """Forget the users not asked about for longest, until the rest fits."""
        with self._lock:
            while len(self._caches) > 1 and sum(c.catalog.size for c in self._caches.values()) > MAX_CACHED_ROWS:
                self._caches.popitem(last=False)

    def embed_documents(self, texts: Sequence[str], embedder: Embedder) -> list[NDArray[np.float32] | None]:
        """A vector for each text, or None where the embedder failed: the text is stored and embedded later."""
        if not texts:
            return []
        try:
            return list(checked(embedder.embed(texts), len(texts), embedder.dimension))
        except errors.EmbedderUnavailable as error:
            self._warn(error)
            return [None] * len(texts)
        except errors.EmbedderError as error:
            if len(texts) == 1:
                self._warn(error)
                return [None]
            return [
                self.embed_documents([text], embedder)[0] for text in texts
            ]  # one bad text must not hold up the others

    def embed_query(self, text: str, view: View) -> NDArray[np.float32] | None:
        """The vector of a query, or None when there is no embedder: the search then goes by keywords."""
        if not view.matrix.size:
            return None
        self.check_model(view.model, view.matrix.shape[1])
        try:
            return checked(self.embedder.embed([text], kind="query"), 1, view.matrix.shape[1])[0]
        except errors.EmbedderError as error:
            self._warn(error)
            return None

    def check_model(self, model: str | None, dimension: int) -> None:
        """Refuse to compare vectors of two models."""
        mine = (self.embedder.id, self.embedder.dimension or dimension)
        if model is not None and (model, dimension) != mine:
            raise errors.EmbeddingMismatch((model, dimension), mine)

    def _warn(self, error: errors.EmbedderError) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"Without vectors for now, by keyword only: {error}", RuntimeWarning, stacklevel=4)

    def indexing(self, records: Sequence[Message | MemoryRecord], embedder: Embedder) -> list[Indexing]:
        """What makes records findable. Embeds, so it runs before any transaction begins.

        The embedder is the caller's, who names it to the store as well: the engine's may change meanwhile.
        """
        texts = [searchable(record) for record in records]
        return [
            _indexing(record, text, vector)
            for record, text, vector in zip(records, texts, self.embed_documents(texts, embedder), strict=True)
        ]

    def close(self) -> None:
        """Close the record and whatever the embedder holds open."""
        self.store.close()
        closer = getattr(self.embedder, "close", None)
        if callable(closer):
            closer()
