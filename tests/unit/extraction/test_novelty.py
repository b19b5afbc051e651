"""How new a statement is: by meaning, by words, by fact."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.extraction.novelty import novelty, similarities


def test_what_is_known_word_for_word_is_not_new():
    found = novelty("Ana lives in Porto.", ["Ana lives in Porto."], np.array([1.0]))
    assert (found.error, found.semantic, found.lexical, found.factual) == (0.0, 0.0, 0.0, 0.0)


def test_a_known_attribute_with_another_value_is_fully_new():
    found = novelty("Ana lives in Porto.", ["Ana lives in Lisbon."], np.array([0.95]))
    assert found.factual == found.error == 1.0
    assert found.semantic == pytest.approx(0.05)
    assert 0 < found.lexical < 1


def test_a_denial_of_what_is_known_is_fully_new():
    assert novelty("Ana does not like rock.", ["Ana likes rock."], np.array([0.9])).error == 1.0


def test_a_second_value_of_many_is_not_a_contradiction():
    assert novelty("Ana speaks French.", ["Ana speaks German."]).factual is None


def test_the_same_attribute_of_another_person_says_nothing():
    assert novelty("Ben lives in Porto.", ["Ana lives in Lisbon."]).factual is None


def test_a_known_fact_in_other_words_is_less_new_than_its_words():
    told = novelty("Ana moved to Porto.", ["Ana lives in Porto."], np.array([0.8]))
    assert told.factual == 0.0
    assert told.error <= told.lexical


def test_nothing_known_is_fully_new_and_rare_words_count_for_more():
    assert novelty("Ana lives in Porto.", []).error == 1.0
    known = ["Ana likes tea", "Ana likes milk", "Ana likes rice"]
    assert (
        novelty("Ana likes paragliding", known).lexical > novelty("Ana drinks tea", ["Ana drinks milk", *known]).lexical
    )


def test_without_vectors_the_words_decide():
    found = novelty("Ana studied physics", ["Ben paints"])
    assert found.semantic is None
    assert found.error == found.lexical == 1.0


@pytest.mark.parametrize(("vector", "vectors", "count"), [(None, np.ones((1, 3)), 1), (np.ones(3), None, 1), (np.ones(3), np.ones((2, 3)), 1),
                                                         (np.ones(3), np.ones((1, 4)), 1), (np.ones(3), np.ones((0, 3)), 0)])  # fmt: skip
def test_vectors_that_do_not_fit_are_no_vectors(vector, vectors, count):
    assert similarities(vector, vectors, count) is None


def test_cosines_are_bounded_and_survive_zero_and_nan():
    found = similarities(np.array([3.0, 4.0]), np.array([[3.0, 4.0], [0.0, 0.0], [-6.0, -8.0], [np.nan, 1.0]]), 4)
    assert found is not None
    assert found[:3] == pytest.approx([1.0, 0.0, -1.0])
    assert abs(found[3]) <= 1


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=120), st.lists(st.text(max_size=120), max_size=4), st.floats(-1, 1))
def test_every_part_is_a_share(text, known, cosine):
    found = novelty(text, known, np.full(len(known), cosine) if known else None)
    parts = (found.error, found.lexical, found.semantic or 0.0, found.factual or 0.0)
    assert all(0 <= part <= 1 for part in parts)
