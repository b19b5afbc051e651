"""Fits the weights of ``mnemic.knowledge.selection``, and judges them without the source that they are judged on.

    python -m benchmarks.quality.selection_fit --talk FOLDER ... > src/mnemic/knowledge/selection.py
    python -m benchmarks.quality.selection_fit --talk FOLDER ... [--agents FILE] --judge [--show]

What a person would note is read from ``selection_sentences.txt`` beside this file, and from ``conversations.json`` (a text
that matches a note), ``values_that_change.json`` (messages that a question asks for) and ``languages.json`` of each folder;
``benchmarks/README.md`` states their shapes. Conversations of agents are only measured: their turns are labelled as evidence
of a question, and most of what is worth a note is asked by none.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.quality import regression
from benchmarks.quality.talk import SMALL_TALK, matches, plain, spoken, told
from mnemic import Message
from mnemic.knowledge import selection

SENTENCES = Path(__file__).with_name("selection_sentences.txt")
START = datetime(2026, 1, 10, 9, tzinfo=UTC)
RIDGE = 4.0
THRESHOLD = 0.48


@dataclass(frozen=True, slots=True)
class Example:
    """A text that may become a memory, and whether it should."""

    source: str
    candidate: selection.Candidate
    label: bool


# What is read


def sections(text: str) -> Iterator[tuple[str, list[Message], set[int]]]:
    """Of each section its name, its messages and the places of those to note."""
    for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        name, *lines = (line for line in part.splitlines() if line.strip())
        group = name.endswith("group")
        messages = [
            Message(
                role="assistant" if line[0] == "a" else "user", content=line[2:], id=f"m{at}",
                name=("Mira", "Jo")[at % 2] if group else None, sent_at=START + timedelta(minutes=at),
            )
            for at, line in enumerate(lines)
        ]  # fmt: skip
        yield name, messages, {at for at, line in enumerate(lines) if line[0] == "+"}


def examples(folders: Sequence[Path]) -> list[Example]:
    """All that can be learned from, by source."""
    found: list[Example] = []
    for name, messages, noted in sections(SENTENCES.read_text(encoding="utf-8")):
        found += [Example(name, one, one.position in noted) for one in selection.candidates(messages)]
    for folder in folders:
        for talk in _data(folder, "conversations"):
            wanted = "|".join(f"(?:{note})" for note in talk["notes"]) or r"(?!)"
            found += [
                Example(f"{folder.name}/talk", one, matches(wanted, [one.asserted]))
                for one in selection.candidates(spoken(talk))
            ]
        for story in _data(folder, "values_that_change"):
            asked = {tag for question in story["questions"] for tag in (*question["current"], *question["earlier"])}
            messages = told(story)
            seen = set[int]()
            for one in selection.candidates(messages):
                if messages[one.position].id in asked and one.position not in seen:
                    seen.add(one.position)
                    found.append(Example(f"{folder.name}/stories", one, label=True))
        for talk in _data(folder, "languages"):
            found += [
                Example(talk["language"], one, one.position in talk["keep"])
                for one in selection.candidates(foreign(talk))
            ]
    return found


def _data(folder: Path, name: str) -> list[Any]:
    file = folder / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []


def foreign(talk: Mapping[str, Any]) -> list[Message]:
    return [
        Message(role="user", content=text, id=f"m{at}", sent_at=START + timedelta(minutes=2 * at))
        for at, text in enumerate(talk["messages"])
    ]


def agents_messages(talk: Mapping[str, Any]) -> Iterator[list[Message]]:
    for session in talk["sessions"]:
        yield [
            Message(role=turn["role"], content=turn["text"], id=f"{session['id']}/{turn['id']}", sent_at=START)
            for turn in session["turns"]
        ]


# Fitting


@dataclass(frozen=True, slots=True)
class Model:
    """Weights by name, and the probability from which a text is chosen."""

    bias: float
    weights: Mapping[str, float]
    threshold: float


def fitted(found: Sequence[Example], threshold: float) -> Model:
    """Logistic regression with a ridge; positives and negatives of all sources together count the same."""
    rows = [selection.features(one.candidate) for one in found]
    names = list(rows[0])
    x = np.array([[1.0, *row.values()] for row in rows])
    y = np.array([float(one.label) for one in found])
    share = np.where(y > 0, 1 / y.sum(), 1 / (1 - y).sum()) * len(found) / 2
    ridge = np.full(x.shape[1], RIDGE)
    ridge[0] = 1e-6
    at = regression.newton(x, y, share, ridge)
    return Model(float(at[0]), dict(zip(names, map(float, at[1:]), strict=True)), threshold)


def using(model: Model) -> Any:
    """The module with other weights than its own."""
    return mock.patch.multiple(selection, BIAS=model.bias, WEIGHTS=model.weights, THRESHOLD=model.threshold)


def module(model: Model) -> str:
    rows = "\n".join(f'    "{name}": {value:.2f},' for name, value in model.weights.items())
    return (
        '"""Weights of the choice of statements, fitted by ``benchmarks.quality.selection_fit`` to texts of this project."""\n\n'
        '__all__ = ["BIAS", "THRESHOLD", "WEIGHTS"]\n\n'
        f"BIAS = {model.bias:.2f}\nTHRESHOLD = {model.threshold:.2f}\nWEIGHTS = {{\n{rows}\n}}\n"
    )


# Judging


def notes(talks: Sequence[Mapping[str, Any]], *, show: bool) -> dict[str, float]:
    """Notes held, by all and by the best of half the messages, memories a message, and memories of small talk."""
    every, half, made, said, idle, idle_said = list[bool](), list[bool](), 0, 0, 0, 0
    for talk in talks:
        messages = spoken(talk)
        chosen = sorted(selection.statements(messages), key=lambda one: -one.worth)
        texts = [one.text for one in chosen]
        if not talk["notes"]:
            idle, idle_said = idle + len(texts), idle_said + len(messages)
            if show:
                print(f"  [small talk] {texts}")
            continue
        every += [matches(note, texts) for note in talk["notes"]]
        best = texts[: len(messages) // 2]
        half += [matches(note, best) for note in talk["notes"]]
        made, said = made + len(texts), said + len(messages)
        if show:
            print(
                f"  [{talk['id']}] {len(texts)} of {len(messages)}: {[n for n in talk['notes'] if not matches(n, best)]}"
            )
    return {
        "notes": 100 * float(np.mean(every)), "notes_half": 100 * float(np.mean(half)), "per_message": made / said,
        "small_talk": idle * SMALL_TALK / idle_said if idle_said else float("nan"),
    }  # fmt: skip


def kept(messages: Sequence[Message], noted: set[int], *, show: bool) -> tuple[int, int]:
    """How many of the messages to note are memories, and how many of the others."""
    chosen: dict[int, list[str]] = {}
    places = {message.id: at for at, message in enumerate(messages)}
    for one in selection.statements(messages):
        chosen.setdefault(places[one.cited[-1].id], []).append(one.text)
    right = {
        at
        for at in noted & set(chosen)
        if any(plain(text) in plain(messages[at].content) or " - " in text for text in chosen[at])
    }
    wrong = set(chosen) - noted
    if show:
        print(
            f"  missed {[messages[at].content for at in sorted(noted - right)]}\n  wrong {[messages[at].content for at in sorted(wrong)]}"
        )
    return len(right), len(wrong)


def judge(folders: Sequence[Path], agents: Path | None, threshold: float, *, show: bool) -> None:
    """Every source with weights that were fitted without it."""
    found = examples(folders)

    def without(prefix: str) -> Model:
        return fitted([one for one in found if not one.source.startswith(prefix)], threshold)

    for folder in folders:
        if talks := _data(folder, "conversations"):
            with using(without(f"{folder.name}/talk")):
                print(f"{folder.name}: " + ", ".join(f"{k} {v:.3g}" for k, v in notes(talks, show=show).items()))
        if stories := _data(folder, "values_that_change"):
            with using(without(f"{folder.name}/stories")):
                messages = [(told(story), story) for story in stories]
                ids = [{message.id for one in selection.statements(m) for message in one.cited} for m, _ in messages]
                asked = [{t for q in s["questions"] for t in (*q["current"], *q["earlier"])} for _, s in messages]
                held = sum(len(a & i) for a, i in zip(asked, ids, strict=True))
                print(f"{folder.name} stories: {held} of {sum(map(len, asked))}")
        for talk in _data(folder, "languages"):
            with using(without(talk["language"])):
                right, wrong = kept(foreign(talk), set(talk["keep"]), show=show)
                print(
                    f"{folder.name} {talk['language']}: {right} of {len(talk['keep'])}, wrongly {wrong} of {len(talk['drop'])}"
                )
    for name, messages, noted in sections(SENTENCES.read_text(encoding="utf-8")):
        with using(without(name)):
            right, wrong = kept(messages, noted, show=show)
        others = sum(message.role == "user" for message in messages) - len(noted)
        print(f"{name}: {right} of {len(noted)}, wrongly {wrong} of {others}")
    if agents:
        with using(without("agents")):
            print(_evidence(agents))


def _evidence(agents: Path) -> str:
    """How much of the user's evidence is among the memories, and how many there are."""
    held = wanted = made = said = 0
    begun = time.process_time()
    for talk in map(json.loads, gzip.decompress(agents.read_bytes()).splitlines()):
        evidence = {turn for question in talk["questions"] for turn in question["evidence"]}
        for messages in agents_messages(talk):
            own = {
                m.id for m in messages if m.role == "user" and (m.id in evidence or m.id.partition("/")[2] in evidence)
            }
            chosen = selection.statements(messages)
            held, wanted = held + len(own & {message.id for one in chosen for message in one.cited}), wanted + len(own)
            made, said = made + len(chosen), said + len(messages)
    cpu = 1_000 * (time.process_time() - begun) / said
    return f"agents: evidence {held} of {wanted}, {made / said:.2f} memories a message, {cpu:.2f} ms a message"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--talk", type=Path, nargs="*", default=[], help="folders with files of talk")
    parser.add_argument("--agents", type=Path, help="conversations of users with assistants")
    parser.add_argument("--threshold", type=float, default=THRESHOLD)
    parser.add_argument(
        "--judge", action="store_true", help="measure instead, each source with weights fitted without it"
    )
    parser.add_argument("--show", action="store_true", help="print what is missed and what is wrong")
    given = parser.parse_args()
    if given.judge:
        judge(given.talk, given.agents, given.threshold, show=given.show)
    else:
        sys.stdout.write(module(fitted(examples(given.talk), given.threshold)))


if __name__ == "__main__":
    main()
