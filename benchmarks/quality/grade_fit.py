"""Fits the weights of the grade in conversations with an assistant, and prints them, with how they do on a source left out.

    python -m benchmarks.quality.grade_fit --agents FILE [--cases N] [--memories N] [--chats N] [--json OUT]

Sources: BEAM 100K and RealMem, whole and in windows of 4 to 300 messages; the two sets of chats of ``benchmarks.quality.chats``; and
several of these chats in one memory, half of the time beside up to 1,000 messages of BEAM or RealMem. Each memory is asked questions
that it answers, the same without the answering messages or others that it does not answer, questions of other memories, and
texts that need no memory. A result holds the answer if a gold message is among its first ten hits; answerable questions of which
none is found are left out.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import numpy as np

from benchmarks import reporting
from benchmarks.conversations import lines, sessions
from benchmarks.quality import regression
from benchmarks.quality.chats import LONGER, SMALL, message, percent
from benchmarks.quality.evidence import auroc
from benchmarks.quality.need_fit import DATA as TEXTS
from benchmarks.quality.need_fit import idle_texts
from benchmarks.vectors import default_embedder
from mnemic import Memory, Message
from mnemic.recall import evidence

K, RIDGE = 10, 1.0
SHARES = {"answered": 1.0, "near": 0.25, "other": 0.45, "idle": 0.3}
"""What each kind of text weighs in a source."""
WINDOWS, BESIDE = (4, 12, 32, 100, 300), (0, 0, 0, 60, 300, 1000)
DEFINITIONS = {
    "none, strong": "questions with an answer among the first hits that are graded so, in percent",
    "near, other, idle": "probability that such a question has a higher probability than a text of this kind: about a known "
    "subject and without an answer, of another memory, in need of no memory",
}


@dataclass(frozen=True, slots=True)
class Graded:
    """A text asked of a memory: its kind, the fitted features, and the need of memory."""

    source: str
    kind: str
    features: tuple[float, float, float]
    need: float


T = TypeVar("T")
Ask = Callable[[Memory, str, str, str, Iterable[str]], Iterator[T]]
"""What is kept of a search: of a memory, a source, the kind of a text, the text, and the ids of messages that answer it."""


def asked(
    memory: Memory, source: str, kind: str, text: str, gold: Iterable[str] = (), **options: Any
) -> Iterator[Graded]:
    """Search, and keep what the grade reads."""
    seen: list[tuple[tuple[float, float, float], float]] = []
    probability = evidence._assisted_probability

    def spy(pool: Any, searched: int) -> Any:
        seen.append((evidence._assisted_features(pool, searched), pool.need))
        return probability(pool, searched)

    with mock.patch.object(evidence, "_assisted_probability", spy):
        hits = memory.search(text, k=K, **options)
    found = {id_ for hit in hits for id_ in hit.message_ids}
    if seen and (kind != "answered" or found & {*gold}):
        yield Graded(source, kind, *seen[0])


def all_kinds(
    memory: Memory, source: str, question: str, gold: Iterable[str], strangers: Sequence[str], idle: Sequence[str],
    draw: random.Random, **options: Any,
) -> Iterator[Graded]:  # fmt: skip
    """A question, the same without its answer, one of another memory, and a text that needs none."""
    yield from asked(memory, source, "answered", question, gold, **options)
    yield from asked(memory, source, "near", question, exclude=[*gold], **options)
    yield from asked(memory, source, "other", draw.choice(strangers), **options)
    yield from asked(memory, source, "idle", draw.choice(idle), **options)


def messages_of(talk: Mapping[str, Any], prefix: str = "") -> list[Message]:
    """The messages of a conversation of the agents' file."""
    return [message for _, _, turns in sessions(talk, prefix) for message in turns]


