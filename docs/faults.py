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

# Part of the battery | the bar | in `make test` | in `make battery`
BARS = """
kill          | kill -9 with four writers, a consolidator and a reader: no acknowledged write lost, `admin.verify()` clean | 5 rounds of six kills, 100 acknowledged writes each | 1,000
consolidation | processes killed while they consolidate: the record ends where an undisturbed one does | 10 | 100
failpoints    | every statement of each path fails once, of the recovery after it and of a move to another record too: all or nothing, and the same call ends it | each step in one way, of a move 103 steps; five recoveries | each step as crash, exception and cancellation; every recovery
files         | damaged, cut, mixed and vanished files, a full disk: no process dies, no wrong answer in silence | 20 damaged files, 12 points of a full disk | 500, every point
erasure       | erased for good, in twelve states and five carriers with derived text and vectors: no byte found, the others whole; after random histories no row tells of it | 24 victims, 80 histories | 500, 3,000 histories
model         | random calls against a model of plain dictionaries, in RAM and in a folder, reopened in between: no difference | 15 walks of 30 steps each | 1,000 of 100
seeded        | faults planted in the library on purpose: the short form of the model finds at least 19 of 20 | a third | all
isolation     | pairs of hostile names of users, projects and sessions: nothing of one is seen by the other | 150 pairs | 100,000
input         | hostile input through every method, every door of the frameworks and every command: stored and given back equal, or refused with an error of ours | a twentieth of 1,887 values and 99 files | all
fuzz          | answers of models, front matter, imports, queries, names, MCP and rendering: no crash, no slow input | some inputs each | by coverage, 10 minutes for each target
poison        | 200 poisoned texts: none promoted, no fence broken; every kind of secret found, look-alikes stay | all | all
load          | 128 recalls at once on 100,000 records, 128 writing threads in 8 processes, the same fact from all at a barrier, 10,000 users, half an hour of reading and writing | small forms | all
chroma        | processes that own an embedded Chroma killed, its files damaged: rebuilt from the record | 3 kills (`make test-engines`) | 50
engines       | the suites of all stores on PostgreSQL and Chroma, and random calls against the model there; two workers with mixed work on one record, of which two are killed | 250 operations, 8 walks of 25 steps each (`make test-engines`) | 5,000, 100 of 50
records       | records moved to another engine and killed on the way, forked, doctored, of older versions: whole, or refused with a reason | some of each | all
properties    | laws of the text, the ranking, the packing, the rules and the indexes hold for made-up input | the same examples each time | other examples, 25 times
"""  # noqa: E501 - a table

COUNTED = frozenset(
    "acknowledged calls crashes deaths errors examples executions failures files found hangs inputs kills landed leaks locked "
    "lost minutes needles pairs requests rounds steps trials twice untyped victims violations wrong writes planted "
    "caught".split()
)
"""Numbers that are added up over the tests of a kind."""
WORST = {"p50_ms": "p50", "p95_ms": "p95", "p99_ms": "p99", "largest_gap_ms": "largest gap"}
"""Times, of which the largest is told."""
ALIKE = re.compile(r"^(fuzz|bad input|failpoints|the model)\b(?: by coverage)?.*")


def rows() -> list[list[str]]:
    """Part, bar, short form and long form."""
    return [[cell.strip() for cell in line.split("|")] for line in BARS.strip().splitlines()]


def measured(part: Mapping[str, Any] | None) -> str:
    """What the last run of a part in the long form says."""
    if part is None:
        return "not run yet"
    seconds = int(part["seconds"])
    took = (
        f"{seconds // 3600} h {seconds % 3600 // 60} min"
        if seconds >= 3600
        else f"{seconds // 60} min {seconds % 60} s"
    )
    outcome = f"passed in {took}" if part["passed"] else f"**failed** after {took}"
    return "; ".join([outcome, *(f"{what}: {_told(sums)}" for what, sums in _summed(part.get("figures", ())).items())])


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


def _told(sums: Mapping[str, float]) -> str:
    return ", ".join(
        f"{WORST[name]} {value:,.0f} ms" if name in WORST else f"{name} {value:,.0f}" for name, value in sums.items()
    )


def table(parts: Mapping[str, Any]) -> str:
    """The table with what was measured."""
    lines = [
        "| bar | in `make test` | in `make battery` | command | last run in the long form |",
        "|---|---|---|---|---|",
    ]
    for name, bar, short, long in rows():
        lines.append(f"| {bar} | {short} | {long} | `make battery PART={name}` | {measured(parts.get(name))} |")
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
