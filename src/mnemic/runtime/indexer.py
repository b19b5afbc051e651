"""Index entries of records: terms, cues, dates, and vectors from an embedder that may be unavailable."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.embedders import checked
from mnemic.errors import EmbedderError, EmbedderUnavailable, EmbeddingMismatch
from mnemic.protocols import Embedder
from mnemic.runtime.notices import Notices
from mnemic.safety.secrets import SecretPolicy
from mnemic.services.telemetry import traced
from mnemic.text.dates import mentioned_periods
from mnemic.text.english import traits
from mnemic.text.terms import analyse
from mnemic.types import Episode, Indexing, MemoryRecord, Message, searchable
from mnemic.vectors import Floats

Record = Message | Episode | MemoryRecord


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

    @traced("embeddings")
    def documents(self, texts: Sequence[str], embedder: Embedder | None) -> list[Floats | None]:
        """A vector for each text, or None where there is no embedder or it failed: it is embedded later."""
        if embedder is None or not texts:
            return [None] * len(texts)
        try:
            clean = [self._secrets.redacted(text)[0] for text in texts]
            return list(checked(embedder.embed(clean), len(texts), embedder.dimension))
        except EmbedderUnavailable as error:
            self._warn(error)
            return [None] * len(texts)
        except EmbedderError as error:
            if len(texts) == 1:
                self._warn(error)
                return [None]
            # one bad text must not fail the others
            return [self.documents([text], embedder)[0] for text in texts]

    @traced("embeddings")
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
            return checked(self.embedder.embed([clean], kind="query"), 1, dimension)[0]
        except EmbedderError as error:
            self._warn(error)
            return None

    def check_model(self, model: str | None, dimension: int) -> None:
        """Refuse to compare vectors of two models."""
        mine = (self.embedder.id, self.embedder.dimension or dimension)
        if model is not None and (model, dimension) != mine:
            raise EmbeddingMismatch((model, dimension), mine)

    def _warn(self, error: EmbedderError) -> None:
        self._notices.warn("Without vectors for now, by keyword only", error)

    def indexing(self, records: Sequence[Record], embedder: Embedder | None) -> list[Indexing]:
        """The index entries of records. Embeds, so call it before a transaction begins.

        The caller passes the embedder, because it also names it to the store and the current one may change meanwhile.
        """
        texts = [searchable(record) for record in records]
        return [
            _indexing(record, text, vector)
            for record, text, vector in zip(records, texts, self.documents(texts, embedder), strict=True)
        ]


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


def _indexing(record: Record, text: str, vector: Floats | None) -> Indexing:
    terms, length = analyse(text)
    mentioned = tuple(mentioned_periods(record.content, _day(record)))
    return Indexing(terms=terms, length=length, traits=traits(record.content), periods=mentioned, vector=vector)
