"""Recall with a budget, calls of both kinds, runs, tools, and handles that objects share."""

import asyncio
import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import AsyncMemory, ConfigurationError, EmbedderError, InvalidInput, Memory, Message, StoreUnavailable
from mnemic.adapters import (
    OpenRuns,
    Recall,
    Thread,
    ThreadMessage,
    as_async,
    bind,
    blocking,
    checked_filters,
    checked_location,
    checked_memory,
    location_of,
    recall_failures_logged,
    run_of,
    tools,
)


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        yield memory


def text_of(memory, recall, question, **options):
    return recall.blocking_text(memory, question, **options)


async def test_both_kinds_of_frameworks_get_the_same_text(memory):
    memory.add("I moved to Lisbon.")
    recall = Recall(max_tokens=500)
    text = text_of(memory, recall, "Where did I move?")
    assert "I moved to Lisbon." in text
    assert await recall.text(AsyncMemory.over(memory), "Where did I move?") == text


FACTS = [
    "I am allergic to peanuts.", "My dog Rex is afraid of thunder.", "I work as a nurse in Lisbon.",
    "My sister Eva lives in Porto.", "I prefer tea to coffee.",
]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    st.permutations(FACTS), st.sets(st.integers(1, 4)), st.sampled_from(["What am I allergic to?", "Who is Rex?", "Eva"]),
    st.sampled_from([400, 1_000, 4_000]), st.booleans(),
)  # fmt: skip
def test_no_sentence_is_said_by_the_profile_and_again_by_the_recall(facts, cuts, question, budget, weak):
    places = [0, *sorted(cuts), len(facts)]
    said = [" ".join(facts[start:end]) for start, end in itertools.pairwise(places)]
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add([Message(role="user", content=text) for text in said], session="first")
        memory.process()
        memory.add(
            [Message(role="user", content=f"Print report {n} of the harbour.") for n in range(20)], session="later"
        )
        recall = Recall(max_tokens=budget, profile=True, min_evidence="weak" if weak else "none")
        text = text_of(memory, recall, question)
    assert [fact for fact in facts if text.count(fact) != 1] == []


def test_a_long_question_is_asked_by_its_ends(memory):
    memory.add("I moved to Lisbon.")
    assert "I moved to Lisbon." in text_of(memory, Recall(max_tokens=500), "x " * 100_000 + "Lisbon?")
    assert "I moved to Lisbon." in text_of(memory, Recall(max_tokens=500), "Lisbon? " + "x " * 100_000)


def test_a_question_is_asked_without_the_addresses_of_its_images(memory):
    memory.add("I moved to Lisbon.")
    recall = Recall(max_tokens=500)
    asked = text_of(memory, recall, "Where did I move, Lisbon?")
    assert "I moved to Lisbon." in asked
    assert text_of(memory, recall, "Where did I move, Lisbon?\n[image: https://example.org/a1b2/porto.png]") == asked


@pytest.mark.parametrize("profile", [False, True])
@pytest.mark.parametrize("budget", [0, 1, 200, 600])
def test_the_budget_holds_by_the_tokenizer_of_the_framework(memory, budget, profile):
    for number in range(20):
        memory.remember(f"Ana visited town number {number}.", importance=number / 20)
    text = text_of(memory, Recall(max_tokens=budget, profile=profile), "Which towns did Ana visit?", count=len)
    assert len(text) <= budget + 2  # the empty line between profile and recall
    assert bool(text) == (budget >= 200)


def test_the_profile_takes_nothing_from_the_evidence(memory):
    for number in range(12):
        memory.add(f"Note {number}: the harbour of town {number} was dredged.")
    memory.add("The car of my neighbour has the plate 99-ZZ-11.")
    memory.add("My own car has the plate 41-XK-90.")
    question = "What is the plate of my own car?"
    plain, both = (text_of(memory, Recall(max_tokens=500, profile=profile), question) for profile in (False, True))
    evidence = both[both.rindex("<memory ") :]
    assert "41-XK-90" in evidence
    assert both.count("41-XK-90") == 1
    assert re.search("Evidence: .*", evidence)[0] == re.search("Evidence: .*", plain)[0]


def test_the_profile_is_not_repeated_by_the_recall(memory):
    memory.remember("Ana lives in Lisbon.", importance=1.0)
    recall = Recall(max_tokens=500, profile=True)
    assert text_of(memory, recall, "Where does Ana live?").count("Ana lives in Lisbon.") == 1
    assert text_of(memory, recall, "").count("Ana lives in Lisbon.") == 1
    assert text_of(memory, Recall(max_tokens=500), "") == ""
    assert "Ana lives in Lisbon." in text_of(memory, Recall(max_tokens=500), None)


@pytest.mark.parametrize("error", [StoreUnavailable("busy"), EmbedderError("down")])
def test_failures_of_recall_are_logged_and_others_raised(caplog, error):
    with recall_failures_logged():
        raise error
    assert str(error) in caplog.text
    with pytest.raises(InvalidInput), recall_failures_logged():
        raise InvalidInput("wrong")


