"""Decay demotes, and nothing else."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.recall.graph import LINK_FLOOR, LINK_HALF_LIFE, link_strength

unit = st.floats(0, 1)
idles = st.timedeltas(timedelta(days=-10), timedelta(days=100_000))


def test_after_a_half_life_it_is_half_way_to_the_floor():
    assert link_strength(0.5, LINK_HALF_LIFE) == pytest.approx(0.5 * (1 + LINK_FLOOR) / 2)


def test_a_use_restores_the_whole():
    assert link_strength(0.7, timedelta()) == link_strength(0.7, -timedelta(days=1)) == 0.7


@given(unit, idles, idles)
def test_it_only_demotes_the_more_the_longer_and_never_below_the_floor(strength, one, other):
    short, long = sorted((one, other))
    sooner, later = (link_strength(strength, idle) for idle in (short, long))
    assert LINK_FLOOR * strength - 1e-12 <= later <= sooner + 1e-12 <= strength + 2e-12
