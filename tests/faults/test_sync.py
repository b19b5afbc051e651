"""Several devices: whatever each did and in whatever order they sync, all end equal, nothing is lost and nothing comes back."""

import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.battery import count, long, note

from .devices import Devices, own_clocks

OPERATIONS = (
    "add", "remember", "remember", "remember", "derive", "update", "update", "pin", "end", "correct", "forget", "restore",
    "link", "link", "unlink", "process", "consolidate", "undo", "quarantine", "release", "search", "erase", "erase",
)  # fmt: skip
PAIRS = ((0, 1), (0, 2), (1, 2))
numbers = st.integers(0, 30)
steps = st.one_of(
    *[st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 2), numbers, numbers)] * 5,
    st.tuples(st.just("sync"), st.sampled_from([*itertools.permutations(range(3), 2)])),
)
EXAMPLES = count(25, 1_000)


@pytest.fixture(scope="module")
def clocks():
    with pytest.MonkeyPatch.context() as patch, own_clocks(patch) as held:
        yield held


@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=not long(), database=None, suppress_health_check=[*HealthCheck],
    phases=(Phase.generate, Phase.shrink),
)  # fmt: skip
@given(life=st.lists(steps, min_size=6, max_size=24), order=st.permutations(PAIRS))
def test_any_lives_of_three_devices_end_equal(clocks, life, order):
    with tempfile.TemporaryDirectory() as folder:
        devices = Devices(Path(folder), clocks)
        try:
            for operation, *given_ in life:
                if operation == "sync":
                    devices.sync(*given_[0])
                else:
                    devices.act(given_[0], operation, *given_[1:])
            for one, two in order:
                devices.sync(one, two)
            devices.assert_equal(0, 1)
            devices.assert_equal(0, 2)
            devices.assert_erased()
        finally:
            devices.close()


def test_note():
    note("sync: lives of three devices", examples=EXAMPLES, violations=0)
