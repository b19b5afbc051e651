"""The first hits of a search in the order of recency: fetches what they say and asks the model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic import retrieval
from mnemic.flows.engine import Engine, View
from mnemic.flows.snapshot import base_of
from mnemic.indexes.catalog import KINDS
from mnemic.retrieval import HERE, Pool, Said
from mnemic.types import Episode, Query
from mnemic.vectors import dot, eased

__all__ = ["latest_first"]

Rows = NDArray[np.intp]
Floats = NDArray[np.float32]

LOOKED_AT = 8
"""Places within which hits change their order: what is found does not change, only what of it comes first."""


def latest_first(
    engine: Engine, view: View, query: Query, terms: Sequence[str], pool: Pool, order: Rows, vectors: Floats
) -> Rows:
    """The order with what was said last of a matter before what was said of it earlier, among the first hits.

    What an assistant said, episodes, and a question that was asked before keep their places.

    Args:
        engine: the record.
        view: the user's records.
        query: what is asked.
        terms: its terms, as the pool counts them.
        pool: the candidates.
        order: positions in the pool, best first.
        vectors: (m, d) of the candidates, without their mean where the user's are compared without it.
    """
    kinds = view.columns.kind[pool.rows]
    places = np.arange(min(LOOKED_AT, len(order)))
    heard = ~(pool.agent | pool.echo | (kinds == KINDS["episode"]))
    places = places[heard[order[places]]]
    if len(places) < 2 or not retrieval.asks(query.text):  # words are looked up, not asked about
        return order
    first = order[places]
    said = _said(engine, view, terms, pool, first, vectors[first])
    if said is None:
        return order
    again = retrieval.latest_first(query.text, said, at_a_time=query.filters.at is not None)
    order = order.copy()
    order[places] = first[again]
    return order


def _said(engine: Engine, view: View, terms: Sequence[str], pool: Pool, first: Rows, vectors: Floats) -> Said | None:
    """What the model reads of some candidates; None where one is gone, because it was erased since the snapshot."""
    docs = view.columns.doc[pool.rows[first]].tolist()
    stored = engine.store.fetch(view.user, docs)
    values = [stored[doc].value for doc in docs if doc in stored]
    texts = [value.content for value in values if not isinstance(value, Episode)]
    if len(texts) < len(docs):
        return None
    base = base_of(view) if view.vectors.centre is None else 0.0
    return Said(
        texts=texts,
        times=np.argsort(np.lexsort((pool.rows[first], pool.times[first]))),
        cosines=_eased(pool.dense[first], base),
        alike=_eased(dot(vectors, vectors.T), base),
        terms=terms,
        held=pool.counts[first, HERE] > 0,
        idf=pool.idf,
        people=_among_people(view, pool)[first],
    )


def _eased(cosines: Floats, base: float) -> Floats:
    return eased(np.asarray(cosines, np.float64), base).astype(np.float32)


def _among_people(view: View, pool: Pool) -> NDArray[np.bool_]:
    """Which candidates are turns of people who talk with each other: where no agent speaks, and several speakers do."""
    turns = ~pool.assisted & (view.columns.kind[pool.rows] == KINDS["message"])
    several = len(np.unique(view.columns.speaker[pool.rows][turns])) > 1
    return turns & several
