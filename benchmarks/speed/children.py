"""Each engine in a process of its own, told by the parent what to do next, so that rounds can alternate."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed import corpus
from benchmarks.speed.engines import ENGINES, K
from benchmarks.speed.measures import Timings, folder_bytes

__all__ = ["Child", "known_texts"]


def known_texts(data: corpus.Corpus) -> tuple[list[str], np.ndarray]:
    """Every text that may be embedded, and its vector."""
    texts = [corpus.searchable(corpus.to_message(row)) for row in data.rows]
    return [*texts, *data.questions], np.concatenate([data.vectors, data.question_vectors])


class Child:
    """The parent's end of one engine. A call is one task of ``_Worker`` and waits for its answer."""

    def __init__(self, engine: str, data: Path, folder: Path, size: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, engine, data, folder, size), daemon=True)
        self._process.start()

    def do(self, task: str, *arguments: Any) -> Any:
        """Run a task over there.

        Raises:
            RuntimeError: it failed; the message holds the trace.
        """
        self._pipe.send((task, arguments))
        fine, answer = self._pipe.recv()
        if not fine:
            raise RuntimeError(answer)
        return answer

    def end(self) -> dict[str, Any]:
        """Close the engine and its process; the size of what it leaves on disk."""
        left = self.do("close")
        self._process.join()
        return left


def _serve(pipe: Connection, engine: str, data: Path, folder: Path, size: int) -> None:
    worker: _Worker | None = None
    task = ""
    while task != "close":
        task, arguments = pipe.recv()
        try:
            worker = worker or _Worker(engine, data, folder, size)
            pipe.send((True, getattr(worker, task)(*arguments)))
        except Exception:  # noqa: BLE001 - whatever it was, the parent must learn of it
            pipe.send((False, f"{engine}, {task}:\n{traceback.format_exc()}"))


class _Worker:
    """The child's end: an engine, the rows it begins with and those that are added while it is measured."""

    def __init__(self, engine: str, data: Path, folder: Path, size: int) -> None:
        self.corpus, self.folder, self.next = corpus.read(data), folder, size
        self.engine = ENGINES[engine]()
        self.known = known_texts(self.corpus)
        self.engine.library()
        self.engine.open(folder, *self.known, durable=False)
        self.searches = [Timings(), Timings()]
        self.adds, self.interleaved = Timings(), Timings()
        self.short = 0

    def load(self) -> float:
        """Fill the store; rows a second. Afterwards every write is durable."""
        began = time.perf_counter()
        self.engine.load(self.corpus.rows[: self.next], self.corpus.vectors[: self.next])
        seconds = time.perf_counter() - began
        if hasattr(self.engine, "memory") or hasattr(self.engine, "db"):
            self.engine.close()
            self.engine.open(self.folder, *self.known)
        self.engine.search(self.corpus.questions[0], self.corpus.question_vectors[0])
        return self.next / seconds

    def _row(self) -> tuple[Any, np.ndarray]:
        at, self.next = self.next, self.next + 1
        return self.engine.prepared(self.corpus.rows[at]), self.corpus.vectors[at]

    def add(self, count: int) -> None:
        """Single durable adds."""
        for _ in range(count):
            self.adds.of(self.engine.add, *self._row())

    def search(self, passage: int, start: int, end: int) -> None:
        """Questions start to end, for the first (0) or second (1) time."""
        for at in range(start, min(end, len(self.corpus.questions))):
            self._ask(self.searches[passage], at)

    def interleave(self, start: int, end: int) -> None:
        """The same with an add before each question, which is not timed."""
        for at in range(start, min(end, len(self.corpus.questions))):
            self.engine.add(*self._row())
            self._ask(self.interleaved, at)

    def _ask(self, timings: Timings, at: int) -> None:
        found = timings.of(self.engine.search, self.corpus.questions[at], self.corpus.question_vectors[at])
        self.short += len(found) < K

    def report(self) -> dict[str, Any]:
        """What was measured so far."""
        series = {
            "add": self.adds, "search": self.searches[0], "search_again": self.searches[1],
            "search_after_add": self.interleaved,
        }  # fmt: skip
        found: dict[str, Any] = {name: t.summary() for name, t in series.items() if t.cpu}
        unknown = getattr(getattr(self.engine, "embedder", None), "unknown", 0)
        return found | {"texts_without_vector": unknown, "answers_of_less_than_10": self.short}

    def close(self) -> dict[str, Any]:
        self.engine.close()
        return {"mb_on_disk": round(folder_bytes(self.folder) / 1e6, 2)}


def rounds(total: int, size: int) -> Sequence[tuple[int, int]]:
    """Spans of ``size`` that cover ``total``."""
    return [(start, min(start + size, total)) for start in range(0, total, size)]
