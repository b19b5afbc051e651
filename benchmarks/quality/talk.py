"""What is known of everyday talk: ``python -m benchmarks.quality.talk --data FOLDER [--json FILE] [--vectors-cache FILE]``.

The folder holds any of these files; ``benchmarks/README.md`` states their shapes:

* ``values_that_change.json``: is the value that holds found before the one that ended?
* ``both_stay_true.json``, ``explicit_changes.json``: what ends what?
* ``conversations.json``: what do the memories hold of what a person would note, and what do short prompts answer?
* ``restatements.json``: what is kept once, and what must be kept twice?
* ``forget.json``: does a description take out what it means, and nothing else?
* ``languages.json``: are facts in other languages kept in their own words, and small talk left out?

Only public methods of ``Memory`` are used, and no language model.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.vectors import default_embedder
from mnemic import InvalidInput, Memory, MemoryRecord, Message

BUDGETS = (100, 200, 400)
RECORDS = 5  # a handle draws the fence of its prompts at random, and what a fence takes of a small budget differs
SMALL_TALK = 188
FIRST, SECOND = datetime(2026, 1, 10, 9, tzinfo=UTC), datetime(2026, 3, 10, 9, tzinfo=UTC)
LATER = datetime(2026, 3, 20, 9, tzinfo=UTC)
ENDED = re.compile(
    r"no longer current|no longer true|not current|replaced|superseded|outdated|ended|\bnow, since\b|\buntil \d",
    re.IGNORECASE,
)

DEFINITIONS = {
    "stories": "one record per story, each message with its time in a session of its own, answers included. First: of the first ten "
    "hits, the first that carries a message of `current` or `earlier` carries one of `current`. changed: what holds now, asked "
    "where an earlier value ended; still: what holds now although something else was said since or before; past: asked with at= "
    "and now= of the question's `at`; past_by_now: the same questions with now= alone; all: changed, still and past. `holds` "
    "of a question says which it is; without it, changed is what names an ended message in `earlier`",
    "ended": "messages of `ended` that are marked after process(): superseded_by of a hit, or an ended memory made from them alone",
    "wrongly_ended": "other messages of the user that are so marked",
    "pairs": "both statements in a record of their own, two months apart. ended: one of the two is marked as above; replaced: the first "
    "is and the second is not; prompt: one stands in to_prompt() with words that say it is no longer true",
    "notes": "regular expressions of a note that match a memory, over notes; notes_half: of the most important memories, one for two "
    "messages",
    "per_message": "memories over messages, those of the assistant included",
    "small_talk": f"memories made from messages of conversations without notes, per {SMALL_TALK} of their messages",
    "found_10": "questions whose answer matches one of the first ten hits",
    "answers": f"questions whose answer matches to_prompt() of so many tokens. Each conversation is asked in {RECORDS} records, because "
    "the fences of their prompts differ in tokens: all of these count, here and in found_10",
    "restatements": "both remembered, a day apart, then consolidate(min_age_hours=0, importance_threshold=0). merged: the second is a "
    "duplicate, or one is archived; ended: the second took the place of the first, which keeps it as no longer true",
    "forget": "statements remembered, then forget(request). exactly: what is gone is what was meant; an error of input counts as "
    "nothing gone. wrongly_gone and left count statements; ended_before counts those that remember() itself had ended or merged",
    "languages": "verbatim: messages to be kept of which a memory holds the words, or a memory made from them is part of their words; "
    "cited: a memory is made from them at all; small_talk: messages to be dropped that a memory is made from",
    "cpu_ms": "CPU time of process() per message on a second pass over the conversations, less that of the embedder, whose vectors are at hand",
}


class Timed:
    """An embedder that adds up the CPU seconds it takes."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.seconds = inner, 0.0
        self.id = inner.id

    @property
    def dimension(self) -> int | None:
        return self.inner.dimension

    def embed(self, texts: Sequence[str], *, kind: str = "document") -> np.ndarray:
        begun = time.process_time()
        try:
            return self.inner.embed(texts, kind=kind)
        finally:
            self.seconds += time.process_time() - begun


def opened(embedder: Any) -> Memory:
    """An empty record; door codes and passwords are facts here."""
    return Memory(":memory:", user="talk", embedder=embedder, secrets="allow")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(hour=9, tzinfo=UTC)


