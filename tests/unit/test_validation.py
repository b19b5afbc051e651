import subprocess
import sys
from math import inf, nan

import pytest

import mnemic
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


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("delete", "forget(ids=[...])"), ("serach", "search()"), ("retire", "admin.retire()"), ("verify", "admin.verify()"),
        ("import_file", "admin.import_file()"), ("graph", "links.graph()"), ("invoke", None), ("restore_backup", None), ("users", None),
    ],
)  # fmt: skip
def test_an_unknown_method_names_the_one_that_was_meant_or_none(name, meant):
    with mnemic.Memory(":memory:", user="ana", embedder="hashing") as memory, pytest.raises(AttributeError) as raised:
        getattr(memory, name)
    assert str(raised.value) == f"Memory has no attribute {name!r}." + (f" Did you mean {meant}?" if meant else "")


def test_a_module_is_an_attribute_of_the_package():
    code = "import mnemic; print(mnemic.documents.split('A page.', document='d')[0].content)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "A page.\n"
    )
