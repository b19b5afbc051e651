"""The readers of ``mnemic-minilm``: networks that read two texts together."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from mnemic.embedders.onnx import packaged_model
from mnemic.onnx.session import Network, loaded
from mnemic.services.processes import PerProcess, process_lock
from mnemic.text.english import is_english
from mnemic.vectors import DEFAULT_MODELS, Floats

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
