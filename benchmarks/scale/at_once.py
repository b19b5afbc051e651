"""Searches at once on one folder: ``python -m benchmarks.scale.at_once --rows 20000 --at-once 1,64 --processes 1,2``.

One user owns all rows, made as in the study; the embedding of a query is prepared. Each searcher begins its next search when
it has the answer to the last one. Times are those of a searcher, waiting included: wall clock, so note the load.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from benchmarks.scale import made, measures
from benchmarks.scale.engines import running
from mnemic import Memory, __version__


@contextmanager
def made_folder(rows: int) -> Iterator[tuple[str, str]]:
    """A folder with the rows, and a file of questions beside it."""
    with tempfile.TemporaryDirectory() as folder, running("sqlite", Path(folder)) as engine:
        with measures.opened(engine, measures.Prepared()) as memory:
            _, own = measures.filled(memory, rows, shared=False, server_cpu=lambda: 0.0)
        asked = made.questions(*own, 500)
        file = Path(folder) / "questions.npz"
        np.savez(file, texts=[one.text for one in asked], vectors=[one.vector for one in asked])
        yield str(engine.location), str(file)


def searched(location: str, file: str, threads: int, calls: int) -> list[float]:
    """Milliseconds of every search of some threads of this process; it says when it is ready, and waits for a line."""
    asked = np.load(file)
    embedder = measures.Prepared()
    embedder.known = dict(zip(map(str, asked["texts"]), asked["vectors"], strict=True))
    texts, times = list(embedder.known), list[float]()
    with Memory(location, user="user0", embedder=embedder) as memory:
        for text in texts[:3]:
            memory.search(text)

        def work(first: int) -> None:
            for number in range(first, first + calls):
                at = time.perf_counter()
                memory.search(texts[number * 37 % len(texts)])
                times.append(1000 * (time.perf_counter() - at))

        workers = [threading.Thread(target=work, args=(n * calls,)) for n in range(threads)]
        print("ready", flush=True)
        sys.stdin.readline()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return times


def measured(location: str, file: str, at_once: int, processes: int, calls: int) -> dict[str, Any]:
    """All searchers of all processes, begun together."""
    words = ["--one", location, file, str(at_once // processes), str(calls)]
    command = [sys.executable, "-m", "benchmarks.scale.at_once", *words]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    for child in children:
        assert child.stdout is not None
        child.stdout.readline()
    load, began = os.getloadavg()[0], time.perf_counter()
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    times = [one for child in children for one in json.loads(child.communicate()[0])]
    seconds = time.perf_counter() - began
    p50, p95, p99 = np.percentile(times, (50, 95, 99))
    return {
        "at_once": at_once, "processes": processes, "searches": len(times), "a_second": round(len(times) / seconds),
        "p50_ms": round(p50), "p95_ms": round(p95), "p99_ms": round(p99), "max_ms": round(max(times)), "load": round(load, 1),
    }  # fmt: skip


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="20000")
    parser.add_argument("--at-once", default="1,64")
    parser.add_argument("--processes", default="1")
    parser.add_argument("--calls", type=int, default=15)
    parser.add_argument("--one", nargs=4)
    given = parser.parse_args()
    if given.one:
        location, file, threads, calls = given.one
        print(json.dumps(searched(location, file, int(threads), int(calls))))
        return
    versions = {"mnemic": __version__, "python": platform.python_version(), "sqlite": apsw.sqlite_lib_version()}
    print(json.dumps(versions | {"numpy": np.__version__, "processors": os.cpu_count()}))
    for rows in map(int, given.rows.split(",")):
        with made_folder(rows) as (location, file):
            for at_once in map(int, given.at_once.split(",")):
                for processes in map(int, given.processes.split(",")):
                    if at_once >= processes:
                        print(rows, json.dumps(measured(location, file, at_once, processes, given.calls)), flush=True)


if __name__ == "__main__":
    main()