def share(values: Iterable[object]) -> dict[str, Any]:
    """How many of how many, and in percent."""
    found = [bool(value) for value in values]
    percent = round(100 * sum(found) / len(found), 1) if found else None
    return {"count": sum(found), "of": len(found), "percent": percent}


# Who is marked as ended


def records(memory: Memory) -> list[MemoryRecord]:
    """All memories that are not forgotten, the ended ones too."""
    return memory.list(limit=None, include_expired=True)


def ended_memory(record: MemoryRecord) -> bool:
    return record.expired_at is not None or record.invalid_at is not None


def ended_messages(memory: Memory, texts: Mapping[str, str], now: datetime) -> set[str]:
    """The ids of messages that are marked as replaced: in a search, or because a memory of theirs alone has ended."""
    found = {r.source_ids[0] for r in records(memory) if ended_memory(r) and len(r.source_ids) == 1}
    for id_, text in texts.items():
        hits = memory.search(text, k=10, now=now)
        found |= {id_ for hit in hits if hit.superseded_by and id_ in hit.message_ids}
    return found & set(texts)


def told_as_ended(prompt: str, texts: Iterable[str]) -> bool:
    """Whether a line of a prompt that holds one of the texts says beside it that it holds no more."""
    for line in prompt.splitlines():
        for text in texts:
            head, found, tail = line.partition(text)
            if found and ENDED.search(head + " " + tail):
                return True
    return False


# Values that change


def kind_of(story: Mapping[str, Any], question: Mapping[str, Any]) -> str:
    """Which group a question counts in; see DEFINITIONS."""
    if question.get("holds"):
        return question["holds"]
    if question["at"]:
        return "past"
    return "changed" if set(question["earlier"]) & set(story["ended"]) else "still"


def current_first(memory: Memory, question: Mapping[str, Any], **options: Any) -> bool:
    wanted, others = set(question["current"]), set(question["earlier"])
    for hit in memory.search(question["question"], k=10, **options):
        if wanted & set(hit.message_ids):
            return True
        if others & set(hit.message_ids):
            return False
    return False


def answered(memory: Memory, story: Mapping[str, Any], after: datetime) -> list[tuple[str, str, bool]]:
    """Group, question and whether what was asked for came first."""
    found: list[tuple[str, str, bool]] = []
    for question in story["questions"]:
        kind = kind_of(story, question)
        if question["at"] is None:
            found.append((kind, question["question"], current_first(memory, question, now=after)))
            continue
        at = moment(question["at"])
        found.append((kind, question["question"], current_first(memory, question, now=at, at=at)))
        found.append((f"{kind}_by_now", question["question"], current_first(memory, question, now=at)))
    return found


def told(story: Mapping[str, Any]) -> list[Message]:
    """The messages of a story; those of its person have their tags as ids."""
    made: list[Message] = []
    for each in story["messages"]:
        at = moment(each["date"]) + timedelta(minutes=sum(m.id is not None for m in made))
        made.append(
            Message(
                role="user", name=story["name"], content=each["user"], id=each["tag"], session=each["date"], sent_at=at
            )
        )
        made.append(
            Message(
                role="assistant", content=each["assistant"], session=each["date"], sent_at=at + timedelta(seconds=30)
            )
        )
    return made


def stories(data: Sequence[Mapping[str, Any]], embedder: Any, *, show: bool) -> dict[str, Any]:
    """Which value comes first, before and after process(), and what process() ends."""
    groups: dict[str, dict[str, list[bool]]] = {"before": defaultdict(list), "after": defaultdict(list)}
    right, wrong = [], 0
    for story in data:
        after = moment(max(m["date"] for m in story["messages"])) + timedelta(days=1)
        with opened(embedder) as memory:
            memory.add(told(story))
            for stage, results in groups.items():
                if stage == "after":
                    memory.process()
                for kind, asked, first in answered(memory, story, after):
                    results[kind].append(first)
                    if show and not first:
                        print(f"[{stage}] {story['id']}, {kind}: {asked}")
            marked = ended_messages(memory, {m["tag"]: m["user"] for m in story["messages"]}, after)
            right += [tag in marked for tag in story["ended"]]
            wrong += len(marked - set(story["ended"]))
            if show and marked - set(story["ended"]):
                print(f"[ended] {story['id']}: {sorted(marked - set(story['ended']))}")
    figures = {
        stage: {kind: share(results[kind]) for kind in ("changed", "still", "past", "past_by_now")}
        | {"all": share([*results["changed"], *results["still"], *results["past"]])}
        for stage, results in groups.items()
    }
    return figures | {"ended": share(right), "wrongly_ended": wrong}


