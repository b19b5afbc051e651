"""The figures, as plain functions of one question's gold and ranking, and of all questions' values. Fractions, 0 to 1."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["all_of", "any_of", "distinct", "fraction", "in_text", "reciprocal_rank", "summary"]

_SPACES = re.compile(r"\s+")
RESAMPLES = 2_000
SEED = 0


def distinct(names: Iterable[str]) -> list[str]:
    """Each name once, where it came first."""
    return list(dict.fromkeys(names))


def fraction(gold: Iterable[str], found: Iterable[str]) -> float:
    """How much of the gold was found."""
    wanted = set(gold)
    return len(wanted & set(found)) / len(wanted)


def any_of(gold: Iterable[str], found: Iterable[str]) -> float:
    """1 when something of the gold was found."""
    return float(bool(set(gold) & set(found)))


def all_of(gold: Iterable[str], found: Iterable[str]) -> float:
    """1 when all of the gold was found."""
    return float(set(gold) <= set(found))


def reciprocal_rank(gold: Iterable[str], ranked: Sequence[str]) -> float:
    """One over the rank of the first gold name; 0 when there is none."""
    wanted = set(gold)
    return next((1.0 / rank for rank, name in enumerate(ranked, start=1) if name in wanted), 0.0)


def in_text(passages: Sequence[str], text: str) -> float:
    """How many of the passages stand in a text, whole; white space of any kind counts as one space."""
    flat = _SPACES.sub(" ", text)
    return sum(_SPACES.sub(" ", passage).strip() in flat for passage in passages) / len(passages)


def summary(values: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """A figure in percent from its values by conversation.

    Returns:
        ``mean`` over all questions; ``ci95``, its bootstrap interval over questions (seed 0); ``by_conversation`` with
        ``lowest`` and ``highest``; ``mean_of_conversations``; ``leave_one_out``, lowest and highest mean with one
        conversation left out.
    """
    groups = {name: np.array(group, float) for name, group in values.items() if len(group)}
    everything = np.concatenate(list(groups.values())) if groups else np.zeros(0)
    if not len(everything):
        return {"mean": None, "questions": 0}
    means = {name: _percent(group.mean()) for name, group in groups.items()}
    others = [np.concatenate([g for n, g in groups.items() if n != left]) for left in groups] if len(groups) > 1 else []
    result: dict[str, Any] = {
        "mean": _percent(everything.mean()), "ci95": _bootstrap(everything), "questions": len(everything),
        "mean_of_conversations": _percent(np.mean([group.mean() for group in groups.values()])),
        "lowest": min(means.values()), "highest": max(means.values()), "by_conversation": means,
    }  # fmt: skip
    if others:
        left_out = [_percent(group.mean()) for group in others]
        result["leave_one_out"] = [min(left_out), max(left_out)]
    return result


def _bootstrap(values: np.ndarray) -> list[float]:
    """The middle 95 % of the means of samples drawn with replacement."""
    generator = np.random.default_rng(SEED)
    means = [values[generator.integers(0, len(values), len(values))].mean() for _ in range(RESAMPLES)]
    return [_percent(value) for value in np.percentile(means, (2.5, 97.5))]


def _percent(value: float) -> float:
    return round(100.0 * float(value), 2)
