"""Mood-congruent recall on a set made for it: the same subjects in different moods, asked for in one of them.

Every subject has memories in each of the four quadrants, and some that state a fact. A query names a subject, and comes
with a mood: given by the caller, or read from the query's own words. The ranking is cosine + weight x similarity of the
moods, with the moods as the library estimates them; nothing of the set was used to fit that.

    python -m benchmarks.quality.mood [--seed 0] [--weight 0.3] [--via memory] [--json OUT] [--vectors-cache FILE]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.quality.emotion import WEIGHTS
from benchmarks.vectors import default_embedder
from mnemic import Emotion, Memory
from mnemic.emotion.estimate import emotions, has_affect, similarity

DEFINITIONS = {
    "congruent": "percent of the first five memories that were written for the quadrant asked for; mean over queries. Facts "
    "are never congruent; a fifth of each subject's memories is",
    "same_valence": "percent of the first five that were written for that quadrant or the other one with the same sign of valence",
    "on_subject": "percent of the first five that are of the subject asked for",
    "given": "the query names the subject only, and the caller gives the mood: 0.6 from neutral on both axes, for certain",
    "read": "the query tells the mood in words of its own, and the library reads it; without affect in it the weight is 0",
    "by_quadrant": "congruent, with the weight, by the quadrant asked for",
    "recognised": "percent of the memories of a quadrant whose mood the library puts there, and percent with the right sign of valence",
}
QUADRANTS = {"excited": (0.6, 0.6), "content": (0.6, -0.6), "distressed": (-0.6, 0.6), "low": (-0.6, -0.6)}
FIRST = 5
SUBJECTS = (
    "the driving exam", "the move to the new flat", "the job interview", "the vegetable garden", "my cousin's wedding", "the visit to the dentist",
    "the football match", "the choir rehearsal", "the old car", "the trip to Norway", "the bakery project", "the puppy training",
    "the piano lessons", "the tax return", "the family dinner", "the night shift",
)  # fmt: skip
MEMORIES = {
    "excited": (
        "{x}: I could have danced in the street, what a day!", "I still have goosebumps from {x}, it was spectacular!",
        "We burst out cheering over {x}, I have never been so proud!", "Can't wait, can't sit still, {x} is all I talk about!",
        "My heart was racing with joy at {x}!", "Everyone jumped up and hugged me because of {x}, incredible!",
    ),
    "content": (
        "{x} was easygoing, and I came away rested and at ease.", "I sat with a cup of tea and thought fondly of {x}.",
        "I am quietly satisfied with {x}, there is nothing left to wish for.", "A slow, pleasant hour went into {x} and I enjoyed the calm.",
        "It is comforting how gently {x} fell into place.", "I feel settled and grateful about {x}.",
    ),
    "distressed": (
        "I slammed the door, I am livid about {x}!", "{x} turned into a nightmare and I panicked!",
        "My hands shake whenever {x} comes up, I am so scared.", "They lied to my face about {x}, I screamed at them!",
        "I am sick with worry over {x} and snap at everybody.", "What a disaster, {x} drives me mad!",
    ),
    "low": (
        "Since {x} I just lie in bed and feel empty.", "{x} left me worn out and sad, I hardly speak.",
        "I have given up on {x}, it all seems pointless.", "Everything about {x} feels grey and heavy.",
        "I feel lonely and dull after {x}.", "I am too weary to care about {x} any more.",
    ),
    "fact": (
        "{x} is on Thursday at three.", "The papers for {x} are in the second drawer.", "Ines asked me about {x} by mail.",
        "I wrote down the costs of {x}.", "{x} takes about two hours.", "The address for {x} is in the calendar.",
    ),
}  # fmt: skip
ASKED = ("What about {x}?", "Tell me about {x}.", "What do I remember of {x}?")
ASKED_IN_MOOD = {
    "excited": ("I am over the moon today! What about {x}?", "Woohoo, this is the best week ever! Tell me about {x}!"),
    "content": ("It is a peaceful evening and I am happy. What about {x}?", "I feel relaxed and content. Tell me about {x}."),
    "distressed": ("I am so angry and upset right now! What about {x}?", "I'm freaking out, everything goes wrong! Tell me about {x}!"),
    "low": ("I feel down and tired. What about {x}?", "I'm sad and have no energy. Tell me about {x}."),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A memory or a query, its subject, and the quadrant it was written for."""

    text: str
    subject: str
    quadrant: str


