"""Decay: what is not used steps back. It only demotes; nothing is ever lost by it.

Both figures are computed from what is stored and the time since the last use. They are never written back, so asking
twice fades nothing twice, and the next use restores the whole.
"""

from __future__ import annotations

from datetime import timedelta

from mnemic.errors import InvalidInput

__all__ = ["LINK_FLOOR", "LINK_HALF_LIFE", "RANK_FLOOR", "RANK_HALF_LIFE", "link_strength", "rank_weight"]

LINK_HALF_LIFE = timedelta(days=90)
LINK_FLOOR = 0.2
"""Share of a link's strength that stays for good."""
RANK_HALF_LIFE = timedelta(days=180)
RANK_FLOOR = 0.8
"""Share of a score that stays for good: a tie-break, so that what is relevant is found however old it is."""


def _faded(idle: timedelta, half_life: timedelta, floor: float) -> float:
    """1 right after a use, falling to ``floor``; one half of the way after a half-life."""
    if half_life <= timedelta():
        raise InvalidInput(f"half_life must be longer than nothing, this one is {half_life}.")
    if not 0 <= floor <= 1:
        raise InvalidInput(f"floor must lie between 0 and 1, this one is {floor!r}.")
    return floor + (1 - floor) * 0.5 ** (max(idle, timedelta()) / half_life)


def link_strength(
    strength: float, idle: timedelta, *, half_life: timedelta = LINK_HALF_LIFE, floor: float = LINK_FLOOR
) -> float:
    """What a link is worth after a time without use.

    Args:
        strength: as it was made, 0 to 1.
        idle: time since either end was last used; less than nothing counts as nothing.
        half_life: time in which it loses one half of what it can lose.
        floor: the share that stays for good, 0 to 1.

    Returns:
        At most ``strength``, at least ``floor`` times it.

    Raises:
        InvalidInput: an argument is out of its range.
    """
    if not 0 <= strength <= 1:
        raise InvalidInput(f"strength must lie between 0 and 1, this one is {strength!r}.")
    return strength * _faded(idle, half_life, floor)


def rank_weight(idle: timedelta, *, half_life: timedelta = RANK_HALF_LIFE, floor: float = RANK_FLOOR) -> float:
    """The factor, ``floor`` to 1, by which a score is multiplied after a time without use.

    Args:
        idle: time since the memory was last used or made; less than nothing counts as nothing.
        half_life: time in which it falls half of the way.
        floor: what it never falls below, 0 to 1.

    Raises:
        InvalidInput: half_life or floor is out of its range.
    """
    return _faded(idle, half_life, floor)
