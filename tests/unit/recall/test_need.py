"""Whether a text needs memory: texts that need none add nothing to a prompt, whatever is stored."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Memory, documents
from mnemic.embedders.readers import pack
from mnemic.recall.evidence import NEED, need
from mnemic.vectors import DEFAULT_MODELS

FACTS = {
    "How much did the bike cost?": "I bought a road bike, a Canyon Endurace, for 2,300 dollars.",
    "Where does my sister live?": "My sister Rita lives in Faro and works as a nurse.",
    "Which medicine am I allergic to?": "I'm allergic to penicillin.",
    "When is our wedding anniversary?": "Our wedding anniversary is on 14 September.",
    "What car do I drive?": "My car is a grey Skoda Octavia from 2019.",
    "What's the name of my boss?": "My boss is called Henrik Lund.",
}
MANUAL = "# Dishwasher\n" + "".join(
    f"\n## Programme {n}\n\nProgramme {n} washes at {40 + n % 35} degrees and takes {n % 90 + 20} minutes.\n" for n in range(120)
)  # fmt: skip


@pytest.fixture
def told():
    with Memory(":memory:", user="ana") as memory:
        for number, fact in enumerate(FACTS.values()):
            memory.add_exchange(fact, "Thanks, noted.", session=f"s{number}")
        yield memory


@pytest.mark.parametrize("model", DEFAULT_MODELS)
def test_it_is_never_above_even_odds_and_unknown_for_other_models(model):
    vectors = np.random.default_rng(0).standard_normal((50, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    odds = [need(vector, model) for vector in vectors]
    assert max(odds) <= 0
    assert min(odds) < 0
    assert need(vectors[0], "hashing") == need(vectors[0], None) == need(vectors[0][:8], model) == 0


def test_the_weights_are_what_was_packed():
    assert NEED.weights.shape == (385,)
    assert pack(NEED.weights) == pack(np.float16(NEED.weights))


@pytest.mark.parametrize("text", ["ok", "yes", "go on", "lol", "tell me a joke"])
def test_what_needs_no_memory_recalls_nothing_when_it_is_said_again(told, text):
    told.add_exchange(text, "You're welcome.", session="before")
    assert not told.get_memory_context(text, min_evidence="weak").hits


def test_documents_do_not_take_away_what_was_said(told):
    told.add(documents.split(MANUAL, document="manual"))
    for question, fact in FACTS.items():
        context = told.get_memory_context(question, max_tokens=500, min_evidence="weak")
        assert any(fact in hit.text for hit in context.hits), question


IDLE = ("Thanks!", "Hello!", "Can you help me?")
COURTESIES = (
    "Noted.", "Congratulations!", "Thanks for telling me.", "Got it.", "That sounds great!", "Thanks, good to know.",
    "You're welcome!", "Hello! How can I help you?",
)  # fmt: skip


def grades(replies):
    """The probability of every question to what was told and answered so; what is no question gets nothing."""
    with Memory(":memory:", user="ana") as memory:
        for number, (fact, reply) in enumerate(zip(FACTS.values(), replies, strict=True)):
            memory.add_exchange(fact, reply, session=f"s{number}")
        assert not any(memory.get_memory_context(text, min_evidence="weak").hits for text in IDLE)
        return [memory.search(text).probability for text in (*FACTS, *IDLE)]


@pytest.fixture(scope="module")
def noted():
    return pytest.approx(grades(["Noted."] * len(FACTS)))


@settings(max_examples=10, deadline=None)
@given(replies=st.lists(st.sampled_from(COURTESIES), min_size=len(FACTS), max_size=len(FACTS)))
def test_the_courtesies_of_an_assistant_do_not_change_the_grade(noted, replies):
    assert grades(replies) == noted


@pytest.mark.parametrize(
    ("asked", "answer", "question"),
    [
        ("Find one nearby and sign me up.", "Your dentist is Dr. Rossi.", "Who is my dentist?"),
        ("Ok, do it.", "Your flight leaves at 7:40.", "When does my flight leave?"),
        ("Check me in.", "Your gate is B12.", "Which gate is mine?"),
        ("Where did we park?", "Near the entrance.", "At which entrance did we park?"),
    ],
)
def test_a_short_answer_with_a_fact_is_evidence(asked, answer, question):
    with Memory(":memory:", user="ana") as memory:
        memory.add_exchange(asked, answer, session="monday")
        assert memory.search(question).evidence == "strong"


@pytest.mark.parametrize(
    ("said", "asked"),
    [("我的狗叫豆豆。", "我的狗叫豆豆吗"), ("Unser Hund heißt Bello.", "Heißt unser Hund Bello")],
)
def test_a_text_in_another_language_is_not_read_as_english(said, asked):
    with Memory(":memory:", user="ana") as memory:
        memory.add_exchange("茶", "OK", session="a")
        memory.add_exchange(said, "OK", session="b")
        memory.add_exchange("Der Zug kam spät.", "OK", session="c")
        assert memory.search(asked)[0].text == said
