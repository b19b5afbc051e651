import numpy as np

from mnemic.knowledge.segmentation import most_similar

ROWS = np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 1, 0], [0, 0, 0]], np.float32)


def unit(*values):
    return np.array(values, np.float32)


def test_the_most_similar_above_the_threshold():
    assert most_similar(unit(0, 1, 0), ROWS) == 2
    assert most_similar(unit(0.5**0.5, 0.5**0.5, 0), ROWS, 0.95) == 1
    assert most_similar(unit(0.5**0.5, 0.5**0.5, 0), ROWS, 0.995) is None
    assert most_similar(unit(0, 0, 1), ROWS, 0.1) is None
    assert most_similar(unit(1, 0, 0), ROWS, 1.0) == 0


def test_a_damaged_vector_matches_nothing():
    assert most_similar(unit(0, 1, 0), ROWS[3:], -1.0) is None


def test_of_equals_the_first():
    assert most_similar(unit(1, 0), np.tile(unit(1, 0), (3, 1))) == 0
