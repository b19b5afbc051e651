"""Knowledge without an LLM on a LoCoMo-shaped file: what share of the facts that readers noted down is remembered.

The gold facts are the file's ``observation``: for each session and speaker, facts with the turns they rest on. Each
conversation goes through ``add`` and ``process``, and is given a second time.

    python -m benchmarks.quality.knowledge --data FILE [--json OUT]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.conversations import Conversation, evidence_ids, load
from benchmarks.vectors import StoredEmbedder, default_embedder
from mnemic.text.terms import content_terms
from mnemic.types import MemoryRecord

MOST_MESSAGES = 3
LEAST_TERMS = 0.6
DEFINITIONS = {
    "gold": "the facts of `observation` that name at least one turn of the conversation as evidence",
    "coverage": "share of the gold facts with a memory that cites at most 3 messages, one of them an evidence turn, and contains "
    "at least 60 % of the distinct content terms of the fact (stop words left out, stems)",
    "cited": "share of the gold facts with a memory that cites at most 3 messages, one of them an evidence turn",
    "per_message": "memories over messages",
    "text": "of a memory: its words after the name of its speaker",
    "characters": "mean length of a memory",
    "pronoun_first": "share of the memories that begin with it, they, this, that, these, those, he or she",
    "memories": "what Memory.process stored of the conversation, ended ones included",
    "pipeline_cpu_ms_per_message": "CPU time of Memory.process with vectors at hand, single thread",
    "updated": "memories that a later one ended",
    "added_again": "memories that giving the same messages again and processing them adds",
}
BARS = {"added_again": 0}
_PRONOUN = re.compile(r"(?:it|they|this|that|these|those|he|she)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Gold:
    """One fact that a reader noted, and the messages it rests on."""

    text: str
    evidence: tuple[str, ...]


def gold_facts(path: Path) -> dict[str, list[Gold]]:
    """The facts of each conversation of a file, by its name; facts whose evidence names no turn are left out."""
    data = json.loads(path.read_text(encoding="utf-8"))
    found: dict[str, list[Gold]] = {}
    for number, sample in enumerate(data if isinstance(data, list) else [data]):
        name = str(sample.get("sample_id", f"conversation-{number}"))
        turns = {
            f"{name}:{t['dia_id']}" for part in sample["conversation"].values() if isinstance(part, list) for t in part
        }
        noted = [
            fact for session in sample.get("observation", {}).values() for facts in session.values() for fact in facts
        ]
        golds = [Gold(text, _evidence(name, evidence, turns)) for text, evidence in noted]
        found[name] = [gold for gold in golds if gold.evidence]
    return found


def _evidence(name: str, given: str | Sequence[str], turns: set[str]) -> tuple[str, ...]:
    ids = (f"{name}:{part}" for part in evidence_ids([given] if isinstance(given, str) else given))
    return tuple(id_ for id_ in ids if id_ in turns)


def coverage(gold: Sequence[Gold], memories: Iterable[tuple[str, Sequence[str]]]) -> dict[str, int]:
    """How many of the gold facts are covered.

    Args:
        gold: the facts.
        memories: pairs of a memory's text and the ids of the messages it cites.

    Returns:
        ``facts``, ``cited`` and ``covered``, as in DEFINITIONS.
    """
    by_message: dict[str, list[frozenset[str]]] = {}
    for text, ids in memories:
        if len(ids) <= MOST_MESSAGES:
            terms = frozenset(content_terms(text))
            for id_ in ids:
                by_message.setdefault(id_, []).append(terms)
    cited = covered = 0
    for fact in gold:
        wanted = frozenset(content_terms(fact.text))
        candidates = [terms for id_ in fact.evidence for terms in by_message.get(id_, ())]
        cited += bool(candidates)
        covered += any(len(wanted & terms) >= LEAST_TERMS * len(wanted) for terms in candidates)
    return {"facts": len(gold), "cited": cited, "covered": covered}


def figures(counts: Mapping[str, Mapping[str, int]], made: Sequence[MemoryRecord], messages: int) -> dict[str, Any]:
    """The figures of DEFINITIONS over all conversations, and the coverage of each."""

    def share(part: Iterable[Mapping[str, int]], name: str) -> float:
        rows = list(part)
        return round(100 * sum(row[name] for row in rows) / max(sum(row["facts"] for row in rows), 1), 1)

    number = max(len(made), 1)
    texts = [one.content for one in made]
    return {
        "facts": sum(row["facts"] for row in counts.values()), "messages": messages, "memories": len(made),
        "coverage": share(counts.values(), "covered"), "cited": share(counts.values(), "cited"),
        "per_message": round(len(made) / max(messages, 1), 3),
        "characters": round(sum(map(len, texts)) / number),
        "pronoun_first": round(100 * sum(bool(_PRONOUN.match(text)) for text in texts) / number, 1),
        "types": {kind: sum(s.type == kind for s in made) for kind in sorted({s.type for s in made})},
        "coverage_by_conversation": {name: share([row], "covered") for name, row in counts.items()},
    }  # fmt: skip


def run(
    conversations: Sequence[Conversation], gold: Mapping[str, Sequence[Gold]], embedder: StoredEmbedder
) -> dict[str, Any]:
    """Add and process each conversation in a memory of its own, twice, and compare what is stored with the gold facts."""
    from mnemic import Memory

    made: list[MemoryRecord] = []
    counts: dict[str, Mapping[str, int]] = {}
    took, updated, again = 0.0, 0, 0
    for c in conversations:
        with tempfile.TemporaryDirectory() as folder, Memory(folder, embedder=embedder, durability="NORMAL") as warm:
            warm.add(c.messages)
            warm.process()  # the vectors are at hand from here on
        with (
            tempfile.TemporaryDirectory() as folder,
            Memory(folder, embedder=embedder, durability="NORMAL") as memory,
        ):
            memory.add(c.messages)
            begun = time.process_time()
            updated += memory.process().updated
            took += time.process_time() - begun
            own = [r for r in memory.list(limit=None, include_expired=True) if r.source_ids]
            counts[c.name] = coverage(gold[c.name], [(r.spoken, r.source_ids) for r in own])
            made += own
            memory.add(c.messages)
            memory.process()
            again += len(memory.list(limit=None, include_expired=True)) - len(own)
    messages = sum(len(c.messages) for c in conversations)
    return figures(counts, made, messages) | {
        "pipeline_cpu_ms_per_message": round(1000 * took / max(messages, 1), 2), "updated": updated, "added_again": again,
    }  # fmt: skip


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.knowledge", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    conversations, gold = load(options.data), gold_facts(options.data)
    embedder = default_embedder()
    found = run(conversations, gold, embedder)
    embedder.close()
    result = reporting.document(
        "quality.knowledge", given, data={"file": options.data.name, "sha256": reporting.sha256(options.data)},
        settings={"embedder": embedder.id}, definitions=DEFINITIONS, bars=BARS, figures=found,
    )  # fmt: skip
    reporting.print_table(
        "knowledge without an LLM", ("figure", "value"), [(k, v) for k, v in found.items() if not isinstance(v, dict)]
    )
    reporting.print_table(
        "coverage by conversation, %", ("conversation", "value"), list(found["coverage_by_conversation"].items())
    )
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
