"""Vectors that stay in the record: whatever an index says, what is ranked is exact."""

import numpy as np
import pytest

from mnemic.indexes.vector import exact as module
from mnemic.indexes.vector.exact import IndexedRows, MatrixRows

SIZE, DIMENSION = 600, 16


class Index:
    """Finds the true nearest among the docs it has taken in; can be made to answer rubbish."""

    exact_below = 0

    def __init__(self, docs, matrix, late=(), answer=None) -> None:
        self.docs, self.matrix, self.late, self.answer, self.asked = docs, matrix, list(late), answer, []

    def nearest(self, user, query, k):
        self.asked.append(k)
        if self.answer is not None:
            return self.answer[:k]
        known = np.array([doc for doc in self.docs if doc not in self.late])
        cosines = self.matrix[np.searchsorted(self.docs, known)] @ query
        return [*known[np.argsort(-cosines)[:k]].tolist(), *self.late]

    def serves(self, model):
        return model == "m"


@pytest.fixture
def world(monkeypatch):
    monkeypatch.setattr(module, "FETCHED", 50)
    monkeypatch.setattr(module, "ENOUGH", 20)
    monkeypatch.setattr(module, "ASKED", 40)
    monkeypatch.setattr(module, "COSTS", 0)
    random = np.random.default_rng(3)
    matrix = random.normal(size=(SIZE, DIMENSION)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix = matrix.astype("<f2").astype(np.float32)
    docs = np.cumsum(random.integers(1, 4, SIZE)).astype(np.int64)
    query = random.normal(size=DIMENSION).astype(np.float32)
    return docs, matrix, query / np.linalg.norm(query)


def distant(docs, matrix, index, fetched=None, model="m"):
    def fetch(wanted):
        if fetched is not None:
            fetched.extend(wanted)
        return [(doc, matrix[np.searchsorted(docs, doc)].astype("<f2").tobytes()) for doc in wanted]

    return IndexedRows(docs, DIMENSION, fetch, index, user=1, model=model)


def test_the_best_are_those_of_the_whole_matrix(world):
    docs, matrix, query = world
    fetched: list[int] = []
    cosines = distant(docs, matrix, Index(docs, matrix), fetched).cosines([query])
    cosines.settle(np.ones(SIZE, np.bool_))
    truth = MatrixRows(matrix, None).cosines([query]).values
    best = np.argsort(-truth)[:20]
    np.testing.assert_array_equal(np.argsort(-cosines.values)[:20], best)
    np.testing.assert_allclose(cosines.values[best], truth[best], atol=1e-6)
    assert len(fetched) == 40


def test_what_the_index_has_not_taken_in_is_found(world):
    docs, matrix, query = world
    late = docs[[int(np.argmax(matrix @ query))]].tolist()
    cosines = distant(docs, matrix, Index(docs, matrix, late)).cosines([query])
    cosines.settle(np.ones(SIZE, np.bool_))
    assert docs[np.argmax(cosines.values)] == late[0]


@pytest.mark.parametrize("few", [3, 30, 60, 200])
def test_a_filter_keeps_its_recall(world, few):
    docs, matrix, query = world
    allowed = np.zeros(SIZE, np.bool_)
    allowed[np.argsort(matrix @ query)[:few]] = True  # the farthest: an index finds these last
    index = Index(docs, matrix)
    cosines = distant(docs, matrix, index).cosines([query])
    cosines.settle(allowed)
    truth = np.where(allowed, matrix @ query, -2)
    best = np.argsort(-truth)[: min(few, 20)]
    np.testing.assert_allclose(cosines.values[best], truth[best], atol=1e-6)
    assert bool(index.asked) == (few > 50)


@pytest.mark.parametrize("answer", [[], [-5, 10**9], [7] * 40])
def test_an_index_that_answers_rubbish_costs_time_and_no_result(world, answer):
    docs, matrix, query = world
    cosines = distant(docs, matrix, Index(docs, matrix, answer=answer)).cosines([query])
    cosines.settle(np.ones(SIZE, np.bool_))
    assert np.argmax(cosines.values) == np.argmax(matrix @ query)


def test_an_index_that_cannot_say_is_done_without(world):
    docs, matrix, query = world
    index = Index(docs, matrix)
    index.nearest = lambda user, query, k: None
    for vectors in (distant(docs, matrix, index), distant(docs, matrix, Index(docs, matrix), model="another")):
        cosines = vectors.cosines([query])
        cosines.settle(np.ones(SIZE, np.bool_))
        np.testing.assert_allclose(cosines.values, matrix @ query, atol=1e-6)


def test_what_costs_more_to_ask_than_to_compare_is_compared(world, monkeypatch):
    docs, matrix, query = world
    monkeypatch.setattr(module, "COSTS", 4)
    allowed = np.zeros(SIZE, np.bool_)
    allowed[::6] = True
    index = Index(docs, matrix)
    distant(docs, matrix, index).cosines([query]).settle(allowed)
    assert index.asked == []


def test_several_wordings_count_by_the_nearest(world):
    docs, matrix, query = world
    both = [query, -query]
    cosines = distant(docs, matrix, Index(docs, matrix)).cosines(both)
    cosines.settle(np.ones(SIZE, np.bool_))
    truth = np.abs(matrix @ query)
    assert np.argmax(cosines.values) == np.argmax(truth)


def test_rows_by_number_and_by_mask_with_repeats(world):
    docs, matrix, _ = world
    vectors = distant(docs, matrix, Index(docs, matrix))
    some = np.array([5, 2, 5])
    np.testing.assert_allclose(vectors.of(some), matrix[some], atol=1e-3)
    mask = np.zeros(SIZE, np.bool_)
    mask[[2, 9]] = True
    np.testing.assert_allclose(vectors.of(mask), matrix[mask], atol=1e-3)


def test_a_stored_vector_that_is_none_is_as_good_as_missing(world):
    docs, matrix, query = world
    spoiled = matrix.copy()
    spoiled[3, 0], spoiled[4, 0], spoiled[5], spoiled[6] = np.nan, np.inf, 0, 100 * matrix[6]
    found = distant(docs, spoiled, Index(docs, matrix)).cosines([query])
    found.settle(np.ones(SIZE, bool))
    found.sharpen(np.arange(SIZE))
    assert not found.values[3:7].any()
    assert found.values[7:] == pytest.approx(matrix[7:] @ query, abs=1e-5)
