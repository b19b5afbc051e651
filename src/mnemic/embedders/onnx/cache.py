"""The cache folder: a converted model, its tokeniser, and a manifest that proves both are whole.

Several processes may read and fill it at once. Files are replaced in one step and never changed in place, all
processes write the same bytes, and what the manifest does not confirm is not used.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mnemic.embedders.onnx.protobuf import Part
    from mnemic.embedders.prompts import Prompts

__all__ = ["ModelFiles", "Pooling", "keep", "kept", "sha256"]

MODEL, TOKENIZER, MANIFEST = "model.onnx", "tokenizer.json", "manifest.json"
PART = ".part"
FORGOTTEN_AFTER = 3600.0  # seconds: a part of a file that is older was left by a process that was killed

Pooling: TypeAlias = Literal["mean", "cls"]


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where a model is: a file or the content of one, its tokeniser, and what belongs to it.

    Attributes:
        model: the file or its content.
        tokenizer: the file.
        pooling: how token vectors become one.
        prompts: what comes before a text, by kind.
        max_tokens: how many tokens of a text are read if nobody says otherwise.
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


def kept(folder: Path, converter: str) -> ModelFiles | None:
    """The model kept in `folder`, or None if there is none, it is damaged, or another converter made it."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text("utf-8"))
        whole = manifest["converter"] == converter and all(
            _described(folder / name) == manifest["files"][name] for name in (MODEL, TOKENIZER)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return ModelFiles(folder / MODEL, folder / TOKENIZER) if whole else None


def keep(folder: Path, converter: str, model: Iterable[Part], tokenizer: Path) -> ModelFiles:
    """Write a converted model into `folder`, readable by its owner alone.

    Raises:
        OSError: the folder cannot be written; what was there before is still there.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _sweep(folder)
    files = {
        MODEL: _replace(folder / MODEL, model),
        TOKENIZER: _replace(folder / TOKENIZER, [tokenizer.read_bytes()]),
    }
    manifest = json.dumps({"converter": converter, "files": files}, indent=2)
    _replace(folder / MANIFEST, [manifest.encode()])
    return ModelFiles(folder / MODEL, folder / TOKENIZER)


def _described(path: Path) -> dict[str, Any]:
    return {"size": path.stat().st_size, "sha256": sha256(path)}


def _replace(path: Path, parts: Iterable[Part]) -> dict[str, Any]:
    """Write beside `path`, then put the new file in its place: readers see the old one or the new one.

    Returns:
        Size and SHA-256 of what was meant to be written, so that a bad write is noticed later.
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


def _sweep(folder: Path) -> None:
    for part in folder.glob("*" + PART):
        try:
            if time.time() - part.stat().st_mtime > FORGOTTEN_AFTER:
                part.unlink()
        except OSError:
            continue  # another process was faster, or still has it open
