"""Long texts in a chat: whether a context shows what stands in one, and its tokens.

    python -m benchmarks.quality.pasted [--cases FILE] [--processed] [--json OUT]

``pasted_documents.json`` has 60 questions on six documents of 1.5 to 10 kB (a contract, minutes, mails, a manual, a README, a log),
with the words that answer them; ``pasted_documents_by_others.json`` 80 on ten of 5 kB, by an author who saw neither, half of them
in other words than the document's. A document is one message of a user; beside it stand a long answer of an assistant and short
messages, in sessions of their own. Each document has a memory of its own, then all are in one. ``long_answers_by_others.json`` has 80
questions on twenty requests and an assistant's answers to them, of 2.6 to 3.9 kB, by a third author.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.quality.chats import percent
from benchmarks.vectors import default_embedder
from mnemic import Memory

HERE = Path(__file__).parent
CASES = HERE / "pasted_documents.json"
BUDGETS = (500, 1_000, 2_000)
DEFINITIONS = {
    "shown": "contexts with min_evidence=weak that hold the words of the answer, in percent",
    "tokens": "their tokens, by the tokenizer that Memory takes by default; mean",
    "wrong": "contexts without the answer that are not truncated and not empty, in percent",
}


def asked(memory: Memory, case: Mapping[str, Any], budget: int) -> tuple[bool, int, bool]:
    """Whether the context of a question shows the answer, its tokens, and whether it hides that something was cut."""
    context = memory.get_memory_context(case["text"], max_tokens=budget, min_evidence="weak")
    shown = case["answer"] in context.text
    return shown, context.token_count, bool(context.hits) and not shown and not context.truncated


def messages(document: Mapping[str, Any]) -> list[dict[str, str]]:
    """A document as its user pastes it, or a request and the answer to it."""
    if "answer" in document:
        return [
            {"role": "user", "content": document["request"]},
            {"role": "assistant", "content": document["answer"]},
        ]
    text = (HERE / document["file"]).read_text(encoding="utf-8")
    return [{"role": "user", "content": f"{document['intro']}\n{text}"}]


def run(
    documents: Sequence[Mapping[str, Any]], beside: Sequence[Mapping[str, Any]], embedder: Any, *, processed: bool
) -> dict[str, list[dict[str, float]]]:
    """The figures of some documents in one memory, by document; one for each budget."""
    with Memory(":memory:", embedder=embedder) as memory:
        memory.add(beside)
        for one in documents:
            memory.add(messages(one), session=one["name"])
        if processed:
            memory.process()
        return {
            one["name"]: [figures([asked(memory, case, budget) for case in one["questions"]]) for budget in BUDGETS]
            for one in documents
        }


def figures(cases: Sequence[tuple[bool, int, bool]]) -> dict[str, float]:
    """The figures of DEFINITIONS."""
    shown, tokens, wrong = zip(*cases, strict=True)
    return {"shown": percent(shown), "tokens": round(float(np.mean(tokens))), "wrong": percent(wrong)}


def main(given: Sequence[str]) -> Mapping[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.pasted", description=__doc__)
    parser.add_argument("--cases", type=Path, default=CASES, help="default: pasted_documents.json")
    parser.add_argument("--processed", action="store_true", help="ask after Memory.process()")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    cases = json.loads(options.cases.read_text(encoding="utf-8"))
    embedder = default_embedder()
    alone = [run([one], cases["beside"], embedder, processed=options.processed) for one in cases["documents"]]
    conditions = {
        "alone": {name: values for found in alone for name, values in found.items()},
        "together": run(cases["documents"], cases["beside"], embedder, processed=options.processed),
    }
    embedder.close()
    columns = [f"{name} {budget}" for budget, name in itertools.product(BUDGETS, ("shown", "tokens", "wrong"))]
    for condition, found in conditions.items():
        rows = [(name, *(value for one in values for value in one.values())) for name, values in found.items()]
        rows.append(("mean", *(round(float(value), 1) for value in np.mean([row[1:] for row in rows], axis=0))))
        reporting.print_table(condition, ("document", *columns), rows)
    files = {options.cases.name: reporting.sha256(options.cases)} | {
        one["file"]: reporting.sha256(HERE / one["file"]) for one in cases["documents"] if "file" in one
    }
    result = reporting.document(
        "quality.pasted", given, data={"sha256": files}, settings={"budgets": BUDGETS, "processed": options.processed}, definitions=DEFINITIONS,
        figures=conditions,
    )  # fmt: skip
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
