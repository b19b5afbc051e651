from collections import OrderedDict
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.embedders import CachedEmbedder, HashingEmbedder
from mnemic.errors import ConfigurationError, EmbedderError, EmbedderUnavailable, InvalidInput


class Counting(HashingEmbedder):
    """Remembers what it was asked."""

    def __init__(self):
        super().__init__(16)
        self.calls = []
        self.closed = False

    def embed(self, texts, *, kind="document"):
        self.calls.append((kind, list(texts)))
        return super().embed(texts, kind=kind)

    def close(self):
        self.closed = True


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_only_misses_are_asked_for_in_one_call_and_each_once():
    inner = Counting()
    embedder = CachedEmbedder(inner)
    embedder.embed(["a", "b"])
    rows = embedder.embed(["c", "a", "c", "d", "b"])
    assert inner.calls == [("document", ["a", "b"]), ("document", ["c", "d"])]
    np.testing.assert_array_equal(rows, HashingEmbedder(16).embed(["c", "a", "c", "d", "b"]))
    assert (embedder.hits, embedder.misses) == (3, 4)


def test_queries_and_documents_are_kept_apart():
    inner = Counting()
    embedder = CachedEmbedder(inner)
    embedder.embed(["a"], kind="query")
    embedder.embed(["a"], kind="document")
    assert [kind for kind, _ in inner.calls] == ["query", "document"]


def test_kinds_that_are_not_kept_go_straight_through():
    inner = Counting()
    embedder = CachedEmbedder(inner, kinds=("query",))
    embedder.embed(["a", "a"])
    embedder.embed(["a"])
    assert inner.calls == [("document", ["a", "a"]), ("document", ["a"])]
    assert (len(embedder), embedder.misses) == (0, 3)


def test_the_least_recently_used_leaves_first():
    inner = Counting()
    embedder = CachedEmbedder(inner, max_items=2)
    embedder.embed(["a"])
    embedder.embed(["b"])
    embedder.embed(["a"])
    embedder.embed(["c"])
    inner.calls.clear()
    embedder.embed(["a", "c"])
    embedder.embed(["b"])
    assert inner.calls == [("document", ["b"])]


def test_a_call_larger_than_the_cache_is_answered_in_full():
    embedder = CachedEmbedder(Counting(), max_items=2)
    texts = [f"text {i}" for i in range(7)]
    np.testing.assert_array_equal(embedder.embed(texts), HashingEmbedder(16).embed(texts))
    assert len(embedder) == 2


@pytest.mark.parametrize(("age", "asked"), [(9.9, 1), (10.0, 2), (500.0, 2)])
def test_time_to_live(age, asked):
    clock, inner = Clock(), Counting()
    embedder = CachedEmbedder(inner, ttl=10, clock=clock)
    embedder.embed(["a"])
    clock.now = age
    embedder.embed(["a"])
    assert len(inner.calls) == asked


def test_reading_does_not_prolong_a_life():
    clock, inner = Clock(), Counting()
    embedder = CachedEmbedder(inner, ttl=10, clock=clock)
    for clock.now in (0, 6, 12):
        embedder.embed(["a"])
    assert len(inner.calls) == 2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4)), max_size=12),
    st.integers(1, 4),
    st.integers(1, 5),
)
def test_it_behaves_like_a_plain_model_of_a_cache(steps, max_items, ttl):
    clock, inner = Clock(), Counting()
    embedder = CachedEmbedder(inner, max_items=max_items, ttl=ttl, clock=clock)
    model: OrderedDict[str, float] = OrderedDict()
    for pause, texts in steps:
        clock.now += pause
        inner.calls.clear()
        rows = embedder.embed(texts)
        expected = []
        for text in texts:
            if text in model and clock.now - model[text] < ttl:
                model.move_to_end(text)
            elif text not in expected:
                expected.append(text)
        for text in expected:
            model[text] = clock.now
            model.move_to_end(text)
        while len(model) > max_items:
            model.popitem(last=False)
        assert inner.calls == ([("document", expected)] if expected else [])
        np.testing.assert_array_equal(rows, HashingEmbedder(16).embed(texts))
        assert len(embedder) <= max_items


def test_changing_a_result_does_not_change_the_cache():
    embedder = CachedEmbedder(Counting())
    first = embedder.embed(["a", "b"])
    kept = first.copy()
    first[:] = 7
    second = embedder.embed(["a", "b"])
    second[:] = 9
    np.testing.assert_array_equal(embedder.embed(["a", "b"]), kept)


def test_nothing_is_kept_when_the_inner_one_fails():
    inner = Counting()
    embedder = CachedEmbedder(inner)

    def down(texts, *, kind="document"):
        raise EmbedderUnavailable("down")

    working, inner.embed = inner.embed, down
    with pytest.raises(EmbedderUnavailable):
        embedder.embed(["a"])
    inner.embed = working
    assert (len(embedder), embedder.hits, embedder.misses) == (0, 0, 0)
    assert embedder.embed(["a"]).shape == (1, 16)


def test_unusable_output_of_the_inner_one_is_refused():
    inner = Counting()
    inner.embed = lambda texts, *, kind="document": np.zeros((len(texts), 16), dtype=np.float32)
    embedder = CachedEmbedder(inner)
    with pytest.raises(EmbedderError, match="zero vector"):
        embedder.embed(["a"])
    assert len(embedder) == 0


def test_it_speaks_for_the_inner_one():
    inner = Counting()
    embedder = CachedEmbedder(inner)
    assert (embedder.id, embedder.dimension) == (inner.id, 16)
    embedder.embed(["a"])
    embedder.close()
    assert inner.closed
    assert len(embedder) == 0


def test_odd_texts():
    embedder = CachedEmbedder(Counting())
    rows = embedder.embed(["", "\0", "\ud800", "x" * 1_000_000])
    assert rows.shape == (4, 16)
    assert embedder.embed([]).shape == (0, 16)
    with pytest.raises(InvalidInput):
        embedder.embed("one text")


def test_threads_share_it():
    embedder = CachedEmbedder(Counting(), max_items=5)
    expected = HashingEmbedder(16).embed([str(i) for i in range(12)])
    wrong = []

    def work(offset):
        for i in range(300):
            place = (i * 7 + offset) % 12
            if not np.array_equal(embedder.embed([str(place)])[0], expected[place]):
                wrong.append(place)

    threads = [Thread(target=work, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert embedder.hits + embedder.misses == 1200
    assert len(embedder) == 5


@pytest.mark.parametrize(
    "options", [{"max_items": 0}, {"max_items": 1.5}, {"ttl": 0}, {"ttl": float("nan")}, {"kinds": "query"}]
)
def test_bad_options(options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        CachedEmbedder(HashingEmbedder(), **options)
