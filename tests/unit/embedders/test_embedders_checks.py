import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mnemic.errors import EmbedderError, InvalidInput
from mnemic.validation import prepared
from mnemic.vectors import checked


def test_rows_become_unit_float32():
    rows = checked([[3, 4], [0, -2]], 2, 2)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, -1]], rtol=1e-7)


def test_fortran_order_and_half_precision_are_accepted():
    rows = checked(np.asfortranarray([[1, 1], [2, 0]], dtype=np.float16), 2, None)
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


@given(arrays.arrays(np.float64, (3, 4), elements=st.floats(min_value=1e-11, max_value=1e300)))
def test_any_finite_rows_come_out_with_length_one(values):
    np.testing.assert_allclose(np.linalg.norm(checked(values, 3, 4), axis=1), 1, atol=1e-6)


@given(arrays.arrays(np.float32, (3, 4), elements=st.floats(-(2.0**90), 2.0**90, width=32)), st.booleans())
def test_rows_of_length_one_stay_as_they_are(values, fortran):
    lengths = np.linalg.norm(values.astype(np.float64), axis=1)
    assume((lengths > 1e-10).all())
    unit = checked(values, 3, 4)
    again = checked(np.asfortranarray(unit) if fortran else unit, 3, 4)
    np.testing.assert_array_equal(again, unit)
    assert again.flags.c_contiguous
    assert not np.shares_memory(again, unit)


def test_no_texts_give_no_rows():
    assert checked((), 0, 7).shape == (0, 7)
    assert checked(np.zeros((0, 5)), 0, None).shape == (0, 0)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, float("nan")]], "NaN or infinity"),
        ([[1.0, float("inf")]], "NaN or infinity"),
        ([[0.0, 0.0]], "zero vector"),
        ([[1e-30, 0.0]], "zero vector"),
        (np.array([[1e38, 0.0], [1.0, 0.0]], np.float32), r"shape \(2, 2\) for 1 texts"),
        (np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), r"shape \(2, 2\) for 1 texts"),
        (np.array([[0.0, float("nan")]], np.float32), "NaN or infinity"),
        (np.array([[0.6, 0.0, 0.8]], np.float32), "dimension 3 instead of 2"),
        ([[1.0, 2.0], [1.0, 2.0]], r"shape \(2, 2\) for 1 texts"),
        ([[1.0, 2.0, 3.0]], "dimension 3 instead of 2"),
        ([1.0, 2.0], r"shape \(2,\)"),
        ([[[1.0, 2.0]]], r"shape \(1, 1, 2\)"),
        ([[]], r"shape \(1, 0\)"),
        (None, "shape"),
        ([["a", "b"]], "table of numbers"),
        ([[1.0], [1.0, 2.0]], "table of numbers"),
    ],
)
def test_unusable_output_is_an_error(vectors, message):
    with pytest.raises(EmbedderError, match=message):
        checked(vectors, 1, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a\0b", "ab"),
        ("lone \ud83d half", "lone \ufffd half"),
        ("\udc00", "\ufffd"),
        ("a pair \ud83d\ude00", "a pair 😀"),
        ("x" * 30_000, "x" * 20_000),
    ],
)
def test_texts_are_made_fit(text, expected):
    assert prepared([text], "document") == [expected]


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_prepared_text_can_always_be_encoded(text):
    (cleaned,) = prepared([text], "query")
    assert "\0" not in cleaned.encode().decode()


def test_the_limit_can_be_lifted():
    assert len(prepared(["x" * 30_000], "document", None)[0]) == 30_000


@pytest.mark.parametrize("texts", ["one text", b"bytes"])
def test_a_single_text_is_refused(texts):
    with pytest.raises(InvalidInput, match="list"):
        prepared(texts, "document")


@pytest.mark.parametrize("item", [None, 3, b"bytes", ["nested"]])
def test_other_things_than_texts_are_refused(item):
    with pytest.raises(InvalidInput, match=type(item).__name__):
        prepared(["fine", item], "document")


def test_unknown_kind():
    with pytest.raises(InvalidInput, match="passage"):
        prepared(["a"], "passage")
