from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Message
from mnemic.ingestion import counted, narrative

NOW = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def talk(*texts, names=("Ana", "Ben"), at=NOW):
    return [
        Message(role=("user", "assistant")[n % 2], name=names[n % 2], content=text, sent_at=at)
        for n, text in enumerate(texts)
    ]


def test_a_story_in_the_third_person_with_absolute_dates():
    messages = talk(
        "Hey Ben! How are you?", "Hi Ana, good, thanks!", "I went to a support group yesterday. It was powerful.",
        "Cool!", "I've decided to study counseling at 34.", "That's great! My brother Tom starts his new job tomorrow.",
    )  # fmt: skip
    assert narrative(messages) == (
        "Ana went to a support group on 7 May 2023. Ana has decided to study counseling at 34. "
        "Ben's brother Tom starts his new job on 9 May 2023."
    )


def test_a_quotation_is_verbatim_and_the_day_stands_before_it():
    assert narrative(talk("89.5 today!!")) == 'Ana said on 8 May 2023: "89.5 today!!"'
    assert narrative(talk("Interested in the Pro plan", "ok")) == "Ana is interested in the Pro plan."
    assert 'Ana said: "Interested in the Pro plan."' in narrative(
        talk("They have 340 drivers in Leeds. Interested in the Pro plan.")
    )
    assert narrative(talk("ran 5 km yesterday, 28:30")) == "Ana ran 5 km on 7 May 2023, 28:30."


def test_dates_are_those_of_the_speaker():
    late = NOW.replace(hour=23).astimezone(timezone(timedelta(hours=9)))
    assert "on 8 May 2023" in narrative(talk("I went to the dentist yesterday.", at=late))
    assert "on 7 May 2023" in narrative(talk("I went to the dentist yesterday.", at=NOW.replace(tzinfo=None)))
    assert "yesterday" in narrative(talk("I went to the dentist yesterday.", at=None))


def test_a_short_answer_is_told_with_its_question():
    messages = talk("Where did you spend the holidays?", "Mostly in Slovenia.")
    assert narrative(messages) == 'Asked "Where did you spend the holidays?", Ben answered: "Mostly in Slovenia."'


def test_roles_stand_in_for_names():
    messages = talk(
        "I need a train to Cambridge on Friday for 4 people.", "TR7785 leaves at 13:54. Your reference number is JPLBE5HV.",
        names=(None, None),
    )  # fmt: skip
    assert narrative(messages) == (
        "The user needs a train to Cambridge on Friday for 4 people. The assistant said: \"TR7785 leaves at 13:54.\" "
        "The assistant said that the user's reference number is JPLBE5HV."
    )  # fmt: skip


def test_what_is_shared_is_told():
    messages = talk("I baked a rye bread. [shares an image: a photo of a dark loaf on a marble table beside a candle]")
    assert narrative(messages) == (
        "Ana baked a rye bread. Ana shared an image: a photo of a dark loaf on a marble table beside a candle."
    )


def test_names_numbers_and_decisions_stay_when_there_is_no_room_for_all():
    chatter = "The weather stays as the weather is around here, as everybody says about the weather around these places all day."
    messages = talk(
        *[f"{chatter} {n * 'So '}" for n in range(12)],
        "We decided to buy the blue house on Elm Street for 340,000 euros.",
    )
    found = narrative(messages)
    assert "340,000" in found
    assert "Elm Street" in found


def test_nothing_is_told_twice():
    found = narrative(talk(*["I adopted a dog named Rex."] * 6))
    assert found.count("Rex") <= 2


def test_filler_alone_and_nothing():
    assert narrative([]) == ""
    assert narrative(talk("Hi!", "Hello!")) == "Ana and Ben exchanged greetings and short replies."
    assert narrative(talk("ok", names=(None, None))) == "The user said only a few words."


def test_code_and_markup_are_left_out():
    found = narrative(talk("I **renamed** the `load` function to read_all.\n```python\nsecret = 1\n```"))
    assert "secret" not in found
    assert "renamed the load function to read_all" in found


@pytest.mark.parametrize("count", [1, 5, 15, 40, 200])
def test_it_is_bounded_and_grows_slowly(count):
    messages = talk(
        *(
            f"I met {chr(65 + n % 26)}{n}ton at place number {n} and paid {n * 3} dollars for a {'very ' * 20}old lamp."
            for n in range(count)
        )
    )
    assert 0 < len(narrative(messages)) <= min(500 + 35 * count, 2_000)


def test_long_and_hostile_texts():
    for text in (
        "a" * 1_000_000,
        "I " * 200_000,
        "[" * 50_000,
        "*" * 50_000,
        'I said "no" ' * 10_000,
        "\ud800 I left",
        "\x00\x1b[2J I left.",
    ):
        found = narrative(talk(text, "I left Rome."))
        assert len(found) <= 570
        assert found == narrative(talk(text, "I left Rome."))


def test_words_of_the_whole_conversation_tell_less():
    everywhere = talk(
        *["I practise the cello every evening with my teacher in the old academy building downtown, patiently."] * 30
    )
    said = [
        "I practise the cello every evening with my teacher in the old academy building downtown, patiently.",
        "I bought a kayak.",
    ]
    found = narrative(talk(*said), counted([*everywhere, *talk(*said)]))
    assert "kayak" in found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=200), max_size=8))
def test_any_text_gives_a_bounded_story(texts):
    found = narrative(talk(*texts))
    assert len(found) <= 500 + 35 * len(texts)
    assert bool(found) == bool(texts)
