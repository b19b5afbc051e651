"""What holds now stands before what it replaced, and nothing else moves."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.recall.results import current_first

RUN = settings(max_examples=300, deadline=None)


@st.composite
def cases(draw, *, circles):
    size = draw(st.integers(1, 9))
    order = draw(st.permutations(range(size)))
    rank = draw(st.permutations(range(size)))  # who may replace whom, where there are no circles
    successors = {}
    for position in draw(st.sets(st.integers(0, size - 1))):
        others = [other for other in range(size) if other != position and (circles or rank[other] < rank[position])]
        if others:
            successors[position] = draw(st.lists(st.sampled_from(others), unique=True, max_size=3))
    return order, successors


def moved(order, successors):
    return current_first(np.array(order, np.intp), successors).tolist()


@RUN
@given(cases(circles=False))
def test_what_was_replaced_never_stands_before_what_replaced_it(case):
    order, successors = case
    place = {position: n for n, position in enumerate(moved(order, successors))}
    for position, others in successors.items():
        assert all(place[other] < place[position] for other in others)


@RUN
@given(cases(circles=True))
def test_only_what_holds_now_moves_and_only_forward(case):
    """It is never set back behind what it stood before, unless that holds as well; and again changes nothing."""
    order, successors = case
    assert moved(order, {}) == list(order)
    once = moved(order, successors)
    assert sorted(once) == sorted(order)
    movers = {other for others in successors.values() for other in others}
    assert [one for one in once if one not in movers] == [one for one in order if one not in movers]
    before, after = ({position: n for n, position in enumerate(places)} for places in (order, once))
    for mover in movers:
        for other in set(order) - movers:
            assert after[mover] < after[other] or before[mover] > before[other]
    if all(after[other] < after[position] for position, others in successors.items() for other in others):
        assert moved(once, successors) == once


def test_a_circle_is_left_to_the_rank():
    assert sorted(moved([0, 1, 2], {0: [1], 1: [0]})) == [0, 1, 2]
    assert moved([2, 0, 1], {0: [1]}) == [2, 1, 0]
    assert moved([2, 1, 0], {0: [1]}) == [2, 1, 0]
