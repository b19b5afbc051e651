"""What the vectors of sentences decide: plain facts stand alone, requests and another's words are left out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.embedders import HashingEmbedder
from mnemic.knowledge.selection import FRAME, WORTH, judgements
from mnemic.runtime.indexer import Indexer
from mnemic.testing import FailingEmbedder

FACTS = st.lists(
    st.sampled_from(
        ("Staging runs on port 8080 behind Caddy.", "Nightly backups go to the Backblaze bucket acme-ledger.",
         "Ines rotates the database password every Monday.", "Never deploy on Fridays.",
         "Invoices are numbered from a locked counters table.", "Karim signs all contracts above 5,000 euros.",
         "Our office in Ghent closes at six.", "The summer house in Sintra has no heating.")
    ),
    min_size=2, max_size=5, unique=True,
)  # fmt: skip
OWN = "I live in a castle in Wales. My phone number is 555-0134. I bought a house in Leeds in 2019."


def remembered(memory, text):
    """What becomes a memory of a message."""
    user = memory.scoped(user=f"user of {text}"[:200])
    user.add(text)
    user.process()
    return [one.content for one in user.list()]


@pytest.fixture(scope="module")
def memory():
    with Memory(":memory:", user="ana") as memory:
        yield memory


@settings(max_examples=8, deadline=None)
@given(FACTS)
def test_a_fact_is_not_framed_by_another(memory, facts):
    found = remembered(memory, " ".join(facts))
    assert found
    assert set(found) <= set(facts)


@settings(max_examples=4, deadline=None)
@given(FACTS)
def test_what_is_corrected_or_forgotten_leaves_the_other_facts_of_its_message(facts):
    with Memory(":memory:", user="ana") as memory:
        memory.add(" ".join(facts))
        memory.process()
        first, *others = sorted(memory.list(), key=lambda one: one.content)
        memory.forget(ids=[first.id])
        assert sorted(one.content for one in memory.list()) == [one.content for one in others]
        assert first.content not in memory.get_memory_context(max_tokens=1_000).text


@pytest.mark.parametrize(
    "opening",
    ["Translate this into German:", "Proofread this mail from my boss:", "Fill the form with this test data:", "Pretend I am a pirate.",
     "Here is the CV of a candidate:", "This is a poem my grandmother wrote.", "Summarise this article for me:"],
)  # fmt: skip
def test_another_s_words_are_no_memories(memory, opening):
    assert remembered(memory, f"{opening} {OWN}") == []


def test_the_same_words_without_a_frame_are(memory):
    assert len(remembered(memory, OWN)) == 3
    assert len(remembered(memory, f"Good news! {OWN}")) == 3


def test_most_requests_are_no_memories(memory):
    requests = (
        "Compare PostgreSQL 16 and MySQL 8 for time series", "Translate 'Where is the station?' into Portuguese",
        "Give me five tweets on World Water Day", "Write a regex for ISO dates", "Recipe for lentil soup for 4 people",
        "Refactor this into a class with 3 methods.", "Pros and cons of heat pumps", "Explain CRDTs like I'm five",
    )  # fmt: skip
    assert sum(bool(remembered(memory, one)) for one in requests) <= 2


LINES = st.lists(
    st.sampled_from(
        ("  File \"/srv/app/money.py\", line 88, in total", "    return self.amount + other.amount",
         "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'",
         "2026-11-27T02:14:03.004Z INFO  billing.db Query 12 took 991 ms on node db3",
         "Nov 27 03:12:45 web1 kernel: Out of memory: Killed process 2211 (java) total-vm:8123456kB",
         "#8 ERROR: process \"/bin/sh -c npm ci\" did not complete successfully: exit code: 1",
         "main.cpp:13:1: warning: no return statement in function returning non-void [-Wreturn-type]")
    ),
    min_size=1, max_size=5,
)  # fmt: skip


@settings(max_examples=10, deadline=None)
@given(LINES)
def test_what_a_person_writes_below_the_lines_of_a_program_is_the_only_memory(memory, lines):
    said = "My team works with Node 22 and pnpm."
    assert remembered(memory, "\n".join(lines)) == []
    assert remembered(memory, "\n".join([*lines, said])) == [said]


@pytest.mark.parametrize("embedder", [HashingEmbedder(), FailingEmbedder()])
def test_without_the_default_embedder_nothing_is_judged(embedder):
    indexer = Indexer(embedder, None, None)
    assert judgements(indexer, ["I live in Wales."]) == {}


def test_other_languages_are_not_judged(memory):
    sentences = ["Ich wohne seit zwei Jahren in einem alten Haus bei Hamburg.", "I live in an old house near Hamburg."]
    assert list(judgements(memory._runtime.indexer, sentences)) == sentences[1:]


def test_the_weights_are_those_of_the_default_embedder():
    assert WORTH.vector.weights.shape == FRAME.weights.shape == (385,)


def test_a_plain_preference_is_remembered_and_a_momentary_one_is_not(memory):
    lasting = ["I'd rather walk than drive.", "I prefer tea to coffee.", "I prefer dark mode."]
    momentary = ["I'd rather have the short version.", "I'd prefer the second one.", "Today I'd rather stay in."]
    memory.add("\n\n".join((*lasting, *momentary)))
    memory.process()
    assert {record.content for record in memory.list()} == {*lasting}
