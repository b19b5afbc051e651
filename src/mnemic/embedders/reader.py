"""The reader of ``mnemic-minilm``: a network that reads two texts together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from mnemic.embedders.onnx import READER_NAME, packaged_model
from mnemic.onnx.session import Network, loaded
from mnemic.services.processes import PerProcess, process_lock
from mnemic.text.english import is_english
from mnemic.vectors import DEFAULT_MODELS, Floats

OUTPUT = "log_odds"
MAX_TOKENS, MAX_CHARACTERS = 96, 1_000
"""What is read of a pair, and of each of its texts."""
KEPT = 20_000
"""Pairs whose log odds are kept in memory, by a hash of their texts."""


class PairReader:
    """Tells whether a statement is what a request asks to forget. Thread-safe, and usable after a fork.

    The network is all-MiniLM-L6-v2 with low-rank changes that ``benchmarks.quality.reader_fit`` learns from requests by people
    who knew no code. It is loaded once per process, on first use, and reads English.
    """

    def __init__(self) -> None:
        self._network = PerProcess(_load)
        self._kept: PerProcess[OrderedDict[bytes, float]] = PerProcess(OrderedDict)
        self._lock = process_lock()

    def log_odds(self, pairs: Sequence[tuple[str, str]], model: str | None) -> Floats | None:
        """The log odds that a request means a statement, for each of n pairs of them; 0 if they are not English.

        Args:
            pairs: the request, as it was said, and the statement.
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


def _key(request: str, statement: str) -> bytes:
    return blake2b(f"{len(request)} {request}{statement}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _read(network: Network, request: str, statement: str) -> float:
    """The log odds of one pair; read alone, since the scale of one-byte values depends on the batch."""
    pair = request[:MAX_CHARACTERS], statement[:MAX_CHARACTERS]
    if not is_english("\n".join(pair)):
        return 0.0
    ((_, values, _),) = network.run([pair], OUTPUT, 1)
    return float(values[0, 0])


def _load() -> Network | None:
    files = packaged_model(READER_NAME)
    if files is None or not files.model.is_file():
        return None
    return loaded(files.model, files.tokenizer, threads=1, max_tokens=MAX_TOKENS)


READER = PairReader()
