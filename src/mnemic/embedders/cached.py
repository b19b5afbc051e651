"""A cache in front of another embedder."""

from __future__ import annotations

import time
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, get_args

import numpy as np

from mnemic.embedders.checks import checked, prepared
from mnemic.errors import ConfigurationError
from mnemic.protocols import InputKind
from mnemic.services.arguments import positive, whole
from mnemic.services.processes import process_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mnemic.protocols import Embedder, Vectors

__all__ = ["CachedEmbedder"]

Key = bytes


class CachedEmbedder:
    """Keeps the vectors of recent texts, so that asking again costs nothing.

    The least recently used vector leaves first. Threads may share it; two threads that miss the same text at once may
    both ask the inner embedder. Only hashes of the texts are kept. Vectors are copied out, so that changing a returned
    array cannot change the cache.

    Args:
        inner: the embedder that makes the vectors; `id` and `dimension` are its own.
        max_items: how many vectors are kept, 1 to 10 million. One of 384 numbers takes 1.5 kB.
        ttl: seconds after which a vector is made again; None keeps it until its place is needed.
        kinds: which kinds of text are kept; the others go straight to the inner embedder.
        clock: gives the time in seconds and never goes back.

    Attributes:
        hits: texts answered without the inner embedder, repeats within one call included.
        misses: texts the inner embedder was asked for.
    """

    def __init__(
        self,
        inner: Embedder,
        *,
        max_items: int = 10_000,
        ttl: float | None = None,
        kinds: Collection[InputKind] = ("query", "document"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.inner = inner
        self.hits = 0
        self.misses = 0
        self._max_items = whole("max_items", max_items, 1, 10_000_000)
        self._ttl = None if ttl is None else positive("ttl", ttl)
        if not set(kinds) <= set(get_args(InputKind)):
            raise ConfigurationError(f"kinds={kinds!r} names more than 'query' and 'document'. Give some of these two.")
        self._kinds = frozenset(kinds)
        self._clock = clock
        self._kept: OrderedDict[Key, tuple[float, Vectors]] = OrderedDict()
        self._lock = process_lock()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def id(self) -> str:
        """The id of the inner embedder."""
        return self.inner.id

    @property
    def dimension(self) -> int | None:
        """The dimension of the inner embedder."""
        return self.inner.dimension

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts: those not in the cache go to the inner embedder, in one call and each once.

        Returns:
            float32 array of shape (len(texts), dimension) with unit rows; a fresh copy.

        Raises:
            InvalidInput: `texts` is not a sequence of strings.
            EmbedderError: the inner embedder failed; nothing was kept.
        """
        cleaned = prepared(texts, kind, max_characters=None)  # the inner embedder knows its own limit
        if not cleaned or kind not in self._kinds:
            return self._ask(cleaned, kind)
        keys = [_key(text, kind) for text in cleaned]
        rows = self._recall(keys)
        missing = {key: text for key, text in zip(keys, cleaned, strict=True) if key not in rows}
        if missing:
            made = self._ask(list(missing.values()), kind)
            rows.update(zip(missing, made, strict=True))
        self._remember({key: rows[key] for key in missing}, hits=len(keys) - len(missing))
        return np.stack([rows[key] for key in keys])

    def clear(self) -> None:
        """Forget all vectors; the counters stay."""
        with self._lock:
            self._kept.clear()

    def close(self) -> None:
        """Forget all vectors and close the inner embedder if it can be closed."""
        self.clear()
        close = getattr(self.inner, "close", None)
        if callable(close):
            close()

    def _ask(self, texts: list[str], kind: InputKind) -> Vectors:
        vectors = checked(self.inner.embed(texts, kind=kind), len(texts), self.inner.dimension)
        with self._lock:
            self.misses += len(texts)
        return vectors

    def _recall(self, keys: list[Key]) -> dict[Key, Vectors]:
        now = self._clock()
        found: dict[Key, Vectors] = {}
        with self._lock:
            for key in keys:
                entry = self._kept.get(key)
                if entry is None:
                    continue
                if self._ttl is not None and now - entry[0] >= self._ttl:
                    del self._kept[key]
                    continue
                self._kept.move_to_end(key)
                found[key] = entry[1]
        return found

    def _remember(self, rows: dict[Key, Vectors], *, hits: int) -> None:
        now = self._clock()
        with self._lock:
            self.hits += hits
            for key, row in rows.items():
                self._kept[key] = (now, row.copy())  # a view would keep its whole batch alive
                self._kept.move_to_end(key)
            while len(self._kept) > self._max_items:
                self._kept.popitem(last=False)


def _key(text: str, kind: InputKind) -> Key:
    return blake2b(text.encode(), digest_size=20, person=kind.encode()).digest()
