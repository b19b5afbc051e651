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
@given(cases(circles=True))
def test_nothing_is_lost_or_doubled(case):
    order, successors = case
    assert sorted(moved(order, successors)) == sorted(order)


@RUN
@given(cases(circles=False))
def test_what_was_replaced_never_stands_before_what_replaced_it(case):
    order, successors = case
    place = {position: n for n, position in enumerate(moved(order, successors))}
    for position, others in successors.items():
        assert all(place[other] < place[position] for other in others)


@RUN
@given(cases(circles=True))
def test_everything_else_keeps_its_order(case):
    order, successors = case
    movers = {other for others in successors.values() for other in others}
    rest = [position for position in order if position not in movers]
    assert [position for position in moved(order, successors) if position not in movers] == rest


@RUN
@given(cases(circles=True))
def test_what_holds_now_never_falls(case):
    """What moves, moves forward: it is never set back behind what it stood before, unless that holds as well."""
    order, successors = case
    movers = {other for others in successors.values() for other in others}
    before = {position: n for n, position in enumerate(order)}
    after = {position: n for n, position in enumerate(moved(order, successors))}
    for mover in movers:
        for other in set(order) - movers:
            assert after[mover] < after[other] or before[mover] > before[other]


@RUN
@given(cases(circles=True))
def test_again_changes_nothing_where_there_are_no_circles(case):
    order, successors = case
    assert moved(order, {}) == list(order)
    once = moved(order, successors)
    place = {position: n for n, position in enumerate(once)}
    if all(place[other] < place[position] for position, others in successors.items() for other in others):
        assert moved(once, successors) == once


def test_a_circle_is_left_to_the_rank():
    assert sorted(moved([0, 1, 2], {0: [1], 1: [0]})) == [0, 1, 2]
    assert moved([2, 0, 1], {0: [1]}) == [2, 1, 0]
    assert moved([2, 1, 0], {0: [1]}) == [2, 1, 0]
