from math import inf, nan

import pytest

from mnemic.errors import ConfigurationError, InvalidInput
from mnemic.validation import number, option, seconds, whole


def test_good_values_come_back():
    assert whole("size", 10, 1, 10) == option("size", 10, 1, 10) == 10
    assert number("share", 1, 0, 1) == 1.0
    assert seconds("ttl", 3, above=True) == 3.0
    assert seconds("backoff", 0) == 0.0


@pytest.mark.parametrize("value", [0, 11, 2.0, "3", True, None])
def test_whole_numbers_outside_the_range(value):
    with pytest.raises(InvalidInput, match=r"size must be a whole number from 1 to 10"):
        whole("size", value, 1, 10)
    with pytest.raises(ConfigurationError, match=r"size must be a whole number from 1 to 10"):
        option("size", value, 1, 10)


@pytest.mark.parametrize("value", [-0.1, 1.1, nan, inf, "3", True, None])
def test_numbers_outside_the_range(value):
    with pytest.raises(InvalidInput, match="share must be a number from 0 to 1"):
        number("share", value)


@pytest.mark.parametrize("value", [0, -1.0, nan, inf, "3", True])
def test_seconds_that_are_not_above_zero(value):
    with pytest.raises(ConfigurationError, match="ttl, in seconds, must be a number above 0, not"):
        seconds("ttl", value, above=True)


@pytest.mark.parametrize("value", [-1, nan, inf, "3", True])
def test_seconds_below_zero(value):
    with pytest.raises(ConfigurationError, match="backoff, in seconds, must be a number from 0, not"):
        seconds("backoff", value)
