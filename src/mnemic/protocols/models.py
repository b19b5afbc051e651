"""Protocols of embedders, rerankers and tokenizers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
    Floats: TypeAlias = NDArray[np.float32]

TokenCounter: TypeAlias = Callable[[str], int]
"""Returns the number of tokens of a text."""

InputKind = Literal["query", "document"]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def id(self) -> str:
        """Model and variant. Stored in the record, so it must be constant for the same vectors."""
        ...

    @property
    def dimension(self) -> int | None:
        """The dimension of the vectors; None while the model is not loaded."""
        ...

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts.

        Args:
            texts: any number of strings, possibly none.
            kind: ``document`` for stored texts, ``query`` for queries; used by models with prefixes.

        Returns:
            float32 array of shape (len(texts), dimension) with unit rows.

        Raises:
            EmbedderUnavailable: the model is unavailable; the caller may store the text and embed later.
            EmbedderError: this input cannot be embedded.
        """
        ...


@runtime_checkable
class Reranker(Protocol):
    """Rescores the first hits."""

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """How well each text answers the query: float32 of shape (len(texts),), higher is better."""
        ...
