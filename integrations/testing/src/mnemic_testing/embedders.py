"""Conformance suite for embedders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mnemic.protocols import Embedder

__all__ = ["EmbedderSuite"]

ODD_TEXTS: Sequence[str] = (
    "",
    " ",
    "a",
    "\x00",
    "\ud800 lone",
    "日本語のテキスト",
    "🙂" * 50,
    "word " * 3_000,
    "\n\n\t",
)


class EmbedderSuite:
    """Subclass it and give a pytest fixture ``embedder``."""

    def test_one_unit_row_per_text(self, embedder: Embedder) -> None:
        vectors = embedder.embed(["I moved to Lisbon.", "The cat sleeps.", "42"])
        assert vectors.shape == (3, embedder.dimension)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)

    def test_no_texts_no_rows(self, embedder: Embedder) -> None:
        assert len(embedder.embed([])) == 0

    def test_the_same_alone_and_in_a_batch(self, embedder: Embedder) -> None:
        texts = ["short", "a somewhat longer text about gardens and rain", "word " * 100]
        batch = embedder.embed(texts)
        alone = np.concatenate([embedder.embed([text]) for text in texts])
        assert float((batch * alone).sum(axis=1).min()) > 0.9999

    def test_the_same_again(self, embedder: Embedder) -> None:
        first, second = embedder.embed(["again"]), embedder.embed(["again"])
        np.testing.assert_allclose(first, second, atol=1e-6)

    def test_odd_texts_have_vectors(self, embedder: Embedder) -> None:
        vectors = embedder.embed(ODD_TEXTS)
        assert len(vectors) == len(ODD_TEXTS)
        assert np.isfinite(vectors).all()

    def test_queries_are_embedded_alike(self, embedder: Embedder) -> None:
        assert embedder.embed(["Where?"], kind="query").shape == (1, embedder.dimension)

    def test_closer_to_a_paraphrase_than_to_another_subject(self, embedder: Embedder) -> None:
        one, near, far = embedder.embed(["the cat sat on the mat", "a cat sat on a mat", "quarterly tax report"])
        assert one @ near > one @ far

    def test_it_has_a_lasting_name(self, embedder: Embedder) -> None:
        assert embedder.id
        assert embedder.id == embedder.id.strip()
