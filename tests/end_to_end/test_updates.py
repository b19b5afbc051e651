"""What was said last comes first, also where no rule reads that it replaces what was said before."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from mnemic import Memory, Message
from mnemic.embedders import HashingEmbedder
from mnemic.recall.recipes import CONVERSATION

PLAIN = replace(CONVERSATION, quality={})
"""The default recipe, ranked by nothing but the query."""


START = datetime(2026, 1, 5, 9, tzinfo=UTC)
TOLD = (
    "My cat is called Misty.",
    "The goldfish pond holds 5 goldfish.",
    "I had pasta for lunch.",
    "Ben's pond holds 3 frogs.",
    "The goldfish pond holds 9 goldfish after the heron came.",
    "Good morning!",
    "I study Greek on the train.",
    "Counted again, the goldfish pond holds 7 goldfish.",
)
QUESTION = "How many goldfish does the goldfish pond hold?"


class Squeezed:
    """An embedder whose cosines all lie between .7 and 1."""

    id = "squeezed"

    def __init__(self) -> None:
        self.inner = HashingEmbedder(256)
        self.dimension = 257

    def embed(self, texts, *, kind="document"):
        rows = self.inner.embed(texts, kind=kind)
        return np.hstack([rows * np.sqrt(0.3), np.full((len(rows), 1), np.sqrt(0.7))]).astype(np.float32)


@pytest.fixture(params=["hashing", "squeezed"])
def memory(request):
    embedder = "hashing" if request.param == "hashing" else Squeezed()
    with Memory(":memory:", user="ana", embedder=embedder) as memory:
        for week, text in enumerate(TOLD):
            memory.add([Message(role="user", content=text, sent_at=START + timedelta(weeks=week), id=f"m{week}")])
            memory.process()
        yield memory


def test_the_newest_value_is_first_and_the_others_are_found(memory):
    hits = memory.search(QUESTION, k=5)
    assert hits[0].id == "m7"
    assert {"m1", "m4", "m7"} <= {hit.id for hit in memory.search(QUESTION, k=8, include_expired=True)}


def test_the_value_of_a_past_date_is_first_at_that_date(memory):
    assert memory.search(QUESTION, at=START + timedelta(weeks=5))[0].id == "m4"
    assert memory.search(QUESTION, at=START + timedelta(weeks=2))[0].id == "m1"


def test_what_is_in_the_first_ten_does_not_change(memory):
    first = {hit.id for hit in memory.search(QUESTION, k=8)}
    assert first == {hit.id for hit in memory.search(QUESTION, k=8, recipe=PLAIN)}


def test_statements_of_different_matters_do_not_replace_each_other(memory):
    for text in ("My cat is called Misty.", "I study Greek on the train."):
        assert all(hit.superseded_by == () for hit in memory.search(text, k=1))
