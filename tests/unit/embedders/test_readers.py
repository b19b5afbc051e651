"""Regressions on a text and its vector."""

import numpy as np

from mnemic.embedders.readers import phrases
from mnemic.knowledge.selection import WORTH


def test_phrases_are_words_and_pairs_of_the_beginning_in_any_case():
    found = phrases("No, it\u2019s NOT: " + "a " * 100 + "because")
    assert found == {"no", "it", "s", "not", "a", "no it", "it s", "s not", "not a", "a a"}
    assert not phrases("")


def test_another_embedder_has_none():
    texts, vectors = ["It's not on any more."], np.eye(1, 384, dtype=np.float32)
    assert WORTH.log_odds(texts, vectors, "all-MiniLM-L6-v2").any()
    assert not WORTH.log_odds(texts, vectors, "another model").any()
    assert WORTH.log_odds([], vectors[:0], "all-MiniLM-L6-v2").shape == (0,)
