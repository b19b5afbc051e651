"""Consolidation: what it merges, what it keeps apart, what undoing it restores, and what it costs.

    python -m benchmarks.quality.consolidation --part planted [--groups 2000] [--seed 0] [--vectors-cache FILE]
    python -m benchmarks.quality.consolidation --part cost [--sizes 1000,10000,100000]
    python -m benchmarks.quality.consolidation --part reader [--sizes 10000,100000]
    python -m benchmarks.quality.consolidation --part pairs [--also PAIRS.json]
    python -m benchmarks.quality.consolidation --part recall --data LOCOMO_FILE [--vectors-cache FILE]

With ``--json OUT`` the figures of a part are written beside those that the file holds of the other parts.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.conversations import load
from benchmarks.quality.consolidation_reader import READER, reader_figures
from benchmarks.quality.consolidation_texts import conflicting_pair, restatements, reworded, statement
from benchmarks.vectors import PreparedEmbedder, default_embedder
from mnemic import Memory
from mnemic.testing import memory_record
from mnemic.text.differences import differs
from mnemic.text.english import traits
from mnemic.text.terms import analyse
from mnemic.types import AddMemory, Indexing, RecordFilter

DEFINITIONS = {
    "planted": "memories of two hours ago, all short-term: statements each told three times (importance at least .6, every two "
    "tellings at a cosine of at least .85 that do not differ in a value), pairs that differ in a number, date, name or polarity, "
    "and filler of importance below .6; consolidated until should_consolidate() is false",
    "merged": "percent of the statements of which one telling is long-term, the other two are archived, and its lineage names them and nothing else",
    "conflicting_merged": "pairs that differ of which one is archived; conflicting_linked: those linked as contradicting",
    "unaccounted": "memories that are neither live nor archived",
    "restored": "percent of the rows of memories, links, lineage and versions that are as before when every consolidation was undone",
    "looser": "the same with tellings that exchange a word: what the rules cannot tell from another value is kept apart",
    "cost": "CPU ms of one cycle of 50 seeds with the user's records in cache, and of the advice before it; median of the cycles after "
    "the first, which reads what the later ones keep",
    "pairs": "consolidation_pairs.txt: both of a pair remembered at importance .8 and consolidated, without a language model. merged: "
    "pairs of which one is archived. A threshold was chosen on the odd pairs of each kind (seen); the even ones are held out. "
    "both_stay: pairs of another file of which neither ends the other",
    **READER,
    "recall": "LoCoMo R@10 by messages named, everything processed: before, and after three cycles with min_age_hours=0",
}  # fmt: skip
TABLES = ("memories", "links", "lineage", "versions")
BATCH = 1_000
NEAR = 0.85


@dataclass(frozen=True, slots=True)
class Planted:
    """Texts with their importance, and the places of those that belong together or apart."""

    texts: list[str]
    importance: list[float]
    groups: list[tuple[int, int, int]]
    pairs: list[tuple[int, int]]


def planted(embedder: Any, *, groups: int, pairs: int, filler: int, seed: int, loose: bool) -> Planted:
    """Statements told three times, drawn until enough of them are near enough and equal in every value."""
    draw = random.Random(seed)
    made = Planted([], [], [], [])
    seen: set[str] = set()

    def put(text: str, importance: float) -> int:
        made.texts.append(text)
        made.importance.append(importance)
        return len(made.texts) - 1

    while len(made.groups) < groups:
        told = [(reworded if loose else restatements)(draw, statement(draw, seen)) for _ in range(200)]
        vectors = embedder.embed([text for texts in told for text in texts])
        for texts, rows in zip(told, vectors.reshape(len(told), 3, -1), strict=True):
            near = all(float(rows[a] @ rows[b]) >= NEAR for a, b in combinations(range(3), 2))
            same = loose or not any(differs(a, b) for a, b in combinations(texts, 2))
            if near and same and len(made.groups) < groups:
                worth = draw.uniform(0.62, 0.95)
                a, b, c = (put(text, worth - 0.005 * place) for place, text in enumerate(texts))
                made.groups.append((a, b, c))
    for _ in range(pairs):
        first, second = conflicting_pair(draw, statement(draw, seen))
        made.pairs.append((put(first, 0.8), put(second, 0.8)))
    for _ in range(filler):
        put(statement(draw, seen), draw.uniform(0.1, 0.5))
    return made


def store(memory: Memory, texts: Sequence[str], importance: Sequence[float], vectors: np.ndarray, model: str) -> None:
    """Write memories that were made two hours ago, the id of each is its place."""
    made = datetime.now(UTC) - timedelta(hours=2)
    for start in range(0, len(texts), BATCH):
        changes: list[AddMemory] = []
        for place in range(start, min(start + BATCH, len(texts))):
            record = memory_record(
                texts[place], id=f"x{place}", importance=importance[place], salience=importance[place], created_at=made,
                updated_at=made,
            )  # fmt: skip
            terms, length = analyse(record.content)
            indexing = Indexing(
                terms=terms, length=length, traits=traits(record.content), vector=vectors[place], model=model
            )
            changes.append(AddMemory(record=record, indexing=indexing))
        receipts = memory._runtime.store.apply(memory.scope.user, changes)
        assert all(receipt.outcome == "stored" for receipt in receipts)


def rows(memory: Memory) -> dict[str, set[tuple[Any, ...]]]:
    """The rows of a record, without the moments of the workbench."""
    with memory._runtime.store._db.read() as db:
        return {table: {tuple(row) for row in db.execute(f"SELECT * FROM {table}")} for table in TABLES}


def merged(memory: Memory, group: Sequence[int]) -> bool:
    """Whether one memory stands for exactly the others of its group."""
    records = [memory.get(f"x{place}") for place in group]
    kept = [record for record in records if record.status == "long_term"]
    others = {record.id for record in records if record.status == "archived"}
    return len(kept) == 1 and len(others) == len(group) - 1 and set(kept[0].source_ids) == others


def consolidated(memory: Memory) -> tuple[list[str], float]:
    """Cycles until nothing is advised any more: their ids, and the CPU seconds."""
    ids: list[str] = []
    began = time.process_time()
    while memory.should_consolidate().should_consolidate:
        ids.append(memory.consolidate().id)
    return ids, time.process_time() - began


def planted_figures(embedder: Any, *, groups: int, pairs: int, filler: int, seed: int, loose: bool) -> dict[str, Any]:
    made = planted(embedder, groups=groups, pairs=pairs, filler=filler, seed=seed, loose=loose)
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(Path(folder, "m"), embedder=embedder, durability="NORMAL")
        store(memory, made.texts, made.importance, embedder.embed(made.texts), embedder.id)
        before = rows(memory)
        ids, seconds = consolidated(memory)
        tiers = memory.stats().memories
        statuses = [[memory.get(f"x{place}").status for place in pair] for pair in made.pairs]
        with memory._runtime.store._db.read() as db:
            linked = {frozenset(pair) for pair in db.execute(CONTRADICTING)}
        apart = sum(frozenset((f"x{a}", f"x{b}")) in linked for group in made.groups for a, b in combinations(group, 2))
        found = {
            "memories": len(made.texts), "groups": groups, "cycles": len(ids), "cpu_seconds": round(seconds, 1),
            "merged": round(100 * sum(merged(memory, group) for group in made.groups) / groups, 2),
            "tellings_linked_as_contradicting": apart,
            "conflicting_pairs": pairs, "conflicting_merged": sum("archived" in pair for pair in statuses),
            "conflicting_linked": sum(frozenset((f"x{a}", f"x{b}")) in linked for a, b in made.pairs),
            "unaccounted": len(made.texts) - sum(tiers.values()), "tiers": dict(tiers),
            "verify_findings": len(memory.admin.verify().findings),
        }  # fmt: skip
        for id_ in reversed(ids):
            memory.undo(id_)
        after = rows(memory)
        kept = sum(len(before[table] & after[table]) for table in TABLES)
        of = sum(len(before[table] | after[table]) for table in TABLES)
        found["restored"] = round(100 * kept / of, 2)
        memory.close()
    return found


CONTRADICTING = """SELECT a.id, b.id FROM links l JOIN memories a ON a.doc = l.source JOIN memories b ON b.doc = l.target
    WHERE l.type = 'contradicts'"""


def percentile(times: Sequence[float], share: float) -> float:
    return round(1000 * float(np.percentile(times, share)), 2)


def crowd(folder: Path, size: int, seed: int) -> Memory:
    """One user with so many memories, half of them worth keeping, one in ten told twice."""
    draw, chance = random.Random(seed), np.random.default_rng(seed)
    texts = [f"Entry {place}: {statement(draw, None)}" for place in range(size)]
    vectors = chance.standard_normal((size, 384)).astype(np.float32)
    twice = chance.integers(0, size, size // 10)
    vectors[twice] = vectors[(twice + 1) % size] + 0.3 * vectors[twice]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    importance = chance.uniform(0.3, 0.9, size).round(3).tolist()
    embedder = PreparedEmbedder(texts, vectors)
    memory = Memory(folder, embedder=embedder, durability="NORMAL")
    store(memory, texts, importance, vectors, embedder.id)
    return memory


def asked() -> Iterator[str]:
    """Fifty questions, again and again."""
    return (statement(random.Random(n % 50), None) for n in range(10**9))


def cost_figures(size: int, *, cycles: int, seed: int) -> dict[str, Any]:
    """What a cycle costs, and the advice before it; the first of each reads the record and is told apart."""
    with tempfile.TemporaryDirectory() as folder:
        memory = crowd(Path(folder, "m"), size, seed)
        queries = asked()
        for _ in range(5):
            memory.search(next(queries), kinds=["memory"])
        advised, spent = [], []
        for _ in range(cycles + 1):
            began = time.process_time()
            assert memory.should_consolidate().should_consolidate
            middle = time.process_time()
            assert memory.consolidate().id
            advised.append(middle - began)
            spent.append(time.process_time() - middle)
        figures = {
            "memories": size, "seeds": memory._runtime.settings.consolidator.max_batch_size,
            "cycle_cpu_ms": percentile(spent[1:], 50), "advice_cpu_ms": percentile(advised[1:], 50),
            "first_cycle_cpu_ms": percentile(spent[:1], 50), "first_advice_cpu_ms": percentile(advised[:1], 50),
        }  # fmt: skip
        memory.close()
    return figures


def recall_figures(file: Path, embedder: Any) -> dict[str, Any]:
    """R@10 before and after consolidation, and what became of the memories."""
    found: dict[str, list[float]] = {"before": [], "after": [], "without_emotion": []}
    merged_away = promoted = memories = 0
    for conversation in load(file):
        with tempfile.TemporaryDirectory() as folder:
            memory = Memory(Path(folder, "m"), embedder=embedder, durability="NORMAL")
            memory.add(conversation.messages)
            memory.process()

            def recall(name: str, memory: Memory = memory, conversation: Any = conversation, **options: Any) -> None:
                for question in conversation.questions:
                    hits = memory.search(question.text, k=20, now=conversation.asked_at, **options)
                    ids = list(dict.fromkeys(id_ for hit in hits for id_ in hit.message_ids))[:10]
                    found[name].append(len(set(ids) & set(question.gold)) / len(question.gold))

            recall("before")
            recall("without_emotion", emotion_weight=0.0)
            memories += len(
                memory._runtime.store.list_memories("default", RecordFilter(), order="oldest", limit=None, offset=0)
            )
            for _ in range(3):
                report = memory.consolidate(min_age_hours=0)
                promoted += report.memories_promoted
                merged_away += report.memories_archived
            recall("after")
            memory.close()
    share = {name: round(100 * float(np.mean(values)), 2) for name, values in found.items()}
    return {
        "questions": len(found["before"]), "memories": memories, "promoted": promoted, "archived": merged_away,
        "recall_at_10": share, "change": round(share["after"] - share["before"], 2),
    }  # fmt: skip


def written_pairs(file: Path) -> Iterator[tuple[str, bool, str, str]]:
    """Kind, whether held out, and the two statements of each pair of a text file."""
    kind, count = "", 0
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind, count = line.strip("[]"), 0
        elif not line.startswith("#") and " | " in line:
            first, second = line.split(" | ")
            yield kind, count % 2 == 1, first, second
            count += 1


def pair_figures(embedder: Any, also: Path | None) -> dict[str, Any]:
    """How many pairs of each kind are merged."""
    pairs = list(written_pairs(Path(__file__).with_name("consolidation_pairs.txt")))
    if also:
        both = json.loads(also.read_text(encoding="utf-8"))
        pairs += [("both_stay", place % 2 == 1, *pair) for place, pair in enumerate(both)]
    counts: dict[str, list[int]] = {}
    with Memory(":memory:", embedder=embedder) as memory:
        for place, (kind, held_out, *texts) in enumerate(pairs):
            own = memory.scoped(user=f"user {place}")
            for text in texts:
                own.remember(text, importance=0.8)
            found = counts.setdefault(f"{kind}, {'held out' if held_out else 'seen'}", [0, 0])
            found[0] += own.consolidate(min_age_hours=0).memories_archived
            found[1] += 1
    figures: dict[str, Any] = {name: f"{merged} of {of}" for name, (merged, of) in counts.items()}
    for name, alike in (("paraphrases", True), ("conflicting", False)):
        chosen = [found for kind, found in counts.items() if kind.startswith("paraphrase") == alike]
        figures[f"{name}_merged"], figures[name] = (sum(column) for column in zip(*chosen, strict=True))
    return figures


def show(found: dict[str, Any]) -> None:
    for part, figures in found.items():
        for line in figures if isinstance(figures, list) else [figures]:
            reporting.print_table(part, ("figure", "value"), list(line.items()))


def _part(options: argparse.Namespace) -> dict[str, Any]:
    if options.part == "cost":
        sizes = [int(size) for size in (options.sizes or "1000,10000,100000").split(",")]
        return {"cost": [cost_figures(size, cycles=options.cycles, seed=options.seed) for size in sizes]}
    if options.part == "reader":
        found: list[dict[str, Any]] = []
        for size in map(int, (options.sizes or "10000,100000").split(",")):
            found += reader_figures(size, lambda folder, n=size: crowd(folder, n, options.seed).close(), asked())
        return {"reader": found}
    embedder = default_embedder(options.vectors_cache)
    try:
        if options.part == "recall":
            return {"recall": recall_figures(options.data, embedder)}
        if options.part == "pairs":
            return {"pairs": pair_figures(embedder, options.also)}
        groups = options.groups
        sizes = {"groups": groups, "pairs": groups // 10, "filler": groups * 18 // 10, "seed": options.seed}
        looser = {"groups": max(groups // 10, 1), "pairs": 0, "filler": groups // 10, "seed": options.seed + 1}
        return {
            "planted": planted_figures(embedder, **sizes, loose=False),
            "looser": planted_figures(embedder, **looser, loose=True),
        }
    finally:
        embedder.close()


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run one part, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.consolidation", description=__doc__)
    parser.add_argument("--part", choices=("planted", "cost", "reader", "pairs", "recall"), required=True)
    parser.add_argument("--data", type=Path, help="a LoCoMo-shaped file, for recall")
    parser.add_argument("--also", type=Path, help="a JSON list of further conflicting pairs, for pairs")
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--sizes")
    parser.add_argument("--cycles", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--vectors-cache", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    if options.part == "recall" and options.data is None:
        parser.error("--part recall needs --data")
    found = _part(options)
    data = (
        {"file": options.data.name, "sha256": reporting.sha256(options.data)} if options.data else {"file": "made here"}
    )
    held = json.loads(options.json.read_text(encoding="utf-8")) if options.json and options.json.is_file() else {}
    result = reporting.document(
        "quality.consolidation", given, data={**held.get("data", {}), options.part: data}, machine=reporting.machine(),
        commands={**held.get("commands", {}), options.part: reporting.command("benchmarks.quality.consolidation", given)},
        definitions=DEFINITIONS, figures={**held.get("figures", {}), **found},
    )  # fmt: skip
    show(found)
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