# Pairs


def remembered(pair: Sequence[str], embedder: Any) -> tuple[bool, bool]:
    """Which of two remembered statements has ended."""
    with opened(embedder) as memory:
        for text, at, id_ in zip(pair, (FIRST, SECOND), "ab", strict=True):
            memory.remember(text, valid_at=at, id=id_)
        kept = {record.id: ended_memory(record) for record in records(memory)}
    return kept.get("a", False), kept.get("b", False)


def processed(pair: Sequence[str], embedder: Any) -> tuple[bool, bool, bool]:
    """Which of two messages is marked as ended after process(), and whether a prompt says so of either."""
    with opened(embedder) as memory:
        memory.add(
            Message(role="user", content=text, id=id_, session=id_, sent_at=at)
            for text, at, id_ in zip(pair, (FIRST, SECOND), "ab", strict=True)
        )
        memory.process()
        marked = ended_messages(memory, dict(zip("ab", pair, strict=True)), LATER)
        prompts = [memory.get_memory_context(text, max_tokens=1_000, now=LATER).to_prompt() for text in pair]
        return "a" in marked, "b" in marked, any(told_as_ended(prompt, pair) for prompt in prompts)


def pairs(data: Sequence[Sequence[str]], embedder: Any, *, show: bool) -> dict[str, Any]:
    """What is ended of pairs: by remember(), by process(), and as a prompt tells it."""
    by_remember, by_process = [remembered(p, embedder) for p in data], [processed(p, embedder) for p in data]
    for pair, one, two in zip(data, by_remember, by_process, strict=True):
        if show:
            print(f"[pair] remember {one}, process {two}: {pair}")
    return {
        "remember.ended": share(any(one) for one in by_remember),
        "process.ended": share(any(one[:2]) for one in by_process),
        "prompt": share(one[2] for one in by_process),
        "remember.replaced": share(one == (True, False) for one in by_remember),
        "process.replaced": share(one[:2] == (True, False) for one in by_process),
    }


# Conversations


def spoken(talk: Mapping[str, Any]) -> list[Message]:
    """The lines of a conversation, a minute apart: ``u`` is the user, ``a`` the assistant, anybody else a person."""
    begin = moment(talk["date"])
    return [
        Message(
            role="assistant" if line["who"] == "a" else "user", name=line["who"] if line["who"] not in "ua" else None,
            content=line["text"], id=f"m{at}", session=talk["id"], sent_at=begin + timedelta(minutes=at),
        )
        for at, line in enumerate(talk["lines"])
    ]  # fmt: skip


def matches(pattern: str, texts: Iterable[str]) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for text in texts)


def asked(memory: Memory, talk: Mapping[str, Any], now: datetime) -> list[dict[str, bool]]:
    """For each question, whether its answer is among the hits and in prompts of several sizes."""
    found: list[dict[str, bool]] = []
    for question, answer in talk["questions"]:
        result = {"found_10": matches(answer, (hit.text for hit in memory.search(question, k=10, now=now)))}
        for budget in BUDGETS:
            prompt = memory.get_memory_context(question, max_tokens=budget, now=now).to_prompt()
            result[f"answers_{budget}"] = matches(answer, [prompt])
        found.append(result)
    return found


def held(talk: Mapping[str, Any], embedder: Any) -> tuple[list[str], dict[str, list[dict[str, bool]]]]:
    """The memories of a conversation, the most important first, and what is answered before and after they were made."""
    now = moment(talk["date"]) + timedelta(days=1)
    with opened(embedder) as memory:
        memory.add(spoken(talk))
        before = asked(memory, talk, now)
        memory.process()
        texts = [r.content for r in memory.list(limit=None, include_expired=True, order="importance")]
        return texts, {"before": before, "after": asked(memory, talk, now)}


