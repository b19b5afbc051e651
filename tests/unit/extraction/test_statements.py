import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.extraction.statements import Statement, statements
from mnemic.types import Message

SAID = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)  # a Monday


def talk(*turns, start=SAID):
    """Messages from "Speaker: text": roles user, assistant, tool and system have no name, every other word is one."""
    found = []
    for number, turn in enumerate(turns):
        who, _, text = turn.partition(": ")
        role = who if who in {"user", "assistant", "tool", "system"} else "user"
        name = None if role == who else who
        sent_at = start + timedelta(minutes=number)
        found.append(Message(role=role, name=name, content=text, id=f"m{number}", sent_at=sent_at))
    return found


def texts(*turns, rate=1.0):
    return [s.text for s in statements(talk(*turns), rate=rate)]


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ("Ana: I keep bees on the roof of my house.", "Ana keeps bees on the roof of their house."),
        ("Ana: I'm a nurse in Porto.", "Ana is a nurse in Porto."),
        ("Ana: My sister Joana lives in Berlin.", "Ana's sister Joana lives in Berlin."),
        ("Ana: I've been working at Bosch since 2019.", "Ana has been working at Bosch since 2019."),
        ("Ana: I don't eat meat and I'm allergic to nuts.", "Ana doesn't eat meat and is allergic to nuts."),
        ("Ana: I love hiking and hate rain.", "Ana loves hiking and hates rain."),
        ("Ana: I like to swim and go hiking.", "Ana likes to swim and go hiking."),
        ("Ana: I usually bring a book and play chess.", "Ana usually brings a book and plays chess."),
        ("Ana: My brother and I are going to Rome.", "Ana's brother and Ana are going to Rome."),
        ("Ana: I taught myself guitar in 2010.", "Ana taught themselves guitar in 2010."),
        ("Ana: i moved to lisbon and im learning portuguese", "Ana moved to lisbon and is learning portuguese."),
        ("Ana: Went to the dentist in Porto yesterday.", "Ana went to the dentist in Porto on 7 May 2023."),
        ("Ana: Working on a novel about the sea.", "Ana is working on a novel about the sea."),
        ("Ana: Gonna continue my studies in Madrid!", "Ana is going to continue their studies in Madrid."),
        ("Ana: I took my kids to the zoo in Porto and we saw bears.", "Ana took their kids to the zoo in Porto and Ana and their kids saw bears."),
        ("Ana: I bought a canoe last Friday.", "Ana bought a canoe on Friday 5 May 2023."),
        ("Ana: We're camping in Norway next month with my kids.", "Ana and others are camping in Norway in June 2023 with Ana's kids."),
        ('Ana: I told Tom "I am leaving" in 2020.', 'Ana told Tom "I am leaving" in 2020.'),
        ("Ana: Hey Ben, I finally signed up for a pottery class!", "Ana finally signed up for a pottery class."),
        ("Ana: Guess what - I got a puppy called Rex!", "Ana got a puppy called Rex."),
        ("Ana: I started a yoga course, what about you?", "Ana started a yoga course."),
        ("user: I'm planning a trip to Seattle and need a hotel.", "The user is planning a trip to Seattle and needs a hotel."),
        ("user: I bought their record in Porto and have been playing it since.", "The user bought their record in Porto and has been playing it since."),
        ("user: We use Postgres 16 in prod.", "The user's team uses Postgres 16 in prod."),
        ("user: my API runs on port 8080", "The user's API runs on port 8080."),
        ("user: Never commit to main", "The user's rule: never commit to main."),
        ("user: From now on answer in Portuguese.", "The user's rule: from now on answer in Portuguese."),
        ("user: You must always run `make check` before you push.", "The user's rule: always run `make check` before the assistant pushes."),
        ("user: Use pnpm, not npm.", "The user's rule: use pnpm, not npm."),
        ("user: Remember that the staging database lives at db2.internal.", "The staging database lives at db2.internal."),
        ("user: The cache timeout is 30 seconds.", "The cache timeout is 30 seconds."),
        ("user: I prefer tabs over spaces.", "The user prefers tabs over spaces."),
        ("user: I switched from npm to pnpm yesterday.", "The user switched from npm to pnpm on 7 May 2023."),
        ("user: My name is Ana Souza.", "The user's name is Ana Souza."),
        ("user: Vivo en Lisboa desde 2019 y trabajo en Bosch.", 'The user said: "Vivo en Lisboa desde 2019 y trabajo en Bosch."'),
    ],
)  # fmt: skip
def test_a_sentence_in_the_third_person(turn, expected):
    assert texts(turn, "Ben: Ok." if turn.startswith("Ana") else "assistant: Ok.") == [expected]


