"""A virtual environment for each peer: made once, kept between runs, and weighed when it is made."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from benchmarks.quality.peers.catalogue import Peer
from benchmarks.speed.measures import folder_bytes
from benchmarks.speed.weight import PROJECT, TOOLS, run

__all__ = ["ensure", "python_of"]

RECORD = "installed.json"


def python_of(place: Path) -> Path:
    """The interpreter of a virtual environment."""
    return place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _identity(peer: Peer) -> str:
    """What the environment was made from. The project's own sources count with their content: they change."""
    seen = hashlib.sha256(repr((peer.requirements, peer.helpers)).encode())
    if str(PROJECT) in peer.requirements:
        for source in sorted((PROJECT / "src").rglob("*.py")):
            seen.update(source.read_bytes())
    return seen.hexdigest()


def ensure(peer: Peer, folder: Path) -> dict[str, Any]:
    """Make the environment of a peer unless it is there already.

    Returns:
        ``python``, the interpreter; ``packages`` and ``mb``, what ``pip install`` of the peer brought (``pip`` itself and
        the helpers do not count); ``installed``, every distribution with its version, helpers too.

    Raises:
        RuntimeError: it cannot be installed; the message holds what pip said.
    """
    place = folder / peer.name
    record = place / RECORD
    if record.is_file():
        kept = json.loads(record.read_text(encoding="utf-8"))
        if kept["identity"] == _identity(peer):
            return kept["found"] | {"python": str(python_of(place))}
    found = _make(peer, place)
    record.write_text(json.dumps({"identity": _identity(peer), "found": found}), encoding="utf-8")
    return found | {"python": str(python_of(place))}


def _make(peer: Peer, place: Path) -> dict[str, Any]:
    if place.exists():
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    run(sys.executable, "-m", "venv", str(place))
    python = str(python_of(place))
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    before = folder_bytes(packages)
    _install(python, peer.requirements)
    brought = _listed(python)
    weight = folder_bytes(packages) - before
    _install(python, peer.helpers)
    return {"packages": len(brought), "mb": round(weight / 1e6, 1), "installed": _listed(python)}


def _install(python: str, requirements: tuple[str, ...]) -> None:
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements)


def _listed(python: str) -> dict[str, str]:
    listed = json.loads(run(python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"))
    return {entry["name"]: entry["version"] for entry in listed if entry["name"] not in TOOLS}
