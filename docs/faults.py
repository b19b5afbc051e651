"""Fills the table of docs/results/faults.md from benchmarks/results/battery.json; ``--check`` only compares.

The result is written by ``make battery``. A part that was not run says so, and one that failed says that.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "results" / "faults.md"
RESULT = ROOT / "benchmarks" / "results" / "battery.json"
TABLE = re.compile(r"(<!-- Made by docs/faults.py from .*? -->\n).*?(<!-- end -->)", re.DOTALL)

# Part of the battery | requirement | `make test` | `make battery`
BARS = """
kill          | `kill -9` on four writers, a consolidator and a reader: no acknowledged write is lost, `admin.verify()` finds nothing | 5 rounds of six kills, 100 acknowledged writes each | 1,000 rounds
consolidation | Processes killed during consolidation: the record ends as it does without kills | 10 | 100
failpoints    | Each statement fails once, also in recovery and in a move: all or nothing, and repeating the call completes it | some steps, five recoveries | each step as crash, exception and cancellation
files         | Damaged, truncated, mixed or missing files, and a full disk: no crash, no silent wrong answer | 20 damaged files, some points of a full disk | 500, every point
erasure       | Erasure in twelve states and five carriers, with derived text and vectors: no byte or row remains, others are intact | 24 records, 80 random histories | 500, 3,000
model         | Random calls, in RAM and in a reopened folder: no difference from a plain model | 15 runs of 30 steps each | 1,000 of 100
seeded        | Bugs planted in the library: the short model test finds at least 19 of 20 | a third | all
isolation     | Hostile pairs of user, project and session names: neither sees the other's records | 150 pairs | 100,000
input         | Hostile input to every method, adapter and command: returned unchanged, or refused with a Mnemic error | a few of 1,887 values and 99 files | all
fuzz          | Model answers, front matter, imports, queries, names, MCP and rendering: no crash, no slow input | a few inputs each | coverage-guided, 10 minutes per target
poison        | 200 poisoned texts: none promoted, no fence broken. Secrets: every kind found, look-alikes kept | all | all
load          | 128 recalls on 100,000 records, 128 writers in 8 processes, the same fact from 64 threads at once, 10,000 users, half an hour of load: nothing lost or duplicated | small forms | all
chroma        | Processes with an embedded Chroma killed, its files damaged: rebuilt from the record | 3 kills (`make test-engines`) | 50
engines       | PostgreSQL and Chroma: store suites, random calls, two workers on one record with two kills | 250 operations, 8 runs of 25 steps each (`make test-engines`) | 5,000, 100 of 50
records       | Records moved between engines with kills, forked, tampered with or from older versions: complete, or refused with a reason | some of each | all
sync          | Random lives of three devices with wrong clocks, synced in any order: all end equal, no text is lost, nothing erased comes back. Syncs killed at a step | 25 lives, some steps | 1,000, 200 steps
faces         | Every end-to-end scenario gives the same result with `AsyncMemory`, and in RAM | a quarter of them | all
properties    | Rules of text, ranking, packing and indexes hold for generated input | the same examples each time | other examples, 25 times
"""  # noqa: E501 - a table

COUNTED = frozenset(
    "acknowledged calls crashes deaths errors examples executions failures files found hangs inputs kills landed leaks locked "
    "lost minutes needles pairs requests rounds steps trials twice untyped victims violations wrong writes planted "
    "caught".split()
)
"""Numbers that are added up over the tests of a kind."""
LABELS = {
    "acknowledged": "acknowledged writes",
    "deaths": "crashes",
    "examples": "runs",
    "landed": "faults triggered",
    "locked": "lock errors",
    "needles": "strings",
    "planted": "planted bugs",
    "twice": "duplicates",
    "untyped": "unexpected errors",
    "victims": "erased records",
    "wrong": "wrong answers",
}
"""What a number is called on the page, if not by its name."""
SHORT = {
    "load: 128 recalls at once, all records of one user": "128 recalls, one user",
    "load: 128 recalls at once, all records of 50 users": "128 recalls, 50 users",
    "mixed operations of two workers, two killed": "two workers",
}
"""What is counted, in fewer words."""
WORST = {"p95_ms": "p95", "p99_ms": "p99", "largest_gap_ms": "largest gap"}
"""Times: the largest is reported."""
ALIKE = re.compile(r"^(fuzz|bad input|failpoints|the model)\b(?: by coverage)?.*")


def rows() -> list[list[str]]:
    """Part, requirement, short form and long form."""
    return [[cell.strip() for cell in line.split("|")] for line in BARS.strip().splitlines()]


def measured(part: Mapping[str, Any] | None) -> str:
    """The outcome of the last long run of a part."""
    if part is None:
        return "not run yet"
    seconds = int(part["seconds"])
    minutes = f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"
    took = f"{seconds // 3600} h {seconds % 3600 // 60} min" if seconds >= 3600 else minutes
    outcome = f"passed in {took}" if part["passed"] else f"**failed** after {took}"
    kinds = _summed(part.get("figures", ()))
    named = {SHORT.get(what, what.removeprefix("load: ")): _counted(sums) for what, sums in kinds.items()}
    return "; ".join([outcome, *(f"{what}: {sums}" if len(named) > 1 else sums for what, sums in named.items())])


def _summed(figures: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Figures by what was counted, those of one kind together."""
    found: dict[str, dict[str, float]] = {}
    for figure in figures:
        sums = found.setdefault(ALIKE.sub(r"\1", str(figure["what"])), {})
        for name, value in figure.items():
            if name in COUNTED and isinstance(value, (int, float)):
                sums[name] = sums.get(name, 0) + value
            elif name in WORST and isinstance(value, (int, float)):
                sums[name] = max(sums.get(name, 0), value)
    return {what: sums for what, sums in found.items() if sums}


def _counted(sums: Mapping[str, float]) -> str:
    return ", ".join(
        f"{WORST[name]} {value:,.0f} ms" if name in WORST else f"{value:,.0f} {LABELS.get(name, name)}"
        for name, value in sums.items()
    )


def table(parts: Mapping[str, Any]) -> str:
    """The table with what was measured."""
    lines = [
        "| requirement | `make test` | `make battery` | part | last `make battery` |",
        "|---|---|---|---|---|",
    ]
    for name, bar, short, long in rows():
        lines.append(f"| {bar} | {short} | {long} | `PART={name}` | {measured(parts.get(name))} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with its table filled in."""
    parts = json.loads(RESULT.read_text(encoding="utf-8"))["parts"] if RESULT.is_file() else {}
    return TABLE.sub(lambda match: f"{match[1]}{table(parts)}{match[2]}", text)


def main(words: Sequence[str]) -> int:
    """Fill the table, or say that it is out of date."""
    held = PAGE.read_text(encoding="utf-8")
    if held == (made := page(held)):
        return 0
    if "--check" in words:
        sys.stderr.write(f"{PAGE.name} is out of date. Run: python docs/faults.py\n")
        return 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
