"""Fits the weights of ``mnemic.recall.order`` and prints them as the module has them, with how they do on what is held out.

    python -m benchmarks.quality.recency_fit --stories FILE [FILE ...] --talk FILE [FILE ...] --locomo FILE --agents FILE

Each question gives the pairs of an earlier and a later hit among its first ones. The later one should go first where it holds
the value that holds now (stories in the shape of ``values_that_change.json``, the families ``tuned``, ``held_out``, ``third``
and ``fourth`` of the benchmark of updates, ``facts_that_change.json``, BEAM's questions on updated values); it should stay where
the earlier one answers, or neither does (also the other questions of BEAM, those of LoCoMo, asked of its observations as remembered
statements, those about conversations with an assistant, and those about small memories). What people say to each other keeps its
order, and so do questions about the past: neither is read.
``fifth`` is never read. Held out: five folds by story, attribute or conversation, and small memories by another hand.

Whether the later one updates the earlier one is read by the installed network. Of the pairs of statements that it learns from
only those of authors whom ``reader_fit`` leaves out are searched, and of each kind at most ``--questions`` are read.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import reporting
from benchmarks.conversations import lines, load
from benchmarks.quality import regression, statements, talk, updates
from benchmarks.quality.knowledge import gold_facts
from benchmarks.quality.statements import UPDATING, Pairs
from benchmarks.vectors import default_embedder
from mnemic import Memory, Message
from mnemic.embedders.readers import UPDATES
from mnemic.recall import order
from mnemic.vectors import DEFAULT_MODELS

FAMILIES = ("tuned", "held_out", "third", "fourth")
FOLDS, RIDGE = 5, 1.0
FACTS = Path(__file__).with_name("facts_that_change.json")
SMALL, UNSEEN = (Path(__file__).with_name(f"small_memories{of}.json") for of in ("", "_by_others"))
SEARCHED = 70
"""Pairs of statements of each author left out that are searched."""
LINES = 60
MISSED = 3
"""How much more it costs to miss an update than to show a line too many."""
ABOUT = ("Ana", "Tom", "User", "the user", "Priya", "Nadia")
MASS = {
    "stories": (2000, 3500), "amid": (2000, 3500), "families": (1500, 1500), "facts": (6000, 5500), "person": (0, 8000), "beam": (300, 3000),
    "observations": (0, 5000), "talk": (0, 4000), "small": (0, 12000), "updates": (4000, 6000), "updates amid": (4000, 6000),
}  # fmt: skip
"""What the pairs of a source weigh together: those whose later hit goes first, and those whose later hit stays."""

Label = Callable[[str, str], float | None]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with its pairs: what is read of them, and which should change places (NaN: either will do).

    ``texts`` is what the network reads of the pairs. ``wanted`` are the places of what should come first,
    ``others`` of what should not come before it; ``kind`` is what the figures are told by.
    """

    source: str
    group: str
    kind: str
    count: int
    pairs: Sequence[tuple[int, int]]
    rows: np.ndarray
    texts: Sequence[tuple[str, str]]
    answers: np.ndarray
    wanted: frozenset[int] = field(default=frozenset())
    others: frozenset[int] = field(default=frozenset())


@dataclass(frozen=True, slots=True)
class Distant:
    """A statement with the later ones nearest to it: their features, and which update it; ``author`` of the pair, if any."""

    author: str
    rows: np.ndarray
    answers: np.ndarray


