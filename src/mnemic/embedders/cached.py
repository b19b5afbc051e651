"""A cache in front of another embedder."""

from __future__ import annotations

import time
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, get_args

import numpy as np

from mnemic.errors import ConfigurationError
from mnemic.protocols import InputKind
from mnemic.services.processes import process_lock
from mnemic.validation import option, prepared, seconds
from mnemic.vectors import checked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mnemic.protocols import Embedder, Vectors

Key = bytes


class CachedEmbedder:
    """An LRU cache for the vectors of another embedder.

    Thread-safe; two threads that miss the same text at the same time may both embed it. Only hashes of the texts are stored.
    Vectors are copied, so that changing a returned array does not change the cache.

    Args:
        inner: the embedder that computes the vectors; `id` and `dimension` are its own.
        max_items: the maximum number of vectors, 1 to 10 million. One of dimension 384 takes 1.5 kB.
        ttl: seconds after which a vector expires; None: never.
        kinds: the kinds of text to cache; others go directly to the inner embedder.
        clock: returns monotonic seconds.

    Attributes:
        hits: texts served from the cache, including repeats within one call.
        misses: texts embedded by the inner embedder.
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
        self._max_items = option("max_items", max_items, 1, 10_000_000)
        self._ttl = None if ttl is None else seconds("ttl", ttl, above=True)
        if not set(kinds) <= set(get_args(InputKind)):
            raise ConfigurationError(
                f"kinds={kinds!r} names another kind than 'query' and 'document'. Use one of these, or both."
            )
        self._kinds = frozenset(kinds)
        self._clock = clock
        self._entries: OrderedDict[Key, tuple[float, Vectors]] = OrderedDict()
        self._lock = process_lock()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def id(self) -> str:
        """The id of the inner embedder."""
        return self.inner.id

    @property
    def dimension(self) -> int | None:
        """The dimension of the inner embedder."""
        return self.inner.dimension

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts; those not in the cache go to the inner embedder, in one call and each once.

        Returns:
            float32 array of shape (len(texts), dimension) with unit rows; a copy.

        Raises:
            InvalidInput: `texts` is not a sequence of strings.
            EmbedderError: the inner embedder failed; nothing was cached.
        """
        cleaned = prepared(texts, kind, max_characters=None)  # the inner embedder knows its own limit
        if not cleaned or kind not in self._kinds:
            return self._embed(cleaned, kind)
        keys = [_key(text, kind) for text in cleaned]
        rows = self._lookup(keys)
        missing = {key: text for key, text in zip(keys, cleaned, strict=True) if key not in rows}
        if missing:
            vectors = self._embed(list(missing.values()), kind)
            rows.update(zip(missing, vectors, strict=True))
        self._store({key: rows[key] for key in missing}, hits=len(keys) - len(missing))
        return np.stack([rows[key] for key in keys])

    def clear(self) -> None:
        """Remove all vectors; the counters stay."""
        with self._lock:
            self._entries.clear()

    def close(self) -> None:
        """Remove all vectors, and close the inner embedder if it has ``close``."""
        self.clear()
        close = getattr(self.inner, "close", None)
        if callable(close):
            close()

    def _embed(self, texts: list[str], kind: InputKind) -> Vectors:
        vectors = checked(self.inner.embed(texts, kind=kind), len(texts), self.inner.dimension)
        with self._lock:
            self.misses += len(texts)
        return vectors

    def _lookup(self, keys: list[Key]) -> dict[Key, Vectors]:
        now = self._clock()
        rows: dict[Key, Vectors] = {}
        with self._lock:
            for key in keys:
                entry = self._entries.get(key)
                if entry is None:
                    continue
                if self._ttl is not None and now - entry[0] >= self._ttl:
                    del self._entries[key]
                    continue
                self._entries.move_to_end(key)
                rows[key] = entry[1]
        return rows

    def _store(self, rows: dict[Key, Vectors], *, hits: int) -> None:
        now = self._clock()
        with self._lock:
            self.hits += hits
            for key, row in rows.items():
                self._entries[key] = (now, row.copy())  # a view would keep its whole batch alive
                self._entries.move_to_end(key)
            while len(self._entries) > self._max_items:
                self._entries.popitem(last=False)


def _key(text: str, kind: InputKind) -> Key:
    return blake2b(text.encode(), digest_size=20, person=kind.encode()).digest()
