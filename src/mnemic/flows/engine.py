"""The engine behind every handle: the record, the embedder, and the caches that follow the record."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic import errors
from mnemic.embedders import checked
from mnemic.flows.given import Given
from mnemic.flows.guarding import guard
from mnemic.flows.settings import Consolidator, Processing
from mnemic.flows.traffic import Traffic
from mnemic.flows.watching import Watch
from mnemic.indexes.catalog import Catalog, Columns
from mnemic.indexes.keyword import Fts5Index, RankBM25Index
from mnemic.indexes.vector import Centre, DistantRows, ExactIndex, RowVectors, centre_of, sample_size
from mnemic.protocols import Embedder, KeywordIndex, Reranker, Store, TokenCounter, VectorIndex
from mnemic.retrieval import CALIBRATED_FOR
from mnemic.safety.secrets import SecretPolicy
from mnemic.services.forking import renewed
from mnemic.services.process import process_lock
from mnemic.text.clock import now, to_micros
from mnemic.text.cues import traits
from mnemic.text.dates import told_periods
from mnemic.text.render import searchable
from mnemic.text.terms import analysed
from mnemic.text.tokens import token_counter
from mnemic.types import Episode, Indexing, MemoryRecord, Message, Touch

if TYPE_CHECKING:
    from mnemic.flows.idle import Idle, IdleTrigger
    from mnemic.flows.retaining import RetentionPolicy
    from mnemic.llm import LanguageModel

__all__ = ["Engine", "View"]

MAX_CACHED_ROWS = 2_000_000
USER_ROWS = 10
"""What is held of a user without records, in rows of the same size."""
PATIENCE = 1.0
"""Seconds that closing waits for readers that still see erased rows."""
MAX_USES = 4_096
"""Uses counted in RAM before they are written down."""


@dataclass(frozen=True, slots=True)
class View:
    """One user's records at one moment, ready to search."""

    user: int
    columns: Columns
    vectors: RowVectors
    keyword: KeywordIndex
    model: str | None


@dataclass(slots=True)
class _Cache:
    """What is kept between searches of one user; synchronised under its own lock."""

    user: int
    make_keyword: Callable[[], KeywordIndex]
    index: VectorIndex | None = None
    keyword: KeywordIndex = field(init=False)
    catalog: Catalog = field(default_factory=Catalog)
    vectors: ExactIndex = field(default_factory=ExactIndex)
    distant: bool = False
    model: str | None = None
    dimension: int = 0
    rows: int = 0
    following: bool = False
    centre: tuple[tuple[str | None, int], Centre | None] = ((None, 0), None)
    lock: Lock = field(default_factory=process_lock)

    def __post_init__(self) -> None:
        self.keyword = self.make_keyword()

    def _begin(self) -> None:
        self.catalog, self.vectors, self.keyword = Catalog(), ExactIndex(), self.make_keyword()
        self.following = False

    def _follow(self, store: Store) -> None:
        """Take in what changed since the last search."""
        delta = store.catalog(
            self.user, after=self.catalog.last_doc, event=self.catalog.event, vectors=not self.distant
        )
        self.catalog.apply(delta)
        columns = self.catalog.snapshot()
        if not self.distant:
            self.vectors.apply(delta, columns)
        self.keyword.apply(delta, columns)
        self.model, self.dimension = delta.model, delta.dimension or 0

    def _choose(self, store: Store) -> None:
        """Ask the index where a user has many records and it can be asked; keep the vectors in RAM where not."""
        if self.index is None:
            return
        size = self.catalog.size or store.embedding.size(self.user)
        distant = size > self.index.exact_below and self.index.serves(self.model or store.embedding.model())
        if distant and not self.distant:
            self.vectors = ExactIndex()
        elif self.distant and not distant:
            self._begin()
        self.distant = distant

    def view(self, store: Store) -> View:
        with self.lock:
            # it failed, or was under way in the parent at a fork: half of a change is worse than none
            if self.following:
                self._begin()
            self._choose(store)
            if self.catalog.event < 0 or store.last_event(self.user) != self.catalog.event:
                self.following = True
                self._follow(store)
                self.following = False
            columns = self.catalog.snapshot()
            return View(self.user, columns, self._rows(store, columns), self.keyword, self.model)

    def _rows(self, store: Store, columns: Columns) -> RowVectors:
        centred = self.model != CALIBRATED_FOR  # whose cosines all thresholds are made for
        if self.index is None or not self.distant:
            return self.vectors.rows(centred=centred)
        rows = partial(
            DistantRows, columns.doc, self.dimension, partial(store.embedding.held, self.user), self.index, user=self.user,
            model=self.model,
        )  # fmt: skip
        key = self.model, sample_size(len(columns)) if centred else 0
        if key != self.centre[0]:
            self.centre = key, centre_of(rows().of(np.arange(key[1])))
        return rows(centre=self.centre[1])


