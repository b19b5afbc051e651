"""The fitted weights: loaded on first use and checked; the file contains no code."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from mnemic.errors import ConfigurationError
from mnemic.vectors import DIMENSION, MINILM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

EMBEDDER = MINILM
"""The embedder whose vectors the regression was fitted on."""

FILE = "weights.npz"
SHA256 = "bb41ac0aa1cf4df6879f224a28a7c26fe8a5dd351adbb1dcafba11b864d445fd"
"""The hash of weights.npz. `python -m benchmarks.quality.emotion fit` writes the file and prints its hash."""

FEATURES = (
    "negative", "positive", "compound", "strength", "most_positive", "most_negative", "positive_share", "negative_share",
    "polar_words", "exclamations", "questions", "ellipsis", "shouted", "shouted_share", "length", "stretched", "quoted",
    "digits", "ends_exclaiming", "amazed", "first_person", "second_person", "word_length", "opener",
)  # fmt: skip
"""The columns of `features_of`, in order."""
_N = len(FEATURES)
_SHAPES: dict[str, tuple[int | None, ...]] = {
    "mean": (_N,), "spread": (_N,), "centres": (None, DIMENSION + _N), "kernel": (None, 2), "linear": (DIMENSION + _N, 2),
    "bias": (2,), "text_linear": (_N, 2), "text_bias": (2,), "scale": (2,), "neutral": (2,), "sure": (4,), "text_sure": (4,),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Weights:
    """The fitted weights; all arrays are float32. n: features, m: centres.

    ``mean``, ``spread`` (n,): standardisation of the features. ``centres`` (m, 384 + n): centres of the Gaussian kernel, as
    vector and features. ``kernel`` (m, 2), ``linear`` (384 + n, 2), ``bias`` (2,): coefficients of the kernel values and of
    vector and features for valence and arousal. ``text_linear``, ``text_bias``: coefficients of the features-only model.
    ``scale`` (2,): kernel width, and weight of the features in it. ``neutral`` (2,): the ratings of a neutral text. ``sure``,
    ``text_sure`` (4,): logistic weights of strength, agreement and length, and the intercept. ``squares`` (m,): the squared
    lengths of the centres, computed on loading.
    """

    mean: NDArray[np.float32]
    spread: NDArray[np.float32]
    centres: NDArray[np.float32]
    kernel: NDArray[np.float32]
    linear: NDArray[np.float32]
    bias: NDArray[np.float32]
    text_linear: NDArray[np.float32]
    text_bias: NDArray[np.float32]
    scale: NDArray[np.float32]
    neutral: NDArray[np.float32]
    sure: NDArray[np.float32]
    text_sure: NDArray[np.float32]
    squares: NDArray[np.float32]


def complete(arrays: Mapping[str, NDArray[Any]]) -> Weights:
    """The weights from the arrays of a file, in float32."""
    single = {name: np.ascontiguousarray(arrays[name], np.float32) for name in _SHAPES}
    return Weights(**single, squares=np.sum(single["centres"] ** 2, axis=1))


def read(content: bytes, expected: str) -> Weights:
    """Parse a weights file, checked by hash, names, shapes and values.

    Args:
        content: the bytes of an .npz file.
        expected: their SHA-256 in hexadecimal.

    Raises:
        ConfigurationError: the file is not the one of this version.
    """
    if hashlib.sha256(content).hexdigest() != expected:
        raise _damaged("its SHA-256 is not that of this version")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as held:
            arrays = {name: held[name] for name in _SHAPES if name in held}
    except (ValueError, EOFError, BadZipFile) as error:  # not an archive, or arrays of objects, which are not loaded
        raise _damaged(f"it holds something other than arrays of numbers ({error})") from error
    for name, shape in _SHAPES.items():
        array = arrays.get(name)
        if array is None or not _fits(array, shape):
            raise _damaged(f"the array {name!r} is missing or malformed")
    if len(arrays["centres"]) != len(arrays["kernel"]):
        raise _damaged("centres and kernel differ in length")
    return complete(arrays)


def _fits(array: NDArray[Any], shape: tuple[int | None, ...]) -> bool:
    same = array.ndim == len(shape) and all(want in (None, size) for want, size in zip(shape, array.shape, strict=True))
    return same and array.dtype.kind == "f" and bool(np.isfinite(array).all())


def _damaged(why: str) -> ConfigurationError:
    return ConfigurationError(f"The installed file mnemic/emotion/{FILE} is damaged: {why}. Install mnemic again.")


@lru_cache(maxsize=1)
def load() -> Weights:
    """The weights of this version, read once.

    Raises:
        ConfigurationError: the file is missing or damaged.
    """
    try:
        content = resources.files("mnemic.emotion").joinpath(FILE).read_bytes()
    except OSError as error:
        raise _damaged(f"it cannot be read ({error})") from error
    return read(content, SHA256)
