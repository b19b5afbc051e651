"""What consolidation in the background costs somebody who searches meanwhile.

    python -m benchmarks.quality.consolidation --part reader [--sizes 10000,100000]

The background is the idle trigger itself, as a program has it: advice, a cycle, and so on while it is advised. The reader is
another thread of the same process, or another process on the same folder. Rounds with and without the background take
turns, so that both see the same machine.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.vectors import PreparedEmbedder
from mnemic import Idle, Memory

__all__ = ["READER", "reader_figures"]

READER = {
    "reader": "a search, wall ms and CPU ms of its thread, alone and while the idle trigger consolidates in another thread of "
    "the process or in another process; the rise of the p95 in percent is the median over rounds that take turns",
    "apart_ms": "what the reader waits between two searches",
}  # fmt: skip
ROUNDS, SECONDS = 8, 1.5
QUIET = Idle(idle_seconds=0.05, check_interval=0.0)
Times = list[tuple[float, float]]


def opened(folder: Path) -> Memory:
    """The record, with vectors of queries made up at no cost."""
    embedder = PreparedEmbedder([], np.empty((0, 384), np.float32))
    return Memory(folder, embedder=embedder, idle=QUIET, durability="NORMAL")


def searched(memory: Memory, queries: Iterator[str], seconds: float, apart: float) -> Times:
    """Wall and CPU seconds of searches, for so long."""
    times: Times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        query = next(queries)
        wall, own = time.perf_counter(), time.thread_time()
        memory.search(query, kinds=["memory"])
        times.append((time.perf_counter() - wall, time.thread_time() - own))
        if apart:
            time.sleep(apart)
    return times


@contextmanager
def _in_thread(memory: Memory) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """Begin and end of the background, in a thread of this process."""
    memory.idle.begin()
    yield memory.idle.end, memory.idle.begin


@contextmanager
def _in_process(memory: Memory) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """The same in a process of its own, told by lines."""
    folder = Path(memory.stats().location).parent
    command = [sys.executable, "-m", __name__, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        into, out = child.stdin, child.stdout
        assert into is not None
        assert out is not None

        def tell(word: str) -> Callable[[], None]:
            def say() -> None:
                into.write(word)
                into.flush()
                out.readline()

            return say

        yield tell("go\n"), tell("rest\n")


def _cycles(memory: Memory) -> int:
    with memory._runtime.store._db.read() as db:
        return db.execute("SELECT count(*) FROM consolidations").fetchone()[0]


def _figures(memory: Memory, queries: Iterator[str], background: Any, apart: float) -> dict[str, Any]:
    alone: list[Times] = []
    beside: list[Times] = []
    before = _cycles(memory)
    with background(memory) as (begin, rest):
        searched(memory, queries, 0.5, 0.0)
        for _ in range(ROUNDS):
            alone.append(searched(memory, queries, SECONDS, apart))
            begin()
            time.sleep(0.2)
            beside.append(searched(memory, queries, SECONDS, apart))
            rest()
            time.sleep(0.2)
    found: dict[str, Any] = {
        "apart_ms": round(1000 * apart), "searches": [sum(map(len, alone)), sum(map(len, beside))],
        "cycles": _cycles(memory) - before,
    }  # fmt: skip
    for place, clock in enumerate(("wall", "cpu")):
        for share in (50, 95):
            pair = [_percentile([one for times in rounds for one in times], place, share) for rounds in (alone, beside)]
            found[f"{clock}_p{share}_ms"] = [round(1000 * value, 2) for value in pair]
        rises = [_percentile(b, place, 95) / _percentile(a, place, 95) - 1 for a, b in zip(alone, beside, strict=True)]
        found[f"{clock}_p95_rise"] = round(100 * float(np.median(rises)), 1)
    return found


def _percentile(times: Sequence[tuple[float, float]], place: int, share: float) -> float:
    return float(np.percentile([one[place] for one in times], share))


def reader_figures(size: int, make: Callable[[Path], None], queries: Iterator[str]) -> list[dict[str, Any]]:
    """The figures of both readers, each asking without a pause and fifty times a second at most.

    Args:
        size: how many memories.
        make: makes a record of so many in a folder.
        queries: what is asked, without end.
    """
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "made")
        make(made)
        for name, background in (("thread", _in_thread), ("process", _in_process)):
            for apart in (0.0, 0.02):
                copy = Path(folder, "copy")
                shutil.copytree(made, copy)
                with closing(opened(copy)) as memory:
                    figures = _figures(memory, queries, background, apart)
                shutil.rmtree(copy)
                found.append({"memories": size, "background": name, **figures})
    return found


def main(folder: str) -> None:
    """The background in a process of its own: begins and rests as it is told."""
    with closing(opened(Path(folder))) as memory:
        memory.idle.begin()
        for line in sys.stdin:
            (memory.idle.end if line == "go\n" else memory.idle.begin)()
            print("told", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
