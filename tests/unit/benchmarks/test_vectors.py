import numpy as np
import pytest
from benchmarks.vectors import PreparedEmbedder, StoredEmbedder

from mnemic import HashingEmbedder


class Counting:
    id, dimension = "counting", 4

    def __init__(self):
        self.asked = []

    def embed(self, texts, *, kind="document"):
        self.asked += [(kind, text) for text in texts]
        return np.eye(4, dtype=np.float32)[[len(text) % 4 for text in texts]]


def test_vectors_are_made_once_and_kept_between_runs(tmp_path):
    file = tmp_path / "cache" / "vectors.npz"
    first = Counting()
    embedder = StoredEmbedder(first, file)
    made = embedder.embed(["a", "bb", "a"])
    embedder.embed(["a"], kind="query")
    embedder.close()
    assert first.asked == [("document", "a"), ("document", "bb"), ("query", "a")]

    second = Counting()
    again = StoredEmbedder(second, file)
    assert np.array_equal(again.embed(["a", "bb", "a"]), made)
    again.embed(["ccc"])
    again.close()
    assert second.asked == [("document", "ccc")]
    assert [path.name for path in file.parent.iterdir()] == ["vectors.npz"]
    third = StoredEmbedder(Counting(), file)
    assert third.embed(["ccc", "a"]).shape == (2, 4)
    assert third.inner.asked == []


def test_closing_without_news_writes_nothing(tmp_path):
    file = tmp_path / "vectors.npz"
    StoredEmbedder(Counting(), file).close()
    assert not file.exists()


def test_prepared_vectors_are_handed_out_and_unknown_texts_counted():
    vectors = HashingEmbedder().embed(["one", "two", "another one"])
    texts = ["one", "two", "one"]
    embedder = PreparedEmbedder(texts, vectors)
    assert np.array_equal(embedder.embed(["two", "one"]), vectors[[1, 0]])  # the first vector of a text counts
    assert embedder.unknown == 0
    made_up = embedder.embed(["three", "three", "four"])
    assert embedder.unknown == 3
    assert np.array_equal(made_up[0], made_up[1])
    assert not np.array_equal(made_up[0], made_up[2])
    assert np.linalg.norm(made_up, axis=1) == pytest.approx([1.0, 1.0, 1.0])
