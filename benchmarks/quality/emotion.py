"""The mood of sentences on EmoBank: fits the weights that the library ships, and scores what it ships.

`fit` chooses the settings by five-fold cross-validation over the documents of the split `train`, fits on all of `train`, and writes the
weights. `score` asks the library for the mood of every sentence of a split and compares.

    python -m benchmarks.quality.emotion fit --data FILE [--out FILE] [--json OUT] [--vectors-cache FILE]
    python -m benchmarks.quality.emotion score --data FILE [--split dev] [--json OUT] [--vectors-cache FILE]
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import itertools
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.quality import regression
from benchmarks.vectors import default_embedder
from mnemic.emotion import estimate as reg
from mnemic.emotion.estimate import FEATURES, emotions, features_of, has_affect

DEFINITIONS = {
    "r_valence": "Pearson correlation of the estimated valence with the mean rating of the readers and writers (V)",
    "r_arousal": "the same of arousal (A)",
    "with_vector": "vector of the default embedder, words and marks: what a memory with the default embedder does",
    "text_only": "words and marks alone: what any other embedder, or none, gets",
    "vader": "VADER's compound score for valence and its absolute value for arousal, for comparison",
    "quadrant": "percent of sentences whose quadrant is that of the ratings around the neutral point; 'most frequent' "
    "is what always saying the commonest quadrant would reach",
    "sign_of_valence": "percent with the right sign among those rated more than 0.3 from neutral",
    "confidence": "fifths by confidence: r of valence and of arousal, and the share whose stronger axis has the right sign",
    "has_affect": "percent of sentences with a mood to go by, among those rated within 0.1 of neutral on both axes, and "
    "among those rated more than 0.5 from it on either",
    "ms": "CPU ms for one text, one call each, without the embedding; median",
}
LENGTH = FEATURES.index("length")
WEIGHTS = Path(reg.__file__).with_name(reg.FILE)
FOLDS, SEED, ROUNDS = 5, 0, 12
CONFIDENCE_RIDGE = 1.0
RARE = 0.1  # the least spread of a feature: without it one exclamation mark would already be as far out as the limit


@dataclass(frozen=True, slots=True)
class Settings:
    """What the fit may choose. `centres` and `text_ridge` are given: the size of the file, and a value that hardly matters."""

    width: float = 1.0
    share: float = 0.7
    linear: float = 0.5
    ridge_valence: float = 1.0
    ridge_arousal: float = 1.0
    centres: int = 512
    text_ridge: float = 3.0


GRID = {"width": (0.5, 1.0), "share": (0.7, 1.0), "linear": (0.5, 1.0)}
RIDGES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True, slots=True)
class Sentences:
    """Texts with the documents they are from, vectors (n, 384), features (n, f) and ratings (n, 2)."""

    texts: Sequence[str]
    documents: np.ndarray
    vectors: np.ndarray
    columns: np.ndarray
    ratings: np.ndarray

    def part(self, chosen: np.ndarray) -> Sentences:
        texts = [text for text, kept in zip(self.texts, chosen, strict=True) if kept]
        return Sentences(
            texts, self.documents[chosen], self.vectors[chosen], self.columns[chosen], self.ratings[chosen]
        )


def load(file: Path, split: str, cache: Path | None) -> Sentences:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["split"] == split]
    if not rows:
        raise SystemExit(f"{file.name} has no sentence of the split {split!r}.")
    texts = [row["text"] for row in rows]
    embedder = default_embedder(cache)
    vectors = embedder.embed(texts)
    embedder.close()
    return Sentences(
        texts, np.array([row["id"].rsplit("_", 2)[0] for row in rows]), vectors, np.stack([features_of(text) for text in texts]),
        np.array([[float(row["V"]), float(row["A"])] for row in rows]),
    )  # fmt: skip


# Fitting


def centred(points: np.ndarray, count: int) -> np.ndarray:
    """The centres of k-means, rounded to half precision as they are kept."""
    draw = np.random.default_rng(SEED)
    centres = points[draw.choice(len(points), count, replace=False)]
    for _ in range(ROUNDS):
        nearest = (np.sum(centres * centres, axis=1) - 2 * points @ centres.T).argmin(axis=1)
        for at in np.unique(nearest):
            centres[at] = points[nearest == at].mean(axis=0)
    return centres.astype(np.float16).astype(np.float64)


def ridge(design: np.ndarray, wanted: np.ndarray, strengths: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Ridge regression with an intercept, one strength for each column of `wanted`."""
    middle, level = design.mean(axis=0), wanted.mean(axis=0)
    x, y = design - middle, wanted - level
    gram = x.T @ x
    columns = [np.linalg.solve(gram + s * np.eye(len(gram)), x.T @ y[:, i]) for i, s in enumerate(strengths)]
    slope = np.stack(columns, axis=1)
    return slope, level - middle @ slope


