"""Evidence recall on every engine, on a LoCoMo-shaped file: ``python -m benchmarks.scale.recall --data FILE``."""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.conversations import Conversation, load
from benchmarks.quality import metrics
from benchmarks.scale.engines import running
from benchmarks.vectors import default_embedder
from mnemic import Chroma, Memory
from mnemic.indexes.vector import exact

DEFINITIONS = {
    "alone": "one store per conversation; the index over the vectors is asked even where comparing all would be cheaper "
    "(exact_below=0, FETCHED=1, COSTS=0)",
    "together": "all conversations in one store as one user, ids prefixed by their conversation; what is asked is as in the "
    "library, but for exact_below=0",
    "R@10": "gold turns among the first 10 distinct message_ids of the hits of one search for 50, over gold turns; mean, percent",
    "asked": "questions for which the index was asked at least once, for 400 rows or more",
    "apart": "R@10 less that of sqlite, in points; the bar is within 1",
}
ENGINES = ("sqlite", "chroma", "chroma-server", "postgres", "postgres+chroma-server")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an engine keeps records: a new location for each, and the index over their vectors."""

    location: Callable[[], str]
    vectors: Any


@contextmanager
def placed(name: str) -> Generator[Place]:
    """An engine that runs while the block does."""
    record, _, beside = name.partition("+")
    with tempfile.TemporaryDirectory() as top, ExitStack() as stack:
        folder, numbers = Path(top), itertools.count(1)
        for part in filter(None, (record, beside)):
            (folder / part).mkdir()
        engine = stack.enter_context(running(record, folder / record))
        vectors = stack.enter_context(running(beside, folder / beside)).vectors if beside else engine.vectors
        if vectors is not None:
            vectors = Chroma(exact_below=0) if vectors == "chroma" else Chroma(url=vectors, exact_below=0)
        if record == "postgres":
            yield Place(lambda: f"{engine.location}&schema=recall{next(numbers)}", vectors)
        else:
            yield Place(lambda: f"{engine.location}{next(numbers)}", vectors)


class Counting:
    """Counts the questions for which an index was asked."""

    def __init__(self, memory: Memory) -> None:
        self.asked, self._now, self._index = 0, False, memory._runtime.views._index
        if self._index is not None:
            self._real, self._index.nearest = self._index.nearest, self._nearest

    def _nearest(self, user: int, query: Any, k: int) -> Any:
        self._now = True
        return self._real(user, query, k)

    def done(self) -> None:
        """A question was answered."""
        self.asked, self._now = self.asked + self._now, False


def asked(conversations: Sequence[Conversation], embedder: Any, place: Place) -> tuple[list[float], int]:
    """The recall of every question of some conversations in one store, and for how many the index was asked."""
    found: list[float] = []
    with Memory(place.location(), embedder=embedder, durability="NORMAL", vectors=place.vectors) as memory:
        if (index := memory._runtime.views._index) is not None and index.exact_below:
            index.exact_below = 0  # that of PostgreSQL, which takes no settings
        for one in conversations:
            memory.add([replace(m, id=f"{one.name} {m.id}", session=f"{one.name} {m.session}") for m in one.messages])
        memory.admin.flush(process=False)
        counting = Counting(memory)
        for one in conversations:
            for question in one.questions:
                hits = memory.search(question.text, k=50, now=one.asked_at)
                ranked = metrics.distinct(i for hit in hits for i in hit.message_ids)
                found.append(metrics.fraction([f"{one.name} {i}" for i in question.gold], ranked[:10]))
                counting.done()
        assert memory.admin.verify().ok
    return found, counting.asked


def measured(conversations: Sequence[Conversation], embedder: Any, name: str) -> dict[str, Any]:
    """Both arrangements on one engine."""
    held = exact.FETCHED, exact.COSTS
    with placed(name) as place:
        try:
            exact.FETCHED, exact.COSTS = 1, 0
            alone = [asked([one], embedder, place) for one in conversations if one.questions]
        finally:
            exact.FETCHED, exact.COSTS = held
        together, together_asked = asked(conversations, embedder, place)
    values = [value for part, _ in alone for value in part]
    return {
        "alone R@10": round(100 * sum(values) / len(values), 2), "alone asked": sum(count for _, count in alone),
        "together R@10": round(100 * sum(together) / len(together), 2), "together asked": together_asked,
        "questions": len(values),
    }  # fmt: skip


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.recall", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in the shape of LoCoMo")
    parser.add_argument(
        "--vectors-cache", type=Path, help="file that keeps vectors between runs; default: cache folder"
    )
    parser.add_argument(
        "--engines", default=",".join(ENGINES), help="which, the first is what the others are compared to"
    )
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    chosen = options.engines.split(",")
    if unknown := set(chosen) - set(ENGINES):
        parser.error(f"unknown engines: {', '.join(sorted(unknown))}")
    conversations = load(options.data)
    embedder = default_embedder(options.vectors_cache)
    figures = {name: measured(conversations, embedder, name) for name in chosen}
    embedder.close()
    for found in figures.values():
        for kind in ("alone", "together"):
            found[f"{kind} apart"] = round(found[f"{kind} R@10"] - figures[chosen[0]][f"{kind} R@10"], 2)
    names = tuple(figures[chosen[0]])
    lines = [(engine, *(values[n] for n in names)) for engine, values in figures.items()]
    reporting.print_table("evidence recall, %", ("engine", *names), lines)
    messages = sum(len(one.messages) for one in conversations)
    result = reporting.document(
        "scale.recall", given, definitions=DEFINITIONS, figures=figures,
        data={"file": options.data.name, "sha256": reporting.sha256(options.data), "messages": messages},
    )  # fmt: skip
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
