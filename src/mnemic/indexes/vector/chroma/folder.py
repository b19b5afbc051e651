"""The folder of an embedded index: one generation in use, and what tells whether it was left as it should be.

``current.json`` names the generation. While a process has it open it is marked so; at a clean close the marks are the hashes
of its files. A damaged index can end the process that loads it, without an exception: so files that changed since then
are not loaded at all, and what a killed process left is first loaded by a child.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from mnemic.errors import StoreUnavailable

__all__ = ["GenerationFolder"]

POINTER = "current.json"
PREFIX = "generation-"
PROBE = Path(__file__).with_name("probe.py")
PROBE_SECONDS = 1800.0
LOADED = ("chroma.sqlite3", "header.bin", "data_level0.bin", "length.bin", "link_lists.bin", "index_metadata.pickle")
"""The files Chroma reads; side files of SQLite come and go."""

_START = struct.Struct("<i3Q")

Left: TypeAlias = Literal["nothing", "sound", "changed", "open"]
"""How the last owner left it: there is none; as it was closed; files changed since; not closed at all."""


class GenerationFolder:
    """Generations of an index in a folder of their own; only its owner may call this."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._cleared: set[Path] = set()

    @property
    def current(self) -> Path | None:
        """The generation in use."""
        name = str(self._pointer().get("generation", ""))
        path = self._root / name
        return path if name.startswith(PREFIX) and path.is_dir() else None

    def _pointer(self) -> Mapping[str, Any]:
        try:
            held = json.loads((self._root / POINTER).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return cast("Mapping[str, Any]", held) if isinstance(held, dict) else {}

    def left(self) -> Left:
        """How the last owner left it."""
        path = self.current
        if path is None:
            return "nothing"
        files = self._pointer().get("files")
        if files is None:
            return "open"
        return "sound" if files == _hashes(path) else "changed"

    def survives_loading(self) -> bool:
        """Whether a child process can load and read the generation in use."""
        path = self.current
        if path is None or not sys.executable:
            return False
        command = [sys.executable, str(PROBE), str(path), json.dumps(sys.path)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False)  # noqa: S603 - ours
        except (OSError, subprocess.SubprocessError):
            return False
        return done.returncode == 0

    def opened(self) -> None:
        """From now on it is in use, and not closed cleanly until ``closed``."""
        path = self.current
        if path is not None:
            self._point({"generation": path.name})
            self._remove_others(path.name)

    def closed(self) -> None:
        """It was closed: note what it holds."""
        path = self.current
        if path is not None:
            self._point({"generation": path.name, "files": _hashes(path)})

    def clear_unused(self, *, again: bool = False) -> None:
        """Zeros in the place of what was in RAM: Chroma begins a graph with a file of memory that it has not written to.

        Whatever the process held may stand there, an erased text too. The first numbers of a header are its version and an
        offset, then the entries there is room for and those that there are; while these are none, nothing in the file counts.

        Args:
            again: also where it was done before: Chroma has written such files anew, as it does when it closes.
        """
        path = self.current
        for header in path.rglob("header.bin") if path is not None else ():
            if header in self._cleared and not again:
                continue
            try:
                start = header.read_bytes()[: _START.size]
                if len(start) == _START.size and _START.unpack(start)[3] == 0:
                    for name in ("data_level0.bin", "length.bin"):
                        _fill_with_zeros(header.with_name(name))
                self._cleared.add(header)
            except OSError as error:
                raise StoreUnavailable(f"The folder of the Chroma index cannot be written: {error}.") from error

    def renewed(self) -> Path:
        """A new, empty generation in the place of the one in use, of which nothing stays."""
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            number = 1 + max((_number(path.name) for path in self._root.glob(PREFIX + "*")), default=0)
            path = self._root / f"{PREFIX}{number:06d}"
            path.mkdir(mode=0o700)
        except OSError as error:
            raise StoreUnavailable(f"The folder of the Chroma index cannot be written: {error}.") from error
        self._point({"generation": path.name})
        self._remove_others(path.name)
        return path

    def remove(self) -> None:
        """Leave nothing of it."""
        self._point({})
        self._remove_others("")

    def _point(self, content: Mapping[str, Any]) -> None:
        """Replace the pointer as a whole: after a crash it is the old one or the new one."""
        draft = self._root / (POINTER + ".new")
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._root / POINTER)
        except OSError as error:
            raise StoreUnavailable(f"The folder of the Chroma index cannot be written: {error}.") from error

    def _remove_others(self, name: str) -> None:
        for path in self._root.glob(PREFIX + "*"):
            if path.name != name:
                try:
                    shutil.rmtree(path)
                except OSError as error:
                    raise StoreUnavailable(f"An old Chroma index cannot be removed: {error}.") from error


def _fill_with_zeros(path: Path) -> None:
    if path.is_file() and any(path.read_bytes()):
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
            os.fsync(file.fileno())


def _number(name: str) -> int:
    digits = name.removeprefix(PREFIX)
    return int(digits) if digits.isdecimal() else 0


def _hashes(folder: Path) -> dict[str, str]:
    """The content of every file that Chroma loads, by its path; a log of SQLite's that is not empty counts too."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.name in LOADED or (path.name.endswith("-wal") and path.stat().st_size):
            if not path.is_file():
                found[path.relative_to(folder).as_posix()] = "no file"
                continue
            with path.open("rb") as file:
                found[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "blake2b").hexdigest()
    return found
