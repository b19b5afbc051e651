"""A reranker reorders the first hits and is told in their scores."""

import numpy as np
import pytest

from mnemic import ConfigurationError, CrossEncoderReranker, EmbedderError, Memory, MissingExtra


class Shortest:
    """Prefers short texts: an order no other signal would give."""

    def scores(self, query, texts):
        return -np.array([len(text) for text in texts], np.float32)


class Model:
    """Stands in for a CrossEncoder: counts shared words."""

    def __init__(self, answer=None):
        self.answer = answer

    def predict(self, sentences, *, batch_size, show_progress_bar):
        if self.answer is not None:
            return self.answer
        return [len(set(query.split()) & set(text.split())) for query, text in sentences]


@pytest.fixture
def opened(tmp_path):
    def make(reranker):
        memory = Memory(tmp_path / "memory", embedder="hashing", reranker=reranker)
        for text in ("tea with milk and a great deal of sugar", "tea with milk", "green tea in the garden"):
            memory.add(text)
        return memory

    return make


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda texts: 1 / 0, "failed: ZeroDivisionError"),
        (
            lambda texts: [1.0],
            r"one finite number for each of the 3 texts, an array of shape \(3,\), and gave shape \(1,\)",
        ),
        (lambda texts: [float("nan")] * len(texts), "not finite"),
    ],
)
def test_a_reranker_that_fails_is_an_error_of_ours(opened, answer, problem):
    class Faulty:
        def scores(self, query, texts):
            return answer(texts)

    with opened(Faulty()) as memory, pytest.raises(EmbedderError, match=problem):
        memory.search("tea with milk")


def test_scores_may_be_a_list(opened):
    class Listing:
        def scores(self, query, texts):
            return [float(len(text)) for text in texts]

    with opened(Listing()) as memory:
        assert memory.search("tea with milk", k=1)[0].text == "tea with milk and a great deal of sugar"


def test_the_reranker_has_the_last_word_on_the_order(opened):
    with opened(Shortest()) as memory:
        hits = memory.search("tea with milk and sugar")
        assert [hit.text for hit in hits] == [
            "tea with milk",
            "green tea in the garden",
            "tea with milk and a great deal of sugar",
        ]
        assert hits[0].scores["rerank"] == -len("tea with milk")
        assert [hit.id for hit in memory.search("tea with milk and sugar", k=1)] == [hits[0].id]


def test_a_cross_encoder(opened):
    with opened(CrossEncoderReranker(Model())) as memory:
        assert memory.search("green tea in the garden")[0].text == "green tea in the garden"


@pytest.mark.parametrize("answer", [[1.0], [1.0, float("nan"), 2.0], [[1.0, 2.0]] * 3])
def test_a_model_that_answers_nonsense(opened, answer):
    with opened(CrossEncoderReranker(Model(answer))) as memory, pytest.raises(EmbedderError):
        memory.search("tea")


def test_no_texts_no_scores():
    assert len(CrossEncoderReranker(Model()).scores("tea", [])) == 0


def test_without_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match="sentence-transformers"):
        CrossEncoderReranker().scores("tea", ["tea"])


def test_something_else_is_not_a_reranker():
    with pytest.raises(ConfigurationError, match="scores"):
        Memory(":memory:", embedder="hashing", reranker=object())
