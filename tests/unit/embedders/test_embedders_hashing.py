import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.embedders import HashingEmbedder
from mnemic.errors import ConfigurationError


def similarity(a, b, dimension=256):
    left, right = HashingEmbedder(dimension).embed([a, b])
    return float(left @ right)


def test_vectors_are_the_same_everywhere():
    (row,) = HashingEmbedder(8).embed(["I moved to Lisbon."])
    expected = [-0.1581139, 0.1581139, -0.7905694, 0.0000000, -0.1581139, 0.3162278, -0.3162278, -0.3162278]
    np.testing.assert_allclose(row, expected, atol=1e-6)


def test_shared_words_make_texts_similar():
    assert similarity("Ana moved to Lisbon in March", "When did Ana move to Lisbon?") > 0.4
    assert abs(similarity("Ana moved to Lisbon in March", "quarterly budget figures")) < 0.2
    assert similarity("gardening", "gardener") > similarity("gardening", "mathematics") + 0.2


def test_case_does_not_matter():
    assert similarity("LISBON calling", "lisbon Calling") == pytest.approx(1)


def test_texts_without_words_have_vectors_of_their_own():
    rows = HashingEmbedder().embed(["", "...", "!?", "\0"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(rows[0], rows[3])
    assert not np.array_equal(rows[1], rows[2])


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=60), max_size=5))
def test_every_text_gives_a_unit_vector_whatever_its_neighbours(texts):
    embedder = HashingEmbedder(16)
    rows = embedder.embed(texts)
    assert rows.shape == (len(texts), 16)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    for text, row in zip(texts, rows, strict=True):
        np.testing.assert_array_equal(embedder.embed([text], kind="query")[0], row)


def test_words_that_cancel_out_still_give_a_vector(monkeypatch):
    embedder = HashingEmbedder(8)
    monkeypatch.setattr("mnemic.embedders.hashing._features", lambda text: [])
    assert np.linalg.norm(embedder.embed(["anything"])[0]) == pytest.approx(1)


def test_id_names_the_dimension():
    assert (HashingEmbedder().id, HashingEmbedder(64).id) == ("hashing-256", "hashing-64")
    assert HashingEmbedder(64).dimension == 64


@pytest.mark.parametrize("dimension", [0, 7, 65_537, 2.5, None])
def test_bad_dimensions(dimension):
    with pytest.raises(ConfigurationError, match="dimension"):
        HashingEmbedder(dimension)
