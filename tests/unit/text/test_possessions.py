"""Who has what, by the words of a text."""

import pytest

from mnemic.text.english import possessions


@pytest.mark.parametrize(
    ("text", "owners"),
    [
        ("My mother's diagnosis is diabetes.", ["my", "mother"]),
        ("Petra's new locker number is 22, and the boss' car is red.", ["petra", "boss"]),
        ("Our flight leaves at six.", ["our"]),
        ("It's my turn, and that's his problem.", ["my", "his"]),
        ("Tom's working at AVL. Standup's at nine. Let's go.", []),
        ("Tuesday's standup was moved.", []),
        ("The rooms' keys", ["rooms"]),
    ],
)
def test_owners(text, owners):
    assert [owner for owner, *_ in possessions(text)] == owners


@pytest.mark.parametrize("text", ["Eva's parents live in Graz.", "Eva's parents 20 euros", "Eva's parents with 2 dogs"])
def test_what_they_have_ends_before_a_verb_and_a_number(text):
    assert possessions(text) == [("eva", frozenset({"parent"}), 0)]