Record = Message | Episode | MemoryRecord


def _said(record: Record) -> int:
    """The day a record was said, by its own clock."""
    match record:
        case Message():
            moment = record.sent_at
        case Episode():
            moment = record.started_at
        case MemoryRecord():
            moment = record.said_at or record.valid_at or record.created_at
    assert moment is not None
    return moment.toordinal()


def _indexing(record: Record, text: str, vector: NDArray[np.float32] | None) -> Indexing:
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
        llm: the language model, or none; closed with the engine where the engine ``owns_llm``.
        owns_llm: whether it was made for this engine.
        settings: how messages are made into knowledge.
        consolidator: how short-term memories become long-term ones.
        idle: how long is quiet.
        retention: how long things are kept.
        in_memory: keywords through rank-bm25 instead of FTS5.
        in_turns: see ``Traffic``.
        index: which vectors are near, for users whose vectors are too many to multiply; none: they are all multiplied.
        discard: removes what an index of earlier days left; whether nothing is left of one.
        secrets: what is done with secrets; redacted by default.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        tokenizer: str | TokenCounter | None,
        reranker: Reranker | None,
        llm: LanguageModel | None,
        owns_llm: bool,
        settings: Processing,
        consolidator: Consolidator,
        idle: Idle,
        retention: RetentionPolicy,
        in_memory: bool,
        in_turns: bool = True,
        index: VectorIndex | None = None,
        discard: Callable[[], bool] = lambda: True,
        secrets: SecretPolicy | None = None,
    ) -> None:
        self.store = store
        self.index = index
        self._discard = discard
        self.embedder = embedder
        self._tokenizer = tokenizer
        self.reranker = reranker
        self.llm = llm
        self.owns_llm = owns_llm
        self.settings = settings
        self.consolidator = consolidator
        self.idle = idle
        self.retention = retention
        self.processing = process_lock()
        self.traffic, self.watch = Traffic(in_turns=in_turns), Watch()
        self.given = Given()
        self._in_memory = in_memory
        self._users: dict[str, int] = {}
        self._caches: OrderedDict[int, _Cache] = OrderedDict()
        self._rows: int = 0
        self._lock = process_lock()
        self._warned = set[str]()
        self._closed = False
        self._triggers: dict[str, IdleTrigger] = {}
        self._uses: dict[tuple[str, int], int] = {}
        self.fence = store.fence
        self.secrets = SecretPolicy() if secrets is None else secrets
        guard(self)
        renewed(self, Engine._renew)

    def _renew(self) -> None:
        """Begin anew in a forked child: what the parent counted it writes down itself."""
        self._uses, self.traffic = {}, self.traffic.anew()

    @property
    def count_tokens(self) -> TokenCounter:
        """The handle's tokenizer."""
        return token_counter(self._tokenizer)

    def view(self, user: str) -> View | None:
        """A user's records as they are committed now; None when there are none."""
        number = self.store.user(user)
        if self._users.get(user) != number:  # erased, and perhaps begun anew: nothing of before is kept
            self.drop(user)
        if number is None:
            return None
        self._users[user] = number
        with self._lock:
            cache = self._caches.get(number)
            if cache is None:
                cache = self._caches[number] = _Cache(number, partial(self._keyword_index, number), self.index)
            self._caches.move_to_end(number)
        view = cache.view(self.store)
        self._weigh(number, cache)
        return view

    def drop(self, user: str) -> None:
        """Let go of what is held of a user's records."""
        with self._lock:
            if cache := self._caches.pop(self._users.pop(user, -1), None):
                self._rows -= cache.rows

    def _keyword_index(self, user: int) -> KeywordIndex:
        def texts(docs: Sequence[int]) -> dict[int, str]:
            return {doc: searchable(stored.value) for doc, stored in self.store.fetch(user, docs).items()}

        return (
            RankBM25Index(texts) if self._in_memory else Fts5Index(lambda term: self.store.postings(user, term), texts)
        )

    def _weigh(self, number: int, cache: _Cache) -> None:
        """Note how much is held of a user, and forget those not asked about for longest until all fit."""
        with self._lock:
            if self._caches.get(number) is cache:  # not dropped meanwhile
                self._rows -= cache.rows
                cache.rows = USER_ROWS + cache.catalog.size
                self._rows += cache.rows
            while len(self._caches) > 1 and self._rows > MAX_CACHED_ROWS:
                self._rows -= self._caches.popitem(last=False)[1].rows

    def embed_documents(self, texts: Sequence[str], embedder: Embedder) -> list[NDArray[np.float32] | None]:
        """A vector for each text, or None where the embedder failed: the text is stored and embedded later."""
        if not texts:
            return []
        try:
            clean = [self.secrets.redacted(text)[0] for text in texts]
            return list(checked(embedder.embed(clean), len(texts), embedder.dimension))
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
        dimension = view.vectors.dimension
        if not dimension:
            return None
        self.check_model(view.model, dimension)
        try:
            clean = self.secrets.redacted(text)[0]
            return checked(self.embedder.embed([clean], kind="query"), 1, dimension)[0]
        except errors.EmbedderError as error:
            self._warn(error)
            return None

    def check_model(self, model: str | None, dimension: int) -> None:
        """Refuse to compare vectors of two models."""
        mine = (self.embedder.id, self.embedder.dimension or dimension)
        if model is not None and (model, dimension) != mine:
            raise errors.EmbeddingMismatch((model, dimension), mine)

    def _warn(self, error: errors.EmbedderError) -> None:
        self.warn("Without vectors for now, by keyword only", error)

    def warn(self, what: str, error: errors.MnemicError) -> None:
        """Tell of something that is missing, once."""
        if what not in self._warned:
            self._warned.add(what)
            said = self.secrets.redacted(str(error))[0]
            warnings.warn(f"{what}: {said}", RuntimeWarning, stacklevel=5)

    def indexing(self, records: Sequence[Record], embedder: Embedder) -> list[Indexing]:
        """What makes records findable. Embeds, so it runs before any transaction begins.

        The embedder is the caller's, who names it to the store as well: the engine's may change meanwhile.
        """
        texts = [searchable(record) for record in records]
        return [
            _indexing(record, text, vector)
            for record, text, vector in zip(records, texts, self.embed_documents(texts, embedder), strict=True)
        ]

    def trigger(self, user: str, make: Callable[[], IdleTrigger]) -> IdleTrigger:
        """The idle trigger of a user, made when it is first asked for."""
        with self._lock:
            if user not in self._triggers:
                self._triggers[user] = made = make()
                if self._closed:
                    made.stop()
            return self._triggers[user]

    def note_uses(self, user: str, docs: Iterable[int]) -> None:
        """Count records that were found and handed out; they are written down in batches, off the read path."""
        with self._lock:
            for doc in docs:
                self._uses[user, doc] = self._uses.get((user, doc), 0) + 1
            full = len(self._uses) > MAX_USES
        if full:
            self.save_uses()

    def save_uses(self) -> None:
        """Write down the uses counted so far; a record that cannot be written forgets them."""
        with self._lock:
            uses, self._uses = self._uses, {}
        moment = to_micros(now())
        for user in dict.fromkeys(user for user, _ in uses):
            own = {doc: count for (owner, doc), count in uses.items() if owner == user}
            with suppress(errors.StoreReadOnly):
                self.store.apply(user, [Touch(uses=own, at=moment)])

    def erased(self) -> bool:
        """Leave nothing of erased records in an index; whether that is done."""
        return self._discard() if self.index is None else self.index.erase()

    def close(self) -> None:
        """Close the record and whatever the embedder holds open."""
        with self._lock:
            self._closed = True
            triggers = list(self._triggers.values())
        for trigger in triggers:
            trigger.stop()
        with suppress(errors.StoreError):  # uses are no reason not to close
            self.save_uses()
        if self.index is not None:
            self.index.close()
        with suppress(errors.StoreError):  # an erasure that a reader was in the way of: else at the next opening
            if self.store.erasure.unfinished():
                self.store.erasure.purge(patience=PATIENCE)
        self.store.close()
        for part in (self.embedder, self.llm if self.owns_llm else None):
            closer = getattr(part, "close", None)
            if callable(closer):
                closer()
