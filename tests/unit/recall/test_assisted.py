"""Ranking and grade where an assistant speaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.internals import runtime_of

from mnemic import InvalidInput, Memory, Message, Recipe
from mnemic.recall.recipes import CONVERSATION

PLAIN = replace(CONVERSATION, quality={})
"""The default recipe, ranked by nothing but the query."""


ANSWER = (
    "Certainly! Here are some thoughts on flats, cities and moving in general, with several options to weigh. " * 20
)


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as opened:
        yield opened


def kinds(memory):
    view = runtime_of(memory).views.of("ana")
    return view.columns.agents.tolist(), view.columns.assisted[view.columns.group].tolist()


def test_who_speaks_is_read_off_the_roles(memory):
    memory.add_exchange("I moved to Lisbon.", "Noted.", session="a")
    memory.add([Message(role="user", content="Hi Ben", name="Ana", session="b")])
    memory.add([Message(role="assistant", content="Hi Ana", name="Ben", session="b")])
    memory.add([Message(role="tool", content="12 degrees", name="weather", session="c")])
    memory.remember("Ana lives in Lisbon")
    agents, assisted = kinds(memory)
    assert agents == [False, True, False, False, True, False]
    assert assisted[:5] == [True, True, False, False, True]


def test_a_memory_goes_with_most_turns(memory):
    memory.remember("Ana lives in Lisbon")
    assert kinds(memory)[1] == [False]
    memory.add_exchange("I moved to Lisbon.", "Noted.", session="a")
    assert kinds(memory)[1] == [True, True, True]


def test_what_a_person_said_comes_before_a_long_answer_that_says_the_same_words(memory):
    memory.add_exchange("I moved to a flat in Lisbon.", ANSWER + "A flat in Lisbon is a fine choice.", session="a")
    memory.add_exchange("How do I cook rice?", ANSWER, session="b")
    found = memory.search("Which city did I move to, and is it a flat?")
    assert found[0].text == "I moved to a flat in Lisbon."


@pytest.mark.parametrize(
    "question", ["Which market did you recommend before Christmas?", "What did you say about the market in Bruges?"]
)
def test_a_question_for_the_assistants_words_finds_the_answer_before_the_request(question):
    with Memory(":memory:", user="ana") as memory:
        memory.add_exchange("We are three potters in Ghent.", "Good to know.", session="a")
        memory.add_exchange(
            "Which market should we do before Christmas, the one in Bruges or the design fair?",
            "The fair: its buyers look for tableware, and the stall is half the price.",
            session="b",
        )
        memory.add_exchange("Then I book the fair in Brussels.", "Pack flat crates.", session="b")
        first, second = memory.search(question, k=2)
        assert (first.role, second.role) == ("assistant", "user")
        assert first.text.startswith("The fair")
        assert memory.search(question.replace("did you", "did we"))[0].role == "user"


def test_an_answer_to_another_request_with_the_verb_of_the_question_stays_behind():
    exchanges = [
        ("Can you recommend a book on bees?", "Read The Honeybee Democracy by Seeley."),
        ("Any film for tonight?", "Watch Past Lives, it's quiet and moving."),
        ("Which restaurant should I try in Lisbon?", "Try Cervejaria Ramiro, the prawns are superb."),
        ("I need a hotel in Vienna, can you suggest one?", "Hotel Altstadt is charming."),
    ]
    with Memory(":memory:", user="ana") as memory:
        for user, assistant in exchanges:
            memory.add_exchange(user, assistant)
        texts = [hit.text for hit in memory.search("Which film did you recommend?")]
        assert texts.index("Watch Past Lives, it's quiet and moving.") < texts.index("Any film for tonight?")
        assert texts.index("Can you recommend a book on bees?") < texts.index("Read The Honeybee Democracy by Seeley.")


def test_a_question_about_the_answer_finds_the_answer(memory):
    said = "The budget app needs a good way to store its entries."
    answer = "To store the entries of the budget app, a single table in SQLite is enough."
    memory.add_exchange(said, answer, session="a")
    memory.add_exchange("How do I cook rice?", ANSWER, session="b")
    asked, told = (
        "What way to store entries of the budget app did you recommend?",
        "What way to store entries has the app?",
    )
    by_person = [{h.text: h.contributions.get("person", 0) for h in memory.search(q)} for q in (asked, told)]
    assert by_person[0][said] == pytest.approx(by_person[1][said] / 2)
    assert by_person[0][answer] == by_person[1][answer] == 0


def test_having_asked_before_is_no_answer(memory):
    memory.add_exchange("I live in Lisbon.", "Noted.", session="a")
    for n in range(3):
        memory.add_exchange("Where do I live?", "I do not know.", session=f"b{n}")
    assert memory.search("Where do I live?")[0].text == "I live in Lisbon."


def test_talk_between_people_is_ranked_as_if_no_assistant_were_there():
    said = ["I bought a red bike.", "Where do you ride it?", "Along the river, on Sundays.", "I prefer the bus."]
    orders = []
    for extra in (False, True):
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            memory.add(
                Message(role="user" if n % 2 else "assistant", name="AB"[n % 2], content=text, session="people")
                for n, text in enumerate(said)
            )
            if extra:
                memory.add_exchange("Please fix my code.", ANSWER, session="agent")
            hits = memory.search("Where is the red bike ridden?", session="people", recipe=PLAIN)
            orders.append([hit.text for hit in hits])
    assert orders[0] == orders[1]


def test_weights_of_assisted_talk_are_checked():
    with pytest.raises(InvalidInput, match="nonsense"):
        Recipe(weights={"dense": 1.0}, assisted={"nonsense": 1.0})
    with pytest.raises(InvalidInput, match="sum"):
        Recipe(weights={"dense": 1.0}, assisted={"dense": 1.0}, fusion="rrf")
    own = Recipe(weights={"bm25": 1.0}, assisted={"person": 1.0})
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add_exchange("I live in Lisbon.", "Lisbon, Lisbon, Lisbon.", session="a")
        assert memory.search("Lisbon", recipe=own)[0].role == "user"


def test_a_question_nobody_spoke_of_is_graded_lower(minilm_memory):
    known, unknown = (
        minilm_memory.search(q).probability for q in ("How do I deploy the budget app?", "What is my cat called?")
    )
    assert known > unknown


@pytest.fixture
def minilm_memory():
    with Memory(":memory:", user="ana") as memory:
        if runtime_of(memory).indexer.documents(["x"], runtime_of(memory).indexer.embedder)[0] is None:
            pytest.fail("the default embedder is needed")
        for n, part in enumerate(("login", "charts", "tests", "deployment", "budget limits")):
            memory.add_exchange(
                f"I'm working on the {part} of my budget app in Flask, can you help?",
                "Sure. " + ANSWER,
                session=f"s{n}",
            )
        assert np.isfinite(memory.search("budget").probability)
        yield memory


def test_of_two_values_of_one_matter_the_later_comes_first(memory):
    memory.add_exchange("My Zotero library has 45 sources now, can you help me sort them?", ANSWER, session="a")
    memory.add_exchange("My Zotero library has 52 sources now, can you help me sort them?", ANSWER, session="a")
    memory.add_exchange("How do I cook rice?", ANSWER, session="b")
    found = memory.search("How many sources are in my Zotero library?")
    assert "52" in found[0].text
    assert "45" in found[1].text


def test_what_says_little_of_the_question_stays_behind_however_late_it_came(memory):
    memory.add_exchange("My dentist is Dr. Costa in Porto, can you note that down?", ANSWER, session="a")
    memory.add_exchange("Porto is sunny today, what should I wear?", ANSWER, session="a")
    assert "Costa" in memory.search("Who is my dentist in Porto?")[0].text


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Vivo en Lisboa con mi hermana desde marzo.", "¿Dónde vivo con mi hermana en Lisboa?"),
        ("我住在里斯本。", "我住在里斯本吗？"),
        ("Ich wohne mit meiner Schwester in Lissabon.", "Where do I live with my sister, in Lissabon?"),
    ],
)
def test_in_a_language_that_the_model_does_not_know_the_grade_is_weak_at_most(said, asked):
    with Memory(":memory:", user="ana") as memory:
        memory.add_exchange(said, "OK.", session="a")
        found = memory.search(asked)
        assert found[0].text == said
        assert found.evidence in {"weak", "none"}
        assert found.probability < 0.6


def test_where_all_that_is_found_only_asks_the_same_it_is_what_is_found(memory):
    memory.add([Message(role="user", content="Where do I live?", session="a")])
    memory.add(
        [Message(role="system", content="", session="a"), Message(role="system", content="Be brief.", session="a")]
    )
    assert memory.search("Where do I live?", role="user")[0].text == "Where do I live?"


ANSWERED = {
    "How do I restore last night's dump locally?": "scp deploy@box:/backup/nightly.dump . && pg_restore -d kassa nightly.dump",
    "Which chart library?": "Observable Plot: the designers know it already.",
    "How many replicas for the API?": "Three, one per zone.",
    "Who approves the budget?": "Priya, up to 5,000 euros; above that Henk.",
}


@pytest.mark.parametrize("question", ANSWERED)
def test_what_was_answered_is_found_when_it_is_asked_again(question):
    with Memory(":memory:", user="ana") as memory:
        for number, (asked, answer) in enumerate(ANSWERED.items()):
            memory.add_exchange(asked, answer, session=f"s{number}")
            memory.add_exchange("Thanks, what is next on the board?", "The customer portal.", session=f"s{number}")
        found = [hit.text for hit in memory.search(question, k=4)]
        assert ANSWERED[question] in found
        assert ANSWERED[question] in memory.get_memory_context(question).text


@pytest.mark.parametrize("reply", ["I don't know, you haven't told me.", "I'm not sure."])
@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What's my dentist's name?", "My dentist is Dr. Rossi."),
        ("Where do I live?", "I live in Porto, near the river."),
        ("When is my flight?", "The flight to Oslo leaves on 3 May."),
    ],
)
def test_an_answer_that_knew_nothing_stands_behind_what_was_said_since(question, said, reply):
    with Memory(":memory:", user="ana") as memory:
        memory.add_exchange(question, reply, session="a")
        memory.add_exchange("Write a haiku.", "Snow falls.", session="b")
        memory.add_exchange(said, "Noted.", session="c")
        assert memory.search(question)[0].text == said


def test_one_person_alone_speaks_to_an_assistant_where_others_do(memory):
    memory.add([Message(role="user", name="Ana", content="The bus was late.", session="notes")])
    assert kinds(memory)[1] == [False]
    memory.add_exchange("I moved to Lisbon.", "Noted.", session="a")
    assert kinds(memory)[1] == [True] * 3
    memory.add([Message(role="user", name=name, content="Hi!", session="people") for name in ("Ana", "Ben")] * 3)
    assert kinds(memory)[1][:3] == [False, True, True]


def test_notes_under_a_name_do_not_push_out_what_an_assistant_was_told():
    with Memory(":memory:", user="ruth") as memory:
        memory.add_exchange("My boyfriend, Callum, collects clocks.", "Do any of them agree?", session="a")
        memory.add_exchange("How do I clean brass?", "With lemon and salt.", session="b")
        for day in range(20):
            memory.add(f"Somebody left a pumpkin on doorstep {day}.", name="Ruth", session=f"note {day}")
        assert memory.search("Does Ruth have a boyfriend?")[0].text == "My boyfriend, Callum, collects clocks."
