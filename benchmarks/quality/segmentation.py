"""Where subjects change: the boundaries of episodes against dialogues whose subjects were marked by people.

A file is a list of dialogues with ``utterances`` and ``segments`` (their lengths). One setting serves all files. The weights
are fitted on four folds of all files together, from a neutral start, and scored on the fifth, so that no dialogue is scored by
weights it had a part in; the weights that the library ships are scored beside them.

    python -m benchmarks.quality.segmentation --data FILE [FILE ...] [--folds 5] [--conversations LOCOMO] [--json OUT]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.conversations import load as load_conversations
from benchmarks.vectors import default_embedder
from mnemic import Message
from mnemic.knowledge.segmentation import (
    WEIGHTS,
    BoundaryFeatures,
    Weights,
    begins_episode,
    boundaries,
    boundary_features,
    cut,
)
from mnemic.types import searchable

DEFINITIONS = {
    "pk": "share of the pairs of messages k apart that are wrongly put into one subject or into two, in percent; mean over dialogues",
    "window_diff": "share of the windows of k in which the number of boundaries is wrong, in percent; mean over dialogues",
    "k": "max(2, round(N / 2S)) of each dialogue of N messages and S marked subjects; dialogues of at most k messages are skipped",
    "interval": "half the width of the 95 % interval of a mean, 1.96 standard errors",
    "cross_validated": "weights fitted on the other folds, from a neutral start; global form, and its causal price after it",
    "default": "the weights that the library ships, chosen by their figures on the same files",
    "causal": "each message is decided on when it comes, knowing only the open episode before it",
    "without_vectors": "the default weights, cues and common words alone",
    "texttiling": "boundaries where the depth of the adjacent cosine exceeds its mean by half a standard deviation",
    "none": "no boundary at all",
    "episodes": "messages per episode on conversations, each session cut by the global form: mean and percentiles",
}
NEUTRAL = replace(
    WEIGHTS, price=0.9, causal_price=0.6, near=0.0, depth=0.0, greets=0.0, asks=0.0, replies=0.0, closes=0.0, closed=0.0, awaited=0.0
)  # fmt: skip
FITTED = ("price", "near", "depth", "greets", "asks", "replies", "closes", "closed", "awaited")
STEPS = (0.4, 0.2, 0.1, 0.05)
CAUSAL_PRICES = (0.4, 0.5, 0.6, 0.7, 0.8)
ROUNDS = 3
BETTER = 0.02
"""Points by which a change of a weight must lower Pk to be kept."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue with the positions at which its marked subjects begin."""

    messages: tuple[Message, ...]
    vectors: np.ndarray
    starts: tuple[int, ...]
    boundary_features: BoundaryFeatures


def load(path: Path, embedder: Any) -> list[Dialogue]:
    """The dialogues of a file, their speakers taken to alternate."""
    found: list[Dialogue] = []
    for entry in json.loads(path.read_text(encoding="utf-8")):
        roles = ("user", "assistant")
        messages = tuple(Message(role=roles[n % 2], content=text) for n, text in enumerate(entry["utterances"]))
        vectors = embedder.embed([searchable(m) for m in messages])
        starts = tuple(int(n) for n in np.cumsum([0, *entry["segments"]])[:-1])
        found.append(Dialogue(messages, vectors, starts, boundary_features(messages, vectors)))
    return found


def window(count: int, subjects: int) -> int:
    """Half the mean length of the marked subjects, at least 2."""
    return max(2, round(count / (2 * subjects)))


def errors(marked: Sequence[int], found: Sequence[int], count: int) -> tuple[float, float] | None:
    """Pk and WindowDiff in percent (Beeferman et al. 1999; Pevzner and Hearst 2002); None for a dialogue of one window."""
    k = window(count, len(marked))
    if count <= k:
        return None
    here, there = _numbered(marked, count), _numbered(found, count)
    wanted, got = here[k:] - here[:-k], there[k:] - there[:-k]
    return 100 * float(np.mean((wanted == 0) != (got == 0))), 100 * float(np.mean(wanted != got))


