"""The embedder for the argument ``embedder=``."""

from __future__ import annotations

from inspect import getattr_static, isclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mnemic import embedders
from mnemic.errors import ConfigurationError

if TYPE_CHECKING:
    from mnemic.protocols import Embedder

QUERIES_KEPT = 512

MULTILINGUAL = "intfloat/multilingual-e5-small@fd1525a9fd15316a2d503bf26ab031a61d056e98"
"""The model of ``"multilingual"``, at a fixed commit, so that machines that share a record have the same vectors."""

ACCEPTED = """Accepted are:
- None: all-MiniLM-L6-v2 on this machine; "minilm-int8": the same with weights of one byte
- "multilingual": multilingual-e5-small on this machine, for other languages than English, downloaded once
- a folder with model.onnx and tokenizer.json
- "onnx:OWNER/NAME" or "onnx:OWNER/NAME@REVISION": a model of the hub with an ONNX file, downloaded once
- "provider:model", such as "openai:text-embedding-3-small" or "ollama:nomic-embed-text"
- "sentence-transformers:NAME", a model of that library
- "hashing": no model, compares words only
- a pydantic-ai Embedder, a SentenceTransformer, or any object with `id`, `dimension` and `embed(texts, *, kind)`"""


def embedder_from(spec: object = None) -> Embedder:
    """Create the embedder for a specification. Nothing is loaded here.

    None is `OnnxEmbedder` with a `CachedEmbedder` for the last 512 queries (0.8 MB): agents repeat queries within a turn.
    Documents are not cached, because each is embedded once.

    Args:
        spec: None, ``"minilm-int8"``, ``"multilingual"``, a folder, ``"onnx:OWNER/NAME"``, ``"provider:model"``,
            ``"sentence-transformers:NAME"``, ``"hashing"``, a pydantic-ai embedder, a `SentenceTransformer`, or an embedder
            (returned unchanged).

    Raises:
        ConfigurationError: `spec` is anything else; the message lists the accepted values.
        MissingExtra: an optional package is not installed.
    """
    if spec is None or spec == "minilm-int8":
        return _cached(embedders.OnnxEmbedder(int8=spec is not None))
    if spec == "multilingual":
        return _cached(embedders.OnnxEmbedder(MULTILINGUAL))
    if isinstance(spec, PathLike):
        return _from_folder(Path(fspath(cast("PathLike[str]", spec))))
    return _from_text(spec) if isinstance(spec, str) else _from_object(spec)


def _cached(embedder: Embedder) -> Embedder:
    return embedders.CachedEmbedder(embedder, max_items=QUERIES_KEPT, kinds=("query",))


def _from_text(spec: str) -> Embedder:
    from mnemic.onnx.files import is_folder, is_hub_name

    provider, _, model = spec.partition(":")
    if spec == "hashing":
        return embedders.HashingEmbedder()
    if is_folder(spec):  # first, because Windows paths contain a colon
        return _from_folder(Path(spec))
    if provider == "onnx" and model:
        return _cached(embedders.OnnxEmbedder(model)) if is_hub_name(model) else _from_folder(Path(model))
    if not provider or not model or "/" in provider.removeprefix("gateway/") or "\\" in spec:
        raise _not_accepted(spec)
    if provider == "sentence-transformers":
        return embedders.SentenceTransformerEmbedder(model)
    return embedders.RemoteEmbedder(spec)


def _from_folder(folder: Path) -> Embedder:
    if not folder.expanduser().is_dir():
        raise ConfigurationError(f"embedder={str(folder)!r} is not a folder. Correct the path.\n{ACCEPTED}")
    return embedders.OnnxEmbedder(folder)


def _from_object(spec: object) -> Embedder:
    if isclass(spec):
        raise ConfigurationError(f"embedder={spec.__name__} is a class. Pass an instance: {spec.__name__}(...).")
    home = {base.__module__.partition(".")[0] for base in type(spec).__mro__}
    if "pydantic_ai" in home:
        return embedders.RemoteEmbedder(cast("Any", spec))
    if "sentence_transformers" in home:
        return embedders.SentenceTransformerEmbedder(cast("Any", spec))
    # Looked up statically: reading `id` may load a model.
    if all(getattr_static(spec, name, None) is not None for name in ("id", "embed")):
        return cast("Embedder", spec)
    raise _not_accepted(spec)


def _not_accepted(spec: object) -> ConfigurationError:
    return ConfigurationError(f"embedder={spec!r} is not an embedder.\n{ACCEPTED}")