class Nystroem:
    """A kernel on some centres, whitened, beside the plain columns: the design that the ridge regression sees."""

    def __init__(self, train: Sentences, settings: Settings) -> None:
        self.settings = settings
        self.mean = train.columns.mean(axis=0).astype(np.float32)
        self.spread = np.maximum(train.columns.std(axis=0), RARE).astype(np.float32)
        self.centres = centred(self._points(train), settings.centres)
        values, axes = np.linalg.eigh(self._near(self.centres))
        self.whitening = axes / np.sqrt(np.maximum(values, 1e-4))

    def scaled(self, found: Sentences) -> np.ndarray:
        limited = np.clip((found.columns - self.mean) / self.spread, -reg.LIMIT, reg.LIMIT)
        return limited / np.sqrt(len(FEATURES))

    def _points(self, found: Sentences) -> np.ndarray:
        return np.hstack([found.vectors.astype(np.float64), self.settings.share * self.scaled(found)])

    def _near(self, points: np.ndarray) -> np.ndarray:
        return reg.kernel(points, self.centres, np.sum(self.centres**2, axis=1), self.settings.width)

    def design(self, found: Sentences) -> np.ndarray:
        near = self._near(self._points(found)) @ self.whitening
        plain = [found.vectors, self.settings.linear * self.scaled(found)]
        return np.hstack([near, *plain])

    def fitted(self, train: Sentences) -> dict[str, np.ndarray]:
        """The arrays of the shipped file but for those of the confidence."""
        s = self.settings
        slope, bias = ridge(self.design(train), train.ratings, (s.ridge_valence, s.ridge_arousal))
        plain = np.vstack([slope[s.centres : -len(FEATURES)], s.linear * slope[-len(FEATURES) :]])
        text_linear, text_bias = ridge(self.scaled(train), train.ratings, (s.text_ridge, s.text_ridge))
        return {
            "mean": self.mean, "spread": self.spread, "centres": self.centres, "kernel": self.whitening @ slope[: s.centres],
            "linear": plain, "bias": bias, "text_linear": text_linear, "text_bias": text_bias,
            "scale": np.array([s.width, s.share]), "neutral": np.zeros(2), "sure": np.zeros(4), "text_sure": np.zeros(4),
        }  # fmt: skip


def folds(documents: np.ndarray) -> np.ndarray:
    """The fifth that each sentence is in; a document is never divided, because a memory's texts are from no document here."""
    names, at = np.unique(documents, return_inverse=True)
    return (np.random.default_rng(SEED).permutation(len(names)) % FOLDS)[at]


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a, b)[0, 1])


def tried(train: Sentences, settings: Settings) -> list[dict[str, float]]:
    """The correlations of the held-out fifths for every strength of the ridge."""
    fold, guessed = folds(train.documents), {strength: np.zeros_like(train.ratings) for strength in RIDGES}
    for number in range(FOLDS):
        fitting, held = train.part(fold != number), train.part(fold == number)
        basis = Nystroem(fitting, settings)
        design, other = basis.design(fitting), basis.design(held)
        for strength, guess in guessed.items():
            slope, bias = ridge(design, fitting.ratings, (strength, strength))
            guess[fold == number] = other @ slope + bias
    return [
        {"ridge": strength, "r_valence": correlation(guess[:, 0], train.ratings[:, 0]),
         "r_arousal": correlation(guess[:, 1], train.ratings[:, 1])}
        for strength, guess in guessed.items()
    ]  # fmt: skip


