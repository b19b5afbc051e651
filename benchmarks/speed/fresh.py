"""What a fresh process pays: for importing, for opening a store and answering once, in memory.

The parent runs this file's tasks in child processes: ``python -m benchmarks.speed.fresh cold mnemic FOLDER DATA 0``.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["cold_start", "import_cost", "memory_use"]

IMPORT = """
import sys, time
began = time.process_time()
import mnemic
print((time.process_time() - began) * 1000, 'numpy' in sys.modules)
"""
REPEATS = 5


def import_cost(python: str = sys.executable) -> dict[str, Any]:
    """CPU ms of ``import mnemic`` in a fresh process, median of five, and whether numpy came with it."""
    runs = [
        subprocess.run([python, "-c", IMPORT], check=True, capture_output=True, text=True).stdout.split()
        for _ in range(REPEATS)
    ]
    return {
        "cpu_ms": round(statistics.median(float(run[0]) for run in runs), 2),
        "numpy_loaded": any(run[1] == "True" for run in runs),
    }


def _child(*arguments: str) -> dict[str, Any]:
    line = [sys.executable, "-m", "benchmarks.speed.fresh", *arguments]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{arguments[:2]} failed in a fresh process:\n{done.stderr}")
    return json.loads(done.stdout)


def cold_start(engine: str, folder: Path, data: Path) -> dict[str, float]:
    """CPU seconds of a fresh process, each the median of five questions; the files are in the system's cache."""
    runs = [_child("cold", engine, str(folder), str(data), str(number)) for number in range(REPEATS)]
    return {name: round(statistics.median(run[name] for run in runs), 4) for name in runs[0]}


def memory_use(folder: Path, data: Path) -> dict[str, float]:
    """MB resident in a process that has opened a store, and that has searched it with vectors given."""
    return _child("memory", "mnemic", str(folder), str(data), "0")


def _opened(engine: str, folder: str, data: str) -> tuple[Any, list[str], Any]:
    from benchmarks.speed.corpus import read_questions
    from benchmarks.speed.engines import ENGINES

    texts, vectors = read_questions(Path(data))
    opened = ENGINES[engine]()
    opened.library()
    return opened, texts, vectors


def _cold(engine: str, folder: str, data: str, number: str) -> dict[str, float]:
    began = time.process_time()
    opened, texts, vectors = _opened(engine, folder, data)
    imported = time.process_time()
    opened.open(Path(folder), texts, vectors)
    ready = time.process_time()
    found = opened.search(texts[int(number)], vectors[int(number)])
    answered = time.process_time()
    if not found:
        raise RuntimeError("the first search found nothing")
    return {
        "import_s": imported - began, "open_s": ready - imported, "first_answer_s": answered - ready,
        "open_and_answer_s": answered - imported, "with_imports_s": answered - began,
    }  # fmt: skip


def _memory(engine: str, folder: str, data: str, number: str) -> dict[str, float]:
    import psutil

    def resident() -> float:
        return round(psutil.Process().memory_info().rss / 1e6, 1)

    opened, texts, vectors = _opened(engine, folder, data)
    opened.open(Path(folder), texts, vectors)
    figures = {"opened_mb": resident()}
    opened.search(texts[int(number)], vectors[int(number)])
    figures["searched_once_mb"] = resident()
    for text, vector in zip(texts, vectors, strict=True):
        opened.search(text, vector)
    figures["searched_often_mb"] = resident()
    loaded = [name for name in ("onnxruntime", "tokenizers", "torch") if name in sys.modules]
    if loaded:
        raise RuntimeError(f"{loaded} was loaded, so this is not the memory of a process without an embedder")
    return figures


if __name__ == "__main__":
    print(json.dumps({"cold": _cold, "memory": _memory}[sys.argv[1]](*sys.argv[2:])))
