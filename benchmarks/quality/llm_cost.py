"""What knowledge costs with a language model: questions and tokens a message, beside asking about every message.

    python -m benchmarks.quality.llm_cost --data FILE [--messages 600] [--episode 6] [--json OUT]

The first messages of a LoCoMo file go through ``process`` with a scripted model that answers at the length a real one would:
episodes of so many messages, a story for each, a statement with its description for every three messages, and one
link for each question about links. It understands nothing, and the figures say nothing of quality. Beside it, on paper, the
plain way: one question for each message alone, with the instructions and answer schema of an extraction but for what describes
a statement, and one statement in the answer. And the way of memory layers that compare as they extract: for each exchange of two
messages one such question, and a second one that holds its two statements against ten that are known, with the instructions
and schema of a question about links.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.conversations import load
from benchmarks.vectors import default_embedder
from mnemic import LanguageModel, Memory, MemoryRecord, Message
from mnemic.llm import extraction, links
from mnemic.llm.answers import json_schema
from mnemic.testing import memory_record
from mnemic.testing.language_models import ScriptedModel, ScriptedRequest
from mnemic.text.tokens import token_counter

BARS = {"calls_share": 1 / 3, "tokens_share": 1 / 3}
DEFINITIONS = {
    "calls_a_message": "requests to the model during process(), over messages",
    "tokens_a_message": "tokens of instructions, prompt, answer schema and answer, by cl100k_base, over messages",
    "everything": "one extraction request for each message alone: the same instructions and schema without the description "
    "of a statement, one statement as the answer",
    "calls_share": "calls over those of everything; tokens_share likewise",
    "exchanges": "for each two messages one such extraction request, two statements as the answer, and one request that judges "
    "the two against the ten statements before them, one link for each as the answer: a call a message",
    "exchanges_calls_share": "calls over those of exchanges; exchanges_tokens_share likewise",
}
WORD = re.compile(r"\b[a-z]{4,}\b")
EPISODE = re.compile(r"^episode (\d+): messages (\d+) to (\d+)$", re.MULTILINE)
DESCRIPTION = {"keywords": ["life", "family", "plans", "work"], "tags": ["life", "plans"], "category": "personal"}
PAIR = re.compile(r"^memory (\d+): candidates (\d+)", re.MULTILINE)
LINE = re.compile(r"^\[(\d+)\] (?:\d\d:\d\d )?([^:\n]+): (.+)$", re.MULTILINE)


def script(episode: int) -> dict[str, Any]:
    """Answers of the length that a real model gives."""

    def segment(request: ScriptedRequest) -> dict[str, Any]:
        lines = LINE.findall(request.prompt)
        spans = [(first, min(first + episode, len(lines) + 1)) for first in range(1, len(lines) + 1, episode)]
        topic = "What they spoke of then"
        return {
            "episodes": [
                {"first": a, "last": b - 1, "topic": topic, "story": story(lines[a - 1 : b - 1])} for a, b in spans
            ]
        }

    def narrate(request: ScriptedRequest) -> dict[str, Any]:
        lines = LINE.findall(request.prompt)
        parts = [(int(n), lines[int(a) - 1 : int(b)]) for n, a, b in EPISODE.findall(request.prompt)]
        return {
            "episodes": [{"episode": n, "title": "What they spoke of then", "story": story(part)} for n, part in parts]
        }

    def extract(request: ScriptedRequest) -> dict[str, Any]:
        lines = LINE.findall(request.prompt.split("<conversation")[1])
        parts = [lines[int(a) - 1 : int(b)] for _, a, b in EPISODE.findall(request.prompt)]
        prediction = " ".join("They go on about what is known of them." for _ in parts)
        found = [statement(line) | DESCRIPTION for part in parts for line in part[::3]]
        return {"prediction": prediction, "statements": found}

    def enrich(request: ScriptedRequest) -> dict[str, Any]:
        return {"memories": [described(number) for number in request.numbers]}

    def link(request: ScriptedRequest) -> dict[str, Any]:
        memory, candidate = map(int, PAIR.findall(request.prompt)[0])
        return {
            "links": [
                {"memory": memory, "candidate": candidate, "type": "extends", "strength": 0.5, "reason": "the same"}
            ]
        }

    return {"segment": segment, "narrate": narrate, "extract": extract, "enrich": enrich, "link": link}


def story(lines: Sequence[tuple[str, str, str]]) -> str:
    """A story of four sentences."""
    return " ".join(f"{who} spoke of {', '.join(WORD.findall(text)[:9])}." for _, who, text in lines[:4])


def statement(line: tuple[str, str, str]) -> dict[str, Any]:
    """A statement that a message bears out."""
    number, who, text = line
    return {
        "statement": f"{who} said: {text[:120]}", "change": "new", "known": None, "messages": [int(number)],
        "type": "semantic", "confidence": 0.8,
    }  # fmt: skip


def described(number: int) -> dict[str, Any]:
    """A description of usual length."""
    return {
        "memory": number, "summary": "What one of them told the other about the life they lead at present.",
        "keywords": ["life", "family", "plans", "work"], "tags": ["life", "plans"], "type": "semantic",
        "category": "personal", "importance": 0.6, "confidence": 0.8, "files": [], "entities": ["Ana"],
    }  # fmt: skip


def plain(messages: Sequence[Message]) -> Iterator[int]:
    """Tokens of a question about each message alone."""
    for message in messages:
        yield extracted([message])


def extracted(messages: Sequence[Message]) -> int:
    """Tokens of a question about messages alone, with a statement of each."""
    task = extraction.task([("", messages)])
    found = [statement((str(number), str(m.name), m.content)) for number, m in enumerate(messages, 1)]
    answer = {"prediction": "", "statements": found}
    return tokens(undescribed(task.instructions), task.prompt, bare(task.schema), json.dumps(answer))


def tokens(*texts: str) -> int:
    """Tokens of the parts of a question and its answer."""
    return sum(map(token_counter(None), texts))


def exchanges(messages: Sequence[Message]) -> Iterator[int]:
    """Tokens of the two questions about each exchange."""
    known: list[MemoryRecord] = []
    for start in range(0, len(messages), 2):
        exchange = messages[start : start + 2]
        new = [memory_record(f"{m.name} said: {m.content[:120]}") for m in exchange]
        spent = extracted(exchange)
        if known:
            task = links.task([(record, known[-10:]) for record in new])
            link = {"candidate": 101, "type": "extends", "strength": 0.5, "reason": "the same"}
            answer = {"links": [{"memory": number, **link} for number, _ in enumerate(new, 1)]}
            schema = json.dumps(json_schema(task.schema))
            spent += tokens(task.instructions, task.prompt, schema, json.dumps(answer))
        known += new
        yield spent


def undescribed(instructions: str) -> str:
    """The instructions of an extraction without what concerns the description of a statement."""
    before, _, rest = instructions.partition("keywords: ")
    return before + rest.partition("or null.\n")[2]


def bare(schema: Any) -> str:
    """The schema of an extraction without the description of a statement."""
    form = json_schema(schema)
    item = form["properties"]["statements"]["items"]
    item["properties"] = {name: part for name, part in item["properties"].items() if name not in DESCRIPTION}
    item["required"] = list(item["properties"])
    return json.dumps(form)


def measured(messages: Sequence[Message], episode: int, embedder: Any) -> dict[str, Any]:
    """Calls and tokens by stage, and both beside the plain way."""
    model = ScriptedModel(script(episode))
    with Memory(":memory:", user="one", embedder=embedder, llm=LanguageModel(model), secrets="allow") as memory:
        memory.add(messages)
        report = memory.process()
        stages = memory.stats().llm.stages
    if report.fallbacks:
        raise RuntimeError(f"{report.fallbacks} answers of the script were refused; the count would be too low.")
    used = {name: stage.input_tokens + stage.output_tokens for name, stage in stages.items()}
    calls = {name: stage.calls for name, stage in stages.items()}
    spent, everything, compared = sum(used.values()), sum(plain(messages)), sum(exchanges(messages))
    size = len(messages)
    return {
        "messages": size, "episodes": report.episodes, "memories": report.memories, "calls": calls, "tokens": used,
        "calls_a_message": round(sum(calls.values()) / size, 3), "tokens_a_message": round(spent / size, 1),
        "everything_tokens_a_message": round(everything / size, 1),
        "calls_share": round(sum(calls.values()) / size, 3), "tokens_share": round(spent / everything, 3),
        "exchanges_tokens_a_message": round(compared / size, 1),
        "exchanges_calls_share": round(sum(calls.values()) / size, 3), "exchanges_tokens_share": round(spent / compared, 3),
    }  # fmt: skip


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.llm_cost", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a LoCoMo file")
    parser.add_argument("--messages", type=int, default=600)
    parser.add_argument(
        "--episode", type=int, default=6, help="messages of an episode, as the scripted model cuts them"
    )
    parser.add_argument("--vectors-cache", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    messages = list(islice((m for talk in load(options.data) for m in talk.messages), options.messages))
    embedder = default_embedder(options.vectors_cache)
    figures = measured(messages, options.episode, embedder)
    embedder.close()
    result = reporting.document(
        "quality.llm_cost", given, data={"file": options.data.name, "sha256": reporting.sha256(options.data)},
        settings={"messages": len(messages), "episode": options.episode}, definitions=DEFINITIONS, bars=BARS, figures=figures,
    )  # fmt: skip
    reporting.print_table("cost with a language model", ("figure", "value"), list(figures.items()))
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
