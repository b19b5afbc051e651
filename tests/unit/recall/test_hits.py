"""Scores of hits, and how they print."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import Hit, Memory
from mnemic.recall.results import descending_scores
from mnemic.types import SearchResult

SCORES = st.lists(st.floats(-1e6, 1e6).map(lambda score: round(score, 6)), max_size=40)


def hits(scores):
    return [Hit(id=str(n), kind="message", text="x", score=score) for n, score in enumerate(scores)]


@given(SCORES, st.floats(1e-6, 1))
def test_scores_lie_between_0_and_1_and_never_rise(scores, probability):
    found = descending_scores(hits(scores), probability)
    assert [hit.id for hit in found] == [str(n) for n in range(len(scores))]
    assert all(0 <= hit.score <= 1 for hit in found)
    assert all(a.score > b.score or b.score == 0 for a, b in pairwise(found))


def test_the_first_score_is_the_probability_of_the_result():
    assert descending_scores(hits([8.87, 9.0]), 0.8)[0].score == pytest.approx(0.8 * 8.87 / 9.0)


def test_whoever_sorts_by_score_keeps_what_holds_now_first(tmp_path):
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        for day, city in enumerate(("Oslo", "Rome", "Lisbon"), start=1):
            memory.add(f"I live in {city} now.", sent_at=datetime(2026, day, 1, tzinfo=UTC))
        found = memory.search("Where do I live now?", now=datetime(2026, 6, 1, tzinfo=UTC))
        assert "Lisbon" in found[0].text
        assert sorted(found, key=lambda hit: -hit.score) == list(found)


def test_a_result_prints_a_line_a_hit():
    one = Hit(id="m1", kind="message", text="word " * 400, score=0.5, speaker="Ana", sent_at=datetime(2026, 3, 9))
    assert repr(one).startswith("<0.50 09 Mar 2026, Ana: word word")
    assert len(repr(one)) < 160
    many = repr(SearchResult((one,) * 30, "strong", 0.9))
    assert many.splitlines()[0] == "<30 hits, evidence strong (0.90)>"
    assert len(many.splitlines()) == 12
