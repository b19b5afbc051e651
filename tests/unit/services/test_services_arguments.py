import pytest

from mnemic.errors import ConfigurationError
from mnemic.validation import positive, seconds, whole


def test_good_values_come_back():
    assert whole("size", 10, 1, 10) == 10
    assert positive("ttl", 3) == 3.0
    assert seconds("backoff", 0) == 0.0


@pytest.mark.parametrize("value", [0, 11, 2.0, "3", True, None])
def test_whole_numbers_outside_the_range(value):
    with pytest.raises(ConfigurationError, match=r"size=.*from 1 to 10"):
        whole("size", value, 1, 10)


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "3", True])
def test_seconds_that_are_none(value):
    with pytest.raises(ConfigurationError, match="ttl="):
        positive("ttl", value)


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "3", True])
def test_seconds_below_zero(value):
    with pytest.raises(ConfigurationError, match="backoff="):
        seconds("backoff", value)
