from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from mnemic.extraction.contending import Said, later_first
from mnemic.extraction.questions import asks_what_holds
from mnemic.vectors import base_cosine, eased

DAY = datetime(2026, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "question",
    [
        "Where do I live?",
        "What is the office wifi password?",
        "Which hotel did we book for Rome?",
        "In which room is the review?",
        "How old am I?",
        "What car do I have?",
        "Remind me what my budget is?",
        "What was my latest A1c?",
        "What was the final budget?",
        "What temperature should the bedroom have at night?",
        "Has Orbit paid?",
        "Did Mira sign the waiver?",
    ],
)
def test_what_holds_is_asked(question):
    assert asks_what_holds(question)


@pytest.mark.parametrize(
    "question",
    [
        "Where did I live before?",
        "When was the launch?",
        "Which countries has Ana visited?",
        "Who inspired Ana?",
        "What sports does Ana like besides tennis?",
        "Have I ever been to Rome?",
        "Did we meet last week?",
        "Did Ana live in Rome in 2022?",
        "I live in Rome.",
        "",
    ],
)
def test_the_past_and_lists_are_asked(question):
    assert not asks_what_holds(question)


def said(*lines: str, cosine: float = 0.7) -> list[Said]:
    """Hits in this order, each said a week after the one before it."""
    return [
        Said(text, DAY + timedelta(weeks=n), "", agent=False, cosine=cosine - n / 50) for n, text in enumerate(lines)
    ]


def alike(count: int, value: float = 0.8) -> np.ndarray:
    return np.full((count, count), value) + (1 - value) * np.eye(count)


def test_what_was_said_last_of_one_matter_is_first():
    hits = said("The alarm code is 4711.", "The alarm code is 9023 now.", "We changed the alarm code to 3358.")
    assert later_first("What is the alarm code?", hits, alike(3)) == [2, 1, 0]


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [
        (
            "Which days do I go running?",
            "I run, usually tue + thu morning around 6:30",
            "I don't run on tuesdays anymore btw, now it's sat + thu",
        ),
        (
            "Which sport does Teo play?",
            "My son Teo has football on Wednesdays.",
            "Teo switched from football to basketball",
        ),
        ("Which berth is Skua at?", "my boat Skua is an Albin Vega, berth 22", "Skua's in the water! new berth is 31"),
        ("Has Orbit paid?", "Orbit hasn't paid yet", "orbit finally paid."),
        (
            "When do I work from home?",
            "I work from home on Mondays and Fridays.",
            "New job! From June I'm in the office 3 days, home office only on Fridays",
        ),
    ],
)
def test_a_change_told_in_passing_comes_first(question, before, after):
    hits = said(before, after, "Thanks, noted.", cosine=0.6)
    unlike = np.full((3, 3), 0.3) + 0.7 * np.eye(3)
    assert later_first(question, hits, unlike)[:2] == [1, 0]


def test_a_change_of_something_else_stays_behind():
    hits = said("Ana works at a bakery.", "Ana changed her phone contract now.", cosine=0.6)
    assert later_first("Where does Ana work?", hits, alike(2, 0.3)) == [0, 1]
    hits = said(
        "I moved to Lisbon, the flat is in Alfama.",
        "They are loud. I work for a newspaper now, by the way.",
        cosine=0.5,
    )
    assert later_first("Where does Ana live?", hits, alike(2, 0.2)) == [0, 1]


def test_the_matter_of_others_stays_where_it_is():
    hits = said("My dentist is Dr. Costa.", "My dentist is Dr. Haas now.", "Ben's dentist is Dr. Silva.")
    assert later_first("Who is my dentist?", hits, alike(3))[0] == 1


def test_talk_and_one_hit_change_nothing():
    hits = said("What a lovely day!", "Thanks, that helps.", "Did you see the match?", cosine=0.1)
    assert later_first("Who is my dentist?", hits, alike(3, 0.1)) == [0, 1, 2]
    assert later_first("Who is my dentist?", hits[:1], alike(1)) == [0]


def test_a_long_message_is_read_where_it_answers():
    talk = "We had a long walk by the sea and then some soup with Ben and his two dogs, it was cold but lovely. " * 3
    hits = said("Our standup is at 9:30.", f"{talk}Our standup is at 10:45 now.")
    assert later_first("What time is our standup?", hits, alike(2)) == [1, 0]


def test_cosines_of_an_embedder_that_holds_all_texts_alike():
    plain = np.eye(8, 16, dtype=np.float32)
    squeezed = np.hstack([plain * np.sqrt(0.3), np.full((8, 1), np.sqrt(0.7))])
    assert base_cosine(plain) == pytest.approx(0.15)
    assert base_cosine(squeezed) == pytest.approx(0.7, abs=0.01)
    assert base_cosine(plain[:3]) == base_cosine(np.zeros((9, 4))) == pytest.approx(0.15)
    found = eased(np.array([1.0, 0.7, 0.85]), 0.7)
    assert found == pytest.approx([1.0, 0.15, 0.575])
    assert eased(np.array([0.4]), 0.1) == pytest.approx([0.4])
