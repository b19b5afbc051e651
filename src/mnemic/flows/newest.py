"""Of the first hits that answer a question with one value each, the one said last is first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic.extraction.questions import asks_what_holds
from mnemic.flows.engine import Engine, View
from mnemic.flows.snapshot import base_of
from mnemic.text.clock import aware, now
from mnemic.types import Episode, Message, Query, Stored
from mnemic.vectors import dot, eased

if TYPE_CHECKING:
    from mnemic.extraction.contending import Said

__all__ = ["LOOKED_AT", "newest_first"]

LOOKED_AT = 8
"""Places within which hits change their order: what is found does not change, only what of it comes first."""


def newest_first(
    engine: Engine,
    view: View,
    query: Query,
    docs: Sequence[int],
    vectors: NDArray[np.float32],
    cosines: Sequence[float],
) -> list[int]:
    """The places of the first hits in a new order.

    Args:
        engine: the record.
        view: the user's records.
        query: what is asked.
        docs: of the first hits, best first.
        vectors: shape (len(docs), d), without their mean where the user's are compared without it.
        cosines: of the hits with the question.
    """
    same = list(range(len(docs)))
    if len(docs) < 2 or not asks_what_holds(query.text):
        return same
    from mnemic.extraction.contending import later_first  # its patterns take a tenth of a second, once

    stored = engine.store.fetch(view.user, list(docs))
    places = [place for place, doc in enumerate(docs) if doc in stored and not isinstance(stored[doc].value, Episode)]
    if len(places) < 2:
        return same
    base = base_of(view) if view.vectors.centre is None else 0.0
    meant = eased(np.array([cosines[place] for place in places], np.float64), base)
    said = [_said(stored[docs[place]], float(cosine)) for place, cosine in zip(places, meant, strict=True)]
    own = vectors[places]
    alike = eased(np.asarray(dot(own, own.T), np.float64), base)
    order = [places[at] for at in later_first(query.text, said, alike)]
    for place, other in zip(places, order, strict=True):
        same[place] = other
    return same


def _said(stored: Stored, cosine: float) -> Said:
    from mnemic.extraction.contending import Said

    value = stored.value
    assert not isinstance(value, Episode)
    if isinstance(value, Message):
        when = value.sent_at or now()
        agent = value.role == "assistant" and value.name is None
        return Said(value.content, aware(when, UTC), value.name or "", agent=agent, cosine=cosine)
    when = value.valid_at or value.said_at or value.created_at
    return Said(value.content, aware(when, UTC), "", agent=False, cosine=cosine)
