"""The mean of a user's vectors, taken away where it is long."""

import numpy as np
import pytest

from mnemic.indexes.vector import exact
from mnemic.indexes.vector import exact as exact_index
from mnemic.indexes.vector.exact import ExactIndex, IndexedRows, MatrixRows, centre_of, sample_size

SIZE, DIMENSION = 400, 48


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def cone(size=SIZE, *, narrow=2.0, seed=0):
    """Vectors of a model to which all texts are alike: a common direction, and a rest that tells them apart."""
    rng = np.random.default_rng(seed)
    common = unit(np.ones(DIMENSION))
    return unit(narrow * common + unit(rng.normal(size=(size, DIMENSION))))


def test_the_sample_grows_by_doubling():
    assert [sample_size(n) for n in (0, 63, 64, 127, 128, 2_047, 2_048, 10**6)] == [
        0,
        0,
        64,
        64,
        128,
        1_024,
        2_048,
        2_048,
    ]


def test_only_a_long_mean_is_taken_away():
    rng = np.random.default_rng(1)
    assert centre_of(unit(rng.normal(size=(SIZE, DIMENSION)))) is None
    assert centre_of(cone(narrow=0.8)) is None  # cosines of .39, as all-MiniLM-L6-v2 has in a long conversation
    found = centre_of(cone())
    assert found is not None
    np.testing.assert_allclose(found.mean @ found.mean, 0.8, atol=0.02)
    assert centre_of(cone(63)) is None
    assert (
        centre_of(np.concatenate([cone(63), np.zeros((9, DIMENSION), np.float32)])) is None
    )  # these have no vector yet
    assert centre_of(np.tile(unit(np.ones(DIMENSION)), (100, 1))) is None  # nothing would be left


def test_missing_vectors_do_not_count():
    with_gaps = np.concatenate([cone(), np.zeros((SIZE, DIMENSION), np.float32)])
    np.testing.assert_allclose(centre_of(with_gaps).mean, centre_of(cone()).mean, atol=1e-6)


def test_cosines_have_the_spread_of_texts_that_have_nothing_to_do_with_each_other():
    matrix, asked = cone(), cone(40, seed=5)
    raw = np.stack([MatrixRows(matrix, None).cosines([one]).values for one in asked])
    centred = np.stack([MatrixRows(matrix, None, centre_of(matrix)).cosines([one]).values for one in asked])
    assert raw.mean() == pytest.approx(0.8, abs=0.02)
    assert centred.mean() == pytest.approx(0, abs=0.02)
    assert centred.std() == pytest.approx(DIMENSION**-0.5, rel=0.1)  # that of random directions
    assert raw.std() < centred.std() / 3


def test_it_is_the_cosine_of_what_is_left():
    matrix, query = cone(), cone(1, seed=4)[0]
    centre = centre_of(matrix)
    truth = unit(matrix - centre.mean) @ unit(query - centre.mean)
    np.testing.assert_allclose(MatrixRows(matrix, None, centre).cosines([query]).values, truth, atol=1e-5)
    both = MatrixRows(matrix, None, centre).cosines([query, -query]).values
    other = unit(matrix - centre.mean) @ unit(-query - centre.mean)
    np.testing.assert_allclose(both, np.maximum(truth, other), atol=1e-5)


def test_a_row_without_a_vector_is_unlike_everything_and_none_is_nearer_than_one():
    matrix = cone()
    matrix[3] = 0
    rows = MatrixRows(matrix, None, centre_of(matrix))
    for query in matrix[[0, 1, 2, 4]]:
        values = rows.cosines([query]).values
        assert values[3] == 0
        assert np.abs(values).max() <= 1 + 1e-5
    assert values[4] > 0.7
    apart = rows.centre.apart(matrix)
    assert not apart[3].any()
    np.testing.assert_allclose(np.linalg.norm(np.delete(apart, 3, 0), axis=1), 1, atol=1e-5)


def test_a_question_that_is_the_mean_itself_is_near_to_nothing():
    centre = centre_of(cone())
    assert not MatrixRows(cone(), None, centre).cosines([centre.mean]).values.any()


def test_plain_cosines_are_those_of_the_embedder():
    matrix = cone()
    rows = MatrixRows(matrix, None, centre_of(matrix))
    np.testing.assert_allclose(rows.cosines([matrix[0]], plain=True).values, matrix @ matrix[0], atol=1e-6)


