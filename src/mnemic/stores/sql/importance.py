"""Importance: what a memory is worth now, worked out on reading from its salience, its use and its emotion.

``kept = salience x (1 - .3 x (1 - recency))`` and ``total = kept + (1 - kept) x (.5 x frequency + .2 x arousal)``: disuse
takes at most three tenths of the salience, use and emotion add at most seven tenths of the distance to 1. Recency is halved by
every 30 days since the last use, in whole days, so that repeated reading gives the same number. A pinned importance is
the number that was given.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

HALF_LIFE_DAYS = 30
"""Days without use in which recency is halved."""
DECAY_SHARE = 0.3
"""Share of the salience that decays with disuse."""
FREQUENCY_SHARE, AROUSAL_SHARE = 0.5, 0.2
"""Most that frequent use and strong emotion add, as a share of the distance to 1."""
MOST_BOOST = FREQUENCY_SHARE + AROUSAL_SHARE
SATURATION = 50
"""Uses that count as frequency 1, on a logarithmic scale."""
DAY = 86_400_000_000
"""In microseconds."""
MAX_DAYS = 10_000
"""Longer disuse makes no difference."""
UNUSED = 2**62
"""The last use of a record that does not decay."""

_RATE = math.log(2) / HALF_LIFE_DAYS
USED = "(SELECT doc AS used_doc, count AS uses, last_at FROM access)"
"""To be joined to memories or records: the uses that the next expressions read, NULL for none."""
SALIENCE = "CASE WHEN pinned = 1 THEN importance ELSE salience END"
"""The worth without decay and boost, NULL for what is no memory."""
LAST_USE = f"""CASE WHEN pinned = 0 THEN CASE WHEN last_at > created_at THEN last_at ELSE created_at END
    ELSE {UNUSED} END"""
"""The last use, or creation, in microseconds since 1970."""
BOOST = f"""CASE WHEN pinned = 0 THEN
    {FREQUENCY_SHARE} * CASE WHEN uses >= {SATURATION} THEN 1
        WHEN uses > 0 THEN ln(CAST(1 + uses AS DOUBLE PRECISION)) / {math.log1p(SATURATION)} ELSE 0 END
    + {AROUSAL_SHARE} * CASE WHEN arousal > 0 THEN arousal * emotion_confidence ELSE 0 END ELSE 0 END"""
"""The share of the distance to 1 that use and emotion add."""
_SQL = f"""(SELECT kept + (1 - kept) * boost FROM
    (SELECT worth * (1 - {DECAY_SHARE} * (1 - exp(-CAST({_RATE} AS DOUBLE PRECISION) *
            CASE WHEN moment <= last_use THEN 0 WHEN moment - last_use > {MAX_DAYS * DAY} THEN {MAX_DAYS}
            ELSE (moment - last_use) / {DAY} END))) AS kept, boost
        FROM (SELECT {SALIENCE} AS worth, {LAST_USE} AS last_use, {BOOST} AS boost, CAST({{now}} AS BIGINT) AS moment
            FROM (SELECT max(count) AS uses, max(last_at) AS last_at FROM access WHERE access.doc = {{table}}.doc)
                AS used) AS parts) AS total)"""


def importance_sql(table: str, now: str = "?") -> str:
    """The expression for the current importance of a row, NULL for what is no memory.

    Args:
        table: name or alias of ``records`` or ``memories`` in the query.
        now: the parameter to which the time is bound, in microseconds since 1970.
    """
    return _SQL.format(table=table, now=now)


def importances(
    salience: NDArray[np.floating], boost: NDArray[np.floating], last_use: NDArray[np.int64], now: int
) -> NDArray[np.float64]:
    """The current importance of records from columns of ``SALIENCE``, ``BOOST`` and ``LAST_USE``.

    Args:
        salience: (n,) 0 to 1.
        boost: (n,) 0 to .7.
        last_use: (n,) microseconds since 1970; later than ``now`` counts as now.
        now: likewise.

    Returns:
        (n,) 0 to 1.
    """
    days = np.clip((now - last_use) // DAY, 0, MAX_DAYS)
    kept = salience.astype(np.float64) * (1 - DECAY_SHARE * (1 - np.exp(-_RATE * days)))
    return kept + (1 - kept) * boost
