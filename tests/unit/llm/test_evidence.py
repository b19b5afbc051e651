"""What an assistant says of its user is no fact of the user, whatever the language model makes of it."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemic.errors import LanguageModelError
from mnemic.llm import extraction
from mnemic.types import Message

DAY = datetime(2026, 1, 5, tzinfo=UTC)
GUESS = "The user is allergic to almonds."


def found(turns, cited, statement=GUESS):
    """The statements that are kept of this one."""
    messages = [
        Message(role=role, name=name, content=text, id=f"m{n}", sent_at=DAY + timedelta(minutes=n))
        for n, (role, name, text) in enumerate(turns)
    ]
    task = extraction.task([("Allergies", messages)])
    answer = extraction.Findings(
        prediction="", statements=[extraction.FoundStatement(statement=statement, messages=cited)]
    )
    try:
        return task.read(answer).statements
    except LanguageModelError:
        return ()


def test_what_only_an_assistant_said_is_no_statement():
    turns = [
        ("user", None, "My throat itches."),
        ("assistant", None, "You could be allergic to almonds."),
        ("user", None, "Thanks."),
    ]
    assert found(turns, [2]) == ()
    assert found(turns, [2, 3]) == ()  # thanks are no confirmation
    assert found(turns, [1, 2]) == ()


@pytest.mark.parametrize("reply", ["Yes, I am.", "Exactly!", "Right, since childhood.", "Oh yes, terribly."])
def test_what_the_user_confirms_rests_on_both(reply):
    turns = [("assistant", None, "So you are allergic to almonds?"), ("user", None, reply)]
    (statement,) = found(turns, [1])
    assert statement.messages == (0, 1)


@pytest.mark.parametrize(
    "reply",
    [
        "No, to walnuts.",
        "I am not sure.",
        "What are almonds?",
        "Absolutely not!",
        "Of course not, I hate them.",
        "Definitely not.",
        "I have a meeting now.",
        "Right now I can't talk.",
        "Yes and no... no.",
        "Correct me if I'm wrong, but I never said that.",
        "True friends don't ask that.",
    ],
)
def test_what_the_user_does_not_confirm_rests_on_nothing(reply):
    assert found([("assistant", None, "So you are allergic to almonds?"), ("user", None, reply)], [1]) == ()


def test_what_people_said_stays_whatever_their_role():
    turns = [("user", "Ana", "Do you eat nuts?"), ("assistant", "Ben", "I am allergic to almonds.")]
    (statement,) = found(turns, [2], "Ben is allergic to almonds.")
    assert statement.messages == (1,)
    (own,) = found([("user", None, "I am allergic to almonds."), ("assistant", None, "Noted.")], [1, 2])
    assert own.messages == (0, 1)


def test_the_name_of_the_speaker_is_no_subject():
    turns = [("user", "Ana", "My dentist is Dr. Costa."), ("user", "Ana", "I am allergic to penicillin.")]
    assert found(turns, [1], "Ana is allergic to penicillin.") == ()
    assert found(turns, [2], "Ana is allergic to penicillin.") != ()
    assert found(turns, [1], "Ana loves skydiving.") == ()


def test_a_number_that_nobody_said_is_refused():
    turns = [("user", None, "I have cats and I moved on Friday.")]
    assert found(turns, [1], "The user has 3 cats.") == ()
    assert found(turns, [1], "The user moved in 2019.") == ()
    assert found(turns, [1], "The user moved on 2 January 2026.") != ()
