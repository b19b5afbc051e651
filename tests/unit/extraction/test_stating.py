"""Sentences that state a value are kept, each by itself."""

from __future__ import annotations

import pytest

from mnemic.extraction.statements import statements
from mnemic.extraction.stating import plainly_stated, stated
from mnemic.types import Message


@pytest.mark.parametrize(
    "said", ["I am single now.", "The default branch is now main.", "They moved my class to Sunday."]
)
def test_a_value_is_stated_and_kept(said: str) -> None:
    assert stated(said)
    assert len(statements([Message(role="user", content=said, id="m")])) == 1


@pytest.mark.parametrize(
    "said", ["Is the default branch now main?", "The weather is lovely today.", "Haha, that's great."]
)
def test_questions_and_talk_state_nothing(said: str) -> None:
    assert not stated(said)
    assert not plainly_stated(said)


def test_values_told_to_an_agent_stand_alone_and_beyond_the_rate() -> None:
    said = "The standup is at 9:30 now. Our CI runs on Jenkins now. My rent went up to 900 euros."
    made = statements([Message(role="user", content=said, id="m")], rate=0.3)
    assert len(made) == 3
    assert all(one.message_ids == ("m",) for one in made)