def chosen(train: Sentences) -> tuple[Settings, list[dict[str, Any]]]:
    """The settings whose held-out correlations add up to the most, and all that were tried."""
    log: list[dict[str, Any]] = []
    best, most = Settings(), -np.inf
    for values in itertools.product(*GRID.values()):
        settings = replace(Settings(), **dict(zip(GRID, values, strict=True)))
        rows = tried(train, settings)
        valence, arousal = (max(rows, key=lambda row, axis=axis: row[axis]) for axis in ("r_valence", "r_arousal"))
        log += [dict(zip(GRID, values, strict=True)) | {k: round(v, 4) for k, v in row.items()} for row in rows]
        if valence["r_valence"] + arousal["r_arousal"] > most:
            most = valence["r_valence"] + arousal["r_arousal"]
            best = replace(settings, ridge_valence=valence["ridge"], ridge_arousal=arousal["ridge"])
        print(f"{values}: {valence['r_valence']:.4f} {arousal['r_arousal']:.4f}", flush=True)
    return best, log


def estimates(arrays: Mapping[str, np.ndarray], found: Sentences) -> tuple[np.ndarray, np.ndarray]:
    """With the vector and by the text alone, as the library would."""
    weights = reg.complete(arrays)
    scaled = reg.standardised(found.columns, weights)
    return reg.ratings(found.vectors, scaled, weights), reg.text_ratings(scaled, weights)