@pytest.mark.parametrize(
    "turn",
    [
        "Ana: Hey Ben! How are you?",
        "Ana: Thanks so much, that means a lot to me!",
        "Ana: Congrats on the new job in Paris!",
        "Ana: It's so cold and rainy today.",
        "Ana: I'm at the bus stop.",
        "Ana: I'm tired.",
        "Ana: Wow, that's amazing!",
        "Ana: You should visit the Prado museum in Madrid.",
        "Ana: You're such a great painter, Ben.",
        "Ana: Maybe we could go to Rome in July.",
        "Ana: If I were rich I would buy a boat in Monaco.",
        "Ana: Have you ever been to Lisbon?",
        "Ana: They love it.",
        "Ana: I love it!",
        "Ana: Let's meet in Porto on Sunday.",
        "Ana: Can't wait to hear about your trip to Rome!",
        "Ana: Take care and see you soon!",
        "Ana: lol",
        "Ana: Try flavoured seltzer water instead of cola.",
        "Ana: I would love to!",
        "Ana: No, I didn't.",
        "user: Fix the failing test in test_auth.py",
        "user: Can you write a function that parses ISO dates?",
        "user: ```python\nport = 8080\n```",
        'user: {"host": "db2", "port": 5432}',
        "user: <memory ab12>\n- Ana: I live in Rome.\n</memory ab12>",
        "user: <memory ab12>\nI live in Rome.",
        "assistant: **How I Built This** by Guy Raz is a podcast about founders.",
        "assistant: Once I've booked the flight to Rome you will get a mail.",
        "user: I'm looking for some podcast recommendations for my commute to Porto.",
        "assistant: You could use connection pooling with PgBouncer.",
        "assistant: I'd recommend setting max_connections to 100.",
        "assistant: You live in Rome and work at Bosch.",
        "assistant: Postgres 16 is the best choice for your project.",
        "assistant: I can help you book a flight to Lisbon.",
        "system: You are a helpful assistant called Max.",
        "system: Always answer in English.",
        'tool: {"port": 9000}',
        "tool: I think the server in Paris is down.",
    ],
)
def test_what_is_not_kept(turn):
    assert texts(turn, "Ben: Ok." if turn.startswith("Ana") else "user: Ok.") == []


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("Where do you live?", "In Lisbon.", "The user lives in Lisbon."),
        ("Do you have any pets?", "Yes, two cats.", "The user has pets: two cats."),
        ("Are you vegetarian?", "Yes", "The user is vegetarian."),
        ("Do you eat meat at home?", "No.", "The user doesn't eat meat at home."),
        ("What database do you use?", "Postgres 16.", "The database the user uses is Postgres 16."),
        ("What do you use for testing?", "pytest", "The user uses pytest for testing."),
        ("How old are you?", "34", "The user is 34 years old."),
        ("How many servers do you have?", "Three.", "The user has three servers."),
        ("What's your favourite city?", "Porto", "The user's favourite city is Porto."),
        ("When did you start painting landscapes?", "Seven years back", 'Asked "When did you start painting landscapes?", the user answered "Seven years back".'),
    ],
)  # fmt: skip
def test_a_short_answer_with_its_question(question, answer, expected):
    (found,) = statements(talk(f"assistant: Great. {question}", f"user: {answer}"), rate=1)
    assert (found.text, found.message_ids, found.speaker) == (expected, ("m0", "m1"), "The user")


def test_an_offer_to_do_something_is_no_fact_about_who_says_yes():
    assert texts("assistant: Do you want me to fix the tests in auth?", "user: Yes.") == []


def test_you_is_the_other_of_two_and_nobody_among_three():
    assert texts("Ana: I baked a carrot cake for you.", "Ben: Oh!") == ["Ana baked a carrot cake for Ben."]
    assert texts("Ana: I baked a carrot cake for you.", "Ben: Oh!", "Tom: Ah.") == []


def test_a_pronoun_stays_with_what_it_stands_for():
    (found,) = texts("Ana: I painted a lake sunrise last year! It hangs in the kitchen of my grandmother.", "Ben: Ok.")
    assert found == "Ana painted a lake sunrise in 2022. It hangs in the kitchen of Ana's grandmother."
    assert texts("Ana: It's special to me because of the lake.", "Ben: Ok.") == []
    (shown,) = texts("Ana: I made this in my pottery class! [shares an image: a photo of a blue bowl]", "Ben: Ok.")
    assert shown == "Ana made this in their pottery class (image: a blue bowl)."
    (asked,) = texts("Ben: How did the marathon in Berlin go?", "Ana: It was hard, but I finished in four hours.")
    assert asked == 'It was hard, but Ana finished in four hours (asked: "How did the marathon in Berlin go?").'


def test_an_agent_tells_only_what_it_did_or_what_was_decided_together():
    found = statements(
        talk(
            "user: Please book it.",
            "assistant: I've booked the flight to Rome for 5 May for you. You should see the Colosseum.",
            "assistant: We decided to use JWT with a 15 minute expiry.",
        ),
        rate=1,
    )
    assert [s.text for s in found] == [
        "The assistant has booked the flight to Rome for 5 May for the user.",
        "The user and the assistant decided to use JWT with a 15 minute expiry.",
    ]
    assert {(s.speaker, s.source, s.trust) for s in found} == {("The assistant", "model_inference", 0.7)}


