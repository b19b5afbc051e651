"""What stands in a prompt before anything is asked: the latest is there, and nothing old passes for what holds now."""

from itertools import product

import pytest

from mnemic import Memory
from mnemic.recall.context.assembly import asks_for_profile

ABOUT_ME = "What do you know about me?"
FACTS = [
    "I live in Leeds with my husband Tom.",
    "My therapist is Dr. Okafor.",
    "I work as a nurse at St. James hospital.",
    "My sister Ann lives in Bristol.",
    "I am allergic to penicillin.",
    "Mum's birthday is on 3 May.",
    "I play the cello in an amateur orchestra.",
    "My dentist is Dr. Costa.",
    "I have two daughters, Mia and Zoe.",
    "I studied chemistry in Durham.",
    "I hate coriander.",
    "My cat is called Miso.",
    "My best friend Marcus moved to Spain.",
]
LATER = {
    FACTS[0]: "Tom and I separated, I live in York now.",
    FACTS[1]: "I changed therapists, it's Dr. Lindqvist now.",
    FACTS[2]: "I quit the hospital and work at a bakery now.",
}
BUDGETS = (250, 400, 700, 1_000)


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana") as memory:
        yield memory


def texts(context, kind):
    return [hit.text for hit in context.hits if hit.kind == kind]


def test_the_latest_messages_have_a_share_whatever_is_known(memory):
    for n in range(60):
        memory.remember(f"Lasting fact number {n}: aunt {n} is called Rosa{n}.", importance=0.7)
    memory.add_exchange("The train was late again.", "That is a pity.", session="s1")
    memory.add_exchange("Mum died last night.", "I am so sorry.", session="s2")
    for budget in (200, *BUDGETS):
        found = memory.get_memory_context(max_tokens=budget)
        assert "Mum died last night." in texts(found, "message")
        assert found.token_count <= budget


def test_the_messages_take_a_share_not_the_whole():
    with Memory(":memory:", user="ana", tokenizer=lambda text: len(text.split())) as memory:
        for n in range(60):
            memory.remember(f"Lasting fact number {n}: aunt {n} is called Rosa{n}.", importance=0.7)
            memory.add(f"Step {n} of the long talk of this Monday evening.")
        for budget in (120, 300, 500):
            found = memory.get_memory_context(max_tokens=budget)
            words = {kind: sum(len(text.split()) for text in texts(found, kind)) for kind in ("message", "memory")}
            assert words["memory"] > budget / 3
            assert words["message"] > budget / 5


def test_a_long_message_is_cut_rather_than_left_out(memory):
    for n in range(40):
        memory.remember(f"Lasting fact number {n}: aunt {n} is called Rosa{n}.", importance=0.7)
    memory.add("The move is on Friday. " + "The flat has a small kitchen and a view of the park. " * 40)
    found = memory.get_memory_context(max_tokens=500)
    assert "The move is on Friday." in found.text
    assert texts(found, "memory")


@pytest.mark.parametrize("budget", [500, 1_000, 2_000])
def test_a_long_message_is_shown_as_far_as_there_is_room(memory, budget):
    steps = " ".join(f"Step {n}: check valve {n} and write its pressure down." for n in range(200))
    memory.remember("The boiler is a Vaillant.")
    memory.add_exchange("How is the boiler serviced?", steps)
    memory.add("The cellar is cold.")
    found = memory.get_memory_context(max_tokens=budget)
    assert 0.75 * budget <= found.token_count <= budget
    assert [text for text in ("The cellar is cold.", "Step 1:", "a Vaillant.") if text not in found.text] == []


def test_a_long_memory_is_whole_where_it_fits(memory):
    long = "The move is on Friday. " + "The flat has a small kitchen and a view of the park. " * 20
    memory.remember(long, importance=0.9)
    for n in range(60):
        memory.remember(f"Lasting fact number {n}: aunt {n} is called Rosa{n}.", importance=0.7)
    found = memory.get_memory_context(max_tokens=800)
    assert found.truncated
    assert long.strip() in found.text


