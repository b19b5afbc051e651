"""Chats with an assistant, by authors who knew no code: what is found first, how it is graded, and what reaches a prompt.

    python -m benchmarks.quality.chats [--chats N] [--json OUT]

``small_chats_by_others.json`` holds 24 chats of two to 50 messages with 107 questions that they answer, 96 on like things that they
do not, and 96 texts that need no memory; ``chats_by_others.json`` 20 chats of 8 to 50 messages over several days with 160, 80 and
60. The second is asked again beside 150 pieces of a document that has nothing to do with it, and with all its chats in one memory.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.quality.evidence import auroc
from benchmarks.vectors import default_embedder
from mnemic import Memory, Message, documents

HERE = Path(__file__).parent
SMALL, LONGER = HERE / "small_chats_by_others.json", HERE / "chats_by_others.json"
DOCUMENT, PIECES = HERE.parents[1] / "docs", 150
KINDS, RECIPES, RANKS = ("questions", "unanswered", "idle"), ("conversation", "vector"), (1, 3, 10)
DEFINITIONS = {
    "recall": "share of the messages with the answer among the first hits, by their number, averaged over questions, in percent",
    "assistant": "the same for questions that only messages of the assistant answer",
    "strong, none": "graded so, in percent",
    "empty": "contexts of 1,000 tokens with min_evidence=weak, as adapters ask for them, that show nothing, in percent",
    "shown": "questions of which such a context shows a message with the answer, in percent",
    "auroc": "probability that a question it answers has a higher probability than one of this kind",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one text."""

    roles: frozenset[str]
    recalls: Mapping[str, Sequence[float]]
    evidence: str
    probability: float
    empty: bool
    shown: bool


def message(chat: int, number: int, given: Mapping[str, Any]) -> Message:
    """A message of a file."""
    fields = {**given, "id": f"{chat}-{number}"}
    if "session" in given:
        fields |= {"session": f"{chat}-{given['session']}", "sent_at": datetime.fromisoformat(given["sent_at"])}
    return Message(**fields)


def asked(memory: Memory, chat: int, messages: Sequence[Mapping[str, Any]], case: str | Mapping[str, Any]) -> Asked:
    """Search for a text, and make its context."""
    text, answers = (case, ()) if isinstance(case, str) else (case["text"], case.get("answers", ()))
    gold = {f"{chat}-{number}" for number in answers}
    results = {recipe: memory.search(text, k=max(RANKS), recipe=recipe) for recipe in RECIPES}
    found = {recipe: [{*hit.message_ids} & gold for hit in hits] for recipe, hits in results.items()}
    context = memory.get_memory_context(text, max_tokens=1_000, min_evidence="weak")
    return Asked(
        roles=frozenset(messages[int(number)]["role"] for number in answers),
        recalls={
            recipe: [len(set[str]().union(*hits[:k])) / max(len(gold), 1) for k in RANKS]
            for recipe, hits in found.items()
        },
        evidence=results["conversation"].evidence,
        probability=results["conversation"].probability,
        empty=not context.hits,
        shown=any({*hit.message_ids} & gold for hit in context.hits),
    )


def run(
    chats: Sequence[Mapping[str, Any]], embedder: Any, beside: Sequence[Message] = (), *, together: bool = False
) -> dict[str, list[Asked]]:
    """What came of each text of some chats, by kind; each chat is a memory, or all are one."""
    found: dict[str, list[Asked]] = {kind: [] for kind in KINDS}
    numbered = [*enumerate(chats)]
    for group in [numbered] if together else [[one] for one in numbered]:
        with Memory(":memory:", embedder=embedder) as memory:
            memory.add(message(at, n, given) for at, chat in group for n, given in enumerate(chat["messages"]))
            memory.add(beside)
            for (at, chat), kind in itertools.product(group, KINDS):
                found[kind] += [asked(memory, at, chat["messages"], case) for case in chat[kind]]
    return found


def percent(values: Sequence[float]) -> float:
    """Their mean, in percent."""
    return round(100 * float(np.mean(values)), 1)


def recalls(cases: Sequence[Asked]) -> dict[str, list[float]]:
    """By recipe and number of hits; last those of questions that only the assistant answers."""
    parts = {"recall": cases, "assistant": [case for case in cases if case.roles == {"assistant"}]}
    return {
        f"{name}, {recipe}": [percent([case.recalls[recipe][n] for case in part]) for n in range(len(RANKS))]
        for name, part in parts.items()
        for recipe in RECIPES
    }


def grades(found: Mapping[str, Sequence[Asked]]) -> dict[str, dict[str, float]]:
    """By kind: the figures of DEFINITIONS on the grade and on contexts."""
    answered = [case.probability for case in found["questions"]]
    return {
        kind: {
            "strong": percent([case.evidence == "strong" for case in cases]),
            "none": percent([case.evidence == "none" for case in cases]),
            "empty": percent([case.empty for case in cases]),
            "shown": percent([case.shown for case in cases]),
            "auroc": round(auroc(answered, [case.probability for case in cases]), 3),
        }
        for kind, cases in found.items()
    }


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.chats", description=__doc__)
    parser.add_argument("--chats", type=int, help="only so many of each file")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    text = "\n\n".join(page.read_text(encoding="utf-8") for page in sorted(DOCUMENT.rglob("*.md")))
    pieces = documents.split(text, document="manual")[:PIECES]
    embedder = default_embedder()
    small, longer = (json.loads(file.read_text(encoding="utf-8"))[: options.chats] for file in (SMALL, LONGER))
    conditions = {
        "small": run(small, embedder),
        "longer": run(longer, embedder),
        "beside a document": run(longer, embedder, pieces),
        "in one memory": run(longer, embedder, together=True),
    }
    found: dict[str, dict[str, Any]] = {}
    for name, cases in conditions.items():
        found[name] = {"recall": recalls(cases["questions"]), "grades": grades(cases)}
        rows = [(what, *values) for what, values in found[name]["recall"].items()]
        reporting.print_table(f"{name}: recall, %", ("hits", *map(str, RANKS)), rows)
        columns = list(found[name]["grades"]["idle"])
        rows = [(kind, *figures.values()) for kind, figures in found[name]["grades"].items()]
        reporting.print_table(f"{name}: grades and contexts", ("texts", *columns), rows)
    embedder.close()
    data = {"sha256": {file.name: reporting.sha256(file) for file in (SMALL, LONGER)}}
    result = reporting.document(
        "quality.chats", given, data=data, settings={"pieces": PIECES}, definitions=DEFINITIONS, figures=found
    )
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
