"""What each engine costs as a memory grows: ``python -m benchmarks.scale.study --rows 10000,100000 --json FILE --plot FOLDER``.

Texts and vectors are made, not embedded. Each engine is measured with each number of rows in a process of its own, once with
the rows of a hundred users (one of them searches) and once with one user who owns all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.scale import measures, plotting
from benchmarks.scale.engines import ENGINES, running
from benchmarks.speed.measures import pin_threads

LAYOUTS = ("shared", "whole")
DEFINITIONS = {
    "data": "messages of 8 to 40 Zipf words of 20,000, unit vectors of 384 numbers in 2,000 clusters of Zipf sizes; one each minute",
    "shared / whole": "a hundred users with 1 % of the rows each, one of whom searches / one user owns all rows",
    "stored": "all rows in transactions of up to 2,000, and what an index takes in; making the rows is not counted",
    "add": "one message, one durable commit",
    "search": "k=10, the default recipe: keywords, vectors, neighbours; the embedding of the query is prepared",
    "vector_search": 'the same with recipe="vector"',
    "filtered_search": 'the default recipe with metadata={"topic": 3}, which one row in eleven has',
    "vectors": "the nearest 10 by vector: as the library chooses to look (chosen), and by asking the index alone (index)",
    "recall": "share of the nearest 10, all float16 vectors of the user compared, that were found; the mean",
    "cold": "a new process: open, first search, and its RAM then; caches of the operating system are warm",
    "cpu": "CPU milliseconds of the client process; server_cpu that of all processes of the server, mean of the calls",
    "disk": "all files, with the write-ahead log of PostgreSQL",
}


def one(name: str, rows: int, layout: str, calls: int) -> dict[str, Any]:
    """Measure one engine, here."""
    with tempfile.TemporaryDirectory() as folder, running(name, Path(folder)) as engine:
        embedder = measures.Prepared()
        with measures.opened(engine, embedder) as memory:
            stored, own = measures.filled(memory, rows, shared=layout == "shared", server_cpu=engine.server_cpu)
            found = measures.measured(memory, engine, embedder, own, calls)
        cold = measures.cold(engine)
        return {"stored": stored, **found, "cold": cold, "disk_mb": round(engine.bytes_held() / 1e6, 1)}


def apart(name: str, rows: int, layout: str, calls: int) -> dict[str, Any]:
    """Measure one engine in a process of its own."""
    words = ["--one", name, "--rows", str(rows), "--layouts", layout, "--calls", str(calls)]
    load = os.getloadavg()[0]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale.study", *words], stdout=subprocess.PIPE, text=True, check=True
    )
    return {
        "engine": name, "rows": rows, "layout": layout, "load_before": round(load, 1),
        "load_after": round(os.getloadavg()[0], 1), **json.loads(done.stdout.splitlines()[-1]),
    }  # fmt: skip


def table(runs: Sequence[dict[str, Any]]) -> None:
    """Print the figures one compares first."""
    head = (
        "engine", "rows", "layout", "add", "server", "search", "server", "filtered", "server", "recall", "cold ms", "MB",
    )  # fmt: skip
    lines = [
        (
            run["engine"], run["rows"], run["layout"], run["add"]["cpu_ms_p50"], run["add"]["server_cpu_ms_mean"],
            run["search"]["cpu_ms_p50"], run["search"]["server_cpu_ms_mean"], run["filtered_search"]["cpu_ms_p50"],
            run["filtered_search"]["server_cpu_ms_mean"], run["vectors"]["chosen"]["recall"], run["cold"]["wall_ms"],
            run["disk_mb"],
        )
        for run in runs
    ]  # fmt: skip
    reporting.print_table("CPU milliseconds of a call, client (p50) and server (mean)", head, lines)


def merged(path: Path, runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Runs that a file holds, with those of the same engine, rows and layout replaced."""
    held: list[dict[str, Any]] = json.loads(path.read_text())["figures"]["runs"] if path.is_file() else []
    keys = {(run["engine"], run["rows"], run["layout"]) for run in runs}
    kept = [run for run in held if (run["engine"], run["rows"], run["layout"]) not in keys]
    return sorted([*kept, *runs], key=lambda run: (list(ENGINES).index(run["engine"]), run["layout"], run["rows"]))


def main(given: Sequence[str]) -> list[dict[str, Any]]:
    """Run, print, write and draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.study", description=__doc__)
    parser.add_argument("--rows", default="10000,100000", help="numbers of rows, with commas between them")
    parser.add_argument("--engines", default=",".join(ENGINES), help=f"of {', '.join(ENGINES)}")
    parser.add_argument("--layouts", default=",".join(LAYOUTS), help="shared, whole or both")
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--json", type=Path, help="write the result to this file, beside the runs it holds already")
    parser.add_argument("--plot", type=Path, help="draw the curves of all runs of the file into this folder")
    parser.add_argument("--one", choices=ENGINES, help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    sizes, layouts = [int(rows) for rows in options.rows.split(",") if rows], options.layouts.split(",")
    if options.one:
        print(json.dumps(one(options.one, sizes[0], layouts[0], options.calls)))
        return []
    runs: list[dict[str, Any]] = []
    for rows in sizes:
        for name in options.engines.split(","):
            for layout in layouts:
                print(f"{name}, {rows} rows, {layout} ...", file=sys.stderr, flush=True)
                runs.append(apart(name, rows, layout, options.calls))
                if options.json:
                    _keep(options.json, given, runs)
    every = merged(options.json, runs) if options.json else runs
    table(every)
    if options.plot:
        plotting.draw(every, options.plot)
    return every


def _keep(path: Path, given: Sequence[str], runs: Sequence[dict[str, Any]]) -> None:
    """Write after every run: what was measured is there when a later one is interrupted."""
    result = reporting.document(
        "scale.study", given, definitions=DEFINITIONS, machine=reporting.machine(),
        data={"seed": 0, "users": 100}, figures={"runs": merged(path, runs)},
    )  # fmt: skip
    reporting.written(result, path)


if __name__ == "__main__":
    pin_threads("benchmarks.scale.study", sys.argv[1:])
    main(sys.argv[1:])
