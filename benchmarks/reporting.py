"""What every benchmark writes down beside its figures, and how it prints them."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["command", "document", "machine", "print_table", "sha256", "versions", "written"]

PACKAGES = (
    "mnemic",
    "numpy",
    "onnxruntime",
    "tokenizers",
    "apsw",
    "apsw-sqlite3mc",
    "rank-bm25",
    "tiktoken",
    "chromadb",
    "py3langid",
    "dateparser",
)


def command(module: str, arguments: Sequence[str]) -> str:
    """The command line to repeat the run; paths are cut to their last part, because they are those of one machine."""
    return shlex.join(["python", "-m", module, *(_bare(argument) for argument in arguments)])


def _bare(argument: str) -> str:
    option, equals, value = argument.partition("=") if argument.startswith("--") else ("", "", argument)
    return option + equals + (Path(value).name if "/" in value or os.sep in value else value)


def versions() -> dict[str, str]:
    """The packages that the figures depend on, Python, and SQLite as apsw brings it."""
    import apsw

    found = {"python": platform.python_version(), "sqlite": apsw.sqlite_lib_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """The processor, for timings: they compare within one run, not between machines."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        named = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line[:10] == "model name"]
        model = named[0] if named else model
    return {"processor": model, "cores": os.cpu_count(), "system": platform.system()}


def sha256(path: Path) -> str:
    """The hash of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def document(
    benchmark: str,
    arguments: Sequence[str],
    *,
    data: Mapping[str, Any],
    definitions: Mapping[str, str],
    figures: Mapping[str, Any],
    **more: Any,
) -> dict[str, Any]:
    """The result of a run as it is written to a file."""
    return {
        "benchmark": benchmark, "command": command(f"benchmarks.{benchmark}", arguments), "versions": versions(),
        "data": dict(data), **more, "definitions": dict(definitions), "figures": dict(figures),
    }  # fmt: skip


def written(result: dict[str, Any], path: Path | None) -> dict[str, Any]:
    """The result, written as JSON that reads well in a diff if there is a path."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return result


def print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table with its columns aligned: text to the left, numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(head), *cells]) for i in range(len(head))]
    print(f"\n{title}")
    for line in [list(head), ["-" * width for width in widths], *cells]:
        print("  ".join(_aligned(text, width, i) for i, (text, width) in enumerate(zip(line, widths, strict=True))))


def _aligned(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column == 0 else text.rjust(width)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 1 else f"{value:.1f}"
    return "" if value is None else str(value)
