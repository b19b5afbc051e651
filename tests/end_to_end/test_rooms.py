"""Conversations of several people: whose words are whose, with a bot among them or not."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemic import Memory

BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
TEAM = [
    ("Priya", "Budget update from Helen: we have 14,000 euros for the fair."),
    ("Marcus", "I live in Leeds."),
    ("Ana", "I live in Porto and I like it."),
    ("Tom", "My phone number is 555 0123."),
    ("Ana", "My phone number is 555 0199."),
    ("Lena", "My daughter is at school in Oslo."),
    ("Marcus", "The rent of the mill is 3,100 a month."),
    ("Priya", "The hotel is booked: five rooms at the Avon Gorge."),
]
QUESTIONS = (
    "What did Priya say about the budget?",
    "Where does Marcus live?",
    "Which hotel is booked?",
    "How much is the rent?",
)


def room(memory, *lines, session="team"):
    for n, (name, text) in enumerate(lines):
        memory.add(text, name=name, session=session, sent_at=BEGIN + timedelta(hours=n))


@pytest.fixture
def team():
    with Memory(":memory:", user="Ana") as memory:
        room(memory, *TEAM)
        yield memory


def found(memory, question):
    return [hit.text for hit in memory.search(question, k=5)]


@pytest.mark.parametrize("name", [None, "Budget Bot", "Hotel Desk"])
def test_one_line_of_a_bot_changes_nothing(team, name):
    room(team, ("Priya", "Let us meet on Monday."), ("Tom", "Fine for me."), session="other")
    before = [found(team, question) for question in QUESTIONS]
    team.add(
        "Noted. Have a nice evening, everyone!",
        role="assistant",
        name=name,
        session="team",
        sent_at=BEGIN + timedelta(1),
    )
    after = [found(team, question) for question in QUESTIONS]
    assert [[text for text in hits if not text.startswith("Noted")][:3] for hits in after] == [
        hits[:3] for hits in before
    ]


@pytest.mark.parametrize("processed", [False, True])
def test_my_means_what_the_user_said(team, processed):
    if processed:
        team.process()
    assert {receipt.outcome for receipt in team.correct("my dentist", "My dentist is Dr. Bianchi.")} == {"rejected"}
    team.correct("where I live", "I live in York.")
    assert found(team, "Where does Marcus live?")[0] == "I live in Leeds."
    gone = team.forget("my phone number")
    assert {team.get(receipt.id).content for receipt in gone if receipt.outcome == "forgotten"} == {
        "My phone number is 555 0199."
    }
    assert "My phone number is 555 0123." in found(team, "What is Tom's phone number?")


def test_what_a_person_said_of_themselves_is_forgotten_by_their_name(team):
    assert [r.outcome for r in team.forget("Lena's daughter")][:1] == ["forgotten"]
    assert not any("daughter" in message.content for message in team.messages())


@pytest.mark.parametrize("beside", [(), (("Ana", "Hello."),)])
def test_the_later_statement_of_a_person_comes_first(beside):
    with Memory(":memory:", user="team") as memory:
        room(
            memory, ("Marcus", "My dentist is Dr. Costa."), ("Marcus", "I go to Dr. Haas now, my new dentist."), *beside
        )
        assert found(memory, "Who is Marcus's dentist?")[0] == "I go to Dr. Haas now, my new dentist."


def test_two_people_do_not_contradict_each_other(team):
    room(team, ("Lena", "I'm vegan."), ("Priya", "I'm not vegan."), session="lunch")
    team.process()
    assert [link for record in team.list() for link in team.links.graph(record.id, types=["contradicts"]).links] == []


def test_a_question_stays_with_who_asked_it(team):
    room(team, ("Marcus", "Should we fire the nephew?"), ("Aisha", "No, he is paid until September."), session="mill")
    team.process()
    (record,) = [record for record in team.list() if "September" in record.content]
    assert (record.speaker, record.content) == (
        "Aisha",
        "Marcus: Should we fire the nephew? - No, he is paid until September.",
    )


def test_an_accepted_offer_is_answered_by_what_follows(memory_of_offers):
    hits = memory_of_offers.search("What gifts did you suggest for Declan?")
    assert "falconer" in hits[0].text


@pytest.fixture
def memory_of_offers():
    with Memory(":memory:", user="ana") as memory:
        for n, (role, text) in enumerate(
            [
                ("user", "It's Declan's fortieth next month."),
                ("assistant", "How nice. Would you like some gift ideas for Declan?"),
                ("user", "Yes, go on."),
                ("assistant", "1. A fountain pen from Lamy\n2. A day with a falconer near Stroud\n3. A cast iron pan"),
                ("user", "Thanks, noted."),
            ]
        ):
            memory.add(text, role=role, session="s1", sent_at=BEGIN + timedelta(minutes=n))
        yield memory