def seen(
    memory: Any, question: str, source: tuple[str, str, str], label: Label, wanted: Any, others: Any, **when: Any
) -> list[Asked]:
    """The pairs of one search, if it has any; ``wanted`` and ``others`` are ids of messages."""
    as_it_is = mock.patch.object(order, "latest_first", side_effect=lambda _, said, **__: [*range(len(said.texts))])
    with as_it_is as spy, unread():
        hits = memory.search(question, k=20, **when)
    if not spy.called:
        return []
    said = spy.call_args.args[1]
    if order.asks_for_earlier(question) or order.asks_of_the_past(question, **spy.call_args.kwargs):
        return []
    ids = {hit.text: hit.id for hit in reversed(hits)}
    names = [ids.get(text, "") for text in said.texts]
    with unread() as probe:
        pairs, values = order.features(said)
    if not pairs:
        return []
    told = [label(names[old], names[new]) for old, new in pairs]
    places = [frozenset(n for n, name in enumerate(names) if name in some) for some in (wanted, others)]
    rows, answers = (
        np.stack([values[name] for name in order.WEIGHTS], axis=1),
        np.array([np.nan if one is None else one for one in told]),
    )
    return [Asked(*source, len(names), pairs, rows, probe.call_args.args[0], answers, *places)]


def unread() -> Any:
    """The network tells nothing."""
    return mock.patch.object(UPDATES, "log_odds", side_effect=lambda pairs, _: np.zeros(len(pairs), np.float32))


def of_stories(file: Path, embedder: Any, between: Sequence[str] = ()) -> Iterator[Asked]:
    """An ended value makes way for the one that holds now, and this for nothing; ``between``: lines of other talk."""
    draw, source = random.Random(0), "amid" if between else "stories"
    for story in json.loads(file.read_text(encoding="utf-8")):
        told = talk.told(story)
        began, ended_at = min(m.sent_at for m in told), max(m.sent_at for m in told)
        after = talk.moment(max(m["date"] for m in story["messages"])) + timedelta(days=1)
        others = [
            Message(
                role="user", content=line, sent_at=began + draw.random() * (ended_at - began), session=f"other {number}"
            )
            for number, line in enumerate(between)
        ]
        with talk.opened(embedder) as memory:
            memory.add(sorted([*told, *others], key=lambda message: message.sent_at))
            for question in story["questions"]:
                current, ended = {*question["current"]}, {*question["earlier"]} & {*story["ended"]}

                def label(old: str, new: str, current: Any = current, ended: Any = ended) -> float | None:
                    return 0.0 if old in current else 1.0 if old in ended and new in current else None

                at = question["at"] and talk.moment(question["at"])
                when = {"now": at, "at": at} if at else {"now": after}
                kind = f"{file.stem}{' amid talk' if between else ''}, {talk.kind_of(story, question)}"
                origin = (source, story["id"], kind)
                yield from seen(memory, question["question"], origin, label, current, {*question["earlier"]}, **when)


def other_talk(file: Path) -> list[str]:
    """What people say in the conversations of a file."""
    return [
        message.content
        for one in json.loads(file.read_text(encoding="utf-8"))
        for message in talk.spoken(one)
        if message.role == "user"
    ]


def of_talk(file: Path, embedder: Any) -> Iterator[Asked]:
    """What answers a question about a conversation makes way for nothing that does not."""
    for conversation in json.loads(file.read_text(encoding="utf-8")):
        messages, now = talk.spoken(conversation), talk.moment(conversation["date"]) + timedelta(days=1)
        people = {message.id for message in messages if message.role == "user"}
        with talk.opened(embedder) as memory:
            memory.add(messages)
            for question, answer in conversation["questions"]:
                gold = {m.id for m in messages if m.id in people and talk.matches(answer, [m.content])}

                def label(old: str, new: str, gold: Any = gold) -> float | None:
                    return 0.0 if old in gold and new not in gold else None

                source = ("talk", conversation["id"], "talk")
                yield from seen(memory, question, source, label, gold, people - gold, now=now)


def of_family(family: str, embedder: Any, count: int) -> Iterator[Asked]:
    """A value makes way for a later value, and for nothing else."""
    for sequence in updates.sequences(family, count or 2 * len(updates.FAMILIES[family]), 0):
        values = {step.message.id: step.value for step in sequence.steps}

        def label(old: str, new: str, values: Any = values) -> float | None:
            return None if values.get(old) is None else float(values.get(new) is not None)

        with Memory(":memory:", user="one", embedder=embedder, secrets="allow") as memory:
            memory.add(step.message for step in sequence.steps)
            now = sequence.steps[-1].message.sent_at + timedelta(days=3)
            for at in (None, *updates.between(sequence)):
                value = sequence.changes[-1][1] if at is None else sequence.at(at)
                wanted = {id_ for id_, held in values.items() if held == value}
                source = ("families", sequence.attribute, "families")
                yield from seen(memory, sequence.question, source, label, wanted, {*values} - wanted, now=now, at=at)