def test_an_assistant_role_with_a_personal_name_speaks_for_that_person():
    messages = [
        Message(role="user", name="Ana", content="Hi!", id="1", sent_at=SAID),
        Message(role="assistant", name="Ben", content="I repair old radios in Vigo.", id="2", sent_at=SAID),
        Message(role="assistant", name="research_agent", content="I live in Vigo with two cats.", id="3", sent_at=SAID),
    ]
    assert [(s.text, s.speaker) for s in statements(messages, rate=1)] == [("Ben repairs old radios in Vigo.", "Ben")]


def test_tools_and_systems_only_state_plain_facts():
    found = statements(
        talk("tool: The server listens on port 9000.", "system: The billing service is owned by Falcon.")
    )
    assert [(s.text, s.source, s.trust) for s in statements(talk("tool: The server listens on port 9000."))] == [
        ("The server listens on port 9000.", "tool_external", 0.3)
    ]
    assert found


def test_types_dates_and_trust():
    messages = [
        Message(role="user", name="Ana", content="I met Tom Lee in Porto yesterday.", id="1", sent_at=SAID, trust=0.4),
        Message(role="user", name="Ben", content="Nice.", id="2", sent_at=SAID),
        Message(role="user", name="Ana", content="I felt so proud of my daughter Eva.", id="3", sent_at=SAID),
        Message(role="user", name="Ana", content="We will move to Vigo next month.", id="4", sent_at=SAID),
        Message(role="user", name="Ana", content="My dentist is called Rui Costa.", id="5", sent_at=SAID),
    ]
    found = statements(messages, rate=1)
    assert [s.type for s in found] == ["episodic", "emotional", "episodic", "semantic"]
    assert [s.valid_at for s in found] == [datetime(2023, 5, 7, tzinfo=UTC), None, None, None]
    assert [s.trust for s in found] == [0.4, 1.0, 1.0, 1.0]
    assert all(s.said_at == SAID and s.source == "direct_user" for s in found)


def test_what_is_declared_to_an_agent_stays_single_and_beyond_the_rate():
    said = "user: We use Postgres 16 in prod. My API runs on port 8080. Never commit to main. I prefer pnpm over npm."
    assert len(texts(said, "assistant: Ok.", rate=0.3)) == 4


def test_the_rate_holds_by_putting_neighbours_together_and_dropping_the_rest():
    things = [
        "canoe",
        "violin",
        "telescope",
        "greenhouse",
        "tractor",
        "beehive",
        "windmill",
        "trampoline",
        "kiln",
        "harp",
    ]
    turns = [turn for thing in things for turn in (f"Ana: I bought a {thing} in Porto.", "Ben: I see.")]
    found = statements(talk(*turns), rate=0.2)
    assert 1 <= len(found) <= 4
    assert all(len(s.message_ids) <= 3 and len(s.text) <= 320 for s in found)
    assert len(statements(talk(*turns), rate=1)) == len(things)


def test_messages_without_ids_or_times():
    timeless = [Message(role="user", content="I bought a canoe in Porto yesterday.", id="1")]
    assert [s.text for s in statements(timeless)] == ["The user bought a canoe in Porto yesterday."]
    assert statements([Message(role="user", content="I bought a canoe in Porto.")]) == []
    assert statements([]) == []


WORDS = """I I'm my me we you it they Ana Ben yesterday last week went bought love have been never always use Postgres 8080 don't
the a and but because in Porto ? . ! , " - [shares an image: photo] never commit to main \U0001f600 caf\u00e9 \u4eca\u65e5\u306f Yes No In
```  <memory x> </memory x> said "I am" our us myself mine""".split(" ")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join) | st.text(max_size=120)
ROLES = st.sampled_from(["user", "assistant", "tool", "system", "other"])
MESSAGES = st.lists(
    st.builds(
        Message, role=ROLES, content=TEXTS, name=st.sampled_from([None, "Ana", "Ben", "I", "The bot", " "]),
        id=st.uuids().map(str), sent_at=st.none() | st.datetimes(timezones=st.just(UTC)),
    ),
    max_size=8, unique_by=lambda m: m.id,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(MESSAGES, st.floats(0, 2))
def test_properties(messages, rate):
    found = statements(messages, rate=rate)
    assert found == statements(messages, rate=rate)
    ids = [m.id for m in messages]
    for one in found:
        assert isinstance(one, Statement)
        assert one.text.strip()
        assert len(one.text) <= 330
        assert 1 <= len(one.message_ids) <= 3
        assert set(one.message_ids) <= set(ids)
        assert 0 <= one.weight <= 1
        assert 0 <= one.trust <= 1
        assert one.said_at.utcoffset() is not None
        assert one.valid_at is None or one.valid_at <= one.said_at + timedelta(days=1)
        if not any(m.name == "I" for m in messages):
            bare = re.sub(r'"[^"]*"|`[^`]*`|\u201c[^\u201d]*\u201d', "", one.text)
            assert not re.search(r"(?<![\w/&'.-])I(?:'m|'ve|'ll|'d)? [a-z]", bare), one.text
