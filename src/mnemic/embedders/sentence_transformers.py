"""Local models of the sentence-transformers library."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from mnemic import paths
from mnemic.embedders.prompts import checked_prompts, default_prompts, model_prompts
from mnemic.errors import ConfigurationError, EmbedderError, EmbedderUnavailable, MissingExtra
from mnemic.onnx.files import sha256, sha256_of
from mnemic.services.processes import PerProcess
from mnemic.validation import option, prepared
from mnemic.vectors import MINILM, checked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mnemic.protocols import InputKind, Vectors

MINILM_NAMES = {MINILM, f"sentence-transformers/{MINILM}"}
MINILM_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WEIGHT_FILES = ("*.safetensors", "*.bin", "*.onnx")


class SentenceTransformer(Protocol):
    """The part of a `sentence_transformers.SentenceTransformer` that is used here."""

    prompts: Mapping[str, str]

    def encode(self, sentences: list[str], **options: Any) -> Any:
        """Vectors of texts."""
        ...


class SentenceTransformerEmbedder:
    """A sentence-transformers model, loaded at first use. Needs ``pip install "mnemic[sentence-transformers]"``.

    Queries and documents get the model's prompts, or else the known prompts of e5, bge, nomic, mxbai and arctic models by
    name. Texts are cut to their first 20,000 characters and then to the model's limit. Code shipped with a model is never
    run. Thread-safe.

    Args:
        model: a model's name on the hub, a folder, or a `SentenceTransformer` instance.
        device: ``cpu``, ``cuda``, ``mps`` ...; None lets the library choose.
        batch_size: texts per run, 1 to 4,096.
        prompts: prompts by kind, such as ``{"query": "query: ", "document": "passage: "}``, instead of the above; with
            ``{}`` only those of the model itself are used.
        revision: branch, tag or commit on the hub.
        truncate_dim: truncate vectors to this dimension, for models trained for it.
        max_tokens: the maximum number of tokens of a text; None is the model's limit.
        offline: never use the network.
        name: the id of the vectors. Default: from the model's name, or the content of a folder.
    """

    def __init__(
        self,
        model: str | PathLike[str] | SentenceTransformer = f"sentence-transformers/{MINILM}",
        *,
        device: str | None = None,
        batch_size: int = 32,
        prompts: Mapping[str, str] | None = None,
        revision: str | None = None,
        truncate_dim: int | None = None,
        max_tokens: int | None = None,
        offline: bool = False,
        name: str | None = None,
    ) -> None:
        self._source = model
        self._device = device
        self._batch_size = option("batch_size", batch_size, 1, 4096)
        self._prompts = checked_prompts(prompts)
        named = isinstance(model, (str, PathLike))
        self._usual = default_prompts(*([Path(model).name] if named and prompts is None else []))
        self._revision = revision
        self._truncate_dim = None if truncate_dim is None else option("truncate_dim", truncate_dim, 1, 65_536)
        self._max_tokens = None if max_tokens is None else option("max_tokens", max_tokens, 3, 1_000_000)
        self._offline = offline
        self._name = name
        self._dimension: int | None = None
        self._model = PerProcess(self._load)
        if isinstance(model, (str, PathLike)) and paths.wheel_folder("sentence_transformers") is None:
            raise MissingExtra("SentenceTransformerEmbedder", "sentence-transformers")

    @property
    def id(self) -> str:
        """The model, with revision, prompts and truncated dimension unless they are the defaults.

        Raises:
            ConfigurationError: the model instance has no name; pass `name`.
        """
        if self._name is None:
            self._name = _identity(self._source) + self._variant()
        return self._name

    @property
    def dimension(self) -> int | None:
        """The dimension of the vectors; None before the first text was embedded."""
        return self._dimension

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts.

        Returns:
            float32 array of shape (len(texts), dimension) with unit rows.

        Raises:
            InvalidInput: `texts` is not a sequence of strings.
            EmbedderUnavailable: the model cannot be loaded.
            EmbedderError: the model failed on these texts.
        """
        cleaned = prepared(texts, kind)
        if not cleaned:
            return checked((), 0, self._dimension)
        model = self._model.get()
        try:
            vectors = self._encode(model, cleaned, kind)
        except Exception as error:
            raise EmbedderError(f"The model failed on this input: {error}.") from error
        rows = checked(vectors, len(cleaned), self._dimension)
        self._dimension = rows.shape[1]
        return rows

    def _encode(self, model: SentenceTransformer, texts: list[str], kind: InputKind) -> object:
        options: dict[str, Any] = {"batch_size": self._batch_size, "show_progress_bar": False}
        if self._truncate_dim is not None:
            options["truncate_dim"] = self._truncate_dim
        if kind in self._prompts:
            return model.encode(texts, prompt=self._prompts[kind], **options)
        if kind in self._usual and not model_prompts({"prompts": dict(model.prompts)}):
            return model.encode(texts, prompt=self._usual[kind], **options)
        encode = getattr(model, f"encode_{kind}", None)  # since version 5; applies the model's prompts
        if encode is not None:
            return encode(texts, **options)
        prompt_name = kind if kind in model.prompts else None
        return model.encode(texts, prompt_name=prompt_name, **options)

    def _load(self) -> SentenceTransformer:
        model = self._source
        if isinstance(model, (str, PathLike)):
            model = self._create(str(model))
        if self._max_tokens is not None:
            cast("Any", model).max_seq_length = self._max_tokens
        return model

    def _create(self, source: str) -> SentenceTransformer:
        options: dict[str, Any] = {"device": self._device, "revision": self._revision}
        if self._offline or paths.hub_offline():
            options["local_files_only"] = True
        try:
            library = import_module("sentence_transformers")
            return library.SentenceTransformer(source, **options)
        except Exception as error:  # torch, transformers and the hub client raise errors of many kinds
            raise EmbedderUnavailable(
                f"The sentence-transformers model {source!r} cannot be loaded: {error}. "
                "Check its name and the network, or pass a folder that contains it."
            ) from error

    def _variant(self) -> str:
        parts = [
            f"@{self._revision}" if self._revision else "",
            f"/{self._truncate_dim}" if self._truncate_dim else "",
            f"#{sha256_of(repr(sorted(prompts.items())))[:8]}" if (prompts := {**self._usual, **self._prompts}) else "",
        ]
        return "".join(parts)


