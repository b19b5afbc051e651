"""What a page of the explorer costs: ``python -m benchmarks.speed.explorer [--messages 80000] [--memories 20000] [--json OUT]``.

One user's record with generated text and the hashing embedder, asked through the ASGI application as a browser would.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.testclient import TestClient

from benchmarks import reporting
from benchmarks.speed.measures import Timings, pin_threads
from mnemic import HashingEmbedder, Memory
from mnemic.testing.fakes import add_episode, add_memory
from mnemic.types import AddEpisode, AddMemory, Archive, Emotion, Link, PutLink, Supersede
from mnemic.web import app

DEFINITIONS = {
    "cpu_ms": "CPU ms of one request, the test client's share in it: least of all calls but the first: other work on the machine only adds to it",
    "after_write_ms": "CPU ms of the first request after a message was added, least of two a round",
    "kb": "10^3 bytes of the page, not compressed",
}
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
BATCH = 1_000
CATEGORIES = ("preference", "decision", "person", "place", "plan", "habit")
_PARTS = [
    a + b for a in "ba ce di fo gu ha je ki lo mu na pe".split() for b in ("lan", "mer", "nid", "pol", "rus", "tik")
]
WORDS = [a + b for a in _PARTS for b in _PARTS]
COMMON = [*accumulate(1 / (rank + 3) for rank in range(len(WORDS)))]
"""Cumulative weights: the n-th word is about 1/n as frequent as the first, as in any language."""
QUESTION = f"q={WORDS[40]}+{WORDS[700]}+{WORDS[2000]}"
TAGS = WORDS[:100]


def fill(memory: Memory, messages: int, memories: int) -> None:
    """Messages in sessions and episodes of forty; memories of all categories, some replaced, linked, forgotten, felt or used."""
    chance = random.Random(1)
    apply, embedder, user = memory._runtime.store.apply, HashingEmbedder(), memory.scope.user
    for begin in range(0, messages, BATCH):
        said = [said_at(chance, n) for n in range(begin, min(begin + BATCH, messages))]
        memory.add(said)
        apply(user, [episode_of(said[n : n + 40]) for n in range(0, len(said), 40)])
    for begin in range(0, memories, BATCH):
        texts = [sentence(chance, n) for n in range(begin, min(begin + BATCH, memories))]
        vectors = embedder.embed(texts)
        ids = range(begin, begin + len(texts))
        made = [
            memory_of(chance, n, memories, text, vector) for n, text, vector in zip(ids, texts, vectors, strict=True)
        ]
        links = [PutLink(link=Link(source=f"f{n}", target=f"f{n + 1}", type="references")) for n in ids[::20]]
        ends = [Supersede(id=f"f{n}", by=f"f{n + 1}", at=BEGIN + timedelta(days=300)) for n in ids[3::50]]
        apply(user, [*made, *links, *ends, *(Archive(id=f"f{n}") for n in ids[9::50])])
    memory.consolidate(min_age_hours=0, importance_threshold=0.1)
    for _ in range(100):
        memory.search(" ".join(chance.choices(WORDS, cum_weights=COMMON, k=4)))


def sentence(chance: random.Random, n: int) -> str:
    """Some twenty words and a number: no two are equal."""
    return f"{n} {' '.join(chance.choices(WORDS, cum_weights=COMMON, k=20))}."


def said_at(chance: random.Random, n: int) -> dict[str, Any]:
    """A message, eleven minutes after the one before."""
    role, name = ("user", "Ana") if n % 2 else ("assistant", "Bot")
    return {
        "role": role, "name": name, "content": sentence(chance, n), "id": f"m{n}", "session": f"s{n // 40}",
        "sent_at": BEGIN + timedelta(minutes=11 * n),
    }  # fmt: skip


def episode_of(said: Sequence[Mapping[str, Any]]) -> AddEpisode:
    """The episode of a session."""
    begin, end = said[0]["sent_at"], said[-1]["sent_at"]
    ids, session = [one["id"] for one in said], said[0]["session"]
    return add_episode(f"e{session}", ids, vector=None, session=session, started_at=begin, ended_at=end, created_at=end)


def memory_of(chance: random.Random, n: int, count: int, text: str, vector: NDArray[np.float32]) -> AddMemory:
    """A memory; each third has a feeling, each tenth metadata, each hundredth is pinned."""
    at = BEGIN + timedelta(days=600 * n / count)
    emotion = (
        Emotion(valence=chance.uniform(-1, 1), arousal=chance.uniform(-1, 1), confidence=0.8) if n % 3 == 0 else None
    )
    return add_memory(
        text, vector=vector, model=HashingEmbedder().id, id=f"f{n}",
        category=chance.choice(CATEGORIES) if n % 60 else "rare", tags=tuple(chance.sample(TAGS, 2)),
        metadata={"n": n} if n % 10 == 0 else {}, speaker=chance.choice(("Ana", "Bot")), emotion=emotion, pinned=n % 100 == 0,
        importance=chance.uniform(0.2, 0.9), created_at=at, updated_at=at, said_at=at, valid_at=at,
    )  # fmt: skip


def views(memory: Memory) -> dict[str, str]:
    """The pages by name."""
    memories, words = "/records?kind=memory", f"&{QUESTION}"
    id_ = "f40"
    pages = {
        "now": "/", "timeline": "/timeline", "timeline, as of": "/timeline?at=300&known=100",
        "timeline, from, to": "/timeline?since=2024-03-01&until=2024-05-01", "recall": "/recall",
        "recall, a question": f"/recall?{QUESTION}", "recall, fifty hits": f"/recall?{QUESTION}&other=rrf&k=50",
        "memories": memories, "memories, search": memories + words, "memories, search, tag": f"{memories}{words}&tag={TAGS[0]}",
        "memories, page 300": f"{memories}&offset=15000", "messages": "/records?kind=message",
        "messages, search": "/records?kind=message" + words, "messages, deep": "/records?kind=message&before=2024-02-01",
        "messages, session": "/records?kind=message&session=s7", "messages, speaker": "/records?kind=message&speaker=Ana",
        "messages, from, to": "/records?kind=message&since=2024-03-01&until=2024-04-01", "episodes": "/records?kind=episode",
        "counts, session": "/facet?kind=message&by=session", "counts, speaker": "/facet?kind=message&by=speaker",
        "counts, tag": "/facet?by=tag", "memories, json": "/records.json", "correcting": f"/correcting?id={id_}&statement=No",
        "record": f"/record?id={id_}", "forgetting": f"/forgetting?id={id_}", "consolidations": "/consolidations",
        "consolidations, preview": "/consolidations?preview=1", "feeling": "/emotions", "audit": "/audit",
        "audit, operation": "/audit?operation=promote", "audit, deep": "/audit?before=500",
    }  # fmt: skip
    filters = (
        "type=semantic", "type=emotional", "category=rare", f"tag={TAGS[0]}", "tag=nothing", "status=archived",
        "status=long_term", "status=long_term&order=importance", "ended=1", "order=oldest", "order=importance",
        "order=importance&offset=15000", "order=importance&category=rare", f"order=importance&tag={TAGS[0]}", "min_importance=0.5",
        "min_importance=0.99", "min_importance=0.5&order=importance", "speaker=Ana", "session=s7", "since=2024-03-01",
        "until=2024-03-01", "order=importance&ended=1&type=semantic",
    )  # fmt: skip
    return pages | {f"memories, {name.replace('&', ', ')}": f"{memories}&{name}" for name in filters}


def least(rounds: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """The least of each figure of several rounds."""
    first = rounds[0]
    return {page: {name: min(r[page][name] for r in rounds) for name in figures} for page, figures in first.items()}


def measure(memory: Memory, calls: int) -> dict[str, dict[str, float]]:
    """CPU time and size of every page."""
    client, found = TestClient(app(memory), base_url="http://127.0.0.1"), dict[str, dict[str, float]]()
    for name, path in views(memory).items():
        client.get(path)
        warm, changed = Timings(), Timings()
        for _ in range(calls):
            answer = warm.of(client.get, path)
        for n in range(2):
            memory.add(f"Something new for {name} is said: {n}.")
            changed.of(client.get, path)
        if answer.status_code != 200:
            raise RuntimeError(f"{path} answered {answer.status_code}")
        found[name] = {
            "cpu_ms": round(min(warm.cpu), 1), "after_write_ms": round(min(changed.cpu), 1),
            "kb": round(len(answer.content) / 1000, 1),
        }  # fmt: skip
    return found


def main(given: Sequence[str]) -> Mapping[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.explorer", description=__doc__)
    parser.add_argument("--messages", type=int, default=80_000)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--calls", type=int, default=3, help="requests of each page in a round")
    parser.add_argument("--rounds", type=int, default=8, help="rounds over all pages")
    parser.add_argument("--keep", type=Path, help="the folder of the record; if there is one, it is used again")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as place:
        folder = options.keep or Path(place)
        fresh = not folder.exists() or not any(folder.iterdir())
        opened = partial(Memory, folder, user="ana", embedder="hashing", durability="NORMAL")
        if fresh:
            with opened() as memory:
                fill(memory, options.messages, options.memories)
        with opened() as memory:
            figures = least([measure(memory, options.calls) for _ in range(options.rounds)])
    reporting.print_table("Pages", ["page", *DEFINITIONS], [[name, *row.values()] for name, row in figures.items()])
    if options.json:
        size = {"messages": options.messages, "memories": options.memories}
        result = reporting.document(
            "speed.explorer", given, data=size, machine=reporting.machine(), definitions=DEFINITIONS, figures=figures
        )
        reporting.written(result, options.json)
    return figures


if __name__ == "__main__":
    pin_threads("benchmarks.speed.explorer", sys.argv[1:])
    main(sys.argv[1:])