def of_agents(
    talks: Sequence[Mapping[str, Any]], source: str, idle: Sequence[str], cases: int, embedder: Any
) -> Iterator[Graded]:
    """Conversations with an assistant, in windows that hold an answer, and whole."""
    draw = random.Random(5)
    questions = [(talk, q) for talk in talks for q in talk["questions"] if q["evidence"]]
    for size in WINDOWS:
        for talk, question in draw.sample(questions, min(cases, len(questions))):
            turns = messages_of(talk)
            ids = [turn.id for turn in turns]
            start = max(0, min(ids.index(draw.choice(question["evidence"])) - draw.randrange(size), len(ids) - size))
            window = turns[start : start + size]
            gold = {*question["evidence"]} & {turn.id for turn in window}
            strangers = [q["question"] for other in talks if other is not talk for q in other["questions"]]
            with Memory(":memory:", embedder=embedder) as memory:
                memory.add(window)
                now = window[-1].sent_at
                yield from all_kinds(memory, source, question["question"], gold, strangers, idle, draw, now=now)
    for talk in talks:
        strangers = [q["question"] for other in talks if other is not talk for q in other["questions"]]
        with Memory(":memory:", embedder=embedder) as memory:
            memory.add(messages_of(talk))
            for question in draw.sample(talk["questions"], min(cases // 4, len(talk["questions"]))):
                kind = "answered" if question["evidence"] else "near"
                yield from asked(memory, source, kind, question["question"], question["evidence"])
                yield from asked(memory, source, "other", draw.choice(strangers))


def of_chats(
    chats: Sequence[tuple[int, Mapping[str, Any]]], source: str, strangers: Sequence[str], embedder: Any, ask: Ask[T],
    beside: Sequence[Message] = (), most: Mapping[str, int] | None = None, seed: int = 2,
) -> Iterator[T]:  # fmt: skip
    """Chats in one memory, with all of their texts or some of each kind."""
    draw = random.Random(seed)

    def some(kind: str, texts: list[Any]) -> list[Any]:
        return texts if most is None else draw.sample(texts, min(most[kind], len(texts)))

    with Memory(":memory:", embedder=embedder) as memory:
        memory.add(message(at, n, given) for at, chat in chats for n, given in enumerate(chat["messages"]))
        memory.add(beside)
        for at, case in some("answered", [(at, case) for at, chat in chats for case in chat["questions"]]):
            gold = [f"{at}-{number}" for number in case["answers"]]
            yield from ask(memory, source, "answered", case["text"], gold)
        for case in some("near", [case for _, chat in chats for case in chat["unanswered"]]):
            yield from ask(memory, source, "near", case if isinstance(case, str) else case["text"], ())
        for text in some("idle", [text for _, chat in chats for text in chat["idle"]]):
            yield from ask(memory, source, "idle", text, ())
        for text in draw.sample(strangers, min(8 if most is None else most["other"], len(strangers))):
            yield from ask(memory, source, "other", text, ())


def together(
    chats: Sequence[tuple[int, Mapping[str, Any]]], talks: Sequence[Mapping[str, Any]], memories: int, embedder: Any,
    ask: Ask[T],
) -> Iterator[T]:  # fmt: skip
    """Several chats of one half in one memory; the halves are sources of their own."""
    draw = random.Random(11)
    for number in range(memories):
        half = [one for one in chats if one[0] % 2 == number % 2]
        chosen = draw.sample(half, min(draw.choice((1, 2, 4, 8, 16, len(half))), len(half)))
        others = [one for one in half if one not in chosen] or [one for one in chats if one not in half]
        strangers = [case["text"] for _, chat in others for case in chat["questions"]]
        long = messages_of(draw.choice(talks), "-")
        size = min(draw.choice(BESIDE), len(long))
        start = draw.randrange(len(long) - size + 1)
        most = {"answered": 14, "near": 5, "other": 7, "idle": 4}
        source, beside = f"in one memory, {number % 2}", long[start : start + size]
        yield from of_chats(chosen, source, strangers, embedder, ask, beside, most, seed=number)


def of_all_chats(
    most: int | None, talks: Sequence[Mapping[str, Any]], memories: int, embedder: Any, ask: Ask[T]
) -> Iterator[T]:
    """Both sets of chats, each chat in a memory, and several in one."""
    small, longer = (json.loads(file.read_text(encoding="utf-8"))[:most] for file in (SMALL, LONGER))
    for source, chats in (("small chats", small), ("longer chats", longer)):
        for at, chat in enumerate(chats):
            strangers = [case["text"] for other in chats if other is not chat for case in other["questions"]]
            yield from of_chats([(at, chat)], source, strangers, embedder, ask)
    yield from together([*enumerate([*small, *longer])], talks, memories, embedder, ask)


def fitted(parts: Sequence[Graded]) -> np.ndarray:
    """The weights of the features and the intercept; every source weighs the same, the need of memory as it stands."""
    rows = np.array([part.features for part in parts])
    counts = Counter((part.source, part.kind) for part in parts)
    weights = np.array([1000 * SHARES[part.kind] / counts[part.source, part.kind] for part in parts])
    mean, spread = rows.mean(0), rows.std(0)
    design = np.hstack([(rows - mean) / spread, np.ones((len(rows), 1))])
    found = regression.newton(
        design,
        answers(parts),
        weights,
        np.array([RIDGE] * rows.shape[1] + [1e-6]),
        offset=evidence._NEED * needs(parts),
    )
    scaled = found[:-1] / spread
    return np.append(scaled, found[-1] - scaled @ mean)


def answers(parts: Sequence[Graded]) -> np.ndarray:
    """1 for results that hold the answer."""
    return np.array([float(part.kind == "answered") for part in parts])


def needs(parts: Sequence[Graded]) -> np.ndarray:
    """The log odds that texts need memory."""
    return np.array([part.need for part in parts])


def figures(parts: Sequence[Graded], weights: np.ndarray) -> dict[str, float]:
    """The figures of DEFINITIONS."""
    sums = np.array([part.features for part in parts]) @ weights[:-1] + weights[-1] + evidence._NEED * needs(parts)
    likely = 1 / (1 + np.exp(-sums))
    by_kind = {kind: likely[[part.kind == kind for part in parts]].tolist() for kind in SHARES}
    answered = by_kind.pop("answered")
    return {
        "none": percent([one < evidence._ASSISTED_WEAK for one in answered]),
        "strong": percent([one >= evidence.STRONG for one in answered]),
        **{kind: round(auroc(answered, found), 3) for kind, found in by_kind.items()},
    }


def main(given: Sequence[str]) -> Mapping[str, Any]:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.grade_fit", description=__doc__)
    parser.add_argument("--agents", type=Path, required=True)
    parser.add_argument("--cases", type=int, default=110, help="windows of each size and source")
    parser.add_argument("--memories", type=int, default=70, help="memories of several chats")
    parser.add_argument("--chats", type=int, help="only so many of each set of chats")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    embedder = default_embedder()
    talks = [*lines(options.agents)]
    idle = idle_texts()
    parts = list[Graded]()
    for source in ("beam-100K", "realmem"):
        own = [talk for talk in talks if talk["id"].startswith(source)]
        if len(own) < 2:
            continue  # no questions of another memory
        parts += of_agents(own, source, idle, options.cases, embedder)
    parts += of_all_chats(options.chats, talks, options.memories, embedder, asked)
    embedder.close()
    found: dict[str, dict[str, float]] = {}
    for left_out in dict.fromkeys(part.source for part in parts):
        weights = fitted([part for part in parts if part.source != left_out])
        found[left_out] = figures([part for part in parts if part.source == left_out], weights)
    weights = dict(zip(("highest cosine", "length", "size", "intercept"), fitted(parts).round(2).tolist(), strict=True))
    columns = list(next(iter(found.values())))
    rows = [(source, *figure.values()) for source, figure in found.items()]
    reporting.print_table("the grade, each source left out", ("source", *columns), rows)
    print(weights)
    files = {file.name: reporting.sha256(file) for file in (options.agents, SMALL, LONGER, TEXTS)}
    result = reporting.document(
        "quality.grade_fit", given, data={"sha256": files}, settings={"weights": weights}, definitions=DEFINITIONS,
        figures=found,
    )  # fmt: skip
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