def conversations(data: Sequence[Mapping[str, Any]], embedder: Any, *, show: bool) -> dict[str, Any]:
    """What the memories of conversations hold, and what is answered before and after they were made."""
    notes, half, idle = [], [], []
    said = made = idle_said = 0
    answers: dict[str, list[dict[str, bool]]] = {"before": [], "after": []}
    for talk in data:
        lines = spoken(talk)
        runs = [held(talk, embedder) for _ in range(RECORDS if talk["questions"] else 1)]
        texts = runs[0][0]
        for stage, rows in answers.items():
            rows += [row for _, found in runs for row in found[stage]]
        if not talk["notes"]:
            idle_said += len(lines)
            idle += texts
            continue
        said, made = said + len(lines), made + len(texts)
        notes += [matches(note, texts) for note in talk["notes"]]
        half += [matches(note, texts[: len(lines) // 2]) for note in talk["notes"]]
        if show:
            print(f"[notes] {talk['id']}: {[n for n in talk['notes'] if not matches(n, texts)]}")
    if show:
        print(f"[small talk] {idle}")
    return {
        "notes": share(notes), "notes_half": share(half), "messages": said, "memories": made,
        "per_message": round(made / said, 3) if said else None,
        "small_talk": {
            "memories": len(idle), "messages": idle_said,
            f"per_{SMALL_TALK}": round(len(idle) * SMALL_TALK / idle_said, 1) if idle_said else None,
        },
    } | {
        stage: {name: share(one[name] for one in rows) for name in ("found_10", *(f"answers_{b}" for b in BUDGETS))}
        for stage, rows in answers.items()
    }  # fmt: skip


def cpu_ms(data: Sequence[Mapping[str, Any]], embedder: Any) -> float:
    """CPU milliseconds of process() a message beyond those of the embedder."""
    seconds, messages = 0.0, 0
    timed = Timed(embedder)
    for talk in data:
        with opened(timed) as memory:
            lines = spoken(talk)
            memory.add(lines)
            timed.seconds, begun = 0.0, time.process_time()
            memory.process()
            seconds += time.process_time() - begun - timed.seconds
            messages += len(lines)
    return round(1_000 * seconds / max(messages, 1), 2)


# Restatements


def joined(pair: Sequence[str], embedder: Any) -> str:
    """What became of two remembered statements after a consolidation: ``merged``, ``ended`` or ``both``."""
    with opened(embedder) as memory:
        for text, days, id_ in zip(pair, (0, 1), "ab", strict=True):
            memory.remember(text, valid_at=FIRST + timedelta(days=days), id=id_)
        memory.consolidate(min_age_hours=0, importance_threshold=0)
        kept = records(memory)
    if any(map(ended_memory, kept)):
        return "ended"
    return "both" if len(kept) == 2 else "merged"


def restatements(data: Mapping[str, Any], embedder: Any, *, show: bool) -> dict[str, Any]:
    """What is kept once of what says the same, and of what says something else."""
    found = {name: [joined(pair, embedder) for pair in data[name]] for name in ("same", "different")}
    for name, results in found.items():
        for pair, result in zip(data[name], results, strict=True):
            if show and (result == "merged") != (name == "same"):
                print(f"[{name}] {result}: {pair}")
    return {
        f"{name}.{result}": share(one == result for one in results)
        for name, results in found.items()
        for result in ("merged", "ended")
    }


# Forgetting


def forgotten(memory: Memory, request: str, **options: Any) -> set[str]:
    """The ids that a request takes out, or, with dry_run, would take out."""
    try:
        return {receipt.id for receipt in memory.forget(request, **options) if receipt.outcome == "forgotten"}
    except InvalidInput:
        return set()


def forget(data: Sequence[Mapping[str, Any]], embedder: Any, *, show: bool) -> dict[str, Any]:
    """What requests take out of a record, beside what they meant."""
    exactly, previewed = [], []
    wrongly = left = meant = others = ended_before = 0
    for case in data:
        with opened(embedder) as memory:
            for at, text in enumerate(case["statements"]):
                memory.remember(text, id=f"s{at}", valid_at=FIRST + timedelta(days=at))
            before = {r.id for r in records(memory)}
            current = {r.id for r in records(memory) if not ended_memory(r)}
            if "dry_run" in inspect.signature(memory.forget).parameters:
                preview = forgotten(memory, case["request"], dry_run=True)
                previewed.append(preview == forgotten(memory, case["request"]))
            else:
                forgotten(memory, case["request"])
            gone = before - {r.id for r in records(memory)}
        target = {f"s{at}" for at in case["gone"]}
        exactly.append(gone == target & before)
        meant, others = meant + len(target), others + len(case["stay"])
        wrongly, left = wrongly + len(gone - target), left + len(target & before - gone)
        ended_before += len(case["statements"]) - len(current)
        if show and not exactly[-1]:
            print(
                f"[forget] {case['request']}: left {sorted(target & before - gone)}, wrongly gone {sorted(gone - target)}"
            )
    return {
        "exactly": share(exactly), "wrongly_gone": wrongly, "of_others": others, "left": left, "of_targets": meant,
        "ended_before": ended_before, "as_previewed": share(previewed) if previewed else None,
    }  # fmt: skip


# Languages


def plain(text: str) -> str:
    """Words without the punctuation and white space around them, for comparing."""
    return " ".join(text.split()).strip(" .。!！?？,，،;:\"'«»“”„()…").casefold()


def kept(memory: Memory, text: str, id_: str) -> tuple[bool, bool]:
    """Whether memories are made from a message, and whether one has its words."""
    own = [plain(r.content) for r in records(memory) if id_ in r.source_ids]
    said = plain(text)
    return bool(own), any(said in one or (one and one in said) for one in own)


def languages(data: Sequence[Mapping[str, Any]], embedder: Any, *, show: bool) -> dict[str, Any]:
    """What is kept of messages in other languages, by language and in all."""
    by_name: dict[str, dict[str, list[bool]]] = {}
    for talk in data:
        found = by_name.setdefault(talk["language"], {"verbatim": [], "cited": [], "small_talk": []})
        with opened(embedder) as memory:
            memory.add(
                Message(
                    role="user", content=text, id=f"m{at}", session="talk", sent_at=FIRST + timedelta(minutes=2 * at)
                )
                for at, text in enumerate(talk["messages"])
            )
            memory.process()
            for at, text in enumerate(talk["messages"]):
                cited, verbatim = kept(memory, text, f"m{at}")
                if at in talk["keep"]:
                    found["cited"].append(cited)
                    found["verbatim"].append(verbatim)
                else:
                    found["small_talk"].append(cited)
            if show:
                print(f"[{talk['language']}] {[r.content for r in records(memory)]}")
    everything = {
        name: [value for one in by_name.values() for value in one[name]] for name in ("verbatim", "cited", "small_talk")
    }
    return {
        name: {kind: share(values) for kind, values in one.items()}
        for name, one in (by_name | {"all": everything}).items()
    }


# All together

PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "values_that_change": stories, "both_stay_true": pairs, "explicit_changes": pairs, "conversations": conversations,
    "restatements": restatements, "forget": forget, "languages": languages,
}  # fmt: skip


def measure(folder: Path, embedder: Any, *, show: bool = False) -> dict[str, Any]:
    """The figures of every file that the folder holds."""
    found: dict[str, Any] = {}
    for name, part in PARTS.items():
        file = folder / f"{name}.json"
        if file.is_file():
            data = json.loads(file.read_text(encoding="utf-8"))
            found[name] = part(data, embedder, show=show)
            if name == "conversations":
                found[name]["cpu_ms"] = cpu_ms(data, embedder)
    return found


def flat(figures: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any, Any, Any]]:
    """Rows of a table: name, count, of how many, percent."""
    rows: list[tuple[str, Any, Any, Any]] = []
    for name, value in figures.items():
        if not isinstance(value, Mapping):
            rows.append((prefix + name, value, None, None))
        elif "percent" in value:
            rows.append((prefix + name, value["count"], value["of"], value["percent"]))
        else:
            rows += flat(value, f"{prefix}{name}.")
    return rows


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.talk", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with any of the files")
    parser.add_argument(
        "--vectors-cache", type=Path, help="file that keeps vectors between runs; default: cache folder"
    )
    parser.add_argument("--show", action="store_true", help="print what went wrong; not for data that is held out")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    files = {name: options.data / f"{name}.json" for name in PARTS if (options.data / f"{name}.json").is_file()}
    if not files:
        parser.error(f"{options.data} holds none of {', '.join(f'{name}.json' for name in PARTS)}")
    embedder = default_embedder(options.vectors_cache)
    found = measure(options.data, embedder, show=options.show)
    embedder.close()
    for name, figures in found.items():
        reporting.print_table(name, ("figure", "count", "of", "percent"), flat(figures))
    result = reporting.document(
        "quality.talk", given, data={f"{name}.json": reporting.sha256(file) for name, file in files.items()},
        settings={"embedder": embedder.id}, definitions=DEFINITIONS, figures=found,
    )  # fmt: skip
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
