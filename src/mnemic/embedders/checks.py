"""Checks of the input and output of embedding models, shared by all embedders."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np

from mnemic.errors import EmbedderError, InvalidInput
from mnemic.protocols import InputKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemic.protocols import Vectors

MAX_CHARACTERS = 20_000
"""Texts are cut to this length before tokenisation: models read a few hundred to a few thousand tokens."""

SMALLEST_NORM = 1e-12
SMALLEST_SAFE, LARGEST_SAFE = 1e-6, 1e100
"""Between these lengths a vector is not zero, and its squares neither underflow nor overflow."""


def prepared(texts: Sequence[str], kind: InputKind, max_characters: int | None = MAX_CHARACTERS) -> list[str]:
    """Texts that every tokeniser accepts.

    Each is cut to its first `max_characters` characters (None cuts nothing); NUL is dropped; the two halves of a split
    surrogate pair are joined, and a lone half becomes U+FFFD.

    Raises:
        InvalidInput: `texts` is a single string or contains other values than strings, or `kind` is unknown.
    """
    if kind not in get_args(InputKind):
        raise InvalidInput(f"kind={kind!r} is not known. Use 'document' for texts to store, 'query' for questions.")
    if isinstance(texts, (str, bytes)):
        raise InvalidInput("embed takes a sequence of texts, but got a single one. Put it into a list: [text].")
    return [_clean(text, max_characters) for text in texts]


def _clean(text: object, max_characters: int | None) -> str:
    if not isinstance(text, str):
        raise InvalidInput(f"Only strings can be embedded, not {type(text).__name__}. Turn the value into text first.")
    text = text[:max_characters].replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def checked(vectors: object, count: int, dimension: int | None) -> Vectors:
    """The output of a model as unit rows.

    Args:
        vectors: anything that numpy can read as an array of `count` rows.
        count: the number of texts.
        dimension: the expected dimension; None accepts any.

    Returns:
        C-contiguous float32 array of shape (count, dimension) with rows of length 1.

    Raises:
        EmbedderError: not a 2-d array of numbers, wrong count or dimension, NaN, infinity or a zero vector.
    """
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbedderError(f"The model did not return a table of numbers: {error}. Check the model.") from error
    if count == 0 and rows.size == 0:
        return np.zeros((0, dimension or 0), dtype=np.float32)
    _check_shape(rows.shape, count, dimension)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if ((norms > SMALLEST_SAFE) & (norms < LARGEST_SAFE)).all():
        return np.ascontiguousarray(rows / norms[:, None], dtype=np.float32)
    if not np.isfinite(rows).all():
        raise EmbedderError("The model returned NaN or infinity. Check its weights and its input.")
    # Dividing by the largest value first avoids overflow and underflow of the squares.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if (largest < SMALLEST_NORM).any():
        raise EmbedderError("The model returned a zero vector, which has no direction. Check its weights.")
    rows = rows / largest
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows, dtype=np.float32)


def _check_shape(shape: tuple[int, ...], count: int, dimension: int | None) -> None:
    if len(shape) != 2 or shape[0] != count or shape[1] == 0:
        raise EmbedderError(f"The model returned an array of shape {shape} for {count} texts. Check the model.")
    if dimension is not None and shape[1] != dimension:
        raise EmbedderError(
            f"The model returned vectors of dimension {shape[1]} instead of {dimension}. "
            "Was the model replaced? A record holds vectors of one model only."
        )
