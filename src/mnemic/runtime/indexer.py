"""Index entries of records (terms, cues, dates, and vectors from an embedder that may be unavailable), and what is written.

Every change is redacted once more, and indexed again where that altered it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mnemic.embedders import CachedEmbedder, checked
from mnemic.errors import EmbedderError, EmbedderUnavailable, EmbeddingMismatch
from mnemic.protocols import Embedder, InputKind
from mnemic.runtime.notices import Notices
from mnemic.secrets.policy import SecretPolicy, redact_record
from mnemic.services.telemetry import traced
from mnemic.text.dates import mentioned_periods
from mnemic.text.english import traits
from mnemic.text.sentences import LONG, passages
from mnemic.text.terms import analyse
from mnemic.types import (
    AddEpisode,
    AddMemory,
    AddMessage,
    Change,
    Consolidate,
    Embeddable,
    Episode,
    GivenContext,
    Indexing,
    KeepContexts,
    KeepQuestions,
    MemoryRecord,
    Message,
    Receipt,
    Record,
    Revise,
    TextVectors,
    embeddable,
    searchable,
)
from mnemic.vectors import Floats

if TYPE_CHECKING:
    from mnemic.stores import Store


R = TypeVar("R", bound=Record)
KEPT = 1_000
"""Vectors in the cache of ``Indexer.keeping``."""


class Indexer:
    """Turns records and queries into terms and vectors.

    Args:
        embedder: texts to vectors; while it is unavailable, its work stays in ``pending``.
        secrets: redacts texts before they are embedded.
        notices: receives the warning of a missing embedder.

    Attributes:
        embedder: the current one; ``reembed`` may replace it.
    """

    def __init__(self, embedder: Embedder, secrets: SecretPolicy, notices: Notices) -> None:
        self.embedder = embedder
        self._secrets, self._notices = secrets, notices
        self._keeping: CachedEmbedder | None = None

    def documents(self, texts: Sequence[str], embedder: Embedder | None) -> list[Floats | None]:
        """A vector for each text, or None where there is no embedder or it failed."""
        return [vectors and vectors.text for vectors in self._vectors([Embeddable(text) for text in texts], embedder)]

    def _vectors(self, texts: Sequence[Embeddable], embedder: Embedder | None) -> list[TextVectors | None]:
        """The vectors of each text, or None where there is no embedder or it failed: it is embedded later."""
        if embedder is None or not texts:
            return [None] * len(texts)
        try:
            return list(self.vectors(texts, embedder))
        except EmbedderUnavailable as error:
            self._warn(error)
            return [None] * len(texts)
        except EmbedderError as error:
            if len(texts) == 1:
                self._warn(error)
                return [None]
            # one bad text must not fail the others
            return [self._vectors([text], embedder)[0] for text in texts]

    def vectors(self, texts: Sequence[Embeddable], embedder: Embedder) -> list[TextVectors]:
        """The vectors of each text and of its passages.

        Raises:
            EmbedderError: the embedder is unavailable, or rejects a text.
        """
        redacted = [self._redacted(text) for text in texts]
        parts = [self._passages(text.body) for text in texts]
        all_texts = [*redacted, *itertools.chain.from_iterable(parts)]
        vectors = _embedded(all_texts, embedder, embedder.dimension)
        results, end = list[TextVectors](), len(redacted)
        for vector, part in zip(vectors, parts, strict=False):
            start, end = end, end + len(part)
            results.append(TextVectors(vector, vectors[start:end]))
        return results

    def _redacted(self, text: Embeddable) -> str:
        """A text without secrets, its body by itself: so it was searched when it came in, and is known."""
        before = text.text.removesuffix(text.body)
        return "".join(self._secrets.redacted(part)[0] for part in (before, text.text[len(before) :]) if part)

    def passages(self, bodies: Sequence[str], embedder: Embedder) -> list[Floats | None]:
        """The vectors of the passages of each text, shape (n, d); None without passages, or where the embedder failed."""
        parts = [self._passages(body) for body in bodies]
        vectors = iter(self.documents([*itertools.chain.from_iterable(parts)], embedder))
        rows = [[vector for _ in part if (vector := next(vectors)) is not None] for part in parts]
        return [np.stack(row) if row and len(row) == len(part) else None for row, part in zip(rows, parts, strict=True)]

    def _passages(self, body: str) -> list[str]:
        """The passages of a long text, without secrets."""
        if len(body) <= LONG:
            return []
        clean = self._secrets.redacted(body)[0]
        return [clean[begin:end] for begin, end in passages(clean)]

    @property
    def keeping(self) -> Embedder:
        """The embedder with a cache: for what recall shows of messages, which search after search asks for."""
        if self._keeping is None or self._keeping.inner is not self.embedder:
            self._keeping = CachedEmbedder(self.embedder, max_items=KEPT, kinds=("document",))
        return self._keeping

    def query(self, text: str, model: str | None, dimension: int) -> Floats | None:
        """The vector of a query, or None without an embedder: the search then uses keywords alone.

        Raises:
            EmbeddingMismatch: the records have vectors of another model.
        """
        if not dimension:
            return None
        self.check_model(model, dimension)
        try:
            clean = self._secrets.redacted(text)[0]
            return _embedded([clean], self.embedder, dimension, "query")[0]
        except EmbedderError as error:
            self._warn(error)
            return None

    def check_model(self, model: str | None, dimension: int) -> None:
        """Refuse to compare vectors of two models."""
        current = (self.embedder.id, self.embedder.dimension or dimension)
        if model is not None and (model, dimension) != current:
            raise EmbeddingMismatch((model, dimension), current)

    def _warn(self, error: EmbedderError) -> None:
        self._notices.warn("Without vectors for now, by keyword only", error)

    def indexed(self, records: Iterable[R], *, embed: bool = True) -> list[tuple[R, Indexing]]:
        """Records with their index entries. Embeds, so call it before a transaction begins.

        The passages of an assistant's answers are left to ``process``: they would double its time.
        """
        embedder = self.embedder if embed else None  # once: the current one may change meanwhile
        records = list(records)
        texts = [Embeddable(searchable(r)) if _is_answer(r) else embeddable(r) for r in records]
        return [
            (record, _indexing(record, text.text, vectors, "" if embedder is None else embedder.id))
            for record, text, vectors in zip(records, texts, self._vectors(texts, embedder), strict=True)
        ]


@traced("embeddings")
def _embedded(texts: Sequence[str], embedder: Embedder, dimension: int | None, kind: InputKind = "document") -> Floats:
    """The vectors of texts, shape (n, d)."""
    return checked(embedder.embed(texts, kind=kind), len(texts), dimension)


def _is_answer(record: Record) -> bool:
    return isinstance(record, Message) and record.role == "assistant"


def _day(record: Record) -> int:
    """The day a record was said, as an ordinal in its own time zone."""
    match record:
        case Message():
            moment = record.sent_at
        case Episode():
            moment = record.started_at
        case MemoryRecord():
            moment = record.said_at or record.valid_at or record.created_at
    assert moment is not None
    return moment.toordinal()


def _indexing(record: Record, text: str, vectors: TextVectors | None, model: str) -> Indexing:
    terms, length = analyse(text)
    periods = tuple(mentioned_periods(record.content, _day(record)))
    vector, parts = vectors or (None, None)
    return Indexing(
        terms=terms, length=length, traits=traits(record.content), periods=periods, vector=vector, passages=parts, model=model,
    )  # fmt: skip


A = TypeVar("A", bound=AddMessage | AddMemory | Revise | AddEpisode)
QUESTION, HIT = 2_000, 300
"""Characters kept of a question, and of a hit of a context. Text is cut after it was redacted, or half a secret would stay."""


def _cut(context: GivenContext) -> GivenContext:
    hits = tuple(replace(hit, text=hit.text[:HIT]) for hit in context.hits)
    return replace(context, question=context.question[:QUESTION], hits=hits)


class RedactingStore:
    """A store wrapper that redacts every change, whether it comes from rules or from a language model."""

    def __init__(self, store: Store, policy: SecretPolicy, indexer: Indexer) -> None:
        self.inner, self._policy, self._indexer = store, policy, indexer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def apply(self, user: str, changes: Iterable[Change]) -> tuple[Receipt, ...]:
        """Redact the changes and apply them."""
        return self.inner.apply(user, [self._clean(change) for change in changes])

    def _clean(self, change: Change) -> Change:
        match change:
            case AddMessage() | AddMemory() | Revise() | AddEpisode():
                return self._clean_record(change)
            case Consolidate(promotions=promotions):
                revised = tuple(
                    p if p.revised is None else replace(p, revised=self._clean_record(p.revised)) for p in promotions
                )
                change = replace(change, promotions=revised)
            case _:
                pass
        clean, _ = redact_record(self._policy, change)
        if isinstance(clean, KeepQuestions):
            return replace(clean, asked=tuple(replace(q, text=q.text[:QUESTION]) for q in clean.asked))
        if isinstance(clean, KeepContexts):
            return replace(clean, given=tuple(map(_cut, clean.given)))
        return clean

    def _clean_record(self, change: A) -> A:
        """The change with a redacted record, indexed again if there was anything to redact."""
        clean, kinds = redact_record(self._policy, change)
        if not kinds:
            return change
        record = clean.message if isinstance(clean, AddMessage) else clean.record
        return replace(clean, indexing=self._reindex(change, record))

    def _reindex(self, change: AddMessage | AddMemory | Revise | AddEpisode, record: Record) -> Indexing:
        """Index the redacted text; records without an index entry, such as earlier versions, keep none."""
        if not change.indexing.terms and change.indexing.vector is None:
            return change.indexing
        return self._indexer.indexed([record])[0][1]


def unwrap_store(store: Store) -> Store:
    """The store behind the wrapper, to copy its file."""
    return store.inner if isinstance(store, RedactingStore) else store
