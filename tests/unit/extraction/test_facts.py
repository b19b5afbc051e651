"""Different wordings of one attribute meet; what differs in subject, time or certainty does not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.extraction.attributes import cardinality
from mnemic.extraction.facts import Fact, facts
from mnemic.extraction.values import canonical, kind, same_value


def told(text: str) -> set[tuple[str, str, str]]:
    return {(f.subject, f.attribute, f.value) for f in facts(text) if f.polarity and f.tense == "present"}


SAME = {
    ("ana", "residence", "porto"): [
        "Ana lives in Porto.", "Ana moved to Porto", "Ana's home is now Porto.", "Ana relocated to Porto.", "Ana just moved to Porto last week.",
        "Ana has moved from Lisbon to Porto.", "Ana is based in Porto these days.", "Ana settled in Porto after five years in Rome.",
        "On 3 May 2024, Ana moved to Porto.", "Ana moved to Porto on 3 May 2024.", "After five years in Rome, Ana moved to Porto.",
        "Ana said that she lives in Porto.", "Ana's city is Porto.", "Ana lives in Porto with her cat.",
    ],
    ("i", "residence", "porto"): ["My city is Porto", "I live in Porto.", "I've moved to Porto!", "My home is in Porto."],
    ("ana", "employer", "meta"): [
        "Ana works at Meta.", "Ana works for Meta as an analyst.", "Ana joined Meta last month.", "Ana left Google and joined Meta.",
        "Ana got a new job at Meta.", "Ana started working at Meta.", "Ana's employer is Meta.", "Ana was hired by Meta.",
    ],
    ("ana", "role", "nurse"): ["Ana is a nurse.", "Ana works as a nurse.", "Ana's job title is nurse.", "Ana became a nurse.", "Ana's job is nurse"],
    ("ana", "age", "35"): ["Ana is 35 years old.", "Ana turned 35.", "Ana is 35 now.", "Ana's age is 35"],
    ("ana", "phone number", "555-1234"): ["Ana's phone number is 555-1234.", "Ana's new number is 555-1234", "Ana changed her number to 555-1234."],
    ("ana", "email", "ana@x.org"): ["Ana's email is ana@x.org", "Ana changed her email to ana@x.org.", "Ana's new e-mail address is ana@x.org."],
    ("ana", "favourite colour", "blue"): ["Ana's favourite colour is blue.", "Ana's favorite color is now blue.", "Ana likes blue best.", "Ana's preferred colour is blue"],
    ("ana", "car", "tesla"): ["Ana drives a Tesla.", "Ana's car is a Tesla.", "Ana traded her Civic for a Tesla.", "Ana bought a new car, a Tesla."],
    ("ana", "diet", "vegan"): ["Ana is vegan.", "Ana went vegan.", "Ana is a vegan now", "Ana has gone vegan."],
    ("ana", "relationship", "married"): ["Ana is married.", "Ana got married.", "Ana's relationship status is married."],
    ("ana", "manager", "tom"): ["Ana's manager is Tom.", "Tom is Ana's manager.", "Ana's new boss is Tom.", "Ana reports to Tom now."],
    ("api", "port", "8080"): [
        "The API runs on port 8080.", "The API port is 8080.", "The port of the API is 8080", "The API now listens on 8080.", "We changed the API port to 8080.",
    ],
    ("we", "timeout", "30 second"): ["Set timeout to 30s.", "The timeout is 30 seconds.", "We bumped the timeout from 10s to 30s."],
    ("we", "database", "postgres 16"): [
        "We use Postgres 16.", "Our database is Postgres 16.", "We switched the database from MySQL to Postgres 16.", "We've switched to Postgres 16.",
        "We're on Postgres 16 now.", "We use Postgres 16 for the database.", "Ana and others have switched to Postgres 16.",
    ],
    ("launch", "date", "10 may"): [
        "The launch is on 10 May.", "The launch was moved to 10 May.", "The launch slipped to May 10th.", "The launch date is now 10 May.",
        "We pushed the launch back to 10 May.", "The launch has been postponed from 3 May to 10 May.",
    ],
    ("standup", "time", "10:00"): ["The standup is at 10 now.", "Standup's at 10am.", "We moved the standup to 10:00.", "Standup starts at 10."],
    ("report", "date", "12 june"): ["The report is due on 12 June.", "The deadline for the report is 12 June.", "The deadline for the report was extended to June 12."],
    ("atlas project", "lead", "tom"): [
        "Tom leads the Atlas project.", "Tom took over the Atlas project from Sara.", "The Atlas project is led by Tom.", "The lead of the Atlas project is Tom.",
        "Sara handed the Atlas project over to Tom.", "Tom replaced Sara as lead of the Atlas project.",
    ],
    ("atlas", "status", "blocked"): ["Atlas is blocked.", "The status of Atlas is blocked.", "Atlas's status changed to blocked"],
    ("marketing", "budget", "8000 euro"): ["The marketing budget is 8,000 euros.", "The marketing budget was raised from 5000 to 8000 euros."],
    ("ana", "number of cat", "3"): ["Ana has three cats.", "Ana has 3 cats now."],
    ("ana's cat", "name", "misty"): ["Ana's cat is called Misty.", "Ana named her cat Misty.", "Ana's cat's name is Misty."],
    ("ana's sister", "residence", "lyon"): ["Ana's sister lives in Lyon.", "Ana's sister moved to Lyon."],
    ("project", "indentation", "tabs"): ["The project uses tabs.", "The project's indentation is tabs."],
    ("ana", "allergy", "nuts"): ["Ana's allergy is nuts"],
}  # fmt: skip


@pytest.mark.parametrize(("fact", "text"), [(fact, text) for fact, texts in SAME.items() for text in texts])
def test_wordings_of_one_attribute_meet(fact, text):
    assert fact in told(text)


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        ("Ana used to live in Rome.", "past"),
        ("Ana lived in Rome.", "past"),
        ("Ana was a teacher.", "past"),
        ("Ana's former manager is Tom.", "past"),
        ("Ana might move to Rome.", "possible"),
        ("Ana wants to move to Rome.", "possible"),
        ("Ana will move to Rome.", "possible"),
        ("I think Ana lives in Rome.", "possible"),
        ("Maybe the standup is at 9.", "possible"),
    ],
)
def test_the_past_and_the_possible_are_not_the_present(text, tense):
    assert {f.tense for f in facts(text)} == {tense}


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("Ana no longer lives in Lisbon.", "residence", "lisbon"),
        ("Ana doesn't live in Lisbon anymore.", "residence", "lisbon"),
        ("Ana left Google.", "employer", "google"),
        ("Ana stopped playing tennis.", "play", "tennis"),
        ("Ana gave up tennis.", "*", "tennis"),
        ("Ana is no longer vegan.", "diet", "vegan"),
        ("Ana does not eat meat.", "eat", "meat"),
    ],
)
def test_what_is_denied_is_denied(text, attribute, value):
    assert [(f.attribute, f.value, f.polarity) for f in facts(text)] == [(attribute, value, False)]


@pytest.mark.parametrize(
    "text",
    ["Where does Ana live?", "Hello!", "", "   ", "?", "Wow, that's great.", "If Ana moved to Rome, I would cry."],
)
def test_nothing_is_read_from_questions_talk_and_conditions(text):
    assert not [f for f in facts(text) if f.tense == "present" and f.cardinality == "one"]


def test_a_contrast_gives_both_sides():
    assert [(f.value, f.polarity) for f in facts("The meeting isn't at 9 anymore, it's at 10.")] == [
        ("09:00", False),
        ("10:00", True),
    ]
    assert [(f.value, f.tense) for f in facts("We used to use MySQL but now we use Postgres.")] == [
        ("mysql", "past"),
        ("postgres", "present"),
    ]
    assert [(f.value, f.old) for f in facts("I've moved from Lisbon to Porto.")] == [("porto", "lisbon")]


def test_one_many_and_open_are_told_apart():
    assert [
        cardinality(a) for a in ("residence", "favourite film", "number of cat", "hobby", "best friend", "bank")
    ] == ["one", "one", "one", "many", "many", "one"]
    assert not facts("Ana likes jazz now.")[0].single
    assert facts("Ana drinks tea now.")[0].single
    assert not facts("Ana drinks tea.")[0].single
    assert facts("Ana's bank is Monzo.")[0].single
    assert not facts("Ana's hobbies are chess and running.")[0].single


@pytest.mark.parametrize(
    ("said", "value"),
    [("3rd of May", "3 may"), ("May 3rd", "3 may"), ("2025-05-03", "3 may 2025"), ("three", "3"), ("10am", "10:00"), ("3 pm", "15:00"), ("noon", "12:00"),
     ("30s", "30 second"), ("$1,200", "1200 dollar"), ("the Tesla.", "tesla"), ("Fridays", "friday"), ("5k", "5000")],
)  # fmt: skip
def test_values_have_one_spelling(said, value):
    assert canonical(said) == value


def test_kinds_and_sameness_of_values():
    assert [kind(v) for v in ("Postgres 16", "blue", "3 May", "10am", "ana@x.org", "12", "Friday", "Porto")] == [
        "database",
        "colour",
        "date",
        "time",
        "email",
        "number",
        "date",
        "",
    ]
    assert same_value("porto", "porto, portugal")
    assert not same_value("postgres", "postgres 16")
    assert not same_value("porto", "porto alegre")
    assert not same_value("", "porto")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400))
def test_any_text_can_be_read(text):
    assert all(isinstance(f, Fact) and f.subject and f.attribute for f in facts(text))


WORDS = "Ana Tom I we my the is was not no longer lives moved to in at on from Porto 10 3 May now port API 's and but , . instead of has switched".split()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
def test_any_order_of_telling_words_can_be_read(text):
    assert facts(text) == facts(text)


def test_of_a_long_text_the_beginning_is_read():
    text = "Ana lives in Porto.\n\n" + "from to " * 50_000
    assert facts(text) == facts(text[:4_000])
    assert told(text) == {("ana", "residence", "porto")}