def test_an_index_is_asked_for_what_is_nearest_without_the_mean():
    matrix = cone().astype("<f2").astype(np.float32)
    docs = np.arange(SIZE, dtype=np.int64) * 3

    class Index:
        def nearest(self, user, query, k):
            assert np.linalg.norm(query) == pytest.approx(1, abs=1e-5)
            return docs[np.argsort(-(matrix @ query))[:k]].tolist()

        def waiting(self, user):
            return []

        def serves(self, model):
            return True

    def fetch(wanted):
        return [(doc, matrix[doc // 3].astype("<f2").tobytes()) for doc in wanted]

    centre = centre_of(matrix)
    held = MatrixRows(matrix, None, centre)
    far = IndexedRows(docs, DIMENSION, fetch, Index(), user=1, model="m", centre=centre)
    for query in cone(5, seed=9):
        truth, found = held.cosines([query]).values, far.cosines([query])
        found.settle(np.ones(SIZE, np.bool_))
        best = np.argsort(-truth)[:200]
        np.testing.assert_array_equal(np.argsort(-found.values, kind="stable")[:200], best)
        np.testing.assert_allclose(found.values[best], truth[best], atol=1e-6)


def test_signs_tell_the_nearest_only_without_the_mean(monkeypatch):
    monkeypatch.setattr(exact, "KEPT", 60)
    matrix = cone(4_000)
    centre, allowed = centre_of(matrix), np.ones(4_000, np.bool_)
    shared = {"centred": 0, "raw": 0}
    for query in cone(10, seed=3):
        truth = np.argsort(-MatrixRows(matrix, None, centre).cosines([query]).values)[:10]
        for name, mean in (("centred", centre.mean), ("raw", 0.0)):
            rough = MatrixRows(matrix, exact.signs_of(matrix, mean), centre).cosines([query])
            rough.settle(allowed)
            shared[name] += np.isin(truth, np.argsort(-rough.values)[:10]).sum()
    assert shared["centred"] > 1.5 * shared["raw"]


def sharp(rows, query):
    """The cosines of all rows, exact."""
    found = rows.cosines([query])
    found.sharpen(np.arange(len(found.values)))
    return found.values


class Delta:
    """What an index takes in, as a store tells it."""

    def __init__(self, docs, values, *, reembedded=False):
        self.dimension, self.reembedded = DIMENSION, reembedded
        self.vectors = type("Vectors", (), {"doc": np.array(docs), "values": values})()


class Rows:
    def __init__(self, size):
        self.doc = np.arange(size)

    def __len__(self):
        return len(self.doc)


def test_the_mean_is_frozen_until_the_record_has_doubled_and_follows_what_changes(monkeypatch):
    monkeypatch.setattr(exact_index, "LARGE", 10)
    index, matrix = ExactIndex(), cone(300)
    index.apply(Delta(range(100), matrix[:100]), Rows(100))
    assert index.rows().centre is None  # a model that is compared as it is
    first = index.rows(centred=True).centre
    np.testing.assert_allclose(first.mean, matrix[:64].mean(axis=0), atol=1e-6)
    index.apply(Delta(range(100, 127), matrix[100:127]), Rows(127))
    assert index.rows(centred=True).centre is first
    index.apply(Delta(range(127, 300), matrix[127:]), Rows(300))
    lent = index.rows(centred=True)
    np.testing.assert_allclose(lent.centre.mean, matrix[:256].mean(axis=0), atol=1e-6)
    np.testing.assert_array_equal(index.signs(), exact.signs_of(matrix, lent.centre.mean))
    asked = cone(1, seed=6)[0]
    before = sharp(lent, asked)
    index.apply(Delta([5], cone(1, seed=8)), Rows(300))
    now = index.rows(centred=True)
    assert not np.array_equal(now.centre.mean, lent.centre.mean)
    index.apply(Delta([280], cone(1, seed=7)), Rows(300))  # beyond the sample: the mean stays
    later = index.rows(centred=True)
    assert later.centre is now.centre
    np.testing.assert_allclose(
        sharp(later, asked), sharp(MatrixRows(index.matrix(), None, now.centre), asked), atol=1e-6
    )
    np.testing.assert_array_equal(sharp(lent, asked), before)  # who searches meanwhile sees what was there
    np.testing.assert_array_equal(index.signs(), exact.signs_of(index.matrix(), index.rows(centred=True).centre.mean))
    index.apply(Delta(range(300), matrix, reembedded=True), Rows(300))
    assert index.rows().centre is None
