"""A model that is loaded in the background: questions asked before it is there are answered by keyword."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mnemic.errors import EmbedderError, EmbedderUnavailable
from mnemic.protocols import InputKind

if TYPE_CHECKING:
    from mnemic.embedders.onnx import OnnxEmbedder
    from mnemic.protocols import Vectors

logger = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds that a write waits for the model, so that it is compared with what is known by meaning as well."""


class BackgroundEmbedder:
    """An embedder whose model is loaded by a thread.

    Until it is loaded, queries are refused at once, which makes a search go by keyword, and documents wait a moment.

    Args:
        inner: the embedder; its ``id`` and ``dimension`` must be known before it is loaded.
        patience: most seconds that documents wait.
    """

    def __init__(self, inner: OnnxEmbedder, *, patience: float = PATIENCE) -> None:
        self._inner, self._patience = inner, patience
        self._ended = threading.Event()

    @property
    def id(self) -> str:
        """The id of the inner embedder."""
        return self._inner.id

    @property
    def dimension(self) -> int | None:
        """The dimension of the inner embedder."""
        return self._inner.dimension

    def start(self, then: Callable[[], object]) -> threading.Thread:
        """Load the model on a thread of its own, and call ``then`` there once it is loaded."""
        thread = threading.Thread(target=self._load, args=(then,), name="mnemic-model", daemon=True)
        thread.start()
        return thread

    def _load(self, then: Callable[[], object]) -> None:
        try:
            self._inner.load()
        except EmbedderError as error:
            logger.warning("Searching by keyword only: %s", error)
            return
        finally:
            self._ended.set()
        then()

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts.

        Raises:
            EmbedderUnavailable: the model is not loaded yet, or cannot be had.
            EmbedderError: the model failed on these texts.
        """
        if not self._ended.wait(0 if kind == "query" else self._patience):
            raise EmbedderUnavailable("The model is still being loaded; what is stored now gets its vector later.")
        return self._inner.embed(texts, kind=kind)
