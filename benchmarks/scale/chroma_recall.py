"""Evidence recall through Chroma and without it, on a LoCoMo-shaped file: ``python -m benchmarks.scale.chroma_recall --data FILE``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.conversations import Conversation, load
from benchmarks.quality import metrics
from benchmarks.vectors import default_embedder
from mnemic import Chroma, Memory
from mnemic.indexes.vector import rows

DEFINITIONS = {
    "alone": "one store per conversation; Chroma is asked even where comparing all would be cheaper (FETCHED=1, COSTS=0)",
    "together": "all conversations in one store as one user, ids prefixed by their conversation; the settings are the library's",
    "R@10": "gold turns among the first 10 distinct message_ids of the hits of one search for 50, over gold turns; mean, percent",
    "asked": "questions for which Chroma was asked at least once",
}


class Counting:
    """Counts the questions of a block for which an index was asked."""

    def __init__(self, memory: Memory) -> None:
        self.count, self._index = 0, memory._engine.index
        if self._index is not None:
            self._real, self._index.nearest = self._index.nearest, self._nearest

    def _nearest(self, user: int, query: Any, k: int) -> Any:
        self.count += 1
        return self._real(user, query, k)


def asked(conversations: Sequence[Conversation], embedder: Any, vectors: Any) -> tuple[list[float], int]:
    """The recall of every question of some conversations in one store, and how often the index was asked."""
    found: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "memory"
        with Memory(place, embedder=embedder, durability="NORMAL", vectors=vectors) as memory:
            for one in conversations:
                memory.add(
                    [replace(m, id=f"{one.name} {m.id}", session=f"{one.name} {m.session}") for m in one.messages]
                )
            memory.flush(process=False)
            counting = Counting(memory)
            for one in conversations:
                for question in one.questions:
                    hits = memory.search(question.text, k=50, now=one.asked_at)
                    ranked = metrics.distinct(i for hit in hits for i in hit.message_ids)
                    found.append(metrics.fraction([f"{one.name} {i}" for i in question.gold], ranked[:10]))
            assert memory.verify().ok
    return found, counting.count


def measured(conversations: Sequence[Conversation], embedder: Any, url: str | None) -> dict[str, Any]:
    """Both arrangements through every engine."""
    engines = {"exact": None, "chroma": Chroma(exact_below=0)} | (
        {"server": Chroma(url=url, exact_below=0)} if url else {}
    )
    figures: dict[str, Any] = {}
    held = rows.FETCHED, rows.COSTS
    for name, vectors in engines.items():
        rows.FETCHED, rows.COSTS = 1, 0
        alone = [asked([one], embedder, vectors) for one in conversations if one.questions]
        rows.FETCHED, rows.COSTS = held
        together = asked(conversations, embedder, vectors)
        values = [value for part, _ in alone for value in part]
        figures[name] = {
            "alone R@10": 100 * sum(values) / len(values), "alone asked": sum(count for _, count in alone),
            "together R@10": 100 * sum(together[0]) / len(together[0]), "together asked": together[1],
            "questions": len(values),
        }  # fmt: skip
    return figures


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.chroma_recall", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in the shape of LoCoMo")
    parser.add_argument(
        "--vectors-cache", type=Path, help="file that keeps vectors between runs; default: cache folder"
    )
    parser.add_argument("--server", help="the address of a Chroma server to ask as well")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    conversations = load(options.data)
    embedder = default_embedder(options.vectors_cache)
    figures = measured(conversations, embedder, options.server)
    embedder.close()
    names = ("alone R@10", "alone asked", "together R@10", "together asked", "questions")
    lines = [(engine, *(values[n] for n in names)) for engine, values in figures.items()]
    reporting.print_table("evidence recall, %", ("engine", *names), lines)
    messages = sum(len(one.messages) for one in conversations)
    result = reporting.document(
        "scale.chroma_recall", given, definitions=DEFINITIONS, figures=figures,
        data={"file": options.data.name, "sha256": reporting.sha256(options.data), "messages": messages},
    )  # fmt: skip
    if options.json:
        reporting.write(options.json, result)
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
