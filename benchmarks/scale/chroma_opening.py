"""Opening a folder with Chroma again, closed and killed: ``python -m benchmarks.scale.chroma_opening``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.scale.chroma_filter import filled, vectors
from mnemic import Chroma, Memory
from mnemic.testing import PreparedEmbedder

DEFINITIONS = {
    "data": "as in scale.chroma_filter, all of one user",
    "filling": "storing the vectors as messages, and indexing them",
    "closed": "opening the folder after it was closed, until the index is up to date",
    "killed": "the same, with Chroma's folder as a killed process leaves it: the index is rebuilt from the record",
    "cpu_seconds": "CPU of the process with all its threads",
}


def timed(work: Callable[[], object]) -> dict[str, float]:
    """The time that work takes."""
    began = time.monotonic(), time.process_time()
    work()
    return {"cpu_seconds": time.process_time() - began[1], "seconds": time.monotonic() - began[0]}


def measured(place: Path, held: np.ndarray, seed: int) -> dict[str, Any]:
    """Fill a folder, and open it twice."""
    options: dict[str, Any] = {
        "user": "ana", "durability": "NORMAL", "vectors": Chroma(), "embedder": PreparedEmbedder({"first": held[0]}, id="made"),
    }  # fmt: skip

    def updated() -> None:
        with Memory(place, **options) as memory:
            memory.admin.flush(process=False)

    with Memory(place, **options) as memory:
        memory.add("first")  # loads Chroma
        memory.admin.flush(process=False)
        found: dict[str, Any] = {"filling": timed(lambda: filled(memory, held, 1.0, seed))}
    found["closed"] = timed(updated)
    (closed,) = (place / "chroma").glob("closed-*")
    closed.rename(closed.with_name("open-killed"))
    found["killed"] = timed(updated)
    per = 10_000 / len(held)
    return found | {
        "rebuilding_cpu_seconds_per_10000": per * (found["killed"]["cpu_seconds"] - found["closed"]["cpu_seconds"]),
        "closed_over_killed": found["closed"]["cpu_seconds"] / found["killed"]["cpu_seconds"],
    }


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.chroma_opening", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    held = vectors(options.rows, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        figures = measured(Path(folder) / "memory", held, options.seed)
    names = ("cpu_seconds", "seconds")
    lines = [(name, *(figures[name][n] for n in names)) for name in ("filling", "closed", "killed")]
    reporting.print_table(f"{options.rows} vectors in Chroma", ("", *names), lines)
    print(f"\nrebuilding 10,000 vectors: {figures['rebuilding_cpu_seconds_per_10000']:.1f} s CPU")
    result = reporting.document(
        "scale.chroma_opening", given, definitions=DEFINITIONS, machine=reporting.machine(),
        data={"rows": options.rows, "seed": options.seed}, figures=figures,
    )  # fmt: skip
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