def _identity(source: str | PathLike[str] | SentenceTransformer) -> str:
    """The id of a model: equal weights have the same id in all embedders of this package."""
    name = str(source) if isinstance(source, (str, PathLike)) else _own_name(source)
    if Path(name).is_dir():
        return _folder_identity(Path(name))
    return MINILM if name in MINILM_NAMES else f"sentence-transformers:{name}"


def _folder_identity(folder: Path) -> str:
    """The id of a folder by its weights, so that moving or renaming it does not matter."""
    weights = sorted(path for pattern in WEIGHT_FILES for path in folder.glob(pattern))
    if not weights:
        raise EmbedderUnavailable(f"There is no model in {folder}: no {', '.join(WEIGHT_FILES)}. Correct the path.")
    digests = [sha256(path) for path in weights]
    if digests == [MINILM_WEIGHTS]:
        return MINILM
    return f"sentence-transformers:{sha256_of(''.join(digests))[:16]}"


def _own_name(model: object) -> str:
    card = getattr(model, "model_card_data", None)
    for name in (getattr(card, "model_id", None), getattr(card, "base_model", None), _loaded_from(model)):
        if isinstance(name, str) and name:
            return name
    raise ConfigurationError(
        "The SentenceTransformer has no model name. Pass SentenceTransformerEmbedder(model, name=...): the name is stored with "
        "the vectors."
    )


def _loaded_from(model: object) -> str | None:
    try:
        return str(cast("Any", model)[0].auto_model.config.name_or_path)
    except (AttributeError, TypeError, IndexError, KeyError):
        return None
