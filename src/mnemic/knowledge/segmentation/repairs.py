"""What a language model answered when asked for episodes: checked, mended where little is wrong, else refused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["repaired"]

TOLERATED = 5
"""One message in so many may be wrong in each of the ways that can be mended."""


def repaired(groups: Sequence[Sequence[int]], count: int) -> list[list[int]] | None:
    """Episodes in which every message stands exactly once, made of the groups a model answered with.

    Episodes are contiguous: a group with a gap is split there. A message in two groups stays in the first, a number that
    no message has is dropped, and a message left out goes with the one before it (the first ones with the one after).

    Args:
        groups: message numbers from 0 to ``count - 1``, in any order.
        count: how many messages there are.

    Returns:
        The episodes in order, each an ascending run. None when too much is wrong: more than a fifth of the messages left
        out, as many numbers invented or extra pieces split off, or more repeats than messages.
    """
    if count < 1:
        return []
    owner: dict[int, int] = {}
    invented, repeated = set[int](), 0
    for number, group in enumerate(groups):
        for message in group:
            if not 0 <= message < count:
                invented.add(message)
            elif message in owner:
                repeated += 1
            else:
                owner[message] = number
    allowed = count // TOLERATED
    if not owner or count - len(owner) > allowed or len(invented) > allowed or repeated > count:
        return None
    episodes = _runs(_filled(owner, count))
    return None if len(episodes) - len(set(owner.values())) > max(allowed, 1) else episodes


def _filled(owner: dict[int, int], count: int) -> list[int]:
    """The group of every message: one left out takes that of its neighbour."""
    found: list[int] = []
    last = owner[min(owner)]
    for message in range(count):
        last = owner.get(message, last)
        found.append(last)
    return found


def _runs(numbers: list[int]) -> list[list[int]]:
    starts = [0, *(at for at in range(1, len(numbers)) if numbers[at] != numbers[at - 1])]
    return [list(range(start, end)) for start, end in pairwise([*starts, len(numbers)])]
