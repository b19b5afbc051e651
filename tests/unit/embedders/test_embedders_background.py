"""The model that is loaded in the background."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from mnemic import CachedEmbedder, EmbedderUnavailable, HashingEmbedder, Memory
from mnemic.embedders import BackgroundEmbedder


class Slow(HashingEmbedder):
    """Is loaded when the test says so, or not at all."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = threading.Event()
        self.refusal: str | None = None

    def load(self) -> None:
        assert self.allowed.wait(30)
        if self.refusal:
            raise EmbedderUnavailable(self.refusal)

    def embed(self, texts, **options):
        if self.refusal:
            raise EmbedderUnavailable(self.refusal)
        return super().embed(texts, **options)


@pytest.fixture
def slow():
    return Slow()


def test_queries_are_refused_and_documents_wait(slow):
    background = BackgroundEmbedder(slow)
    thread = background.start(lambda: None)
    with pytest.raises(EmbedderUnavailable, match="being loaded"):
        background.embed(["x"], kind="query")
    results = []
    writer = threading.Thread(target=lambda: results.append(background.embed(["x"])))
    writer.start()
    assert results == []
    slow.allowed.set()
    writer.join(30)
    thread.join(30)
    assert np.array_equal(results[0], HashingEmbedder().embed(["x"]))
    assert background.embed(["x"], kind="query").shape == (1, background.dimension)
    assert background.id == HashingEmbedder().id


def test_documents_do_not_wait_for_ever(slow):
    background = BackgroundEmbedder(slow, patience=0)
    thread = background.start(lambda: None)
    with pytest.raises(EmbedderUnavailable):
        background.embed(["x"])
    slow.allowed.set()
    thread.join(30)


def test_a_model_that_cannot_be_had_is_told_once_and_by_every_call(slow, caplog):
    background, called = BackgroundEmbedder(slow), []
    slow.refusal = "no weights anywhere"
    slow.allowed.set()
    background.start(lambda: called.append(1)).join(30)
    with pytest.raises(EmbedderUnavailable, match="no weights anywhere"):
        background.embed(["x"])
    assert "no weights anywhere" in caplog.text
    assert called == []


def test_keyword_first_and_nothing_stays_without_its_vector(slow, tmp_path):
    with Memory(tmp_path, embedder="hashing") as earlier:
        earlier.remember("Ana lives in Lisbon.")
    background = BackgroundEmbedder(slow, patience=0)
    with Memory(tmp_path, embedder=CachedEmbedder(background, kinds=("query",))) as memory:
        thread = background.start(lambda: memory.admin.flush(process=False))
        with pytest.warns(RuntimeWarning, match="by keyword only"):
            hits = memory.search("Where does Ana live?")
        assert [hit.text for hit in hits] == ["Ana lives in Lisbon."]
        assert hits[0].scores["dense"] == 0
        assert memory.remember("Bob paints boats.").pending == ("embed",)
        slow.allowed.set()
        thread.join(30)
        assert memory.stats().pending.get("embed", 0) == 0
        assert memory.search("boats")[0].scores["dense"] > 0