def _said(template: str, subject: str) -> str:
    text = template.format(x=subject)
    return text[0].upper() + text[1:]


def made(seed: int) -> tuple[list[Line], list[Line], list[Line]]:
    """Memories, queries without a mood in their words, and queries with one.

    Each subject gets five of the six templates of every mood, drawn with the seed, so that no two sets are the same.
    """
    draw = random.Random(seed)
    memories = [
        Line(_said(template, x), x, mood)
        for x in SUBJECTS
        for mood, all_ in MEMORIES.items()
        for template in draw.sample(all_, 5)
    ]
    draw.shuffle(memories)
    plain = [Line(_said(draw.choice(ASKED), x), x, mood) for x in SUBJECTS for mood in QUADRANTS]
    felt = [
        Line(_said(template, x), x, mood) for x in SUBJECTS for mood in QUADRANTS for template in ASKED_IN_MOOD[mood]
    ]
    return memories, plain, felt


def ranked(cosines: np.ndarray, moods: Sequence[Emotion], mood: Emotion, weight: float) -> np.ndarray:
    """The order of the memories: cosine and mood; a mood without affect weighs nothing."""
    share = weight if has_affect(mood) else 0.0
    return np.argsort(-(cosines + share * np.array([similarity(mood, other) for other in moods])), kind="stable")


def shares(queries: Sequence[Line], orders: Sequence[np.ndarray], memories: Sequence[Line]) -> dict[str, float]:
    def share(right: Any) -> float:
        first = [memories[i] for order in orders for i in order[:FIRST]]
        asked = [query for query in queries for _ in range(FIRST)]
        return round(100 * float(np.mean([right(q, m) for q, m in zip(asked, first, strict=True)])), 1)

    def glad(line: Line) -> bool | None:
        return None if line.quadrant == "fact" else QUADRANTS[line.quadrant][0] > 0

    return {
        "congruent": share(lambda q, m: q.quadrant == m.quadrant), "same_valence": share(lambda q, m: glad(q) is glad(m)),
        "on_subject": share(lambda q, m: q.subject == m.subject),
    }  # fmt: skip


def compared(
    queries: Sequence[Line], moods: Sequence[Emotion], cosines: np.ndarray, memories: Sequence[Line],
    theirs: Sequence[Emotion], weight: float,
) -> dict[str, Any]:  # fmt: skip
    """The shares without and with the weight; the latter by quadrant too."""
    found: dict[str, Any] = {}
    for name, share in (("without", 0.0), ("with", weight)):
        orders = [ranked(row, theirs, mood, share) for row, mood in zip(cosines, moods, strict=True)]
        found[name] = shares(queries, orders, memories)
    parts = {q: [i for i, line in enumerate(queries) if line.quadrant == q] for q in QUADRANTS}
    found["by_quadrant"] = {
        q: shares([queries[i] for i in at], [orders[i] for i in at], memories)["congruent"] for q, at in parts.items()
    }
    return found


