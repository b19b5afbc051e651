"""What is measured of one engine with one number of rows: storing, searching, starting, room."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.scale import made
from benchmarks.scale.engines import Engine
from benchmarks.speed.measures import Timings
from mnemic import Memory
from mnemic.testing.fakes import add_message

__all__ = ["Prepared", "filled", "measured", "opened"]

NEAREST, WARM = 10, 3
TOPICS = 10


class Prepared:
    """Vectors by text, made before."""

    id, dimension = "made", made.DIMENSION

    def __init__(self) -> None:
        self.known: dict[str, np.ndarray] = {}

    def embed(self, texts: Sequence[str], *, kind: str = "document") -> np.ndarray:
        """The vectors of those texts."""
        return np.array([self.known[text] for text in texts], np.float32).reshape(len(texts), self.dimension)


def opened(engine: Engine, embedder: Any) -> Memory:
    """The user's memory at an engine. Durable: a commit has reached the disk."""
    return Memory(engine.location, user="user0", embedder=embedder, vectors=engine.vectors)


def filled(memory: Memory, rows: int, *, shared: bool, server_cpu: Callable[[], float]) -> tuple[dict[str, Any], Any]:
    """Store all rows, 2,000 in a transaction for each user; returns what it took, and texts and vectors of the user."""
    store, mine = memory._runtime.store, ([], [])
    began = time.monotonic(), time.process_time(), server_cpu()
    making = 0.0
    source = made.batches(made.Made(rows))
    while True:
        at = time.process_time()
        batch = next(source, None)
        making += time.process_time() - at
        if batch is None:
            break
        by_user: dict[str, list[Any]] = {}
        for place, text in enumerate(batch.texts):
            number = batch.first + place
            user = made.user(number, shared=shared)
            vector = batch.vectors[place]
            by_user.setdefault(user, []).append(
                add_message(
                    text, id=str(number), session=f"s{number // 1000}", sent_at=made.sent_at(number),
                    metadata={"topic": number % (TOPICS + 1)}, vector=vector, model=Prepared.id,
                )
            )  # fmt: skip
            if user == "user0":
                mine[0].append(text)
                mine[1].append(vector)
        for user, changes in by_user.items():
            store.apply(user, changes)
    memory.admin.flush(process=False)
    cpu = time.process_time() - began[1] - making
    took = {
        "rows": rows, "of_the_user": len(mine[0]), "seconds": round(time.monotonic() - began[0], 1),
        "client_cpu_ms_a_row": round(1000 * cpu / rows, 3),
        "server_cpu_ms_a_row": round(1000 * (server_cpu() - began[2]) / rows, 3),
    }  # fmt: skip
    return took, (mine[0], np.array(mine[1], np.float32))


def measured(memory: Memory, engine: Engine, embedder: Prepared, own: Any, calls: int) -> dict[str, Any]:
    """Searches and adds of the user."""
    texts, vectors = own
    asked = made.questions(texts, vectors, calls + WARM)
    embedder.known |= {question.text: question.vector for question in asked}
    since = made.sent_at(0)
    ways: dict[str, Callable[[str], Any]] = {
        "search": lambda text: memory.search(text, k=NEAREST, now=since),
        "vector_search": lambda text: memory.search(text, k=NEAREST, now=since, recipe="vector"),
        "filtered_search": lambda text: memory.search(text, k=NEAREST, now=since, metadata={"topic": 3}),
    }
    found: dict[str, Any] = {
        name: _timed(way, [question.text for question in asked], engine) for name, way in ways.items()
    }
    found["vectors"] = _recall(memory, engine, vectors, [question.vector for question in asked])
    found["add"] = _added(memory, engine, embedder, calls)
    return found


def _timed(way: Callable[[str], Any], texts: Sequence[str], engine: Engine) -> dict[str, Any]:
    for text in texts[:WARM]:
        way(text)
    timings, before = Timings(), engine.server_cpu()
    for text in texts[WARM:]:
        timings.of(way, text)
    calls = len(texts) - WARM
    return timings.summary() | {"server_cpu_ms_mean": round(1000 * (engine.server_cpu() - before) / calls, 3)}


def _added(memory: Memory, engine: Engine, embedder: Prepared, calls: int) -> dict[str, Any]:
    """Single messages, each a commit."""
    source = made.Made(calls + WARM, seed=7)
    texts = [f"{text} a{n}" for n, text in enumerate(source.texts(calls + WARM))]
    embedder.known |= dict(zip(texts, source.vectors(calls + WARM), strict=True))
    return _timed(lambda text: memory.add(text)[0], texts, engine)


def _recall(memory: Memory, engine: Engine, own: np.ndarray, queries: Sequence[np.ndarray]) -> dict[str, Any]:
    """Of the nearest 10 as float16 vectors in exact order, how many are found: by the engine's way, by its index alone."""
    view = memory._runtime.views.of("user0")
    assert view is not None
    held, docs = own.astype("<f2").astype(np.float32), np.sort(view.columns.doc)
    index, ways, mine = memory._runtime.views._index, {}, set(docs.tolist())

    def chosen(query: np.ndarray) -> Sequence[int]:
        seen = memory._runtime.views.of("user0")
        assert seen is not None
        cosines = seen.vectors.cosines([query])
        cosines.settle(np.ones(len(seen.columns), np.bool_))
        return seen.columns.doc[np.argsort(-cosines.values)[:NEAREST]].tolist()

    ways["chosen"] = chosen
    if index is not None and index.serves(Prepared.id):
        ways["index"] = lambda query: index.nearest(view.user, query, NEAREST) or ()
    found: dict[str, Any] = {}
    for name, way in ways.items():
        recalls, timings, before = [], Timings(), engine.server_cpu()
        for query in queries:
            got = timings.of(way, query)
            true = {int(docs[n]) for n in np.argsort(-np.einsum("nd,d->n", held, query))[:NEAREST]}
            first = [doc for doc in got if doc in mine][:NEAREST]  # an index may name others' rows as well
            recalls.append(len(true & set(first)) / NEAREST)
        served = round(1000 * (engine.server_cpu() - before) / len(queries), 3)
        found[name] = timings.summary() | {"recall": float(np.mean(recalls)), "server_cpu_ms_mean": served}
    return found


def cold(engine: Engine) -> dict[str, Any]:
    """A new process opens the memory and searches once; what it took, and the RAM of the process then."""
    vectors = json.dumps(engine.vectors)
    command = [sys.executable, "-m", "benchmarks.scale.measures", engine.location, vectors]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    return json.loads(done.stdout.splitlines()[-1]) | {"server_rss_mb": round(engine.server_rss() / 1e6, 1)}


def _first_search(location: str, vectors: Any) -> dict[str, Any]:
    embedder = Prepared()
    embedder.known["word1 word20 word300"] = made.Made(1).vectors(1)[0]
    began = time.monotonic(), time.process_time()
    with Memory(location, user="user0", embedder=embedder, vectors=vectors) as memory:
        ready = time.monotonic(), time.process_time()
        memory.search("word1 word20 word300", k=NEAREST)
        end = time.monotonic(), time.process_time()
        rss = psutil.Process().memory_info().rss
    return {
        "open_cpu_ms": round(1000 * (ready[1] - began[1]), 1), "first_search_cpu_ms": round(1000 * (end[1] - ready[1]), 1),
        "wall_ms": round(1000 * (end[0] - began[0]), 1), "rss_mb": round(rss / 1e6, 1),
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(_first_search(sys.argv[1], json.loads(sys.argv[2]))))