def evidence(gold: set[str], original: set[str], updated: set[str]) -> Label:
    """An original makes way for its update, and nothing makes way for what is no evidence."""

    def label(old: str, new: str) -> float | None:
        if old in original and new in updated - original:
            return 1.0
        return 0.0 if gold and new not in gold else None

    return label


def of_observations(file: Path, embedder: Any) -> Iterator[Asked]:
    """What was observed of a conversation, remembered as statements in records of three sizes: nothing replaces the answer."""
    draw, facts = random.Random(0), gold_facts(file)
    for conversation in load(file):
        noted = facts[conversation.name]
        for size, times in ((35, 5), (120, 2), (len(noted), 1)):
            for _ in range(times):
                with Memory(":memory:", embedder=embedder) as memory:
                    ids = {
                        memory.remember(fact.text).id: {*fact.evidence}
                        for fact in draw.sample(noted, min(size, len(noted)))
                    }
                    asked = [
                        (question.text, gold)
                        for question in conversation.questions
                        if (gold := {id_ for id_, turns in ids.items() if turns & {*question.gold}})
                    ]
                    for question, gold in draw.sample(asked, min(50, len(asked))):
                        source = ("observations", conversation.name, "observations")
                        label = evidence(gold, set(), set())
                        yield from seen(memory, question, source, label, gold, {*ids} - gold, kinds=["memory"])


def of_facts(embedder: Any, times: int = 12) -> Iterator[Asked]:
    """Remembered facts about a person or a project, of which half change once: a question about one wants its latest value."""
    draw, facts = random.Random(0), json.loads(FACTS.read_text(encoding="utf-8"))
    for _ in range(times):
        name, size = draw.choice(ABOUT), draw.choice((6, 12, 20))
        told = [*{fact["question"]: fact for fact in draw.sample(facts, len(facts))}.values()][:size]
        order = [(fact["earlier"], fact["question"]) for fact in told]
        for fact in told[::2]:
            place = order.index((fact["earlier"], fact["question"]))
            order.insert(draw.randint(place + 1, len(order)), (fact["later"], fact["question"]))
        yield from _facts("facts", name, order, embedder)


def of_person(embedder: Any, times: int = 60) -> Iterator[Asked]:
    """A few remembered facts about one person, none of which changes."""
    draw = random.Random(0)
    facts = [fact for fact in json.loads(FACTS.read_text(encoding="utf-8")) if "{n}" in fact["question"]]
    for _ in range(times):
        told = {fact["question"].split()[-1]: fact for fact in draw.sample(facts, len(facts))}  # one of each subject
        chosen = draw.sample([*told.values()], draw.choice((3, 4, 6, 8, 10)))
        order = [(fact[draw.choice(("earlier", "later"))], fact["question"]) for fact in chosen]
        yield from _facts("person", draw.choice(ABOUT), order, embedder)


def _facts(source: str, name: str, order: Sequence[tuple[str, str]], embedder: Any) -> Iterator[Asked]:
    """Remember statements in order, and ask the question that each answers."""
    with Memory(":memory:", embedder=embedder) as memory:
        ids: dict[str, list[str]] = {}
        for text, question in order:
            ids.setdefault(question, []).append(memory.remember(text.format(n=name)).id)
        for question, (*earlier, current) in ids.items():

            def label(old: str, new: str, current: str = current, earlier: Any = earlier) -> float | None:
                return 0.0 if old == current else 1.0 if old in earlier and new == current else None

            others = {*earlier} or {one for values in ids.values() for one in values} - {current}
            kind = f"{source}, {'changed' if earlier else 'still'}"
            asked = question.format(n=name)
            yield from seen(memory, asked, (source, question, kind), label, {current}, others, kinds=["memory"])


