"""Vectors row by row beside the catalog."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.indexes.vector import similarities
from mnemic.text.render import searchable

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
            world.store.embedding.fill(rows, [world.vector(text) for *_, text in rows], "test")
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
    np.testing.assert_allclose(similarities(matrix, query), [1, 0, 0.6])
