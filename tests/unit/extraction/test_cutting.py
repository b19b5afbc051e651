from datetime import UTC, datetime

import pytest

from mnemic.extraction.statements import statements
from mnemic.types import Message

SAID = datetime(2026, 3, 15, 9, tzinfo=UTC)


def texts(said, name="Ana"):
    message = Message(role="user", name=name, content=said, id="m0", sent_at=SAID)
    answer = Message(role="assistant", content="ok", id="m1", sent_at=SAID)
    return [found.text for found in statements([message, answer], rate=3.0)]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Mum called. Fell down the stairs yesterday, broke her wrist.", []),
        ("My sister visited. Bought a Tesla in March.", ["Ana's sister visited. Bought a Tesla in March."]),
        ("CRM note: They have 340 drivers in Leeds. Interested in the Pro plan.", []),
        ("I saw my sister. Bought a Tesla in March.", ["Ana bought a Tesla in March."]),
        ("The flight to Porto was long. Went to bed at nine.", ["Ana went to bed at nine."]),
    ],
)
def test_a_missing_subject_is_the_speaker_only_where_nobody_else_is_spoken_of(said, expected):
    found = texts(said)
    assert expected == [] or set(expected) <= set(found)
    assert not any("Ana fell" in text or "Ana is interested" in text for text in found)
    assert expected != [] or found == []


@pytest.mark.parametrize(
    ("said", "group"),
    [
        ("My mother is 83 and deaf. We moved to Porto in May.", "Ana and others moved"),
        ("My cousin Pawel is unreliable, so we chose Schmitz.", "so Ana and others chose"),
        ("I went hiking in Norway with my wife. We loved Bergen so much.", "Ana and their wife loved"),
        ("My sister and I are planning a trip. We booked a flat in Rome.", "Ana and their sister booked"),
        ("I took my kids to the zoo in Porto and we saw bears.", "Ana and their kids saw"),
        ("I argued with my sister's landlord. We moved to Porto in May.", "Ana and others moved"),
    ],
)
def test_we_are_those_who_are_said_to_be_with_the_speaker(said, group):
    assert any(group in text for text in texts(said))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("no heart problems", []),
        ("Don't have a car anymore, sold it in May", ["Ana doesn't have a car anymore, sold it in May."]),
        ("always wanted to see Japan", ["Ana always wanted to see Japan."]),
        ("Never been to Rome", ["Ana has never been to Rome."]),
        ("no I don't have Spotify at all", ["Ana doesn't have Spotify at all."]),
        ("no calls before 9", ["Ana's rule: no calls before 9."]),
    ],
)
def test_answers_are_statements_and_rules_stay_rules(said, expected):
    assert texts(said) == expected


@pytest.mark.parametrize(
    "said",
    [
        "I'm basically 100 years old, my back hurts after every shift lol (i'm 52)",
        "I literally live at the office these days lol",
        "I'm basically a doctor at this point, I googled so much",
        "I own three islands, just kidding",
    ],
)
def test_jokes_are_no_facts(said):
    assert texts(said) == []


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I live in Leeds lol", "Ana lives in Leeds."),
        ("I honestly prefer tea to coffee", "Ana prefers tea to coffee."),
        ("I'm basically vegan since 2020", "Ana is vegan since 2020."),
        ("Oh and Bowie's vet moved to Zeist", "Bowie's vet moved to Zeist."),
        ("Nah I hate gyms.", "Ana hates gyms."),
        ("ok so basics: I'm Ana, I live in Utrecht with my dog.", "Ana lives in Utrecht with their dog."),
        ("I own two cats and I no longer go to FitPoint.", "Ana owns two cats and no longer goes to FitPoint."),
        ("They moved my class to Sunday.", "They moved Ana's class to Sunday."),
        ("My sister Joana is 40. She's hard of hearing in the right ear.",
         "Ana's sister Joana is 40. She's hard of hearing in the right ear."),
        ("Fine wine from Porto is my hobby.", "Fine wine from Porto is Ana's hobby."),
    ],
)  # fmt: skip
def test_what_is_said_plainly_is_kept(said, expected):
    assert expected in texts(said)


@pytest.mark.parametrize(
    "said",
    [
        "She's hard of hearing in the right ear",
        "7.300, they went up a bit. They need 50% upfront.",
        "I like tea. She's hard of hearing in the right ear.",
        "Please also change the user's account email to that one",
        "Yes please, send it to sam@x.org",
        "Fine but she's not allergic to cats",
        "If I won the lottery I'd buy an island and quit my job",
        "I'm Ana.",
    ],
)
def test_what_stands_on_nothing_is_dropped(said):
    assert not any(
        word in text
        for text in texts(said)
        for word in ("hearing", "they", "50%", "email", "sam@", "allergic", "island", "is Ana")
    )


def test_each_sentence_is_read_in_its_own_language():
    found = texts("Update: ich ziehe nach Flensburg im August. My workshop will be in Harrislee then.")
    assert 'Ana said: "Update: ich ziehe nach Flensburg im August."' in found
    assert "Ana's workshop will be in Harrislee then." in found
