"""What makes records findable: terms, cues, dates, and vectors of an embedder that may be out of reach."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.embedders import checked
from mnemic.errors import EmbedderError, EmbedderUnavailable, EmbeddingMismatch, MnemicError
from mnemic.protocols import Embedder
from mnemic.safety.secrets import SecretPolicy
from mnemic.text.cues import traits
from mnemic.text.dates import told_periods
from mnemic.text.render import searchable
from mnemic.text.terms import analysed
from mnemic.types import Episode, Indexing, MemoryRecord, Message

__all__ = ["Indexer", "Notices"]

Record = Message | Episode | MemoryRecord
Vector = NDArray[np.float32]


class Notices:
    """Warnings of what is missing: each is given once, and holds no secret."""

    def __init__(self, secrets: SecretPolicy) -> None:
        self._secrets = secrets
        self._given = set[str]()

    def warn(self, what: str, error: MnemicError) -> None:
        """Warn of something that is missing, once."""
        if what not in self._given:
            self._given.add(what)
            why = self._secrets.redacted(str(error))[0]
            warnings.warn(f"{what}: {why}", RuntimeWarning, stacklevel=5)


class Indexer:
    """Records and queries to what they are found by.

    Args:
        embedder: texts to vectors; one that cannot be had leaves its work in ``pending``.
        secrets: no text is embedded with a secret in it.
        notices: where a missing embedder is told of.

    Attributes:
        embedder: the one in use; ``reembed`` may change it.
    """

    def __init__(self, embedder: Embedder, secrets: SecretPolicy, notices: Notices) -> None:
        self.embedder = embedder
        self._secrets, self._notices = secrets, notices

    def documents(self, texts: Sequence[str], embedder: Embedder) -> list[Vector | None]:
        """A vector for each text, or None where the embedder failed: the text is stored and embedded later."""
        if not texts:
            return []
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
            # one bad text must not hold up the others
            return [self.documents([text], embedder)[0] for text in texts]

    def query(self, text: str, model: str | None, dimension: int) -> Vector | None:
        """The vector of a query for records of a model, or None without an embedder: the search then goes by keywords.

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

    def indexing(self, records: Sequence[Record], embedder: Embedder) -> list[Indexing]:
        """What makes records findable. Embeds, so it runs before any transaction begins.

        The embedder is the caller's, who names it to the store as well: the one in use may change meanwhile.
        """
        texts = [searchable(record) for record in records]
        return [
            _indexing(record, text, vector)
            for record, text, vector in zip(records, texts, self.documents(texts, embedder), strict=True)
        ]


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


def _indexing(record: Record, text: str, vector: Vector | None) -> Indexing:
    terms, length = analysed(text)
    told = tuple(told_periods(record.content, _said(record)))
    return Indexing(terms=terms, length=length, traits=traits(record.content), periods=told, vector=vector)