def of_small(file: Path, embedder: Any) -> Iterator[Asked]:
    """The first things that somebody tells a memory, remembered and as messages: nothing moves before the answer."""
    began = datetime(2026, 3, 1, 9, tzinfo=UTC)
    for number, small in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        for remembered in (True, False):
            with Memory(":memory:", embedder=embedder) as memory:
                ids = list[str]()
                for day, fact in enumerate(small["facts"]):
                    said = began + timedelta(days=3 * day)
                    ids.append(
                        memory.remember(fact, valid_at=said).id if remembered else memory.add(fact, sent_at=said).ids[0]
                    )
                for question, place in small["questions"]:

                    def label(old: str, new: str, answer: str = ids[place]) -> float | None:
                        return 0.0 if old == answer else None

                    source = ("small", f"{file.stem} {number}", f"small, {'remembered' if remembered else 'messages'}")
                    others = {*ids} - {ids[place]}
                    yield from seen(
                        memory, question, source, label, {ids[place]}, others, now=began + timedelta(days=60)
                    )


def of_agents(file: Path, embedder: Any) -> Iterator[Asked]:
    """BEAM: its questions are asked at the end."""
    conversations = {conversation.name: conversation for conversation in load(file)}
    for sample in lines(file):
        name = sample["id"]
        if not name.startswith("beam"):
            continue
        with tempfile.TemporaryDirectory() as folder, Memory(folder, embedder=embedder, durability="NORMAL") as memory:
            memory.add(conversations[name].messages)
            for question in sample["questions"]:
                gold, original, updated = (
                    {f"{name}:{id_}" for id_ in question[key]} for key in ("evidence", "original", "updated")
                )
                label, now = evidence(gold, original, updated), conversations[name].asked_at
                yield from seen(memory, question["question"], ("beam", name, "beam"), label, updated, original, now=now)


def of_updates(pairs: Pairs, embedder: Any, between: Sequence[str] = ()) -> Iterator[Asked]:
    """Two statements a day apart, or amid other lines: the later one goes first if it updates the earlier one."""
    draw, began = random.Random(0), datetime(2026, 9, 1, 10, tzinfo=UTC)
    for author, cases in pairs.items():
        for case in cases:
            lines = draw.sample(between, min(LINES, len(between)))
            half = len(lines) // 2
            told = [*lines[:half], case["old"], *lines[half:], case["new"]]
            with Memory(":memory:", user="ana", embedder=embedder) as memory:
                ids = memory.add(
                    Message(
                        role="user", name="Ana", content=text, sent_at=began + timedelta(days=day), session=f"day {day}"
                    )
                    for day, text in enumerate(told)
                ).ids
                old, new = ids[half], ids[-1]
                wanted, other = (new, old) if case["kind"] in UPDATING else (old, new)

                def label(first: str, later: str, wanted: str = wanted, old: str = old, new: str = new) -> float | None:
                    return 0.0 if first == wanted else 1.0 if (first, later) == (old, new) else None

                origin = "updates amid" if between else "updates"
                what = "updated" if wanted == new else "still"
                now = began + timedelta(days=len(told) + 1)
                yield from seen(
                    memory, case["question"], (origin, author, f"{origin}, {what}"), label, {wanted}, {other}, now=now
                )


def of_distant(pairs: Pairs, talk: Path, agents: Path, embedder: Any) -> list[Distant]:
    """The pairs of statements amid 4 to 300 lines of talk, and statements of conversations with an assistant.

    Nothing updates the latter; a few that do count as the others.
    """
    draw, found = random.Random(0), list[Distant]()
    between = other_talk(talk)
    for author, cases in pairs.items():
        for case in cases:
            lines = draw.sample(between, min(draw.choice((4, 10, 30, 100, 300)), len(between)))
            texts = [case["old"], *lines, case["new"]]
            answers = [*[0.0] * len(lines), float(case["kind"] in UPDATING)]
            found.append(Distant(author, *_distant(case["question"], texts, answers, embedder)))
    for conversation in load(agents):
        texts = [m.content for m in conversation.messages if m.role == "user" and "?" not in m.content][:400]
        for start in draw.sample(range(max(len(texts) - 8, 0)), min(12, max(len(texts) - 8, 0))):
            answers = [0.0] * (len(texts) - start - 1)
            found.append(Distant("", *_distant("", texts[start:], answers, embedder)))
    return found