def _numbered(starts: Sequence[int], count: int) -> np.ndarray:
    """The number of the subject of every message."""
    marks = np.zeros(count, int)
    marks[[s for s in starts if s]] = 1
    return np.cumsum(marks)


Method = Callable[[Dialogue], Sequence[int]]


def scored(dialogues: Sequence[Dialogue], method: Method) -> np.ndarray:
    """Pk and WindowDiff of every dialogue long enough, shape (n, 2)."""
    found = [errors(d.starts, method(d), len(d.messages)) for d in dialogues]
    return np.array([pair for pair in found if pair is not None]).reshape(-1, 2)


def summary(scores: np.ndarray) -> dict[str, float]:
    """Means with their intervals."""
    means = scores.mean(0)
    spread = 1.96 * scores.std(0, ddof=1) / math.sqrt(len(scores)) if len(scores) > 1 else np.zeros(2)
    return {
        "pk": round(float(means[0]), 1), "pk_interval": round(float(spread[0]), 1),
        "window_diff": round(float(means[1]), 1), "window_diff_interval": round(float(spread[1]), 1),
        "dialogues": len(scores),
    }  # fmt: skip


def causal(weights: Weights, *, vectors: bool = True) -> Method:
    """The causal form over a whole dialogue."""

    def method(dialogue: Dialogue) -> list[int]:
        starts = [0]
        for end in range(2, len(dialogue.messages) + 1):
            first = starts[-1]
            seen = dialogue.vectors[first:end] if vectors else None
            if begins_episode(dialogue.messages[first:end], seen, weights=weights):
                starts.append(end - 1)
        return starts

    return method


def tiled(dialogue: Dialogue) -> list[int]:
    """TextTiling with blocks of one message (Hearst 1997)."""
    v = dialogue.vectors
    near = np.einsum("ij,ij->i", v[:-1], v[1:])
    if not len(near):
        return [0]
    peaks = [near.copy(), near[::-1].copy()]
    for side, values in zip(peaks, (near, near[::-1]), strict=True):
        for at in range(1, len(values)):
            if values[at - 1] >= values[at]:
                side[at] = side[at - 1]
    depth = peaks[0] + peaks[1][::-1] - 2 * near
    return [0, *(int(at) + 1 for at in np.flatnonzero(depth > depth.mean() + 0.5 * depth.std()))]


def mean_pk(files: Mapping[str, Sequence[Dialogue]], method: Method) -> float:
    """Mean over the files of their mean Pk: each file counts the same."""
    return float(np.mean([scored(dialogues, method)[:, 0].mean() for dialogues in files.values() if dialogues]))


def fitted(files: Mapping[str, Sequence[Dialogue]]) -> Weights:
    """Weights by coordinate search on Pk from a neutral start; then the causal price alone."""
    weights = NEUTRAL
    best = mean_pk(files, lambda d: cut(d.boundary_features, weights))
    for step in STEPS:
        for _ in range(ROUNDS):
            before = best
            for name in FITTED:
                weights, best = _climbed(files, weights, best, name, step)
            if best >= before:
                break
    prices = {price: mean_pk(files, causal(replace(weights, causal_price=price))) for price in CAUSAL_PRICES}
    return replace(weights, causal_price=min(prices, key=lambda price: prices[price]))


def _climbed(
    files: Mapping[str, Sequence[Dialogue]], weights: Weights, best: float, name: str, step: float
) -> tuple[Weights, float]:
    """One weight moved in steps for as long as that helps."""
    for move in (step, -step):
        while True:
            tried = replace(weights, **{name: round(getattr(weights, name) + move, 3)})
            found = mean_pk(files, lambda d, w=tried: cut(d.boundary_features, w))
            if found >= best - BETTER:
                break
            weights, best = tried, found
    return weights, best


