"""Fits the weights of ``mnemic.recall.evidence.relevances`` and prints them, with how they do on a source that is left out.

    python -m benchmarks.quality.relevance_fit --locomo FILE --friends FILE --agents FILE [--memories N] [--chats N] [--json OUT]

Each question is asked of its own conversation and, with names exchanged, of another one; some small talk is added. Sources: the
talk of LoCoMo, its observations remembered as statements, FriendsQA, RealMem, BEAM 100K, and the chats of
``benchmarks.quality.grade_fit``, alone and several in one memory. A hit is evidence if it carries a gold turn. Both sources from
LoCoMo are left out together, and a set of chats with the memories that hold several.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import reporting
from benchmarks.conversations import Conversation, Question, lines, load, sessions
from benchmarks.quality import grade_fit, regression
from benchmarks.quality.evidence import auroc, exchanged, speakers
from benchmarks.quality.knowledge import gold_facts
from benchmarks.vectors import default_embedder
from mnemic import Memory, Message
from mnemic.recall import evidence, search

K, RIDGE, MASS = 20, 1.0, 20_000
STRANGERS, SMALL_MEMORIES = 40, (2, 8, 35, 128)
SMALL_TALK = (
    "hi", "thanks, that is all", "good morning!", "ok", "what is the capital of France?", "write a haiku about autumn",
    'translate "good night" into German', "how do I reverse a list in Python?", "who won the world cup in 1998?",
    "tell me a joke", "explain how a transformer works", "please fix the typo in the second paragraph",
)  # fmt: skip
DEFINITIONS = {
    "auroc": "probability that a hit that is evidence has a higher relevance than one that is not, among the first 20",
    "expected_error": "mean over ten bins of relevance, by their hits, of its distance to the share that is evidence",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """The hits of one search: a row of features for each, and whether it is evidence."""

    source: str
    rows: np.ndarray
    answers: np.ndarray


def judged(memory: Any, source: str, question: str, gold: Iterable[str], **options: Any) -> Iterator[Judged]:
    """Search, and keep the features of each hit."""
    wanted, by_place, by_id = {*gold}, list[np.ndarray](), dict[str, np.ndarray]()
    relevances, make_hit = evidence.relevances, search._Ranked.hit

    def relevances_spy(pool: Any, order: Any, *, model: Any, searched: int) -> Any:
        by_place[:] = np.stack([*evidence.features(pool, order, searched).values()], axis=1)
        return relevances(pool, order, model=model, searched=searched)

    def hit_spy(ranked: Any, place: int, stored: Any) -> Any:
        hit = make_hit(ranked, place, stored)
        by_id[hit.id] = by_place[ranked.order[place]]
        return hit

    with (
        mock.patch.object(search._Ranked, "hit", hit_spy),
        mock.patch.object(search, "relevances", relevances_spy),
    ):
        hits = memory.search(question, k=K, **options)
    if hits:
        answers = np.array([float(bool({*(hit.message_ids or (hit.id,))} & wanted)) for hit in hits])
        yield Judged(source, np.array([by_id[hit.id] for hit in hits]), answers)


def of_talk(source: str, conversations: Sequence[Conversation], embedder: Any) -> Iterator[Judged]:
    """Conversations among people, whole and in windows of a few turns."""
    draw = random.Random(0)
    for talk in conversations:
        other = draw.choice([one for one in conversations if one is not talk])
        strangers = [exchanged(q.text, speakers(other), speakers(talk)) for q in other.questions]
        with Memory(":memory:", embedder=embedder) as memory:
            memory.add(talk.messages)
            for question in talk.questions:
                yield from judged(memory, source, question.text, question.gold, now=talk.asked_at)
            for text in (*draw.sample(strangers, min(STRANGERS, len(strangers))), *SMALL_TALK):
                yield from judged(memory, source, text, (), now=talk.asked_at)
        for size in SMALL_MEMORIES:
            for question in draw.sample(talk.questions, min(STRANGERS, len(talk.questions))):
                at = next(n for n, message in enumerate(talk.messages) if message.id in question.gold)
                start = max(0, at - draw.randrange(size))
                with Memory(":memory:", embedder=embedder) as memory:
                    memory.add(talk.messages[start : start + size])
                    yield from judged(memory, source, question.text, question.gold, now=talk.asked_at)
                    yield from judged(memory, source, draw.choice(strangers), (), now=talk.asked_at)


def of_observations(file: Path, embedder: Any) -> Iterator[Judged]:
    """What was observed of a conversation, remembered as statements in records of three sizes."""
    draw, facts, conversations = random.Random(1), gold_facts(file), load(file)
    for talk in conversations:
        other = draw.choice([one for one in conversations if one is not talk])
        strangers = [exchanged(q.text, speakers(other), speakers(talk)) for q in other.questions]
        for size, times in ((16, 6), (35, 6), (80, 3), (len(facts[talk.name]), 1)):
            for _ in range(times):
                with Memory(":memory:", embedder=embedder) as memory:
                    chosen = draw.sample(facts[talk.name], min(size, len(facts[talk.name])))
                    ids = {memory.remember(fact.text).id: {*fact.evidence} for fact in chosen}
                    asked = [(q.text, {i for i, turns in ids.items() if turns & {*q.gold}}) for q in talk.questions]
                    answered = [(text, gold) for text, gold in asked if gold]
                    for text, gold in draw.sample(answered, min(STRANGERS, len(answered))):
                        yield from judged(memory, "observations", text, gold, kinds=["memory"])
                    for text in (*draw.sample(strangers, min(25, len(strangers))), *SMALL_TALK[:6]):
                        yield from judged(memory, "observations", text, (), kinds=["memory"])


def of_agents(file: Path, source: str, embedder: Any) -> Iterator[Judged]:
    """Conversations with an assistant; a question that is said in a session is asked before that session is stored."""
    draw = random.Random(2)
    talks = [talk for talk in lines(file) if talk["id"].startswith(source)]
    for talk in talks:
        other = draw.choice([one for one in talks if one is not talk] or talks)
        at, last = datetime(2024, 1, 1, tzinfo=UTC), [q for q in talk["questions"] if q["before"] is None]
        with Memory(":memory:", embedder=embedder) as memory:
            for name, at, turns in sessions(talk):
                for question in (q for q in talk["questions"] if str(q["before"]) == name):
                    yield from judged(memory, source, question["question"], question["evidence"], now=at)
                memory.add(turns)
            for question in last:
                yield from judged(memory, source, question["question"], question["evidence"], now=at)
            strangers = [q["question"] for q in other["questions"]]
            for text in (*draw.sample(strangers, min(20, len(strangers))), *SMALL_TALK):
                yield from judged(memory, source, text, (), now=at)


def friends(file: Path) -> list[Conversation]:
    """Scenes of several people; the file has no dates."""
    at = datetime(2024, 1, 1, tzinfo=UTC)
    made: list[Conversation] = []
    for sample in lines(file):
        name = sample["id"]
        messages = tuple(
            Message(
                role="user",
                name=t["speaker"],
                content=t["text"],
                id=f"{name}:{t['id']}",
                session=str(s["id"]),
                sent_at=at,
            )
            for s in sample["sessions"]
            for t in s["turns"]
        )
        questions = tuple(
            Question(q["question"], tuple(f"{name}:{i}" for i in q["evidence"]), 0)
            for q in sample["questions"]
            if q["evidence"]
        )
        made.append(Conversation(name, messages, questions))
    return made


def of_chats(file: Path, most: int | None, memories: int, embedder: Any) -> Iterator[Judged]:
    """Chats, alone and several in one memory."""

    def ask(memory: Memory, source: str, kind: str, text: str, gold: Iterable[str]) -> Iterator[Judged]:
        del kind
        return judged(memory, source, text, gold)

    return grade_fit.of_all_chats(most, [*lines(file)], memories, embedder, ask)


def fitted(parts: Sequence[Judged]) -> np.ndarray:
    """Weights of a logistic regression in which every source weighs the same."""
    rows = np.vstack([one.rows for one in parts])[:, :-1]
    answers = np.concatenate([one.answers for one in parts])
    sources = np.repeat([one.source for one in parts], [len(one.answers) for one in parts])
    counts = dict(zip(*np.unique(sources, return_counts=True), strict=True))
    weights = np.array([MASS / counts[source] for source in sources])
    return regression.standardised(rows, answers, weights, RIDGE)


def figures(parts: Sequence[Judged], weights: np.ndarray) -> dict[str, float]:
    """The figures of DEFINITIONS."""
    rows, answers = np.vstack([one.rows for one in parts]), np.concatenate([one.answers for one in parts])
    likely = 1 / (1 + np.exp(-rows @ weights))
    bins = np.minimum((likely * 10).astype(int), 9)
    error = sum((bins == n).mean() * abs(likely[bins == n].mean() - answers[bins == n].mean()) for n in np.unique(bins))
    return {
        "auroc": round(auroc(likely[answers > 0].tolist(), likely[answers == 0].tolist()), 3),
        "expected_error": round(float(error), 3),
    }


def main(given: Sequence[str]) -> Mapping[str, Any]:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.relevance_fit", description=__doc__)
    for name in ("locomo", "friends", "agents"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--memories", type=int, default=70, help="memories of several chats")
    parser.add_argument("--chats", type=int, help="only so many of each set of chats")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    embedder = default_embedder()
    parts = [
        *of_talk("locomo", load(options.locomo), embedder), *of_observations(options.locomo, embedder),
        *of_talk("friends", friends(options.friends), embedder),
        *(one for source in ("realmem", "beam-100K") for one in of_agents(options.agents, source, embedder)),
        *of_chats(options.agents, options.chats, options.memories, embedder),
    ]  # fmt: skip
    embedder.close()
    found: dict[str, dict[str, float]] = {}
    several = tuple(dict.fromkeys(one.source for one in parts if one.source.startswith("in one")))
    for judged_on, beside in (
        (("locomo", "observations"), ()), (("friends",), ()), (("realmem",), ()), (("beam-100K",), ()),
        (("small chats",), several), (("longer chats",), several), (several, ("small chats", "longer chats")),
    ):  # fmt: skip
        weights = fitted([one for one in parts if one.source not in (*judged_on, *beside)])
        own = {source: [one for one in parts if one.source == source] for source in judged_on}
        found |= {source: figures(some, weights) for source, some in own.items() if some}
    weights = dict(zip(evidence.WEIGHTS, fitted(parts).round(3).tolist(), strict=True))
    reporting.print_table(
        "relevance, each source left out",
        ("source", *DEFINITIONS),
        [(source, *figure.values()) for source, figure in found.items()],
    )
    print(weights)
    files = {name: reporting.sha256(getattr(options, name)) for name in ("locomo", "friends", "agents")}
    result = reporting.document(
        "quality.relevance_fit", given, data={"sha256": files}, settings={"weights": weights}, definitions=DEFINITIONS,
        figures=found,
    )  # fmt: skip
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
