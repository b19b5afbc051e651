"""A model to which all texts are alike: what a search makes of its vectors."""

import numpy as np
import pytest

from mnemic import HashingEmbedder, Memory

WORDS = (
    "garden river piano harbour mountain bakery violin winter school bicycle forest museum candle letter engine".split()
)


class Alike:
    """Any two texts have a cosine of about .8."""

    id, dimension = "alike-1", 256

    def __init__(self):
        self._inner = HashingEmbedder(dimension=256)

    def embed(self, texts, *, kind="document"):
        rows = self._inner.embed(texts, kind=kind) + 2 / np.sqrt(256)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def said(count, offset=0):
    return [
        {"role": "user", "content": f"the {WORDS[n % 15]} and the {WORDS[(n // 15 + n) % 15]} number {n + offset}"}
        for n in range(count)
    ]


def dense(memory, question="where is the piano and the harbour?", **options):
    return {hit.text: hit.scores["dense"] for hit in memory.search(question, k=20, recipe="vector", **options)}


def test_cosines_lose_their_common_part_once_there_are_enough(tmp_path):
    with Memory(tmp_path / "m", embedder=Alike()) as memory:
        memory.add(said(60))
        assert min(dense(memory).values()) > 0.7
        memory.add(said(10, 60))
        found = dense(memory)
        assert max(found.values()) > 0.3
        assert min(found.values()) < 0.3


def test_min_similarity_is_a_cosine_of_the_embedder(tmp_path):
    embedder, question = Alike(), "where is the piano and the harbour?"
    with Memory(tmp_path / "m", embedder=embedder) as memory:
        memory.add(said(100))
        query = embedder.embed([question], kind="query")[0]
        raw = {text: float(embedder.embed([text])[0] @ query) for text in dense(memory, question)}
        limit = float(np.median([*raw.values()]))
        found = dense(memory, question, min_similarity=limit)
        assert found
        assert all(float(embedder.embed([text])[0] @ query) >= limit - 1e-3 for text in found)
        assert {text for text, cosine in raw.items() if cosine > limit + 1e-3} <= set(found)


def test_another_users_texts_move_no_score(tmp_path):
    with Memory(tmp_path / "m", user="ana", embedder=Alike()) as memory:
        memory.add(said(80))
        before = dense(memory)
        memory.scoped(user="ben").add(said(300, 1_000))
        assert dense(memory) == before


def test_the_mean_is_the_same_in_every_process(tmp_path):
    with Memory(tmp_path / "m", embedder=Alike()) as memory:
        memory.add(said(70))
        dense(memory)
        memory.add(said(130, 70))
        before = dense(memory)
    with Memory(tmp_path / "m", embedder=Alike()) as memory:
        assert dense(memory) == pytest.approx(before, abs=2e-3)  # vectors are stored as float16


def test_vectors_named_as_the_default_models_are_compared_as_they_are(tmp_path):
    embedder = Alike()
    embedder.id = "all-MiniLM-L6-v2"
    with Memory(tmp_path / "m", embedder=embedder) as memory:
        memory.add(said(100))
        assert min(dense(memory).values()) > 0.7


class Silent:
    """An index that cannot say what is near, so that vectors are fetched from the record and compared."""

    exact_below = 0

    def open(self, feed): ...

    def serves(self, model):
        return True

    def nearest(self, user, query, k):
        assert np.linalg.norm(query) == pytest.approx(1, abs=1e-4)

    def catch_up(self):
        return False

    def erase(self):
        return True

    def findings(self):
        return ()

    def close(self): ...


def test_vectors_behind_an_index_are_compared_alike(tmp_path):
    with Memory(tmp_path / "m", embedder=Alike()) as memory:
        memory.add(said(200))
        exact = dense(memory)
    with Memory(tmp_path / "m", embedder=Alike(), vectors=Silent()) as memory:
        assert dense(memory) == pytest.approx(exact, abs=2e-3)
        memory.add(said(60, 200))
        behind = dense(memory)
    with Memory(tmp_path / "m", embedder=Alike()) as memory:
        assert dense(memory) == pytest.approx(behind, abs=2e-3)  # 260 are twice 128: a new mean
