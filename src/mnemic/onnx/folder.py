"""A folder with an ONNX model: its files and settings."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mnemic import paths
from mnemic.errors import ConfigurationError, EmbedderUnavailable
from mnemic.onnx.hub import hub_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

MODELS = ("model.onnx", "onnx/model.onnx")
TOKENIZERS = ("tokenizer.json", "onnx/tokenizer.json")
USUAL, DEAREST = 256, 512
"""Default maximum number of tokens if a folder has no limit, and the cap if it has one: the cost of tokens grows faster than
their number."""

_HUB_NAME = re.compile(r"[\w][\w.-]*/[\w][\w.-]*(?:@[\w][\w./-]*)?")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model and its tokeniser.

    Attributes:
        path: the folder.
        model: the ONNX file.
        tokenizer: the file of the tokeniser.
    """

    path: Path
    model: Path
    tokenizer: Path

    @classmethod
    def at(cls, path: Path) -> ModelFolder:
        """The model in a folder: ``model.onnx`` or ``onnx/model.onnx``, and ``tokenizer.json``.

        Raises:
            EmbedderUnavailable: a file is missing.
        """
        model, tokenizer = _first_file(path, MODELS), _first_file(path, TOKENIZERS)
        if model is None or tokenizer is None:
            raise EmbedderUnavailable(
                f"There is no ONNX model in {path}. It must hold model.onnx or onnx/model.onnx, and tokenizer.json. "
                "Correct the path, or leave it out to use the default model."
            )
        return cls(path, model, tokenizer)

    def settings(self, name: str) -> Mapping[str, Any]:
        """The object in a JSON file of the folder; empty if there is no file.

        Raises:
            ConfigurationError: it cannot be read.
        """
        found = self.read(name)
        if not isinstance(found, dict):
            raise ConfigurationError(f"{self.path / name} is not a JSON object. Restore it, or remove it.")
        return cast("dict[str, Any]", found)

    def read(self, name: str) -> object:
        """The content of a JSON file of the folder; an empty object if there is no file.

        Raises:
            ConfigurationError: it cannot be read.
        """
        path = self.path / name
        if not path.is_file():
            return {}
        try:
            return json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{path} cannot be read: {error}. Restore it, or remove it.") from error

    def max_tokens(self) -> int:
        """The model's limit of tokens, at most 512; 256 if its files have none."""
        limits = (
            self.settings("sentence_bert_config.json").get("max_seq_length"),
            self.settings("tokenizer_config.json").get("model_max_length"),
            self.settings("config.json").get("max_position_embeddings"),
        )
        known = next((int(limit) for limit in limits if isinstance(limit, (int, float)) and limit > 0), USUAL)
        return min(known, DEAREST)


def model_folder(source: str | PathLike[str], *, offline: bool, progress: bool | None) -> ModelFolder:
    """The model in a folder or on the hub.

    Args:
        source: a folder, or ``owner/name`` or ``owner/name@revision`` on the hub; an existing folder takes precedence.
        offline: never touch the network.
        progress: show a progress bar for downloads; None shows it on a terminal.

    Raises:
        EmbedderUnavailable: it is not available; the message lists the alternatives.
    """
    if is_hub_name(source):
        return ModelFolder.at(hub_folder(fspath(source), offline=offline or paths.hub_offline(), progress=progress))
    return ModelFolder.at(Path(source).expanduser())


def is_hub_name(source: str | PathLike[str]) -> bool:
    """Whether this is a name on the hub, and not an existing folder."""
    return isinstance(source, str) and bool(_HUB_NAME.fullmatch(source)) and not is_folder(source)


def is_folder(source: str | PathLike[str]) -> bool:
    """Whether a folder with this non-empty path exists."""
    try:
        return bool(fspath(source)) and Path(source).expanduser().is_dir()
    except (OSError, ValueError, RuntimeError):  # an invalid path, or ~ of an unknown user
        return False


def _first_file(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def sha256(path: Path) -> str:
    """The SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
