"""The long form of the fault, fuzz, isolation, erasure and load tests: hours, resumable, with a written result.

    python -m tests.battery [--part NAME ...] [--hours N] [--again]

The same tests run in ``make test`` with small counts. Here each part is one run of pytest with ``MNEMIC_BATTERY=1``; a part
that passed is not run again until the sources change, so an interrupted battery goes on where it was stopped. What a test
counts it says with ``note``; the result goes to ``benchmarks/results/battery.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".battery"
RESULT = ROOT / "benchmarks" / "results" / "battery.json"

PARTS = {
    "kill": ["tests/faults/test_kills.py", "tests/faults/test_processes.py"],
    "consolidation": ["tests/faults/test_consolidation.py"],
    "failpoints": ["tests/faults/test_failpoints.py"],
    "files": ["tests/faults/test_files.py", "tests/faults/test_damage.py", "tests/faults/test_disk.py"],
    "erasure": ["tests/faults/test_erasure.py", "tests/faults/test_erased_histories.py"],
    "model": ["tests/faults/test_model.py"],
    "seeded": ["tests/faults/test_seeded_bugs.py"],
    "isolation": ["tests/faults/test_isolation.py"],
    "input": ["tests/faults/test_bad_input.py"],
    "fuzz": ["tests/faults/test_fuzz.py"],
    "poison": ["tests/end_to_end/test_safety.py", "tests/faults/test_what_is_told.py", "tests/unit/secrets"],
    "load": ["tests/faults/test_load.py"],
    "chroma": ["tests/faults/test_chroma.py", "tests/stores/test_chroma.py", "-m", "engine"],
    "engines": ["tests/stores", "tests/faults/test_model.py", "tests/faults/test_migrate.py", "-m", "engine"],
    "records": [
        "tests/faults/test_migrate.py",
        "tests/faults/test_forks.py",
        "tests/faults/test_verify.py",
        "tests/faults/test_old_records.py",
    ],
    "sync": ["tests/faults/test_sync.py"],
    "faces": ["tests/end_to_end", "-m", "not engine and not encrypted"],
    "properties": ["tests/unit", "tests/end_to_end", "-m", "hypothesis"],
}
"""What is run, in this order."""
ROUNDS = {"properties": 25}
"""Parts that look at other random examples each time."""


def long() -> bool:
    """Whether this is the long form."""
    return os.environ.get("MNEMIC_BATTERY") == "1"


def count(short: int, long_form: int) -> int:
    """How many trials: few in ``make test``, many in ``make battery``."""
    return long_form if long() else short


def note(what: str, **figures: Any) -> None:
    """Say what was counted; kept in the long form only."""
    if long():
        KEPT.mkdir(exist_ok=True)
        line = json.dumps({"what": what, "part": os.environ.get("MNEMIC_BATTERY_PART", ""), **figures})
        with (KEPT / "figures.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def sources(paths: Iterable[str]) -> str:
    """A hash of the library, its adapters and the tests of a part: what passed for other sources has to pass again.

    What the tests of faults have in common belongs to all of them.
    """
    found = {
        path for top in ("src", "integrations") for path in (ROOT / top).rglob("*.py") if "tests" not in path.parts
    }
    found |= {path for path in (ROOT / "tests" / "faults").rglob("*.py") if not path.name.startswith("test_")}
    for top in paths:
        found |= {ROOT / top} if (ROOT / top).is_file() else {*(ROOT / top).rglob("*.py")}
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _state() -> dict[str, Any]:
    """The parts that were run, here or by whoever wrote the result last."""
    return json.loads(RESULT.read_text(encoding="utf-8"))["parts"] if RESULT.is_file() else {}


def _forget_figures(part: str) -> None:
    """What an interrupted run of a part counted is counted again."""
    file = KEPT / "figures.jsonl"
    if file.is_file():
        lines = [line for line in file.read_text().splitlines() if json.loads(line)["part"] != part]
        file.write_text("".join(line + "\n" for line in lines))


def _figures(part: str) -> list[dict[str, Any]]:
    """What the tests of a part counted."""
    file = KEPT / "figures.jsonl"
    found = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    return [{name: value for name, value in one.items() if name != "part"} for one in found if one["part"] == part]


def _write(state: dict[str, Any]) -> None:
    document = {
        "benchmark": "battery", "command": "make battery", "python": sys.version.split()[0],
        "parts": {name: state[name] for name in PARTS if name in state},
    }  # fmt: skip
    RESULT.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run(name: str, state: dict[str, Any]) -> bool:
    """One part; whether it passed."""
    arguments = PARTS[name]
    paths = [argument for argument in arguments if argument.startswith("tests/")]
    mark = (
        []
        if "-m" in arguments
        else ["-m", "not torch and not llm and not languages and not benchmarks and not encrypted and not engine"]
    )
    _forget_figures(name)
    print(f"\n== {name} ==", flush=True)
    began = time.monotonic()
    environment = {**os.environ, "MNEMIC_BATTERY": "1", "MNEMIC_BATTERY_PART": name}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, *mark]
    rounds = range(ROUNDS.get(name, 1))
    passed = all(subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0 for _ in rounds)
    state[name] = {
        "passed": passed, "sources": sources(paths), "seconds": round(time.monotonic() - began), "figures": _figures(name),
    }  # fmt: skip
    _write(state)
    return passed


def main(given: Sequence[str] | None = None) -> int:
    """Run the parts that have not passed for these sources."""
    parser = argparse.ArgumentParser(prog="make battery", description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="this part only; may be repeated")
    parser.add_argument("--hours", type=float, default=None, help="begin no further part after so many hours")
    parser.add_argument("--again", action="store_true", help="also what has passed")
    options = parser.parse_args(given)
    state, began, failed = _state(), time.monotonic(), []
    for name in options.part or PARTS:
        if not (ROOT / PARTS[name][0]).exists():
            raise SystemExit(f"{PARTS[name][0]} is gone; mend PARTS in tests/battery.py.")
        held = state.get(name, {})
        paths = [argument for argument in PARTS[name] if argument.startswith("tests/")]
        if held.get("passed") and held["sources"] == sources(paths) and not options.again:
            print(f"== {name} == passed before, in {held['seconds']} s")
            continue
        if options.hours is not None and time.monotonic() - began > options.hours * 3600:
            print(f"== {name} == left for the next run: {options.hours} h are over")
            continue
        if not run(name, state):
            failed.append(name)
    print(f"\n{'failed: ' + ', '.join(failed) if failed else 'all that ran has passed'}; {RESULT.relative_to(ROOT)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
