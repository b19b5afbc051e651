"""What encryption costs: ``python -m benchmarks.speed.encryption [--rows 10000] [--rounds 5] [--json OUT]``.

Processes in turn, over plain and encrypted folders of the same texts. Needs apsw-sqlite3mc in the place of apsw.
"""

from __future__ import annotations

import argparse
import hashlib
import json
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
    "add": "CPU ms of adding one message with its vector: median of 200 in a process, least of all rounds",
    "search": "of one search, median of 200; the first ten are left out",
    "context": "of one context of 1,000 tokens, median of 50",
    "open": "of opening the folder and the first search, which reads all vectors: one in a process, least of all rounds",
    "ratio": "to the plain folder, in the same run",
}
KINDS: Mapping[str, str | bytes | None] = {
    "plain": None,
    "raw key": bytes(range(32)),
    "passphrase": "a long passphrase",
}
WORDS = ("tram", "kayak", "oven", "garden", "piano", "mill", "violin", "harbour", "ladder", "violet")


def notes(count: int) -> list[str]:
    return [
        f"Note {n} is about the {WORDS[n % 10]} and the {WORDS[n // 10 % 10]} number {n * 7919 % 1009}."
        for n in range(count)
    ]


def opened(folder: Path, kind: str) -> Memory:
    return Memory(folder, user="ana", embedder="hashing", key=KINDS[kind], durability="NORMAL")


def measured(folder: Path, kind: str) -> dict[str, float]:
    """The median CPU time of each operation, in this process."""
    first, add, search, context = Timings(), Timings(), Timings(), Timings()
    memory = first.of(_first_search, folder, kind)
    with memory:
        for n in range(210):
            search.of(memory.search, f"What is said of the {WORDS[n % 10]} number {n}?")
        for n in range(50):
            context.of(lambda n=n: memory.get_memory_context(f"the {WORDS[n % 10]} number {n}", max_tokens=1_000))
        for n in range(200):
            add.of(memory.add, f"Another note, number {n}.")
    middle = {"add": add.cpu, "search": search.cpu[10:], "context": context.cpu, "open": first.cpu}
    return {name: sorted(times)[len(times) // 2] for name, times in middle.items()}


def _first_search(folder: Path, kind: str) -> Memory:
    memory = opened(folder, kind)
    memory.search("the harbour")
    return memory


def main(given: Sequence[str]) -> Mapping[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.encryption", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the result to this file")
    parser.add_argument("--in", dest="place", nargs=2, help=argparse.SUPPRESS, metavar=("FOLDER", "KIND"))
    options = parser.parse_args(given)
    if options.place:
        print(json.dumps(measured(Path(options.place[0]), options.place[1])))
        return {}
    texts, rounds = notes(options.rows), dict[str, list[dict[str, float]]]()
    with tempfile.TemporaryDirectory() as place:
        for kind in KINDS:
            with opened(Path(place, kind), kind) as memory:
                memory.add([{"role": "user", "content": text} for text in texts])
        for kind in [*KINDS] * options.rounds:
            command = [sys.executable, "-m", "benchmarks.speed.encryption", "--in", str(Path(place, kind)), kind]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            rounds.setdefault(kind, []).append(json.loads(done.stdout))
    least = {kind: {name: min(one[name] for one in found) for name in found[0]} for kind, found in rounds.items()}
    figures = {
        kind: {
            name: {"cpu_ms": round(value, 3), "ratio": round(value / least["plain"][name], 2)}
            for name, value in row.items()
        }
        for kind, row in least.items()
    }
    rows = [[kind, *(f"{cell['cpu_ms']} ({cell['ratio']})" for cell in row.values())] for kind, row in figures.items()]
    reporting.print_table("Encryption: CPU ms (ratio)", ["", *figures["plain"]], rows)
    if options.json:
        data = {"rows": options.rows, "sha256": hashlib.sha256("\n".join(texts).encode()).hexdigest()}
        result = reporting.document(
            "speed.encryption", given, data=data, machine=reporting.machine(), definitions=DEFINITIONS, figures=figures
        )
        reporting.written(result, options.json)
    return figures


if __name__ == "__main__":
    pin_threads("benchmarks.speed.encryption", sys.argv[1:])
    main(sys.argv[1:])
