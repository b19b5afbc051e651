"""The default embedder against the library whose vectors it promises to give."""

import random

import numpy as np
import pytest

from mnemic.embedders import SentenceTransformerEmbedder

pytestmark = [
    pytest.mark.torch,
    # Warnings of torch, transformers and their dependencies about themselves are not ours to answer for.
    pytest.mark.filterwarnings("default"),
]

WORDS = (
    "the cat sat on a mat while 猫 москва été naïve 😀 zürich 1984 http://example.org/z?q=1 don't well-known ... "
    "tokenization hyperparameter 日本語 שלום she moved to Lisbon in March and likes quiet mornings"
).split()

ODD = [
    "",
    "a",
    " \n\t",
    "\0",
    "a\0b",
    "😀",
    "日本語のテキスト",
    "x" * 300,
    "word " * 3000,
    "." * 700,
    "\u200b\ufeff",
    "ﬁ Å",
]


@pytest.fixture(scope="module")
def theirs(published):
    pytest.importorskip("torch")
    library = pytest.importorskip("sentence_transformers")
    return library.SentenceTransformer(str(published), device="cpu")


@pytest.fixture(scope="module")
def texts():
    rng = random.Random(7)
    lengths = [1, 3, 8, 20, 60, 150, 300]
    return ODD + [" ".join(rng.choices(WORDS, k=rng.choice(lengths))) for _ in range(200 - len(ODD))]


def cosines(left, right):
    return (left.astype(np.float64) * right).sum(axis=1)


def test_two_hundred_texts(minilm, theirs, texts):
    expected = theirs.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    together = minilm.embed(texts)
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    assert cosines(together, expected).min() >= 0.9999
    assert cosines(alone, expected).min() >= 0.9999


def test_the_adapter_of_the_library(minilm, theirs, published, texts):
    ready = SentenceTransformerEmbedder(theirs)
    assert ready.id == SentenceTransformerEmbedder(published).id == minilm.id
    for embedder in (ready, SentenceTransformerEmbedder(published, device="cpu", batch_size=8)):
        for kind in ("query", "document"):
            assert cosines(embedder.embed(texts[:30], kind=kind), minilm.embed(texts[:30])).min() >= 0.9999
        assert embedder.dimension == 384


def test_shorter_vectors(theirs):
    embedder = SentenceTransformerEmbedder(theirs, truncate_dim=64, max_tokens=16)
    assert embedder.embed(["a text"]).shape == (1, 64)
    assert embedder.id == "all-MiniLM-L6-v2/64"
