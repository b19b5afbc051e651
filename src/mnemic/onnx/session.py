"""A tokenizer and an onnxruntime session that run together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from mnemic.errors import EmbedderUnavailable
from mnemic.paths import environment_default
from mnemic.services.processes import PerProcess, process_lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

TOKENS_PER_RUN = 1024
"""Maximum padded tokens per batch: larger batches do not fit in the processor cache and are not faster."""
LONGEST = 32_768
"""Most tokens of a text."""

ERRORS_ONLY = 3  # onnxruntime's log level
TELEMETRY_OFF = "ORT_DISABLE_TELEMETRY"
"""The variable that onnxruntime reads when it is imported; chromadb's default embedder imports it as well."""


class _Value(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> Sequence[int | str | None]: ...


class _Session(Protocol):
    def get_inputs(self) -> Sequence[_Value]: ...
    def get_outputs(self) -> Sequence[_Value]: ...
    def run(self, names: Sequence[str], inputs: dict[str, NDArray[Any]]) -> Sequence[NDArray[np.float32]]: ...


class Network:
    """A model in memory. Threads may share it.

    Args:
        model: an ONNX file or its content.
        tokenizer: the file of its tokenizer.
        threads: CPU threads per run.
        max_tokens: texts are cut to this many word pieces, including special ones.

    Attributes:
        outputs: the names of its outputs with their last dimension; None if it is dynamic.

    Raises:
        EmbedderUnavailable: the files cannot be loaded.
    """

    outputs: Mapping[str, int | None]

    def __init__(self, model: Path, tokenizer: Path, *, threads: int, max_tokens: int) -> None:
        try:
            self._tokenizer = _tokenizer(tokenizer, max_tokens)
            self._session = _session(model, threads)
        except Exception as error:  # both packages raise errors of many kinds for a file they cannot read
            raise EmbedderUnavailable(f"The model cannot be loaded: {error}. Replace its files.") from error
        self._inputs = {value.name for value in self._session.get_inputs()}
        self.outputs = {value.name: _last(value.shape) for value in self._session.get_outputs()}

    def run(
        self, texts: Sequence[str] | Sequence[tuple[str, str]], output: str, batch_size: int
    ) -> Iterator[tuple[list[int], NDArray[np.float32], NDArray[np.int64]]]:
        """Run texts, or pairs of texts, batched by similar length to reduce padding.

        Yields:
            Indices of the texts in the batch, their output, and their attention mask of shape (n, tokens).
        """
        encodings = [
            self._tokenizer.encode(text) if isinstance(text, str) else self._tokenizer.encode(*text) for text in texts
        ]
        for batch in _batches([len(encoding.ids) for encoding in encodings], batch_size):
            feeds = _feeds([encodings[place] for place in batch])
            used = {name: feed for name, feed in feeds.items() if name in self._inputs}
            yield batch, self._session.run([output], used)[0], feeds["attention_mask"]


KEPT = 3
"""Models that stay loaded when nothing uses them any more."""

_networks: PerProcess[dict[object, Network]] = PerProcess(dict)
_loading = process_lock()


def loaded(model: Path, tokenizer: Path, *, threads: int, max_tokens: int) -> Network:
    """The model of these files, loaded once: memories that are opened and closed in turn share it.

    Raises:
        EmbedderUnavailable: the files cannot be loaded.
    """
    key = (*map(_state, (model, tokenizer)), threads, max_tokens)
    with _loading:
        networks = _networks.get()
        network = networks.pop(key, None) or Network(model, tokenizer, threads=threads, max_tokens=max_tokens)
        networks[key] = network
        for unused in [*networks][:-KEPT]:
            del networks[unused]
    return network


def _state(file: Path) -> tuple[Path, int, int]:
    """What tells a file from the one that may replace it."""
    try:
        status = file.stat()
    except OSError:  # what is wrong with it is said when it is loaded
        return file, 0, 0
    return file, status.st_mtime_ns, status.st_size


def _last(shape: Sequence[int | str | None]) -> int | None:
    return shape[-1] if shape and isinstance(shape[-1], int) else None


def _feeds(encodings: Sequence[Encoding]) -> dict[str, NDArray[np.int64]]:
    ids = np.zeros((len(encodings), max(len(encoding.ids) for encoding in encodings)), dtype=np.int64)
    mask, segments = np.zeros_like(ids), np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        ids[row, :length], mask[row, :length], segments[row, :length] = encoding.ids, 1, encoding.type_ids
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}


def _tokenizer(file: Path, max_tokens: int) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    cast("Any", tokenizer).enable_truncation(max_length=max_tokens)  # half typed
    return tokenizer


def imported_onnxruntime() -> Any:
    """The package, without the telemetry of its maker: from 1.31 on it is compiled in and on, unless this variable is set.

    A user's own setting of the variable is kept.
    """
    chosen = environment_default(TELEMETRY_OFF, "1")
    import onnxruntime

    runtime = cast("Any", onnxruntime)  # it carries no types
    if chosen == "1":
        runtime.disable_telemetry_events()
    return runtime


def _session(model: Path, threads: int) -> _Session:
    runtime = imported_onnxruntime()
    options = runtime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads would take CPU time from the rest of the program.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    return cast("_Session", runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]))


def _batches(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Batches of indices, longest texts first: at most `batch_size` texts and about `TOKENS_PER_RUN` padded tokens each."""
    order = sorted(range(len(lengths)), key=lambda place: lengths[place], reverse=True)
    start = 0
    while start < len(order):
        longest = lengths[order[start]]
        size = max(1, min(batch_size, TOKENS_PER_RUN // max(1, longest)))
        yield order[start : start + size]
        start += size
