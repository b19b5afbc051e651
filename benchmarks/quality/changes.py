"""Corrections, endings and changes by other hands: which of two statements comes first, before and after processing.

    python -m benchmarks.quality.changes [--form FORM] [--json OUT]

Each case of ``talk_by_others/changes.json``, ``changes_by_another.json`` and ``changes_by_a_third.json``, by three authors, is a
statement, a later one, and a question about what holds now. In 60, 80 and 80 the later one corrects, takes back, ends or changes the
first; in 40, 60 and 60 controls it does not, and the first one answers. A record holds the two alone (``two``), each with a reply of
an assistant (``reply``), or the two amid 60 lines of talk (``amid``).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import reporting
from mnemic import Memory, Message

FOLDER = Path(__file__).with_name("talk_by_others")
FILES = [FOLDER / f"changes{of}.json" for of in ("", "_by_another", "_by_a_third")]
FORMS = ("two", "reply", "amid")
START = datetime(2026, 9, 1, 10, tzinfo=UTC)
LINES = 60


def messages(case: Mapping[str, str], form: str, lines: Sequence[str]) -> Iterator[Message]:
    """The messages of a record, a day apart."""
    half = len(lines) // 2
    said = [*lines[:half], case["old"], *lines[half:], case["new"]] if form == "amid" else [case["old"], case["new"]]
    for day, text in enumerate(said):
        at, session = START + timedelta(days=day), f"day-{day}"
        yield Message(role="user", name="Ana", content=text, sent_at=at, session=session)
        if form == "reply":
            yield Message(
                role="assistant", content="Noted, thanks.", sent_at=at + timedelta(minutes=1), session=session
            )


def first(memory: Memory, case: Mapping[str, str]) -> str:
    """Which of the two is found first: ``old``, ``new``, or neither."""
    found = (hit.text for hit in memory.search(case["question"], k=10))
    return next((name for text in found for name in ("old", "new") if text == case[name]), "")


def measured(form: str, cases: Mapping[str, Sequence[Mapping[str, str]]]) -> dict[str, Any]:
    """The share of right ones, in percent, before and after processing."""
    talk = json.loads((FOLDER / "conversations.json").read_text(encoding="utf-8"))
    lines = [line["text"] for one in talk for line in one["lines"] if line["who"] == "u"][:LINES]
    right: dict[str, list[bool]] = {}
    for kind, wanted in (("changes", "new"), ("controls", "old")):
        for case in cases[kind]:
            with Memory(":memory:", user="ana") as memory:
                memory.add(messages(case, form, lines))
                right.setdefault(f"{kind}.before", []).append(first(memory, case) == wanted)
                memory.process()
                right.setdefault(f"{kind}.after", []).append(first(memory, case) == wanted)
    return {name: round(100 * sum(values) / len(values), 1) for name, values in right.items()}


def main(given: Sequence[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.changes", description=__doc__)
    parser.add_argument("--form", choices=FORMS, action="append", help="default: all")
    parser.add_argument("--cases", type=int, help="only the first of each kind")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    figures = dict[str, dict[str, Any]]()
    for file in FILES:
        cases = {kind: found[: options.cases] for kind, found in json.loads(file.read_text(encoding="utf-8")).items()}
        figures |= {f"{file.stem}, {form}": measured(form, cases) for form in options.form or FORMS}
    names = [*figures[next(iter(figures))]]
    reporting.print_table("changes", ("form", *names), [(form, *found.values()) for form, found in figures.items()])
    if options.json:
        data = {"sha256": {file.name: reporting.sha256(file) for file in FILES}}
        definitions = {"right": "percent of cases whose answer is found before the other statement"}
        result = reporting.document(
            "quality.changes", given, data=data, machine=reporting.machine(), definitions=definitions, figures=figures
        )
        reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
