"""Where the CPU time of a search goes: ``python -m benchmarks.speed.hotspots --data FILE [--rows 10000]``.

Runs Mnemic's default search under Python's profiler and lists the functions by their own time. The profiler makes calls
dearer than they are; the shares tell, not the sums, so the same searches are timed without it first.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.conversations import load
from benchmarks.speed import corpus
from benchmarks.speed.engines import MnemicEngine
from benchmarks.speed.measuring import Timings, pin_threads
from benchmarks.vectors import default_embedder


def place(function: tuple[str, int, str]) -> str:
    """Where a function stands, without the folders of this machine."""
    file, line, name = function
    if file == "~":
        return name
    parts = Path(file).parts
    package = next((i for i, part in enumerate(parts) if part in {"mnemic", "numpy", "benchmarks"}), len(parts) - 1)
    return f"{'/'.join(parts[package:])}:{line} {name}"


def profiled(engine: MnemicEngine, asked: Sequence[tuple[str, Any]], most: int) -> list[tuple[str, int, float, float]]:
    """(function, calls, own ms a search, ms a search with what it calls), by own time."""
    profile = cProfile.Profile()
    profile.enable()
    for text, vector in asked:
        engine.search(text, vector)
    profile.disable()
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    lines = [(place(f), calls, own * 1000, whole * 1000) for f, (_, calls, own, whole, _) in stats.items()]
    lines.sort(key=lambda line: -line[2])
    return [(name, calls, own / len(asked), whole / len(asked)) for name, calls, own, whole in lines[:most]]


def main(given: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.hotspots", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--most", type=int, default=30)
    parser.add_argument("--vectors-cache", type=Path)
    options = parser.parse_args(given)
    pin_threads("benchmarks.speed.hotspots", given)
    embedder = default_embedder(options.vectors_cache)
    data = corpus.grown(corpus.prepare(load(options.data), embedder, options.questions), options.rows)
    embedder.close()
    with tempfile.TemporaryDirectory() as folder:
        engine = opened(data, Path(folder))
        asked = list(zip(data.questions, data.question_vectors, strict=True))
        engine.search(*asked[0])
        times = [Timings(), Timings()]
        for timings in times:
            for text, vector in asked:
                timings.of(engine.search, text, vector)
        lines = profiled(engine, asked, options.most)
        engine.close()
    head = ("pass", "calls", "CPU ms p50", "p95", "wall p50", "p95")
    rows = [(name, *t.summary().values()) for name, t in zip(("asked first", "asked again"), times, strict=True)]
    reporting.print_table(f"search at {options.rows} rows, without the profiler", head, rows)
    head = ("function", "calls", "own ms", "ms with callees")
    reporting.print_table(f"per search, profiled over {len(asked)} questions asked again", head, lines)


def opened(data: corpus.Corpus, folder: Path) -> MnemicEngine:
    """A store with the corpus in it."""
    from benchmarks.speed.children import known_texts

    engine = MnemicEngine()
    engine.library()
    engine.open(folder / "memory", *known_texts(data), durable=False)
    engine.load(data.rows, data.vectors)
    return engine


if __name__ == "__main__":
    main(sys.argv[1:])