def recognised(memories: Sequence[Line], moods: Sequence[Emotion]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for quadrant, (valence, _) in QUADRANTS.items():
        mine = [mood for line, mood in zip(memories, moods, strict=True) if line.quadrant == quadrant]
        same, sign = [m.quadrant == quadrant for m in mine], [m.valence * valence > 0 for m in mine]
        found[quadrant] = [round(100 * float(np.mean(values)), 1) for values in (same, sign)]
    return found


def run(embedder: Any, *, seed: int, weight: float) -> dict[str, Any]:
    memories, plain, felt = made(seed)
    vectors = embedder.embed([line.text for line in memories])
    theirs = emotions([line.text for line in memories], vectors, embedder.id)
    asked, told = (embedder.embed([line.text for line in queries], kind="query") for queries in (plain, felt))
    given = [Emotion(valence=v, arousal=a) for v, a in (QUADRANTS[line.quadrant] for line in plain)]
    read = emotions([line.text for line in felt], told, embedder.id)
    return {
        "memories": len(memories), "queries": len(plain) + len(felt), "recognised": recognised(memories, theirs),
        "given": compared(plain, given, asked @ vectors.T, memories, theirs, weight),
        "read": compared(felt, read, told @ vectors.T, memories, theirs, weight),
    }  # fmt: skip


def searched(
    memory: Memory, queries: Sequence[Line], moods: Sequence[Emotion | None], memories: Sequence[Line], weight: float
) -> dict[str, Any]:
    """The shares of the first five that a memory finds, without and with the weight."""
    at = {line.text: place for place, line in enumerate(memories)}
    found: dict[str, Any] = {}
    for name, share in (("without", 0.0), ("with", weight)):
        orders: list[np.ndarray] = []
        for line, mood in zip(queries, moods, strict=True):
            hits = memory.search(line.text, k=FIRST, kinds=["memory"], mood=mood, emotion_weight=share)
            orders.append(np.array([at[hit.text] for hit in hits]))
        assert all(len(order) == FIRST for order in orders)
        found[name] = shares(queries, orders, memories)
        parts = {q: [i for i, line in enumerate(queries) if line.quadrant == q] for q in QUADRANTS}
    found["by_quadrant"] = {
        q: shares([queries[i] for i in part], [orders[i] for i in part], memories)["congruent"]
        for q, part in parts.items()
    }
    return found


def run_via_memory(embedder: Any, *, seed: int, weight: float) -> dict[str, Any]:
    """The same set through ``Memory.search``: the whole ranking, of which cosine and mood are a part."""
    memories, plain, felt = made(seed)
    with Memory(":memory:", embedder=embedder) as memory:
        for line in memories:
            memory.remember(line.text)
        memory.process()
        given: list[Emotion | None] = [
            Emotion(valence=v, arousal=a) for v, a in (QUADRANTS[line.quadrant] for line in plain)
        ]
        return {
            "memories": len(memories), "queries": len(plain) + len(felt),
            "given": searched(memory, plain, given, memories, weight),
            "read": searched(memory, felt, [None] * len(felt), memories, weight),
        }  # fmt: skip


def show(found: dict[str, Any]) -> None:
    names = ("congruent", "same_valence", "on_subject")
    rows = [
        (f"{kind}, {how} mood", *(found[kind][how][n] for n in names))
        for kind in ("given", "read")
        for how in ("without", "with")
    ]
    reporting.print_table("the first five, %", ("mood is", *names), rows)
    known = found.get("recognised", dict.fromkeys(QUADRANTS, (None, None)))
    rows = [(q, found["given"]["by_quadrant"][q], found["read"]["by_quadrant"][q], *known[q]) for q in QUADRANTS]
    reporting.print_table("by quadrant, %", ("quadrant", "given", "read", "recognised", "right valence"), rows)


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.mood", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weight", type=float, default=0.3)
    parser.add_argument(
        "--via", choices=("function", "memory"), default="function", help="memory: through Memory.search"
    )
    parser.add_argument("--vectors-cache", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    embedder = default_embedder(options.vectors_cache)
    ranking = run_via_memory if options.via == "memory" else run
    found = ranking(embedder, seed=options.seed, weight=options.weight)
    embedder.close()
    result = reporting.document(
        "quality.mood", given, data={"file": "made by the benchmark", "weights_sha256": reporting.sha256(WEIGHTS)},
        settings={
            "seed": options.seed, "weight": options.weight, "via": options.via, "embedder": embedder.id, "vaderSentiment": version("vaderSentiment"),
        },
        definitions=DEFINITIONS, figures=found,
    )  # fmt: skip
    show(found)
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
