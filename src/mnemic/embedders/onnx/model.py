"""A loaded embedding model: texts to vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mnemic.errors import EmbedderError, EmbedderUnavailable
from mnemic.onnx import Network

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from mnemic.embedders.onnx.weights import ModelFiles, Pooling

VECTOR_OUTPUTS = ("embedding", "sentence_embedding")
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")


class LoadedModel:
    """A model in memory. Threads may share it.

    Args:
        files: the model and its tokeniser.
        threads: CPU threads per run.
        max_tokens: texts are cut to this many word pieces, including the two special ones.

    Raises:
        EmbedderUnavailable: the files cannot be loaded, or the model's outputs are unknown.
    """

    def __init__(self, files: ModelFiles, *, threads: int, max_tokens: int) -> None:
        self._network = Network(files.model, files.tokenizer, threads=threads, max_tokens=max_tokens)
        self._pooling: Pooling | None
        self._output, self._pooling = _output(self._network.outputs, files.pooling)
        self.prompts = files.prompts
        self.dimension = self._network.outputs[self._output] or self.vectors(["."], 1).shape[1]

    def vectors(self, texts: Sequence[str], batch_size: int) -> NDArray[np.float32]:
        """Embed at least one text: an array of shape (len(texts), dimension), not normalised."""
        try:
            batches = [
                (positions, _pool(values, mask, self._pooling))
                for positions, values, mask in self._network.run(texts, self._output, batch_size)
            ]
            rows = np.concatenate([rows for _, rows in batches])
        except Exception as error:
            raise EmbedderError(f"The model failed on this input: {error}.") from error
        vectors = np.empty_like(rows)
        vectors[[position for positions, _ in batches for position in positions]] = rows
        return vectors


def _output(names: Collection[str], pooling: Pooling) -> tuple[str, Pooling | None]:
    """The output to read, and its pooling; None if the output is one vector per text."""
    for name in VECTOR_OUTPUTS:
        if name in names:
            return name, None
    for name in TOKEN_OUTPUTS:
        if name in names:
            return name, pooling
    usable, outputs = ", ".join(VECTOR_OUTPUTS + TOKEN_OUTPUTS), ", ".join(names)
    raise EmbedderUnavailable(f"The model's outputs are {outputs}; one of {usable} is needed. Export it again.")


def _pool(values: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling | None) -> NDArray[np.float32]:
    if pooling is None:
        return values
    if pooling == "cls":
        return values[:, 0]
    present = mask[:, :, None].astype(np.float32)
    return (values * present).sum(axis=1) / present.sum(axis=1)
