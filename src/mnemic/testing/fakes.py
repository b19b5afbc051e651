"""Fakes with stated behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.embedders import HashingEmbedder
from mnemic.errors import EmbedderError, EmbedderUnavailable
from mnemic.protocols import InputKind
from mnemic.text.english import traits
from mnemic.text.terms import analyse
from mnemic.types import AddEpisode, AddMemory, AddMessage, Episode, Indexing, MemoryRecord, Message, searchable

MOMENT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


class PreparedEmbedder:
    """Returns prepared vectors; a text without one is an error.

    Args:
        vectors: unit vectors by text.
        id: the name written into the record.
    """

    def __init__(self, vectors: Mapping[str, NDArray[np.float32]], *, id: str = "prepared") -> None:
        self._vectors = vectors
        self.id = id

    @property
    def dimension(self) -> int | None:
        """Length of the vectors, or None while there are none."""
        return len(next(iter(self._vectors.values()))) if self._vectors else None

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> NDArray[np.float32]:  # noqa: ARG002
        """The prepared vectors; shape (len(texts), dimension)."""
        missing = [text for text in texts if text not in self._vectors]
        if missing:
            raise EmbedderError(f"No vector was prepared for {missing[0]!r:.80}.")
        return np.array([self._vectors[text] for text in texts], np.float32).reshape(len(texts), -1)


class FailingEmbedder:
    """A hashing embedder that can be switched off, or that rejects texts with a word.

    Args:
        down: while true, nothing can be embedded (``EmbedderUnavailable``).
        refuses: texts with this word fail by themselves (``EmbedderError``).
    """

    def __init__(self, *, down: bool = True, refuses: str | None = None) -> None:
        self._inner = HashingEmbedder()
        self.down = down
        self.refuses = refuses
        self.id = self._inner.id

    @property
    def dimension(self) -> int | None:
        """That of the hashing embedder."""
        return self._inner.dimension

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> NDArray[np.float32]:
        """Vectors, or the configured failure."""
        if self.down:
            raise EmbedderUnavailable("The embedder was switched off by the test.")
        if self.refuses and any(self.refuses in text for text in texts):
            raise EmbedderError(f"The embedder refuses texts with {self.refuses!r}.")
        return self._inner.embed(texts, kind=kind)


def message(content: str, **fields: Any) -> Message:
    """A message with every field filled in, as a store receives it."""
    filled: dict[str, Any] = {"role": "user", "id": content, "sent_at": MOMENT, "source": "direct_user", "trust": 1.0}
    return Message(**(filled | fields), content=content)


def memory_record(content: str, **fields: Any) -> MemoryRecord:
    """A memory with every field filled in; its salience is its importance if only that is given."""
    filled: dict[str, Any] = {"id": content, "created_at": MOMENT, "updated_at": MOMENT}
    filled |= {"salience": fields["importance"]} if "importance" in fields else {}
    return MemoryRecord(**(filled | fields), content=content)


def indexing(
    record: Message | MemoryRecord | Episode, vector: Sequence[float] | None = (1.0, 0.0), model: str = "m"
) -> Indexing:
    """The index entry of a record, with a vector of two numbers."""
    text = searchable(record)
    terms, length = analyse(text)
    return Indexing(
        terms=terms,
        length=length,
        traits=traits(record.content),
        vector=None if vector is None else np.array(vector, np.float32),
        model=model,
    )


def add_message(
    content: str,
    *,
    vector: Sequence[float] | None = (1.0, 0.0),
    model: str = "m",
    project: str | None = None,
    **fields: Any,
) -> AddMessage:
    """The change that adds a message."""
    said = message(content, **fields)
    return AddMessage(message=said, project=project, indexing=indexing(said, vector, model))


def add_memory(
    content: str, *, vector: Sequence[float] | None = (1.0, 0.0), model: str = "m", **fields: Any
) -> AddMemory:
    """The change that adds a memory."""
    record = memory_record(content, **fields)
    return AddMemory(record=record, indexing=indexing(record, vector, model))


def add_episode(
    id: str,
    message_ids: Sequence[str],
    *,
    vector: Sequence[float] | None = (1.0, 0.0),
    model: str = "m",
    **fields: Any,
) -> AddEpisode:
    """The change that adds an episode of some messages."""
    filled: dict[str, Any] = {
        "title": f"About {id}", "content": f"What was said of {id}.", "started_at": MOMENT, "ended_at": MOMENT,
        "created_at": MOMENT,
    }  # fmt: skip
    record = Episode(id=id, message_ids=tuple(message_ids), **(filled | fields))
    return AddEpisode(record=record, indexing=indexing(record, vector, model))
