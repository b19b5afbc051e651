"""Rerankers: slower models that rescore the first hits. Off by default."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from mnemic.errors import ConfigurationError, EmbedderError, EmbedderUnavailable, MissingExtra
from mnemic.onnx.files import is_folder, is_hub_name, model_folder
from mnemic.onnx.session import LONGEST, Network, loaded
from mnemic.protocols import Reranker
from mnemic.services.processes import PerProcess, process_lock
from mnemic.validation import MAX_CHARACTERS, option

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mnemic.protocols import Floats


def reranker_from(spec: object) -> Reranker | None:
    """Create the reranker for a specification. Nothing is loaded here.

    Args:
        spec: None for none, a folder, ``"onnx:OWNER/NAME"`` or ``"onnx:OWNER/NAME@REVISION"``, or an object with
            ``scores`` (returned unchanged).

    Raises:
        ConfigurationError: `spec` is anything else.
    """
    if isinstance(spec, (str, PathLike)):
        source = cast("str | PathLike[str]", spec)
        name = source.removeprefix("onnx:") if isinstance(source, str) else source
        if is_folder(name) or (name != source and is_hub_name(name)):
            return OnnxReranker(name)
    elif spec is None or (isinstance(spec, Reranker) and not isinstance(spec, type)):
        return spec
    raise ConfigurationError(
        f'reranker={spec!r:.80} is not a reranker. Pass "onnx:OWNER/NAME" (such as '
        '"onnx:cross-encoder/ms-marco-MiniLM-L6-v2"), a folder with model.onnx and tokenizer.json, or an object with a '
        "method scores(query, texts)."
    )


class CrossEncoder(Protocol):
    """The part of a ``sentence_transformers.CrossEncoder`` that is used here."""

    def predict(self, sentences: list[tuple[str, str]], **options: Any) -> Any:
        """One score per pair of query and text."""
        ...


class CrossEncoderReranker:
    """A cross-encoder of the sentence-transformers library, loaded at first use.

    Needs ``pip install "mnemic[sentence-transformers]"``. It reads query and text together, which is more accurate than
    comparing vectors and takes about 10 to 50 ms of CPU time per text. It does not
    always help with conversations: measure it on your own data.

    Args:
        model: the name of a model on the hub, the path of a folder, or a
            ``CrossEncoder`` instance.
        device: ``cpu``, ``cuda``, ``mps``, ...; None lets the library choose.
        batch_size: the number of pairs per run.
    """

    def __init__(
        self,
        model: str | PathLike[str] | CrossEncoder = "cross-encoder/ms-marco-MiniLM-L6-v2",
        *,
        device: str | None = None,
        batch_size: int = 32,
    ) -> None:
        self._source = model = fspath(model) if isinstance(model, PathLike) else model
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
                f"The cross-encoder did not return one finite number per text: shape {scores.shape} for {len(texts)} texts. "
                "Choose a model with one score per pair, such as cross-encoder/ms-marco-MiniLM-L6-v2."
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


OUTPUTS = ("logits", "scores")


class OnnxReranker:
    """A cross-encoder in onnxruntime, loaded on first use: it reads query and text together.

    That is more accurate than comparing vectors, and takes from a few to several
    hundred milliseconds of CPU time per text. Measure on your own conversations whether
    it helps. Thread-safe, and usable after a fork.

    Args:
        model: a repository of the model hub with an ONNX file, ``owner/name`` or ``owner/name@revision``, downloaded into
            the cache once; or a folder with ``model.onnx`` or ``onnx/model.onnx``, and ``tokenizer.json``. Its output
            ``logits`` has one number per pair, or two, of which the second is the relevant class.
        threads: CPU threads per run, 1 to 256.
        batch_size: maximum pairs per run, 1 to 4,096.
        max_tokens: maximum word pieces of a pair, 8 to 32,768; the longer of the two texts is truncated. None is the limit in
            the model's files, at most 512.
        offline: never use the network.
        progress: show a progress bar for downloads; None shows it on a terminal only.
    """

    def __init__(
        self,
        model: str | PathLike[str] = "cross-encoder/ms-marco-MiniLM-L6-v2",
        *,
        threads: int = 1,
        batch_size: int = 32,
        max_tokens: int | None = None,
        offline: bool = False,
        progress: bool | None = None,
    ) -> None:
        self._source = model
        self._threads = option("threads", threads, 1, 256)
        self._batch_size = option("batch_size", batch_size, 1, 4096)
        self._max_tokens = None if max_tokens is None else option("max_tokens", max_tokens, 8, LONGEST)
        self._offline = offline
        self._progress = progress
        self._network = PerProcess(self._load)

    def __repr__(self) -> str:
        return f"OnnxReranker({fspath(self._source)!r})"

    def load(self) -> None:
        """Load the model now instead of at first use.

        Raises:
            EmbedderUnavailable: it cannot be loaded, or is not a cross-encoder.
        """
        self._network.get()

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """The relevance of each text to the query, shape (len(texts),): the model's logits, higher is better.

        Raises:
            EmbedderUnavailable: the model cannot be loaded, or is not a cross-encoder.
            EmbedderError: it failed on these texts, or returned a value that is not finite.
        """
        scores = np.zeros(len(texts), np.float32)
        if not texts:
            return scores
        network = self._network.get()
        pairs = [(query[:MAX_CHARACTERS], text[:MAX_CHARACTERS]) for text in texts]
        try:
            for places, values, _ in network.run(pairs, _output(network), self._batch_size):
                scores[places] = _logits(values, len(places))
        except Exception as error:
            raise EmbedderError(
                f"The reranker failed on this input: {error}. Check its files, or shorten it."
            ) from error
        if not np.isfinite(scores).all():
            raise EmbedderError("The reranker returned NaN or infinity. Check its weights.")
        return scores

    def _load(self) -> Network:
        folder = model_folder(self._source, offline=self._offline, progress=self._progress)
        length = self._max_tokens or folder.max_tokens()
        network = loaded(folder.model, folder.tokenizer, threads=self._threads, max_tokens=length)
        _output(network)
        return network


def _output(network: Network) -> str:
    """The output that scores a pair."""
    name = next((name for name in OUTPUTS if name in network.outputs), None)
    if name is None or network.outputs[name] not in (None, 1, 2):
        found = ", ".join(f"{name} ({size or 'any'})" for name, size in network.outputs.items())
        raise EmbedderUnavailable(
            f"The model is not a cross-encoder with one score per pair: its outputs are {found}, but logits of 1 or 2 classes "
            "are needed. Choose another, such as cross-encoder/ms-marco-MiniLM-L6-v2."
        )
    return name


def _logits(values: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """One number per pair; for two classes the difference of their logits."""
    rows = values.reshape(count, -1)
    if rows.shape[1] == 2:
        return rows[:, 1] - rows[:, 0]
    if rows.shape[1] == 1:
        return rows[:, 0]
    raise ValueError(f"{rows.shape[1]} numbers for a pair, not 1 or 2")
