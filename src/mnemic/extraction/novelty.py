"""How new a statement is against what is known: the prediction error that decides what is worth keeping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.extraction.attributes import Fact
from mnemic.extraction.facts import facts
from mnemic.extraction.values import same_value
from mnemic.text.terms import content_terms
from mnemic.vectors import dot

__all__ = ["Novelty", "distinct_terms", "novelty", "similarities"]

_SEMANTIC = 0.5
"""The weight of the meaning in the error; the rest is that of the words."""


@dataclass(frozen=True, slots=True)
class Novelty:
    """How far a statement was from what could be predicted, 0 (known) to 1 (new), and the parts it comes from.

    Attributes:
        error: the prediction error.
        semantic: 1 - the highest cosine with what is known; None without vectors.
        lexical: share of the information in its words that nothing known says.
        factual: 1 when a known attribute has another value, 0 when each of its facts is known, else None.
    """

    error: float
    semantic: float | None
    lexical: float
    factual: float | None


def similarities(vector: NDArray[Any] | None, vectors: NDArray[Any] | None, count: int) -> NDArray[np.float64] | None:
    """Cosines of a statement with ``count`` known ones, or None where there are no usable vectors.

    Args:
        vector: shape (d,), of any length above 0.
        vectors: shape (count, d).
        count: how many are known.
    """
    if vector is None or vectors is None or not count or vectors.shape != (count, vector.shape[-1]):
        return None
    rows = np.nan_to_num(np.asarray(vectors, np.float64))
    one = np.nan_to_num(np.asarray(vector, np.float64))
    sizes = np.linalg.norm(rows, axis=1) * np.linalg.norm(one)
    products = np.asarray(dot(rows, one), np.float64)  # pyright: ignore[reportArgumentType] - float64 on purpose
    return np.clip(np.divide(products, sizes, out=np.zeros(count), where=sizes > 0), -1.0, 1.0)


def novelty(text: str, known: Sequence[str], cosines: NDArray[np.float64] | None = None) -> Novelty:
    """How new a statement is.

    Args:
        text: the statement.
        known: what was retrieved as known for it, any number.
        cosines: its cosine with each of them, as ``similarities`` gives it.
    """
    semantic = None if cosines is None else float(1 - max(0.0, float(cosines.max(initial=0.0))))
    lexical = _lexical(distinct_terms(text), [distinct_terms(each) for each in known])
    factual = _factual(facts(text), [fact for each in known for fact in facts(each)])
    blended = lexical if semantic is None else _SEMANTIC * semantic + (1 - _SEMANTIC) * lexical
    error = 1.0 if factual == 1.0 else min(blended, lexical) if factual == 0.0 else blended
    return Novelty(error, semantic, lexical, factual)


@lru_cache(maxsize=4096)
def distinct_terms(text: str) -> frozenset[str]:
    """The content terms of a text, each once."""
    return frozenset(content_terms(text))


def _lexical(terms: frozenset[str], known: Sequence[frozenset[str]]) -> float:
    """Share of idf mass not said by any of the known; a word that many of them say weighs little."""
    if not terms:
        return 0.0 if known else 1.0
    frequency = Counter(term for each in known for term in each)
    weight = {term: log((len(known) + 2) / (frequency[term] + 0.5)) for term in terms}
    total = fsum(weight.values())  # exactly: the order of a set differs from process to process
    return fsum(value for term, value in weight.items() if term not in frequency) / total if total > 0 else 0.0


def _factual(new: Sequence[Fact], known: Sequence[Fact]) -> float | None:
    """1 when an attribute that is known has another value, 0 when every fact is known, None when neither can be
    said.
    """
    present = [fact for fact in new if fact.tense == "present"]
    if not present:
        return None
    held: dict[tuple[str, str], list[Fact]] = {}
    for fact in known:
        held.setdefault((fact.subject, fact.attribute), []).append(fact)
    said = 0
    for fact in present:
        there = held.get((fact.subject, fact.attribute), [])
        if any(one.polarity == fact.polarity and same_value(one.value, fact.value) for one in there):
            said += 1
        elif there and (fact.single or any(same_value(one.value, fact.value) for one in there)):
            return 1.0
    return 0.0 if said == len(present) else None
