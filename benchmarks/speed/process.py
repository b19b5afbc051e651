"""What processing costs without a language model: CPU time a message beyond embedding, and memory in use, every 1,000 messages.

    python -m benchmarks.speed.process --data FILE [--messages 10000] [--json OUT]

Turns of the conversations first, then turns recombined from their sentences; one user, sessions of 20 turns. Embedding is by
hashing, and its time is left out. All messages wait before the
first is processed; what is in use is read after each 1,000 of them.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.conversations import load
from benchmarks.speed import corpus
from benchmarks.speed.measures import pin_threads
from mnemic import Memory
from mnemic.embedders import HashingEmbedder

BARS = {"cpu_ms_a_message": 5.0}
STEP = 1_000
DEFINITIONS = {
    "cpu_ms_a_message": "CPU time of process() over 1,000 waiting messages, without the time in the embedder, per message",
    "embed_cpu_ms_a_message": "CPU time in the embedder during process(), per message",
    "add_cpu_ms_a_message": "CPU time of add() in batches of 20, without the embedder, per message",
    "rss_mb": "resident memory after so many messages, once the garbage is collected; at 0 they are stored and none is processed",
    "rss_growth_mb": "from the first 1,000 processed to the last: the new episodes and memories are indexed and stay in RAM",
}


@dataclass(slots=True)
class Timed:
    """An embedder that notes how much CPU time is spent in it."""

    inner: Any
    spent: float = field(default=0.0)

    @property
    def id(self) -> str:
        return self.inner.id

    @property
    def dimension(self) -> int | None:
        return self.inner.dimension

    def embed(self, texts: Sequence[str], *, kind: str = "document") -> np.ndarray:
        began = time.process_time()
        try:
            return self.inner.embed(texts, kind=kind)
        finally:
            self.spent += time.process_time() - began


def resident_mb() -> float:
    """Memory of this process that is in RAM now."""
    gc.collect()
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    return float("nan")


def beyond(embedder: Timed, began: tuple[float, float], count: int) -> tuple[float, float]:
    """CPU ms a message since then, without the embedder and in it."""
    embedding = embedder.spent - began[1]
    return 1000 * (time.process_time() - began[0] - embedding) / count, 1000 * embedding / count


def measured(rows: Sequence[corpus.Row], folder: Path, dimension: int) -> list[dict[str, Any]]:
    """A line for each 1,000 messages."""
    embedder = Timed(HashingEmbedder(dimension))
    lines: list[dict[str, Any]] = []
    with Memory(folder, user="one", embedder=embedder, durability="NORMAL") as memory:
        began = time.process_time(), embedder.spent
        for at in range(0, len(rows), 20):
            memory.add([corpus.to_message(row) for row in rows[at : at + 20]])
        added, _ = beyond(embedder, began, len(rows))
        lines.append(
            {"messages": 0, "cpu_ms_a_message": 0.0, "add_cpu_ms_a_message": round(added, 3), "rss_mb": resident_mb()}
        )
        for start in range(0, len(rows), STEP):
            count = min(STEP, len(rows) - start)
            began = time.process_time(), embedder.spent
            report = memory.process(limit=count)
            spent, embedding = beyond(embedder, began, max(report.messages, 1))
            lines.append(
                {
                    "messages": lines[-1]["messages"] + report.messages, "cpu_ms_a_message": round(spent, 3),
                    "embed_cpu_ms_a_message": round(embedding, 3), "rss_mb": resident_mb(), "episodes": report.episodes,
                    "memories": report.memories, "updated": report.updated, "waiting": report.waiting,
                }
            )  # fmt: skip
    return lines


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    pin_threads("benchmarks.speed.process", given)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.process", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a LoCoMo file")
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    base = corpus.prepare(load(options.data), HashingEmbedder(options.dimension), questions=1)
    rows = corpus.grown(base, options.messages).rows
    with tempfile.TemporaryDirectory() as folder:
        lines = measured(rows, Path(folder) / "memory", options.dimension)
    means = {
        "cpu_ms_a_message": round(float(np.mean([line["cpu_ms_a_message"] for line in lines[1:]])), 3),
        "cpu_ms_a_message_last": lines[-1]["cpu_ms_a_message"],
        "rss_growth_mb": round(lines[-1]["rss_mb"] - lines[1]["rss_mb"], 1),
    }
    result = reporting.document(
        "speed.process", given, data={"file": options.data.name, "sha256": reporting.sha256(options.data)},
        settings={"messages": options.messages, "embedder": f"hashing, {options.dimension} dimensions"},
        definitions=DEFINITIONS, bars=BARS, figures={"all": means, "every_1000": lines},
    )  # fmt: skip
    reporting.print_table(
        "process, without a language model", tuple(lines[1]), [tuple(line.values()) for line in lines[1:]]
    )
    reporting.print_table("process", ("figure", "value"), list(means.items()))
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