@pytest.mark.parametrize("often", [False, True], ids=["equal", "the old ones matter more"])
def test_a_statement_ranks_after_a_later_one_that_updates_it(memory, often):
    for fact in FACTS:
        memory.remember(fact, **({"importance": 0.9} if often and fact in LATER else {}))
    for later in LATER.values():
        memory.remember(later)
    for question, budget in product((None, ABOUT_ME), BUDGETS):
        found = texts(memory.get_memory_context(question, max_tokens=budget), "memory")
        for old, new in LATER.items():
            assert new in found
            assert old not in found[: found.index(new)]


@pytest.mark.parametrize("question", [None, ABOUT_ME])
def test_a_later_statement_of_little_weight_is_found(memory, question):
    memory.remember(FACTS[0], importance=0.9)
    memory.remember(LATER[FACTS[0]], importance=0.1)
    for n in range(60):
        memory.remember(f"My neighbour {n} collects stamps of country {n}.", importance=0.5)
    found = texts(memory.get_memory_context(question, max_tokens=250), "memory")
    assert found.index(LATER[FACTS[0]]) < found.index(FACTS[0])


def test_other_matters_keep_the_order_of_their_importance(memory):
    for n, fact in enumerate(FACTS):
        memory.remember(fact, importance=0.9 - n / 20)
    assert texts(memory.get_memory_context(), "memory") == FACTS


def test_a_reply_does_not_take_the_room_of_what_was_said(memory):
    for n in range(30):
        memory.add_exchange("Gave Rex his pill." if n % 2 else f"Plan number {n} is settled.", "OK.", session=f"s{n}")
    found = texts(memory.get_memory_context(max_tokens=200), "message")
    assert found.count("Gave Rex his pill.") == 1
    assert "Plan number 28 is settled." in found
    assert found.count("OK.") <= 1


PROFILE = (
    "What do you know about me?", "Who am I?", "Tell me about myself", "What are my settings?", "Describe me", "about me",
    "Tell me everything you have learned about me so far", "Please summarize what you know about me.", "my profile",
)  # fmt: skip
SPECIFIC = (
    "What did my boss say about me?", "Tell me how old I am", "What blood type am I?", "What did Rita say about me?",
    "Who in my family worries about me?", "What am I allergic to?", "Show me what Ben wrote about me.",
)  # fmt: skip


@pytest.mark.parametrize("question", PROFILE)
def test_a_question_about_the_user_as_a_whole_gets_a_profile(question):
    assert asks_for_profile(question)


@pytest.mark.parametrize("question", SPECIFIC)
def test_a_question_about_something_is_searched(question):
    assert not asks_for_profile(question)


def test_a_project_s_preference_stands_in_place_of_the_user_s():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        atlas = memory.scoped(project="atlas")
        memory.preferences["theme"], atlas.preferences["theme"] = "light", "contrast"
        for handle, own, other in ((memory, "light", "contrast"), (atlas, "contrast", "light")):
            for question in (None, "What are my settings?", "What is my theme?"):
                text = handle.get_memory_context(question).text
                assert own in text
                assert other not in text


@pytest.mark.parametrize("tokenizer", [lambda text: len(text) // 4 + 1, lambda text: len(text.split()), None])
@pytest.mark.parametrize("query", [None, "What do I do on Fridays?"])
def test_no_context_exceeds_its_budget(tokenizer, query):
    with Memory(":memory:", user="ana", embedder="hashing", tokenizer=tokenizer) as memory:
        for number, value in enumerate(("in short sentences", "metric", "never on Fridays after ten")):
            memory.preferences[f"style {number}"] = value
        memory.add("I sing on Fridays.")
        for budget in range(1, 120, 7):
            context = memory.get_memory_context(query, max_tokens=budget)
            assert context.token_count <= budget


def test_summaries_of_sessions_take_no_room_of_memories(memory):
    for number, fact in enumerate(FACTS):
        memory.remember(fact)
        here = memory.scoped(session=f"s{number}")
        here.add_exchange(f"What is the weather in place {number} like?", "It is sunny.")
        here.sessions.summarize()
    for budget in (400, 500, 1_500):
        found = memory.get_memory_context(max_tokens=budget)
        shown = [text.startswith("Session on") for text in texts(found, "memory")]
        assert shown == sorted(shown)
        assert not any(shown) or {*FACTS} <= {*texts(found, "memory")}
    assert any(shown)
