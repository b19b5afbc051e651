"""The arithmetic that several stages share."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.vectors import highest


@given(
    values=st.lists(st.integers(0, 40), max_size=200), repeated=st.sampled_from([1, 7]), k=st.integers(0, 60)
)  # fmt: skip
def test_the_highest_are_those_that_sorting_finds(values, repeated, k):
    values = np.array(values * repeated, np.float32)
    wanted = np.lexsort((np.arange(len(values)), -values))[:k]
    assert highest(values, k).tolist() == sorted(wanted.tolist())