def logistic(seen: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Coefficients of a logistic regression."""
    return regression.newton(seen, right, np.ones(len(seen)), np.full(seen.shape[1], CONFIDENCE_RIDGE))


def right_sign(found: np.ndarray, ratings: np.ndarray) -> np.ndarray:
    """Whether the stronger of the two estimates has the sign of its rating; both are around neutral."""
    rows, axis = np.arange(len(found)), np.abs(found).argmax(axis=1)
    return np.sign(found[rows, axis]) == np.sign(ratings[rows, axis])


def certain(train: Sentences, settings: Settings) -> dict[str, np.ndarray]:
    """The neutral point and the weights of the confidence, from estimates of fifths that were held out."""
    fold = folds(train.documents)
    found, by_text = np.zeros_like(train.ratings), np.zeros_like(train.ratings)
    for number in range(FOLDS):
        held = fold == number
        arrays = Nystroem(train.part(~held), settings).fitted(train.part(~held))
        found[held], by_text[held] = estimates(arrays, train.part(held))
    bland = (np.abs(train.ratings - 3) < 0.15).all(axis=1)
    neutral = np.round(np.median(found[bland], axis=0), 3)
    length, ratings = train.columns[:, LENGTH], train.ratings - neutral
    found, by_text = found - neutral, by_text - neutral
    sure = logistic(reg.evidence(found, by_text, length), right_sign(found, ratings))
    return {
        "neutral": neutral,
        "sure": sure,
        "text_sure": logistic(reg.evidence(by_text, by_text, length), right_sign(by_text, ratings)),
    }


def fit(train: Sentences) -> tuple[bytes, dict[str, Any]]:
    """The file, and how it came about."""
    settings, log = chosen(train)
    arrays = Nystroem(train, settings).fitted(train) | certain(train, settings)
    out = io.BytesIO()
    half = {name: array.astype(np.float16 if name == "centres" else np.float32) for name, array in arrays.items()}
    np.savez(out, **half)
    content = out.getvalue()
    found = {"chosen": asdict(settings), "neutral": arrays["neutral"].tolist(), "bytes": len(content),
             "sha256": hashlib.sha256(content).hexdigest(), "cross_validation": log}  # fmt: skip
    return content, found


# Scoring


def correlations(found: np.ndarray, ratings: np.ndarray) -> dict[str, float]:
    return {
        "r_valence": round(correlation(found[:, 0], ratings[:, 0]), 3),
        "r_arousal": round(correlation(found[:, 1], ratings[:, 1]), 3),
    }


def plane(found: Sequence[Any]) -> np.ndarray:
    return np.array([[e.valence, e.arousal] for e in found])


def percent(right: np.ndarray) -> float:
    return round(100 * float(np.mean(right)), 1)


def by_confidence(found: Sequence[Any], around: np.ndarray) -> list[dict[str, float]]:
    values, sure = plane(found), np.array([e.confidence for e in found])
    rows: list[dict[str, float]] = []
    for part in np.array_split(np.argsort(sure, kind="stable"), 5):
        right = percent(right_sign(values[part], around[part]))
        rows.append(
            {"mean": round(float(sure[part].mean()), 2)}
            | correlations(values[part], around[part])
            | {"right_sign": right}
        )
    return rows


def quadrants(values: np.ndarray) -> np.ndarray:
    return 2 * (values[:, 0] >= 0) + (values[:, 1] >= 0)


def milliseconds(texts: Sequence[str], one: Callable[[int], Any]) -> float:
    spent: list[float] = []
    for at in range(min(len(texts), 500)):
        start = time.process_time()
        one(at)
        spent.append(time.process_time() - start)
    return round(1000 * float(np.median(spent)), 3)


def figures(held: Sentences) -> dict[str, Any]:
    texts, vectors, model = held.texts, held.vectors, reg.EMBEDDER
    full, alone = emotions(texts, vectors, model), emotions(texts)
    around = held.ratings - reg.load().neutral
    compound = held.columns[:, [FEATURES.index("compound"), FEATURES.index("strength")]]
    felt = np.array([has_affect(e) for e in full])
    bland, strong = (np.abs(around) < 0.1).all(axis=1), (np.abs(around) > 0.5).any(axis=1)
    clear = np.abs(around[:, 0]) > 0.3
    same = np.bincount(quadrants(around), minlength=4)
    return {
        "sentences": len(texts), "with_vector": correlations(plane(full), held.ratings),
        "text_only": correlations(plane(alone), held.ratings), "vader": correlations(compound, held.ratings),
        "quadrant": {"right": percent(quadrants(plane(full)) == quadrants(around)), "most frequent": round(100 * float(same.max() / same.sum()), 1)},
        "sign_of_valence": percent((np.sign(plane(full)[:, 0]) == np.sign(around[:, 0]))[clear]),
        "confidence": by_confidence(full, around),
        "has_affect": {"rated neutral": percent(felt[bland]), "rated with affect": percent(felt[strong])},
        "ms": {
            "with_vector": milliseconds(texts, lambda i: emotions(texts[i : i + 1], vectors[i : i + 1], model)),
            "text_only": milliseconds(texts, lambda i: emotions(texts[i : i + 1])),
        },
    }  # fmt: skip


def show(found: Mapping[str, Any]) -> None:
    rows = [
        (name, found[name]["r_valence"], found[name]["r_arousal"]) for name in ("with_vector", "text_only", "vader")
    ]
    reporting.print_table("Pearson r", ("estimate", "valence", "arousal"), rows)
    reporting.print_table(
        "fifths by confidence",
        ("mean", "r valence", "r arousal", "right sign"),
        [tuple(r.values()) for r in found["confidence"]],
    )
    print({name: found[name] for name in ("quadrant", "sign_of_valence", "has_affect", "ms")})


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.emotion", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    for name in ("fit", "score"):
        action = actions.add_parser(name)
        action.add_argument("--data", type=Path, required=True, help="EmoBank as csv: split, V, A, text")
        action.add_argument("--vectors-cache", type=Path)
        action.add_argument("--json", type=Path)
        if name == "fit":
            action.add_argument("--out", type=Path, default=WEIGHTS)
        else:
            action.add_argument("--split", default="dev")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> dict[str, Any]:
    """Fit or score, print, and write the result if asked to."""
    options = arguments(given)
    data = {"file": options.data.name, "sha256": reporting.sha256(options.data), "licence": "CC BY-SA 4.0 (EmoBank)"}
    split = "train" if options.action == "fit" else options.split
    sentences = load(options.data, split, options.vectors_cache)
    if options.action == "fit":
        content, found = fit(sentences)
        options.out.write_bytes(content)
        print(f"{len(content):,} bytes")
    else:
        found = figures(sentences)
        show(found)
    used = found.get("sha256", reporting.sha256(WEIGHTS))
    result = reporting.document(
        "quality.emotion", given, data=data | {"split": split},
        settings={"vaderSentiment": version("vaderSentiment"), "weights_sha256": used}, definitions=DEFINITIONS, figures=found,
    )  # fmt: skip
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
