"""One user of a hundred: Mnemic's choice of path beside Chroma's own ``where``: ``python -m benchmarks.scale.chroma_filter``."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from mnemic import Chroma, Memory
from mnemic.indexes.vector.chroma.index import ChromaIndex
from mnemic.testing import PreparedEmbedder
from mnemic.testing.fakes import add_message

DIMENSION, CLUSTERS, LATENT = 384, 2000, 48
NEAREST = 10
DEFINITIONS = {
    "data": "unit vectors of 384 numbers: 2,000 clusters with Zipf sizes, a latent space of 48, noise; stored as messages",
    "queries": "vectors of the user's own, with noise; the same for every path",
    "mnemic": "what a search of this user does for the nearest: view of the caches, choice of path, cosines made exact",
    "where": 'collection.query(where={"user": n}, n_results=10, include=[]) on the very collection of the index',
    "cpu": "CPU milliseconds of the process, median over the queries, the paths in turns within one run",
    "recall": "share of the user's true 10 nearest (compared all, float64) among the 10 that were found",
}


def vectors(rows: int, seed: int) -> np.ndarray:
    """Unit vectors that lie in clusters, as those of texts do."""
    random = np.random.default_rng(seed)
    centres, latent = random.normal(size=(CLUSTERS, DIMENSION)), random.normal(size=(LATENT, DIMENSION))
    found = np.empty((rows, DIMENSION), np.float32)
    for start in range(0, rows, 10_000):
        n = min(10_000, rows - start)
        made = centres[random.zipf(1.3, size=n) % CLUSTERS] * 0.5 + random.normal(size=(n, LATENT)) @ latent * 0.15
        found[start : start + n] = made + random.normal(size=(n, DIMENSION)) * 0.2
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def filled(memory: Memory, held: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Store the vectors, a share of them as the user's and the others as those of others; which are the user's."""
    own = np.random.default_rng(seed).random(len(held)) < share
    others = round(1 / share) - 1 if share < 1 else 1
    store = memory._runtime.store
    for start in range(0, len(held), 2000):
        by_user: dict[str, list[Any]] = {}
        for n in range(start, min(start + 2000, len(held))):
            user = "ana" if own[n] else f"user{n % others}"
            by_user.setdefault(user, []).append(
                add_message(f"line {n}", id=str(n), vector=held[n].tolist(), model="made")
            )
        for user, changes in by_user.items():
            store.apply(user, changes)
    memory.admin.flush(process=False)
    return own


def paths(memory: Memory) -> dict[str, Callable[[np.ndarray], list[str]]]:
    """The ways to the nearest of a user's, each from a query to ids."""
    runtime = memory._runtime
    number = runtime.store.user("ana")
    assert isinstance(runtime.updater.index, ChromaIndex)
    collection = runtime.updater.index._collections.tiers["short_term"]

    def named(docs: Sequence[int]) -> list[str]:
        stored = runtime.store.fetch(number, list(docs))
        return [str(stored[doc].value.id) for doc in docs]

    def chosen(query: np.ndarray) -> list[int]:
        view = runtime.views.of("ana")
        cosines = view.vectors.cosines([query])
        cosines.settle(np.ones(len(view.columns), np.bool_))
        best = np.argpartition(-cosines.values, NEAREST)[:NEAREST]
        return view.columns.doc[best].tolist()

    def where(query: np.ndarray) -> list[int]:
        found = collection.query(query_embeddings=query[None], n_results=NEAREST, where={"user": number}, include=[])
        return [int(id_) for id_ in found["ids"][0]]

    return {"mnemic": chosen, "where": where, "named": named}


def measured(memory: Memory, held: np.ndarray, own: np.ndarray, queries: int, seed: int) -> dict[str, Any]:
    """CPU and recall of each path."""
    random = np.random.default_rng(seed)
    ways = paths(memory)
    named = ways.pop("named")
    mine = np.flatnonzero(own)
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    recall: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(queries + 3):
        query = held[random.choice(mine)] + random.normal(size=DIMENSION).astype(np.float32) * 0.02
        query = (query / np.linalg.norm(query)).astype(np.float32)
        true = {str(n) for n in mine[np.argsort(-(held[mine].astype("<f2").astype(np.float64) @ query))[:NEAREST]]}
        for name, way in ways.items():
            began = time.process_time()
            docs = way(query)
            spent = 1000 * (time.process_time() - began)
            if number >= 3:  # the first fill caches
                cpu[name].append(spent)
                recall[name].append(len(true & set(named(docs))) / NEAREST)
    found = {
        name: {"cpu_ms_p50": statistics.median(cpu[name]), "recall": statistics.mean(recall[name])} for name in ways
    }
    return found | {"times_less_cpu": found["where"]["cpu_ms_p50"] / found["mnemic"]["cpu_ms_p50"]}


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.chroma_filter", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--share", type=float, default=0.01, help="the user's part of the rows")
    parser.add_argument("--exact-below", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    held = vectors(options.rows, options.seed)
    embedder = PreparedEmbedder({"any": held[0]}, id="made")
    with tempfile.TemporaryDirectory() as folder:
        settings = Chroma(exact_below=options.exact_below)
        place = Path(folder) / "memory"
        with Memory(place, user="ana", embedder=embedder, durability="NORMAL", vectors=settings) as memory:
            began = time.monotonic(), time.process_time()
            own = filled(memory, held, options.share, options.seed)
            built = {"seconds": time.monotonic() - began[0], "cpu_seconds": time.process_time() - began[1]}
            figures = measured(memory, held, own, options.queries, options.seed)
    names = ("cpu_ms_p50", "recall")
    lines = [(name, *(figures[name][n] for n in names)) for name in ("mnemic", "where")]
    reporting.print_table(f"nearest 10 of {int(own.sum())} among {options.rows}", ("path", *names), lines)
    print(f"\ntimes less CPU: {figures['times_less_cpu']:.0f}; built in {built['seconds']:.0f} s")
    result = reporting.document(
        "scale.chroma_filter", given, definitions=DEFINITIONS, machine=reporting.machine(),
        data={"rows": options.rows, "of_the_user": int(own.sum()), "seed": options.seed},
        figures=figures | {"stored_and_taken_in": built},
    )  # fmt: skip
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
