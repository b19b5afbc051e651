"""What knowledge costs with a language model: questions and tokens a message, beside asking about every message.

    python -m benchmarks.quality.llm_cost --data FILE [--messages 600] [--episode 6] [--json OUT]

The first messages of a LoCoMo file go through ``process`` with a scripted model that answers at the length a real one would:
episodes of so many messages, a story for each, a statement for every three messages, a description for each statement, and one
link for each question about links. It understands nothing, and the figures say nothing of quality. Beside it, on paper, the
plain way: one question for each message alone, with the same instructions and answer schema as the extraction of an episode,
and one statement in the answer.
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
from mnemic import LanguageModel, Memory, Message
from mnemic.llm import extracting
from mnemic.llm.schema import json_schema
from mnemic.testing.language_models import ScriptedModel, ScriptedRequest
from mnemic.text.tokens import token_counter

BARS = {"calls_share": 1 / 3, "tokens_share": 1 / 3}
DEFINITIONS = {
    "calls_a_message": "requests to the model during process(), over messages",
    "tokens_a_message": "tokens of instructions, prompt, answer schema and answer, by cl100k_base, over messages",
    "everything": "one extraction request for each message alone: the same instructions and schema, one statement as the answer",
    "calls_share": "calls over those of everything; tokens_share likewise",
}
WORD = re.compile(r"\b[a-z]{4,}\b")
LINE = re.compile(r"^\[(\d+)\] (?:\d\d:\d\d )?([^:\n]+): (.+)$", re.MULTILINE)


def script(episode: int) -> dict[str, Any]:
    """Answers of the length that a real model gives."""

    def segment(request: ScriptedRequest) -> dict[str, Any]:
        last = max(request.numbers)
        spans = [(first, min(first + episode - 1, last)) for first in range(1, last + 1, episode)]
        return {"episodes": [{"topic": "What they spoke of then", "first": a, "last": b} for a, b in spans]}

    def narrate(request: ScriptedRequest) -> dict[str, Any]:
        lines = LINE.findall(request.prompt)
        story = " ".join(f"{who} spoke of {', '.join(WORD.findall(text)[:9])}." for _, who, text in lines[:4])
        return {"title": "What they spoke of then", "story": story}

    def extract(request: ScriptedRequest) -> dict[str, Any]:
        lines = LINE.findall(request.prompt.split("<conversation")[1])
        return {"prediction": "They go on about what is known of them.", "statements": list(map(statement, lines[::3]))}

    def enrich(request: ScriptedRequest) -> dict[str, Any]:
        return {"memories": [described(number) for number in request.numbers]}

    def link(request: ScriptedRequest) -> dict[str, Any]:
        candidate = min(number for number in request.numbers if number > 100)
        return {
            "links": [{"memory": 1, "candidate": candidate, "type": "extends", "strength": 0.5, "reason": "the same"}]
        }

    return {"segment": segment, "narrate": narrate, "extract": extract, "enrich": enrich, "link": link}


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
    count = token_counter(None)
    for message in messages:
        task = extracting.task("", [message])
        found = {"prediction": "", "statements": [statement(("1", str(message.name), message.content))]}
        yield count(f"{task.instructions}\n{task.prompt}\n{json.dumps(json_schema(task.schema))}") + count(
            json.dumps(found)
        )


def measured(messages: Sequence[Message], episode: int, embedder: Any) -> dict[str, Any]:
    """Calls and tokens by stage, and both beside the plain way."""
    model = ScriptedModel(script(episode))
    with Memory(":memory:", user="one", embedder=embedder, llm=LanguageModel(model), secrets="allow") as memory:
        memory.add(messages)
        report = memory.process()
        stages = memory.stats().llm
    if report.fallbacks:
        raise RuntimeError(f"{report.fallbacks} answers of the script were refused; the count would be too low.")
    tokens = {name: stage.input_tokens + stage.output_tokens for name, stage in stages.items()}
    calls = {name: stage.calls for name, stage in stages.items()}
    everything = list(plain(messages))
    size = len(messages)
    return {
        "messages": size, "episodes": report.episodes, "memories": report.memories, "calls": calls, "tokens": tokens,
        "calls_a_message": round(sum(calls.values()) / size, 3), "tokens_a_message": round(sum(tokens.values()) / size, 1),
        "everything_tokens_a_message": round(sum(everything) / size, 1),
        "calls_share": round(sum(calls.values()) / size, 3),
        "tokens_share": round(sum(tokens.values()) / sum(everything), 3),
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
    if options.json:
        reporting.write(options.json, result)
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
