"""Vectors row by row beside the catalog."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.internals import whole

from mnemic.indexes.vector import exact
from mnemic.indexes.vector.exact import MatrixCosines, Probe
from mnemic.types import searchable

RUN = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@RUN
@given(
    steps=st.lists(st.tuples(st.sampled_from(["add", "pending", "fill", "archive"]), st.integers(1, 6)), max_size=10)
)
def test_every_row_has_its_own_vector_or_none(followed, steps):
    from dataclasses import replace

    world = followed()
    world.follow()
    for kind, number in steps:
        if kind == "add":
            world.apply(*[world.message(f"text {world.made} {n}") for n in range(number)])
        elif kind == "pending":
            change = world.message(f"text {world.made}")
            world.apply(replace(change, indexing=replace(change.indexing, vector=None)))
        elif kind == "archive":
            world.archive("m1")
        else:
            rows = world.store.embedding.pending(number)
            world.store.embedding.fill(rows, whole(world.vector(text.text) for *_, text in rows), "test")
        columns = world.follow()
        matrix = world.vectors.matrix()
        assert matrix.shape == (len(columns), 2)
        waiting = {doc for _, doc, _ in world.store.embedding.pending(100)}
        stored = world.store.fetch(world.user, columns.doc.tolist())
        for row, doc in enumerate(columns.doc.tolist()):
            expected = np.zeros(2) if doc in waiting else world.vector(searchable(stored[doc].value))
            np.testing.assert_allclose(matrix[row], expected, atol=1e-3)  # kept as float16


def test_cosines():
    matrix = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    query = np.array([1, 0], np.float32)
    np.testing.assert_allclose(MatrixCosines(matrix, None, [Probe(query)]).values, [1, 0, 0.6])
    other = np.array([0, 1], np.float32)
    np.testing.assert_allclose(MatrixCosines(matrix, None, [Probe(query), Probe(other)]).values, [1, 1, 0.8])


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_signs_choose_and_products_decide(monkeypatch):
    rng = np.random.default_rng(0)
    centres = unit(rng.normal(size=(40, 384)))
    matrix = unit(centres[rng.integers(0, 40, 4_000)] + 0.08 * rng.normal(size=(4_000, 384)))
    monkeypatch.setattr(exact, "KEPT", 200)
    signs = exact.signs_of(matrix)
    assert signs.shape == (6, 4_000)
    found = 0
    for centre in centres[:20]:
        query = unit(centre[None] + 0.05 * rng.normal(size=(1, 384)))[0]
        every = MatrixCosines(matrix, None, [Probe(query)]).values
        rough = MatrixCosines(matrix, signs, [Probe(query)])
        allowed = rng.random(4_000) < 0.9
        rough.settle(allowed)
        best = np.argsort(-np.where(allowed, every, -2))[:20]
        found += np.isin(best, np.argsort(-np.where(allowed, rough.values, -2))[:20]).sum()
        some = rng.choice(4_000, 50)
        rough.sharpen(some)
        np.testing.assert_allclose(rough.values[some], every[some], atol=1e-5)
    assert found >= 0.95 * 20 * 20


def test_few_allowed_rows_are_all_multiplied():
    rng = np.random.default_rng(1)
    matrix = unit(rng.normal(size=(300, 70)))  # not a multiple of 64
    query = unit(rng.normal(size=(1, 70)))[0]
    rough = MatrixCosines(matrix, exact.signs_of(matrix), [Probe(query)])
    rough.settle(np.ones(300, np.bool_))
    np.testing.assert_allclose(rough.values, matrix @ query, atol=1e-5)


def test_signs_follow_what_is_added_and_changed(followed, monkeypatch):
    from mnemic.indexes.vector import exact

    monkeypatch.setattr(exact, "LARGE", 3)
    world = followed()
    world.follow()
    assert world.vectors.signs() is None
    for size in (5, 7):
        world.apply(*[world.message(f"text {world.made} {n}") for n in range(size)])
        world.follow()
        world.vectors.signs()  # the first search of a state that is large enough goes without
        signs = world.vectors.signs()
        assert signs is not None
        np.testing.assert_array_equal(signs, exact.signs_of(world.vectors.matrix()))
    world.apply(world.memory("a fact"))
    name = world.ids(world.follow())[-1]
    for held in (False, True):  # what changes is written in its place, unless somebody reads there
        lent, matrix = world.vectors.rows() if held else None, world.vectors.matrix()
        before = matrix.copy()
        world.revise(name, f"quite another fact, {held}")
        world.follow()
        np.testing.assert_array_equal(world.vectors.signs(), exact.signs_of(world.vectors.matrix()))
        assert np.shares_memory(matrix, world.vectors.matrix()) is not held
        assert np.array_equal(matrix, before) is held
        del lent
