"""The cache folder: a converted model, its tokeniser, and a manifest with their hashes.

Several processes may read and fill it concurrently. Files are replaced atomically, all processes write the same bytes, and
files that do not match the manifest are not used.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mnemic.embedders.onnx.graph import Part
    from mnemic.embedders.prompts import Prompts

MODEL, TOKENIZER, MANIFEST = "model.onnx", "tokenizer.json", "manifest.json"
PART = ".part"
STALE_AFTER = 3600.0  # seconds; an older partial file was left by a killed process

Pooling: TypeAlias = Literal["mean", "cls"]


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files and settings of a model.

    Attributes:
        model: the model file or its content.
        tokenizer: the tokeniser file.
        pooling: how token vectors become one.
        prompts: prefixes of texts by kind.
        max_tokens: the default maximum number of tokens of a text.
    """

    model: Path | bytes
    tokenizer: Path
    pooling: Pooling = "mean"
    prompts: Prompts = field(default_factory=dict[str, str])
    max_tokens: int = 256


def sha256(path: Path) -> str:
    """The SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load(folder: Path, converter: str) -> ModelFiles | None:
    """The model cached in `folder`; None if there is none, it is damaged, or from another converter."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text("utf-8"))
        whole = manifest["converter"] == converter and all(
            _describe(folder / name) == manifest["files"][name] for name in (MODEL, TOKENIZER)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return ModelFiles(folder / MODEL, folder / TOKENIZER) if whole else None


def save(folder: Path, converter: str, model: Iterable[Part], tokenizer: Path) -> ModelFiles:
    """Write a converted model into `folder`, readable by its owner only.

    Raises:
        OSError: the folder cannot be written; its previous content is unchanged.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_stale(folder)
    files = {
        MODEL: _replace(folder / MODEL, model),
        TOKENIZER: _replace(folder / TOKENIZER, [tokenizer.read_bytes()]),
    }
    manifest = json.dumps({"converter": converter, "files": files}, indent=2)
    _replace(folder / MANIFEST, [manifest.encode()])
    return ModelFiles(folder / MODEL, folder / TOKENIZER)


def _describe(path: Path) -> dict[str, Any]:
    return {"size": path.stat().st_size, "sha256": sha256(path)}


def _replace(path: Path, parts: Iterable[Part]) -> dict[str, Any]:
    """Replace a file atomically.

    Returns:
        Size and SHA-256 of the intended content, so that a bad write is detected later.
    """
    digest = hashlib.sha256()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".", suffix=PART)
    part_file = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for part in parts:
                file.write(part)
                digest.update(part)
            size = file.tell()
        part_file.replace(path)
    except BaseException:
        part_file.unlink(missing_ok=True)
        raise
    return {"size": size, "sha256": digest.hexdigest()}


def _remove_stale(folder: Path) -> None:
    for part in folder.glob("*" + PART):
        with suppress(OSError):  # removed or still open by another process
            if time.time() - part.stat().st_mtime > STALE_AFTER:
                part.unlink()
