"""What models tell about texts: regressions on vectors, and the networks of ``mnemic-minilm``, which read pairs of texts."""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.embedders.onnx import packaged_model
from mnemic.onnx.session import Network, loaded
from mnemic.services.processes import PerProcess, process_lock
from mnemic.text.english import bare_words, is_english
from mnemic.vectors import DEFAULT_MODELS, Floats, dot

READ = 200
"""Characters of a text whose phrases are read."""


@cache
def _weights(package: str, name: str) -> tuple[Floats, Mapping[str, float]]:
    """The weights in a file: of the ``vector`` and the intercept, packed, and of the ``phrases``, if it has any."""
    weights = json.loads(files(package).joinpath(name).read_text(encoding="utf-8"))
    return np.frombuffer(b64decode(weights["vector"]), "<f2").astype(np.float32), weights.get("phrases", {})


def pack(weights: NDArray[Any]) -> str:
    """Numbers as text, in half precision."""
    return b64encode(np.asarray(weights, "<f2").tobytes()).decode()


class LinearProbe:
    """A logistic regression on vectors of the default embedder.

    Args:
        package: the package of the file with the weights.
        name: the file.
    """

    def __init__(self, package: str, name: str) -> None:
        self._file = package, name

    @property
    def weights(self) -> Floats:
        """The weights of the features and the intercept, shape (d + 1,)."""
        return _weights(*self._file)[0]

    def log_odds(self, vectors: Floats, model: str | None) -> Floats:
        """The log odds of each vector.

        Args:
            vectors: shape (n, d).
            model: id of their embedder; all are 0 with one that the weights were not fitted on.

        Returns:
            Shape (n,).
        """
        weights = self.weights
        if model not in DEFAULT_MODELS or vectors.shape[1] != len(weights) - 1:
            return np.zeros(len(vectors), np.float32)
        return dot(vectors, weights[:-1]) + weights[-1]


class TextProbe:
    """A logistic regression on the vector of a text by the default embedder, and on its phrases.

    Args:
        package: the package of the file with the weights.
        name: the file.
    """

    def __init__(self, package: str, name: str) -> None:
        self._file, self.vector = (package, name), LinearProbe(package, name)

    def log_odds(self, texts: Sequence[str], vectors: Floats, model: str | None) -> Floats:
        """The log odds of n texts, shape (n,), given their vectors as for ``LinearProbe``."""
        odds, weights = self.vector.log_odds(vectors, model), _weights(*self._file)[1]
        if model in DEFAULT_MODELS:
            odds = odds + np.array([sum(weights.get(p, 0.0) for p in phrases(text)) for text in texts], np.float32)
        return odds


def phrases(text: str) -> frozenset[str]:
    """The words and the pairs of words of the first 200 characters of a text, in lower case."""
    words = bare_words(text[:READ])
    return frozenset((*words, *map(" ".join, pairwise(words))))


OUTPUT = "log_odds"
MAX_TOKENS, MAX_CHARACTERS = 128, 1_000
"""What is read of a pair, and of each of its texts."""
KEPT = 20_000
"""Pairs whose log odds are kept in memory, by a hash of their texts."""


class PairReader:
    """Tells something about two texts. Thread-safe, and usable after a fork.

    The network is all-MiniLM-L6-v2 with low-rank changes that ``benchmarks.quality.reader_fit`` learns from texts by people
    who had not seen the code. It is loaded once per process, on first use, and reads English.

    Args:
        name: the model in the package.
    """

    def __init__(self, name: str) -> None:
        self._network = PerProcess(lambda: _load(name))
        self._kept: PerProcess[OrderedDict[bytes, float]] = PerProcess(OrderedDict)
        self._lock = process_lock()

    def log_odds(self, pairs: Sequence[tuple[str, str]], model: str | None) -> Floats | None:
        """The log odds of what the reader tells, for each of n pairs of texts; nan if they are not English.

        Args:
            pairs: the first and the second text of each.
            model: id of the embedder of the record.

        Returns:
            Shape (n,); None without ``mnemic-minilm``, and for a record with another embedder.
        """
        network = self._network.get() if model in DEFAULT_MODELS else None
        if network is None:
            return None
        keys = [_key(*pair) for pair in pairs]
        with self._lock:
            kept = self._kept.get()
            odds = {key: kept[key] for key in keys if key in kept}
        odds |= {key: _read(network, *pair) for key, pair in zip(keys, pairs, strict=True) if key not in odds}
        with self._lock:
            for key in keys:
                kept[key] = odds[key]
                kept.move_to_end(key)
            while len(kept) > KEPT:
                kept.popitem(last=False)
        return np.array([odds[key] for key in keys], np.float32)


def _key(first: str, second: str) -> bytes:
    return blake2b(f"{len(first)} {first}{second}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _read(network: Network, first: str, second: str) -> float:
    """The log odds of one pair; read alone, since the scale of one-byte values depends on the batch."""
    pair = first[:MAX_CHARACTERS], second[:MAX_CHARACTERS]
    if not is_english("\n".join(pair)):
        return math.nan
    ((_, values, _),) = network.run([pair], OUTPUT, 1)
    return float(values[0, 0])


def _load(name: str) -> Network | None:
    files = packaged_model(name)
    if files is None or not files.model.is_file():
        return None
    return loaded(files.model, files.tokenizer, threads=1, max_tokens=MAX_TOKENS)


REQUESTS = PairReader("requests")
"""Whether a request to forget, as it was said, means a statement."""
UPDATES = PairReader("updates")
"""Whether a later statement updates an earlier one. The first text is the question, if there is one, and the earlier one."""
