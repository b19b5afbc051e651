"""Where the CPU time of a search and of an add goes: ``python -m benchmarks.speed.hotspots --data FILE [--rows 10000]``.

Runs Mnemic's default search under Python's profiler and lists the functions by their own time, then durable single adds.
The profiler makes calls dearer than they are; the shares tell, not the sums, so the same calls are timed without it first.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.conversations import load
from benchmarks.speed import corpus
from benchmarks.speed.children import known_texts
from benchmarks.speed.engines import MnemicEngine
from benchmarks.speed.measures import Timings, pin_threads
from benchmarks.vectors import default_embedder

ADDS = 200


def place(function: tuple[str, int, str]) -> str:
    """Where a function stands, without the folders of this machine."""
    file, line, name = function
    if file == "~":
        return name
    parts = Path(file).parts
    package = next((i for i, part in enumerate(parts) if part in {"mnemic", "numpy", "benchmarks"}), len(parts) - 1)
    return f"{'/'.join(parts[package:])}:{line} {name}"


def profiled(calls: Sequence[Callable[[], Any]], most: int) -> list[tuple[str, int, float, float]]:
    """(function, how often, own ms a call, ms a call with what it calls), by own time."""
    profile = cProfile.Profile()
    profile.enable()
    for call in calls:
        call()
    profile.disable()
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    lines = [(place(f), times, own * 1000, whole * 1000) for f, (_, times, own, whole, _) in stats.items()]
    lines.sort(key=lambda line: -line[2])
    return [(name, times, own / len(calls), whole / len(calls)) for name, times, own, whole in lines[:most]]


def timed(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """CPU and wall ms, p10, p50 and p95, of calls made one after the other."""
    timings = Timings()
    for call in calls:
        timings.of(call)
    return list(timings.summary().values())


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
    data = corpus.grown(corpus.prepare(load(options.data), embedder, options.questions), options.rows + 2 * ADDS)
    embedder.close()
    asked = list(zip(data.questions, data.question_vectors, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        engine = opened(data, options.rows, Path(folder))
        searches = [partial(engine.search, *question) for question in asked]
        more = zip(data.rows[options.rows :], data.vectors[options.rows :], strict=True)
        adds = [partial(engine.add, engine.prepared(row), vector) for row, vector in more]
        engine.search(*asked[0])
        times = [("search, asked first", *timed(searches)), ("search, asked again", *timed(searches))]
        lines = profiled(searches, options.most)
        times.append(("add", *timed(adds[:ADDS])))
        added = profiled(adds[ADDS:], options.most)
        engine.close()
    head = ("without the profiler", "calls", "CPU ms p10", "p50", "p95", "wall ms p10", "p50", "p95")
    reporting.print_table(f"at {options.rows} rows", head, times)
    head = ("function", "calls", "own ms", "ms with callees")
    reporting.print_table(f"per search, profiled over {len(asked)} questions asked again", head, lines)
    reporting.print_table(f"per add, profiled over {ADDS} messages", head, added)


def opened(data: corpus.Corpus, size: int, folder: Path) -> MnemicEngine:
    """A store with the first ``size`` rows of the corpus in it, that writes durably."""
    engine = MnemicEngine()
    engine.library()
    known = known_texts(data)
    engine.open(folder / "memory", *known, durable=False)
    engine.load(data.rows[:size], data.vectors[:size])
    engine.close()
    engine.open(folder / "memory", *known)
    return engine


if __name__ == "__main__":
    main(sys.argv[1:])