def _distant(
    question: str, texts: Sequence[str], answers: Sequence[float], embedder: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The features of the later texts nearest to the first, and whether each updates it."""
    vectors = embedder.embed(texts)
    near = np.argsort(-vectors[1:] @ vectors[0], kind="stable")[: order.NEAREST] + 1
    read = order.update_odds(question, [texts[0], *(texts[n] for n in near)], DEFAULT_MODELS[0])
    odds = order.bounded(read([(0, n + 1) for n in range(len(near))]))
    rows = order.distant_features(vectors[near] @ vectors[0], odds)
    return rows.astype(float), np.array(answers)[near - 1]


def fitted_distant(found: Sequence[Distant]) -> dict[str, float]:
    """Weights of ``order.DISTANT``."""
    rows, answers = np.vstack([one.rows for one in found]), np.concatenate([one.answers for one in found])
    ridge = np.array([1.0] * (rows.shape[1] - 1) + [1e-6])
    weights = regression.newton(rows, answers, np.ones(len(rows)), ridge)
    weights[-1] += np.log(MISSED)
    return {name: round(float(value), 2) for name, value in zip(order.DISTANT, weights, strict=True)}


def distant_figures(found: Sequence[Distant]) -> dict[str, float]:
    """How many pairs with an update, pairs without one, and statements to an assistant have a line that is taken for an
    update, by weights that their author had no part in.
    """
    taken = defaultdict[str, list[bool]](list)
    for author in {one.author for one in found}:
        others = [one for one in found if not author or one.author != author]
        weights = np.array([*fitted_distant(others).values()])
        for one in (one for one in found if one.author == author):
            kind = "assistant" if not author else "updated" if one.answers.any() else "still"
            taken[kind].append(bool((one.rows @ weights > 0).any()))
    return {kind: float(np.mean(values)) for kind, values in sorted(taken.items())}


def with_updates(asked: Sequence[Asked], most: int) -> list[Asked]:
    """The questions with the updates of their hits, at most so many of each kind."""
    draw, by_kind = random.Random(0), defaultdict[str, list[Asked]](list)
    for one in asked:
        by_kind[one.kind].append(one)
    column, found = [*order.WEIGHTS].index("update"), list[Asked]()
    for ones in by_kind.values():
        for one in draw.sample(ones, min(most, len(ones))):
            rows = one.rows.copy()
            odds = UPDATES.log_odds(one.texts, DEFAULT_MODELS[0])
            assert odds is not None, "install mnemic-minilm"
            rows[:, column] = order.bounded(odds)
            found.append(replace(one, rows=rows))
    return found


def fitted(asked: Sequence[Asked], names: Sequence[str]) -> dict[str, float]:
    """Weights of a logistic regression."""
    rows = np.vstack([one.rows for one in asked])[:, :-1].astype(float)  # the last column is the bias
    answers = np.concatenate([one.answers for one in asked])
    sources = np.repeat([one.source for one in asked], [len(one.answers) for one in asked])
    told = ~np.isnan(answers)
    rows, answers, sources = rows[told], answers[told], sources[told]
    weights = np.zeros(len(answers))
    for source, (goes, stays) in MASS.items():
        for answer, mass in ((1.0, goes / 2), (0.0, stays / 2)):
            these = (sources == source) & (answers == answer)
            weights[these] = mass / max(these.sum(), 1)
    values = regression.standardised(rows, answers, weights, RIDGE)
    return {name: round(float(value), 2) for name, value in zip(names, values, strict=True)}


def right(one: Asked, weights: Mapping[str, float]) -> float | None:
    """Whether the first of what is wanted and of the others is wanted; None where none is there."""
    sums = one.rows @ np.array([*weights.values()])
    places = order.ordered(one.count, [pair for pair, sum_ in zip(one.pairs, sums.tolist(), strict=True) if sum_ > 0])
    first = next((place for place in places if place in one.wanted | one.others), None)
    return None if first is None or not one.wanted else float(first in one.wanted)


def held_out(asked: Sequence[Asked], names: Sequence[str]) -> dict[str, list[tuple[float, float]]]:
    """By kind, whether each question has what is wanted first: without recency, and with weights that its story or
    conversation had no part in.
    """
    fold = {group: number % FOLDS for number, group in enumerate(sorted({one.group for one in asked}))}
    none = {**dict.fromkeys(names, 0.0), "bias": -1.0}
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for number in range(FOLDS):
        weights = fitted([one for one in asked if fold[one.group] != number], names)
        for one in asked:
            if fold[one.group] == number and (value := right(one, weights)) is not None:
                found[one.kind].append((right(one, none) or 0.0, value))
    return found


def main(given: Sequence[str]) -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.recency_fit", description=__doc__)
    parser.add_argument("--stories", type=Path, nargs="+", required=True)
    parser.add_argument("--talk", type=Path, nargs="+", required=True, help="conversations.json of folders of talk")
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--agents", type=Path, required=True)
    parser.add_argument("--sequences", type=int, default=0, help="of each family; default: two of each attribute")
    parser.add_argument("--cases", type=int, help="only so many pairs of statements of each author")
    parser.add_argument("--questions", type=int, default=400, help="read at most so many of each kind")
    parser.add_argument(
        "--vectors-cache", type=Path, help="file that keeps vectors between runs; default: cache folder"
    )
    options = parser.parse_args(given)
    embedder = default_embedder(options.vectors_cache)
    asked = [one for file in options.stories for one in of_stories(file, embedder)]
    between = other_talk(options.talk[0])
    asked += [one for file in options.stories for one in of_stories(file, embedder, between)]
    asked += [one for file in options.talk for one in of_talk(file, embedder)]
    asked += [one for family in FAMILIES for one in of_family(family, embedder, options.sequences)]
    asked += of_observations(options.locomo, embedder)
    asked += [*of_facts(embedder), *of_person(embedder)]
    asked += of_agents(options.agents, embedder)
    asked += of_small(SMALL, embedder)
    draw = random.Random(0)
    pairs = {
        author: draw.sample(cases, min(SEARCHED, len(cases)))
        for file in statements.FILES
        for author, cases in statements.pairs(file, options.cases).items()
        if author in statements.left_out(file)
    }
    asked += [*of_updates(pairs, embedder), *of_updates(pairs, embedder, other_talk(options.talk[-1]))]
    names = [*order.WEIGHTS]
    asked, unseen = (with_updates(some, options.questions) for some in (asked, [*of_small(UNSEEN, embedder)]))
    distant = of_distant(pairs, options.talk[-1], options.agents, embedder)
    left_out, weights = held_out(asked, names), fitted(asked, names)
    embedder.close()
    for file in (
        *options.stories,
        *options.talk,
        FACTS,
        options.locomo,
        options.agents,
        SMALL,
        UNSEEN,
        *statements.FILES,
    ):
        print(f"# {file.name} {reporting.sha256(file)}")
    for kind, values in sorted(left_out.items()):
        without, ordered = np.mean(values, axis=0)
        print(f"# held out, {kind}: {len(values)} questions, {ordered:.1%} right, {without:.1%} without recency")
    told = [value for one in unseen if (value := right(one, weights)) is not None]
    print(f"# unseen, small memories: {len(told)} questions, {np.mean(told):.1%} right")
    for kind, share in distant_figures(distant).items():
        print(f"# distant, {kind}: {share:.1%} have a later line that is taken for an update")
    for values in (weights, fitted_distant(distant)):
        print("\n".join(textwrap.wrap(", ".join(f'"{name}": {value}' for name, value in values.items()) + ",", 116)))


if __name__ == "__main__":
    main(sys.argv[1:])
