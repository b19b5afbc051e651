"""Decay demotes, and nothing else."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.recall.graph import LINK_HALF_LIFE, link_strength

unit = st.floats(0, 1)
idles = st.timedeltas(timedelta(days=-10), timedelta(days=100_000))


def test_after_a_half_life_it_is_half_way_to_the_floor():
    assert link_strength(0.5, LINK_HALF_LIFE, floor=0.2) == pytest.approx(0.5 * 0.6)


def test_a_use_restores_the_whole():
    assert link_strength(0.7, timedelta()) == link_strength(0.7, -timedelta(days=1)) == 0.7


@given(unit, idles, idles, unit)
def test_it_only_demotes_the_more_the_longer_and_never_below_the_floor(strength, one, other, floor):
    short, long = sorted((one, other))
    sooner, later = (link_strength(strength, idle, floor=floor) for idle in (short, long))
    assert floor * strength - 1e-12 <= later <= sooner + 1e-12 <= strength + 2e-12


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: link_strength(1.1, timedelta()), "strength"),
        (lambda: link_strength(0.5, timedelta(), half_life=timedelta()), "half_life"),
        (lambda: link_strength(0.5, timedelta(), floor=-0.1), "floor"),
    ],
)
def test_values_out_of_range_are_refused(call, says):
    with pytest.raises(InvalidInput, match=says):
        call()