def cross_validated(files: Mapping[str, Sequence[Dialogue]], folds: int) -> tuple[dict[str, Any], list[Weights]]:
    """Each dialogue scored by the weights of the other folds; every fold takes each ``folds``-th dialogue of every file."""
    held: dict[str, dict[str, list[np.ndarray]]] = {name: {"global": [], "causal": []} for name in files}
    found: list[Weights] = []
    for fold in range(folds):
        weights = fitted({name: [d for n, d in enumerate(ds) if n % folds != fold] for name, ds in files.items()})
        found.append(weights)
        for name, dialogues in files.items():
            out = dialogues[fold::folds]
            held[name]["global"].append(scored(out, lambda d, w=weights: cut(d.boundary_features, w)))
            held[name]["causal"].append(scored(out, causal(weights)))
    return {
        name: {form: summary(np.concatenate(parts)) for form, parts in forms.items()} for name, forms in held.items()
    }, found


def fixed(dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    """The figures of what is not fitted here."""
    return {
        "default": {
            "global": summary(scored(dialogues, lambda d: boundaries(d.messages, d.vectors))),
            "causal": summary(scored(dialogues, causal(WEIGHTS))),
        },
        "without_vectors": {
            "global": summary(scored(dialogues, lambda d: boundaries(d.messages, None))),
            "causal": summary(scored(dialogues, causal(WEIGHTS, vectors=False))),
        },
        "texttiling": summary(scored(dialogues, tiled)),
        "none": summary(scored(dialogues, lambda _: [0])),
    }


def episode_lengths(path: Path, embedder: Any) -> dict[str, float]:
    """How long episodes are on real-length conversations."""
    sizes: list[int] = []
    for conversation in load_conversations(path):
        messages = conversation.messages
        starts = boundaries(messages, embedder.embed([searchable(m) for m in messages]))
        sizes += [end - start for start, end in zip(starts, [*starts[1:], len(messages)], strict=True)]
    found = {"episodes": len(sizes), "mean": round(float(np.mean(sizes)), 1)}
    return found | {f"p{p}": float(np.percentile(sizes, p)) for p in (5, 25, 50, 75, 95, 100)}


def show(figures: Mapping[str, Any]) -> None:
    """The figures as a table for each file."""
    for name, found in figures["files"].items():
        rows: list[tuple[object, ...]] = []
        for method, values in found.items():
            for form, value in values.items() if "pk" not in values else [("", values)]:
                rows.append(
                    (
                        f"{method} {form}".strip(),
                        *(value[key] for key in ("pk", "pk_interval", "window_diff", "window_diff_interval")),
                    )
                )
        reporting.print_table(name, ("method", "Pk", "±", "WindowDiff", "±"), rows)
    if "episodes" in figures:
        reporting.print_table("messages per episode", ("figure", "value"), list(figures["episodes"].items()))


def run(paths: Sequence[Path], embedder: Any, *, folds: int) -> tuple[dict[str, Any], list[Weights]]:
    """All figures of the files, and the weights of each fold."""
    files = {path.stem: load(path, embedder) for path in paths}
    found = {name: fixed(dialogues) for name, dialogues in files.items()}
    held, weights = cross_validated(files, folds) if folds > 1 else ({}, [])
    return {name: ({"cross_validated": held[name]} if held else {}) | values for name, values in found.items()}, weights


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.segmentation", description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--folds", type=int, default=5, help="1 leaves the fitting out")
    parser.add_argument("--conversations", type=Path, help="a LoCoMo-shaped file whose episodes are counted")
    parser.add_argument("--vectors", type=Path, help="where the vectors are kept between runs")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    embedder = default_embedder(options.vectors)
    found, weights = run(options.data, embedder, folds=options.folds)
    figures: dict[str, Any] = {"files": found}
    data = [*options.data, *([options.conversations] if options.conversations else [])]
    if options.conversations:
        figures["episodes"] = episode_lengths(options.conversations, embedder)
    embedder.close()
    result = reporting.document(
        "quality.segmentation", given, data={path.name: reporting.sha256(path) for path in data},
        settings={"folds": options.folds, "weights": asdict(WEIGHTS), "weights_of_folds": [asdict(w) for w in weights]},
        definitions=DEFINITIONS, figures=figures,
    )  # fmt: skip
    show(figures)
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
