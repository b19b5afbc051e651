"""What spans and metrics cost a search: ``python -m benchmarks.speed.tracing [--rows 2000] [--rounds 5] [--json OUT]``.

Processes in turn over one record: without OpenTelemetry, with its API alone, and with its SDK and no exporter.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.speed.measures import Timings, pin_threads
from mnemic import Memory

DEFINITIONS = {
    "cpu_ms": "CPU ms of one search: the median of 200 in a process, least of all rounds",
    "ratio": "to the search without OpenTelemetry",
}
STATES = ("none", "API alone", "SDK, no exporter")
SEARCHES = 200


def searched(folder: str, embedder: str | None, state: str) -> float:
    """The median CPU time of a search, in this process."""
    if state != "none":
        from opentelemetry import metrics, trace

        if state != "API alone":
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.trace import TracerProvider

            trace.set_tracer_provider(TracerProvider())
            metrics.set_meter_provider(MeterProvider())
    timings = Timings()
    with Memory(folder, user="ana", embedder=embedder) as memory:
        for n in range(SEARCHES + 20):
            timings.of(memory.search, f"Which note says something of kayak {n}?")
    return sorted(timings.cpu[20:])[SEARCHES // 2]


def main(given: Sequence[str]) -> Mapping[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.tracing", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--embedder", help="as for Memory; default: all-MiniLM-L6-v2")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    parser.add_argument("--in", dest="place", nargs=2, help=argparse.SUPPRESS, metavar=("FOLDER", "STATE"))
    options = parser.parse_args(given)
    if options.place:
        print(searched(options.place[0], options.embedder, options.place[1]))
        return {}
    found: dict[str, list[float]] = {state: [] for state in STATES}
    with tempfile.TemporaryDirectory() as folder:
        words = ("tram", "kayak", "oven", "garden", "piano", "mill", "violin", "harbour")
        with Memory(folder, user="ana", embedder=options.embedder) as memory:
            notes = [f"Note {n} is about the {words[n % 8]} and the {words[n // 8 % 8]}." for n in range(options.rows)]
            memory.add([{"role": "user", "content": note} for note in notes])
        for state in STATES * options.rounds:
            command = [sys.executable, "-m", "benchmarks.speed.tracing", *given, "--in", folder, state]
            found[state].append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    least = {state: min(cpu) for state, cpu in found.items()}
    figures = {state: {"cpu_ms": round(cpu, 3), "ratio": round(cpu / least["none"], 3)} for state, cpu in least.items()}
    reporting.print_table("Tracing", ["", *DEFINITIONS], [[state, *row.values()] for state, row in figures.items()])
    if options.json:
        result = reporting.document(
            "speed.tracing", given, data={"rows": options.rows}, machine=reporting.machine(), definitions=DEFINITIONS,
            figures=figures,
        )  # fmt: skip
        reporting.written(result, options.json)
    return figures


if __name__ == "__main__":
    pin_threads("benchmarks.speed.tracing", sys.argv[1:])
    main(sys.argv[1:])
