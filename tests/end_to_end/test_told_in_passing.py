"""What people say of themselves in passing, over weeks: what is kept, and what was never meant."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemic import Memory

BEGAN = datetime(2025, 1, 6, 9, tzinfo=UTC)


def told(*said, name=None, embedder="hashing"):
    """A memory to which this was said, one sentence in a fortnight."""
    memory = Memory(":memory:", user="ana", **({"embedder": embedder} if embedder else {}))
    for number, text in enumerate(said):
        at = BEGAN + timedelta(days=14 * number)
        memory.add(
            [
                {"role": "user", "name": name, "content": text, "sent_at": at},
                {"role": "assistant", "content": "Okay.", "sent_at": at + timedelta(minutes=1)},
            ],
            session=f"s{number}",
        )
        memory.process()
    return memory


def known(memory):
    return [record.content for record in memory.list()]


@pytest.mark.parametrize(
    "text",
    [
        "I'm pregnant!! April fools.", "I bought a Ferrari yesterday. Just kidding!",
        "I quit my job at Siemens. Not really, just testing you.", "I live in Rome. Haha, just kidding \U0001f602",
    ],
)  # fmt: skip
def test_what_is_taken_back_at_once_was_not_meant(text):
    assert known(told(text)) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Always use tabs in my code.", "procedural"),
        ("Never push to main.", "procedural"),
        ("Whenever I ask for code, use tabs.", "procedural"),
        ("Please answer in German from now on.", "procedural"),
        ("From now on, start each answer with today's date.", "semantic"),  # the cues of type look at its beginning
    ],
)
def test_what_holds_from_now_on_is_kept_as_it_was_said(text, kind):
    (record,) = told(text).list()
    assert (record.content, record.type) == (text, kind)


@pytest.mark.parametrize(
    ("own", "of_another", "question"),
    [
        ("I'm allergic to hazelnuts.", "Tom turned out to be allergic to shrimp.", "What am I allergic to?"),
        ("My new manager is Aylin Demir.", "He's not an architect there but a project manager.", "Who is my manager?"),
        pytest.param(
            "I pay 950 euros rent for my flat.",
            "My salary is 78000 now.",
            "How much rent do I pay?",
            marks=pytest.mark.xfail(strict=True, reason="the network takes another amount for a change"),
        ),
        ("I drive a Fiat 500.", "My boss drives a BMW now.", "What car do I drive?"),
        ("The Pro plan costs 15 euros.", "The Basic plan costs 9 euros.", "What does the Pro plan cost?"),
        ("The pro plan costs 15 euros.", "The basic plan costs 9 euros.", "What does the pro plan cost?"),
        ("I work at Otto as an analyst.", "Lena works at Siemens now.", "Where do I work?"),
        ("My new manager is Aylin Demir.", "My sister got a new manager, Mr. Blunt.", "Who is my manager?"),
        ("I quit my job at Zalando.", "Rafael found a new job at Graft.", "What is my job now?"),
    ],
)
def test_what_holds_of_others_or_of_other_matters_does_not_come_first(own, of_another, question):
    with told(own, of_another, embedder=None) as memory:
        assert memory.search(question)[0].text == own


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Eva has diabetes and Tom lives in Bonn.", "Tom"),
        ("The API runs on port 9000 and the admin password rotates every Monday.", "port"),
    ],
)
@pytest.mark.parametrize("hard", [False, True])
def test_forgetting_keeps_what_says_something_else(text, meant, hard):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.remember(text)
        memory.forget(meant, hard=hard)
        assert known(memory) == [text]


def test_forgetting_keeps_a_memory_that_says_something_else():
    memory = told("I live in Rome and my cat is called Miso.")
    memory.forget("my cat")
    assert known(memory) == ["I live in Rome and my cat is called Miso."]
    memory.forget("Rome")
    assert known(memory) == ["I live in Rome and my cat is called Miso."]


def test_the_start_of_a_conversation_stands_under_the_days_it_was_said():
    text = told("I sold my car in 2018.").get_memory_context().text
    assert "Monday 6 January 2025:" in text
    assert "1 January 2018" not in text


@pytest.mark.parametrize("courtesy", ["Noted.", "Understood.", "Thanks for telling me."])
def test_a_courtesy_comes_after_what_says_something(courtesy):
    with Memory(":memory:", user="kim") as memory:
        for day, said in enumerate(
            ("My son Jonas plays the cello.", "I stopped playing the violin and started the trumpet.")
        ):
            memory.add_exchange(said, courtesy, sent_at=datetime(2026, 5, 1 + 10 * day, tzinfo=UTC), session=f"s{day}")
        assert memory.search("Which instrument does Jonas play?")[0].text == "My son Jonas plays the cello."
