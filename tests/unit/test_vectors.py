"""The arithmetic that several stages share."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.vectors import among, highest


@given(
    values=st.lists(st.integers(0, 40), max_size=200), repeated=st.sampled_from([1, 7]), k=st.integers(0, 60)
)  # fmt: skip
def test_the_highest_are_those_that_sorting_finds(values, repeated, k):
    values = np.array(values * repeated, np.float32)
    wanted = np.lexsort((np.arange(len(values)), -values))[:k]
    assert highest(values, k).tolist() == sorted(wanted.tolist())


@given(
    pairs=st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=200), repeated=st.sampled_from([1, 7]),
    k=st.integers(0, 60), above=st.sampled_from([-np.inf, 0.0, 20.0]),
)  # fmt: skip
def test_the_highest_among_some_are_those_that_sorting_finds(pairs, repeated, k, above):
    values = np.array([value for value, _ in pairs] * repeated, np.float32)
    allowed = np.array([held for _, held in pairs] * repeated, np.bool_)
    rows = [row for row in range(len(values)) if allowed[row] and values[row] > above]
    wanted = sorted(rows, key=lambda row: (-values[row], row))[:k]
    assert among(values, allowed, k, above=above).tolist() == sorted(wanted)