def test_blocking_work_awaits_the_memory_alone(memory):
    with pytest.raises(ConfigurationError, match="something else"):
        blocking(memory, lambda memory: asyncio.sleep(0))


def test_filters_are_checked(memory):
    assert checked_filters(Memory.search, {"role": "user"}, k=3) == {"role": "user", "k": 3}
    for wrong in ({"k": 3}, {"colour": "red"}, {"exclude": ["x"]}, {"kinds": ["dream"]}):
        with pytest.raises(ConfigurationError, match=next(iter(wrong))):
            checked_filters(Memory.search, wrong, reserved=("exclude",))


def test_handles(memory):
    assert checked_memory(memory) is memory
    assert checked_location("./memory") == "./memory"
    with pytest.raises(ConfigurationError, match="Give a folder"):
        checked_location("redis://host")
    for wrong in (AsyncMemory.over(memory), "./memory", None):
        with pytest.raises(ConfigurationError, match="memory must be"):
            checked_memory(wrong)
    assert as_async(memory).scope == memory.scope
    with pytest.raises(ConfigurationError, match="memory must be"):
        as_async("./memory")


def test_one_handle_for_a_location(tmp_path, memory):
    options = {"embedder": "hashing"}
    ana, ben = (bind(tmp_path / "m", {"user": name}, options=options) for name in ("ana", "ben"))
    assert ana.root is ben.root
    assert (ana.memory.scope.user, ben.memory.scope.user) == ("ana", "ben")
    assert bind(location_of(ana.memory), record=ana.record).root is ana.root
    ana.root.close()
    again = bind(tmp_path / "m", options=options, record=ana.record)
    assert again.root is not ana.root
    again.root.close()
    with pytest.raises(ConfigurationError, match="in RAM"):
        location_of(memory)
    with pytest.raises(ConfigurationError, match="Whose memory"):
        bind(None)


def test_runs(memory):
    runs, trigger = OpenRuns(), memory.idle
    runs.begin("a", trigger)
    runs.begin("a", trigger)
    with run_of(memory, idle=True):
        runs.end("a")
        runs.end("a")
        assert trigger.wait() is None
    assert trigger.wait() is not None
    assert runs.keys == []


def test_the_recall_tool_answers_a_question_about_the_user_by_the_profile(memory):
    for number in range(20):
        memory.remember(f"You know about port {number}.", importance=0.9)
    memory.remember("I am allergic to nuts.", importance=0.1)
    memory.preferences["theme"] = "dark"
    search = tools.Search()
    found = blocking(memory, lambda m: search(m, "What do you know about me?", 2))
    assert [hit["text"] for hit in found["results"]] == ["Preference theme: dark", "I am allergic to nuts."]
    assert found["evidence"] == "strong"
    assert blocking(memory, lambda m: search(m, "Who am I?", kinds=["message"])) == {"evidence": "none", "results": []}


def test_tools(memory):
    def use(work):
        return blocking(memory, work)

    assert use(lambda m: tools.remember(m, "The API runs on port 8080.")).startswith("Remembered (id ")
    assert use(lambda m: tools.remember(m, "The API runs on port 8080.")).startswith("Known already")
    (hit,) = use(lambda m: tools.Search()(m, "port of the API"))["results"]
    preview = use(lambda m: tools.forget(m, "the port of the API", dry_run=True))
    assert preview == f"{hit['id']}: would be forgotten: The API runs on port 8080."
    assert use(lambda m: tools.forget(m, ids=[hit["id"]])) == f"{hit['id']}: forgotten"
    with pytest.raises(InvalidInput, match="Not remembered"):
        use(lambda m: tools.remember(m, " "))


async def test_the_recall_tool_leaves_out_the_turn_that_it_answers(memory):
    asked = ["Which tea do I like?", "What's my dentist called?"]
    memory.scoped(session="s").add([Message(role="user", content=text) for text in asked])
    turn = [
        ThreadMessage(role="user", text="Which tea do I like?"),
        ThreadMessage(role="assistant", text="I can't say."),
    ]
    turn.append(ThreadMessage(role="user", text="What's my dentist called?"))
    thread, search = Thread(turn, scope=memory.scope, clean=str), tools.Search()
    found = await search(AsyncMemory.over(memory), "user's dentist", 5, thread=thread)
    assert found["evidence"] == "none"
    assert "What's my dentist called?" not in str(found)
    (tea,) = (await search(AsyncMemory.over(memory), "like which tea", 1, thread=thread))["results"]
    assert tea["text"] == "Which tea do I like?"
    assert "dentist" in str(await search(AsyncMemory.over(memory), "user's dentist", 5))
    dentist = memory.messages()[1].id
    assert "dentist" not in str(await search(AsyncMemory.over(memory), "user's dentist", 5, exclude=dentist))


def test_a_history_longer_than_a_search_leaves_out_is_recalled_beside(memory):
    memory.add("I moved to Lisbon.", id="said")
    shown = [f"m{number}" for number in range(12_000)]
    assert "I moved to Lisbon." in text_of(memory, Recall(max_tokens=500), "Where did I move?", exclude=shown)
    assert not text_of(memory, Recall(max_tokens=500), "Where did I move?", exclude=[*shown, "said"])
