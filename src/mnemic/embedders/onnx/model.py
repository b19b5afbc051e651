"""A loaded model: a tokeniser and an onnxruntime session that turn texts into vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from mnemic.errors import EmbedderError, EmbedderUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from mnemic.embedders.onnx.cache import ModelFiles, Pooling

__all__ = ["LoadedModel"]

VECTOR_OUTPUTS = ("embedding", "sentence_embedding")
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
TOKENS_PER_RUN = 1024
"""Long texts run in smaller batches: above this a batch falls out of the processor's cache and gains nothing."""

ERRORS_ONLY = 3  # onnxruntime's log level


class _Value(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> Sequence[int | str | None]: ...


class _Session(Protocol):
    def get_inputs(self) -> Sequence[_Value]: ...
    def get_outputs(self) -> Sequence[_Value]: ...
    def run(self, names: Sequence[str], inputs: dict[str, NDArray[Any]]) -> Sequence[NDArray[np.float32]]: ...


class LoadedModel:
    """A model in memory. Threads may share it.

    Args:
        files: the model and its tokeniser.
        threads: how many threads one run uses.
        max_tokens: texts are cut to this many word pieces, the two special ones included.

    Raises:
        EmbedderUnavailable: the files cannot be loaded, or the model's outputs are not known.
    """

    def __init__(self, files: ModelFiles, *, threads: int, max_tokens: int) -> None:
        try:
            self._tokenizer = _tokenizer(files, max_tokens)
            self._session = _session(files, threads)
        except Exception as error:  # both packages raise errors of many kinds for a file they cannot read
            raise EmbedderUnavailable(f"The model cannot be loaded: {error}. Replace its files.") from error
        self._inputs = {value.name for value in self._session.get_inputs()}
        self._pooling: Pooling | None
        self._output, self._pooling = _output(self._session, files.pooling)
        self.dimension = self._dimension()

    def vectors(self, texts: Sequence[str], batch_size: int) -> NDArray[np.float32]:
        """Embed at least one text: an array of shape (len(texts), dimension), not normalised.

        Texts of similar length run together, so that little is spent on padding.
        """
        try:
            tokens = [self._tokenizer.encode(text).ids for text in texts]
            batches = list(_batches([len(ids) for ids in tokens], batch_size))
            rows = np.concatenate([self._run([tokens[place] for place in batch]) for batch in batches])
        except Exception as error:
            raise EmbedderError(f"The model failed on this input: {error}.") from error
        vectors = np.empty_like(rows)
        vectors[[place for batch in batches for place in batch]] = rows
        return vectors

    def _run(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, values in enumerate(tokens):
            ids[row, : len(values)] = values
            mask[row, : len(values)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        used = {name: feed for name, feed in feeds.items() if name in self._inputs}
        values = self._session.run([self._output], used)[0]
        return _pooled(values, mask, self._pooling)

    def _dimension(self) -> int:
        declared = next(value.shape[-1] for value in self._session.get_outputs() if value.name == self._output)
        return declared if isinstance(declared, int) else self.vectors(["."], 1).shape[1]


def _tokenizer(files: ModelFiles, max_tokens: int) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(files.tokenizer))
    tokenizer.no_padding()
    cast("Any", tokenizer).enable_truncation(max_length=max_tokens)  # half typed
    return tokenizer


def _session(files: ModelFiles, threads: int) -> _Session:
    import onnxruntime

    runtime = cast("Any", onnxruntime)  # the package carries no types
    options = runtime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that wait by spinning burn the processor that the rest of the program needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    model = files.model if isinstance(files.model, bytes) else str(files.model)
    return cast("_Session", runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"]))


def _output(session: _Session, pooling: Pooling) -> tuple[str, Pooling | None]:
    """The output to read, and how it is pooled; None if the model gives one vector a text by itself."""
    names = [value.name for value in session.get_outputs()]
    for name in VECTOR_OUTPUTS:
        if name in names:
            return name, None
    for name in TOKEN_OUTPUTS:
        if name in names:
            return name, pooling
    known = ", ".join(VECTOR_OUTPUTS + TOKEN_OUTPUTS)
    raise EmbedderUnavailable(f"The model's outputs are {', '.join(names)}; one of {known} is needed. Export it again.")


def _pooled(values: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling | None) -> NDArray[np.float32]:
    if pooling is None:
        return values
    if pooling == "cls":
        return values[:, 0]
    present = mask[:, :, None].astype(np.float32)
    return (values * present).sum(axis=1) / present.sum(axis=1)


def _batches(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Groups of places, longest first: at most `batch_size` texts and about `TOKENS_PER_RUN` padded tokens each."""
    order = sorted(range(len(lengths)), key=lambda place: lengths[place], reverse=True)
    start = 0
    while start < len(order):
        longest = lengths[order[start]]
        size = max(1, min(batch_size, TOKENS_PER_RUN // max(1, longest)))
        yield order[start : start + size]
        start += size
