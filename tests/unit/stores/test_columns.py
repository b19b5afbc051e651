"""Rows become columns whatever pages they come in, and vectors however many there are."""

import random

import numpy as np
import pytest

from mnemic.stores.sql import rows as sql_rows
from mnemic.stores.sql.rows import catalog_columns, vector_matrix


@pytest.fixture(params=[1, 3, 500])
def page(request, monkeypatch):
    monkeypatch.setattr(sql_rows, "PAGE", request.param)


def made(doc, chance):
    words = [chance.choice((None, "", "a", "b", "\u00e9")) for _ in range(5)]
    told = chance.choice((None, f"[[{doc}, {doc}]]"))
    return (
        doc,
        "message",
        *words[:3],
        doc * 10**12,
        *words[3:],
        doc / 8,
        doc % 7,
        0.5,
        0.25,
        doc * 10**9,
        -doc,
        60,
        told,
    )


def test_each_row_in_its_place(page):
    chance = random.Random(3)
    rows = [made(doc, chance) for doc in chance.sample(range(1, 1000), 40)]
    parts = [sorted(rows[:25]), [], sorted(rows[25:39]), [rows[39]]]
    found = catalog_columns(iter(part) for part in parts)
    assert len(found) == 40
    periods = [found.periods.get(doc) for doc in found.doc.tolist()]
    columns = (
        found.doc, found.kind, found.status, found.session, found.project, found.time, found.label, found.speaker,
        found.length, found.traits, found.salience, found.boost, found.last_use, found.moment, found.offset, periods,
    )  # fmt: skip
    assert list(zip(*columns, strict=True)) == sorted(rows)


def test_nothing_is_none(page):
    assert catalog_columns([iter([]), iter([])]) is None
    assert vector_matrix([iter([])], 0) is None


@pytest.mark.parametrize("most", [0, 2, 7, 100])
def test_vectors_of_more_or_fewer_rows_than_were_expected(page, most):
    values = np.cos(np.arange(21)).reshape(7, 3)
    values = (values / np.linalg.norm(values, axis=1, keepdims=True)).astype("<f2")
    rows = [(doc, vector.tobytes()) for doc, vector in zip((4, 5, 9, 1, 2, 11, 12), values, strict=True)]
    found = vector_matrix([iter(rows[:3]), iter(rows[3:])], most)
    assert found.doc.tolist() == [1, 2, 4, 5, 9, 11, 12]
    np.testing.assert_array_equal(found.values, values[[3, 4, 0, 1, 2, 5, 6]])
    assert found.values.dtype == np.float32


def test_a_vector_of_another_length_is_no_vector_of_this_user(page):
    with pytest.raises(ValueError, match=r"broadcast|reshape"):
        vector_matrix([iter([(n, b"\0" * 6) for n in range(3)] + [(4, b"\0" * 4)])], 4)
