"""A cross-encoder of the sentence-transformers library."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mnemic.errors import EmbedderError, EmbedderUnavailable, MissingExtra
from mnemic.services.processes import process_lock

if TYPE_CHECKING:
    from mnemic.protocols import Floats


class CrossEncoder(Protocol):
    """The part of a ``sentence_transformers.CrossEncoder`` that is used here."""

    def predict(self, sentences: list[tuple[str, str]], **options: Any) -> Any:
        """One score per pair of query and text."""
        ...


class CrossEncoderReranker:
    """A cross-encoder of the sentence-transformers library, loaded at first use.

    Needs ``pip install "mnemic[sentence-transformers]"``. It reads query and text together, which is more accurate than
    comparing vectors and takes some 10 to 50 ms of CPU per text. On conversations it does not always help: measure on your
    own data.

    Args:
        model: a model's name on the hub, a folder, or a ``CrossEncoder`` instance.
        device: ``cpu``, ``cuda``, ``mps`` ...; None lets the library choose.
        batch_size: pairs per run.
    """

    def __init__(
        self,
        model: str | CrossEncoder = "cross-encoder/ms-marco-MiniLM-L6-v2",
        *,
        device: str | None = None,
        batch_size: int = 32,
    ) -> None:
        self._source = model
        self._device = device
        self._batch_size = batch_size
        self._model: CrossEncoder | None = None if isinstance(model, str) else model
        self._lock = process_lock()

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """The relevance of each text to the query, on the model's own scale; higher is better.

        Raises:
            MissingExtra: sentence-transformers is not installed.
            EmbedderUnavailable: the model cannot be loaded.
            EmbedderError: the model did not return one finite number per text.
        """
        if not texts:
            return np.zeros(0, np.float32)
        with self._lock:
            self._model = self._model or self._load()
            pairs = [(query, text) for text in texts]
            found = self._model.predict(pairs, batch_size=self._batch_size, show_progress_bar=False)
        scores = np.asarray(found, np.float32)
        if scores.shape != (len(texts),) or not np.isfinite(scores).all():
            raise EmbedderError(
                f"The reranker returned shape {scores.shape} for {len(texts)} texts, or a value that is not finite."
            )
        return scores

    def _load(self) -> CrossEncoder:
        try:
            library: Any = import_module("sentence_transformers")
        except ImportError as error:
            raise MissingExtra("CrossEncoderReranker", "sentence-transformers") from error
        try:
            return library.CrossEncoder(self._source, device=self._device)
        except (OSError, ValueError) as error:
            raise EmbedderUnavailable(
                f"The cross-encoder {self._source!r} cannot be loaded: {error}. Pass a folder that contains it, or connect to "
                "the network."
            ) from error
