"""What embedders, rerankers and tokenizers are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
    Floats: TypeAlias = NDArray[np.float32]

__all__ = ["Embedder", "InputKind", "Reranker", "TokenCounter"]

TokenCounter: TypeAlias = Callable[[str], int]
"""Text in, number of tokens out."""

InputKind = Literal["query", "document"]


@runtime_checkable
class Embedder(Protocol):
    """Texts in, unit vectors out."""

    @property
    def id(self) -> str:
        """Names model and variant; stored in the record's header, so it must not change for the same vectors."""
        ...

    @property
    def dimension(self) -> int | None:
        """Length of a vector, or None while the model has not been loaded."""
        ...

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts.

        Args:
            texts: any number of strings, none included.
            kind: whether they are stored (``document``) or asked (``query``); models with prefixes care.

        Returns:
            float32 array of shape (len(texts), dimension) with unit rows.

        Raises:
            EmbedderUnavailable: the model cannot be had; the caller may store the text and embed later.
            EmbedderError: this input cannot be embedded.
        """
        ...


@runtime_checkable
class Reranker(Protocol):
    """A second opinion on the first hits."""

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """How well each text answers the query: float32 of shape (len(texts),), higher is better."""
        ...
