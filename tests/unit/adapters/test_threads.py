"""Which messages of a thread are new, and the ids under which they are stored once."""

import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import AsyncMemory, Memory, Message, Scope
from mnemic.adapters import (
    Conversation,
    Thread,
    ThreadMessage,
    contains,
    evidence,
    store_new,
    with_tools,
    words_of,
)
from mnemic.adapters.conversations import turn_ids
from mnemic.adapters.threads import unanswered, unstored

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
NOW = datetime(2026, 5, 4, tzinfo=UTC)


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        yield memory


def user(text, key=None, **options):
    return ThreadMessage(role="user", text=text, key=key, **options)


def assistant(text, key=None, **options):
    return ThreadMessage(role="assistant", text=text, key=key, **options)


def thread(*messages, session="s", project=None, clean=str):
    return Thread(messages, scope=Scope(user="ana", project=project, session=session), clean=clean)


def ids(*messages, **options):
    return [record.id for record in thread(*messages, **options).records()]


def test_an_id_is_made_of_the_conversation_the_key_and_the_text():
    (one,) = ids(user("yes", "1"))
    assert one.startswith("s:1:")
    others = [
        ids(user("no", "1")),
        ids(user("yes", "2")),
        ids(user("yes", "1"), session="t"),
        ids(user("yes", "1"), project="p"),
    ]
    assert len({one, *(other for (other,) in others)}) == 5
    assert len(ids(user("yes", "k" * 2_000))[0]) <= 1_000


def test_names_that_look_alike_are_apart():
    assert ids(user("yes", "c"), session="a:b") != ids(user("yes", "b:c"), session="a")
    assert ids(user("yes", "c"), session="a/b") != ids(user("yes", "c"), session="b", project="a")


def test_a_prompt_is_resent_until_it_is_answered():
    said = [
        user("Hi", "1"),
        user("Hi ", "2"),
        user("More", "3"),
        assistant("", "4"),
        user("Hi", "5"),
        assistant("Hello", "6"),
    ]
    assert thread(*said, user("Hi", "7")).resent({}) == [1, 4]


def test_what_is_unanswered_is_recent_and_at_the_end():
    def record(role, text, minutes):
        return Message(role=role, content=text, sent_at=NOW - timedelta(minutes=minutes))

    records = [
        record("user", "Hi", 3),
        record("assistant", "Yes?", 2),
        record("user", "Old", 90),
        record("user", "New", 1),
    ]
    assert unanswered(records, NOW - timedelta(minutes=10)) == [words_of(records[-1])]
    assert unanswered([*records, record("assistant", "Yes.", 0)], NOW - timedelta(minutes=10)) == []


async def test_a_run_stores_a_prompt_of_the_run_before_only_if_it_was_answered(memory):
    handle, clean = AsyncMemory.over(memory.scoped(session="s")), memory.admin.redacted

    async def run(number, *answers):
        stored = set()
        said = [user("Which ferry?", f"{number}"), *(assistant(text, f"{number}+") for text in answers)]
        for end in range(1, len(said) + 1):
            await store_new(handle, Thread(said[:end], scope=handle.scope, clean=clean), stored)

    for number, answers in enumerate([(), (), ("At nine.",), ("At nine.",), ()]):
        await run(number, *answers)
    asked, answer = "Which ferry?", "At nine."
    assert [message.content for message in memory.messages()] == [asked, answer, asked, answer, asked]


def test_what_is_not_stored_is_not_read_for_secrets():
    read = []

    def clean(text):
        read.append(text)
        return text

    shown = [user("Hi", "1"), ThreadMessage(role="tool", text="a long log", key="2", stored=False)]
    one = thread(*shown, clean=clean)
    assert one.unmarked(one.marks({})) == []
    assert [record.content for record in one.records()] == ["Hi"]
    assert "a long log" not in read


def test_a_long_text_is_stored_in_pieces_and_no_secret_lies_over_a_cut(memory):
    text = "word " * 99_996 + f"my token is {TOKEN}" + " word" * 30_000
    pieces = thread(user(text, "1"), clean=memory.admin.redacted).records()
    assert [len(piece.content) <= 500_000 for piece in pieces] == [True, True]
    whole = "".join(piece.content for piece in pieces)
    assert "[redacted: github-token]" in whole
    assert "a1B2c3" not in whole
    assert whole.count("word") == 129_996


def test_pieces_with_the_same_text_are_all_stored():
    records = thread(user("a" * 1_000_000, "1")).records()
    assert len({record.id for record in records}) == 2
    assert len(evidence([user("a" * 1_000_000), assistant(" "), user("x", stored=False)], str)) == 2


def test_ids_are_made_of_the_stored_text(memory):
    one, other = (ids(user(f"my password is hunter{n}", "1"), clean=memory.admin.redacted) for n in (42, 43))
    assert one == other


def test_marks_of_edited_messages():
    first = thread(user("Lisbon", "1"), assistant("Nice.", "2"))
    marks = first.marks({})
    assert first.unmarked(marks) == []
    edited = thread(user("Oslo", "1"), assistant("Nice.", "2"), user("Bye.", "3"))
    assert edited.unmarked(marks) == [0, 2]
    later = edited.marks(marks)
    gone = thread(user("Bye.", "3"))
    assert gone.marks(later)["1"] == later["1"]
    (lisbon,) = ids(user("Lisbon", "1"))
    assert lisbon in edited.shown_ids(later)
    assert lisbon in gone.shown_ids(later)  # the earlier text stays replaced in this thread


def test_the_last_turn_begins_after_the_answer_before_it():
    assert thread(user("a"), assistant("b"), user("c"), user("d")).last_turn() == 2
    assert thread(user("a"), assistant("b"), user("c"), assistant("d")).last_turn() == 2
    assert thread(user("a"), user("summary", stored=False)).last_turn() == 0
    assert thread().last_turn() == 0


def stored(*messages, at=NOW):
    return [Message(role=role, content=text, id=f"s:{n}:x", sent_at=at) for n, (role, text) in enumerate(messages)]


def test_what_of_a_repeated_request_is_stored_already():
    held = stored(("user", "Hi."), ("assistant", "Hello."), ("user", "A number?"), ("assistant", "One."))
    again = thread(user("Hi."), assistant("Hello."), user("A number?"))
    assert again.repeated(2, held, NOW) == [2]
    said_again = thread(user("Hi."), assistant("Hello."), user("A number?"), assistant("One."), user("A number?"))
    assert said_again.repeated(4, held, NOW) == []
    unanswered = stored(("user", "Lights on."))
    assert thread(user("Lights on.")).repeated(0, unanswered, NOW - timedelta(minutes=1)) == [0]
    assert thread(user("Lights on.")).repeated(0, unanswered, NOW + timedelta(minutes=1)) == []


@pytest.mark.parametrize(
    ("known", "given", "new"),
    [
        ("abcd", "abcd", ""), ("abcd", "cd", ""), ("abcd", "bcde", "e"), ("abcd", "abcdd", "d"), ("abcd", "axcd", "x"),
        ("abcd", "xy", "xy"), ("abcd", "b", ""), ("abcd", "", ""), ("", "ab", "ab"), ("acd", "abcd", ""),
    ],
)  # fmt: skip
def test_what_of_a_history_without_ids_is_new(known, given, new):
    before, after = ([("user", letter) for letter in letters] for letters in (known, given))
    assert [given[at] for at in unstored(before, after)] == [*new]


@st.composite
def told_again(draw):
    """A conversation, as it is shown later, and what of that was not in it."""
    fresh = (("user", f"text {number}") for number in itertools.count())

    def texts(most):
        return [("user", "ok") if short else next(fresh) for short in draw(st.lists(st.booleans(), max_size=most))]

    known = texts(8)
    start = draw(st.integers(0, len(known)))
    edits = draw(st.lists(st.sampled_from([True, False, False]), min_size=len(known), max_size=len(known)))
    shown = [next(fresh) if edit else said for said, edit in zip(known[start:], edits, strict=False)]
    before = [next(fresh) for _ in range(0 if start else draw(st.integers(0, 3)))]
    return known, before + shown + texts(4)


@settings(max_examples=300, deadline=None)
@given(told_again())
def test_of_a_complete_conversation_all_that_is_new_is_new(case):
    """Whether its front was cut off or put before, and wherever it was edited and went on."""
    known, given = case
    new = [given[at] for at in unstored(known, given, complete=True)]
    assert not Counter(given) - Counter(known) - Counter(new)
    if ("user", "ok") not in {*known} & {*given}:  # a repeated one may stand for another
        assert new == [text for text in given if text not in known]


def test_contains():
    assert contains([("user", "a"), ("user", "b")], [("user", "b")])
    assert not contains([("user", "a"), ("user", "b")], [("user", "b"), ("user", "a")])


def test_two_processes_name_the_same_turn_alike():
    history = thread(user("a"), assistant("b"), user("a"), assistant("b"))
    records = history.records_after([], range(4))
    assert len({record.id for record in records}) == 4
    assert [record.id for record in history.records_after([], range(4))] == [record.id for record in records]
    known = [words_of(record) for record in records[:2]]
    assert [record.id for record in history.records_after(known, [2, 3])] == [record.id for record in records[2:]]


def test_the_question_and_the_texts_before_it():
    history = thread(
        user("a"), assistant("b"), user("note", stored=False), ThreadMessage(role="tool", text="t"), user(" c ")
    )
    assert history.question() == "c"
    assert history.recent("c") == ["a", "b"]
    assert history.recent("not said yet") == ["a", "b", "c"]
    assert thread().question() == ""


def test_a_conversation_that_is_ended_begins_again(memory):
    chat = Conversation(memory, "chat")
    for number in range(1, 6):
        chat.handle.add(f"message {number}")
        assert [m.content for m in Conversation(memory, "chat").messages()] == [f"message {number}"]
        chat.end()
        assert chat.session == f"chat#reset{number}"
        assert chat.messages() == []
    assert len(memory.messages()) == 5
    for name in ("chat#reset1", "chat#reset0", "other"):
        assert Conversation(memory, name).messages() == []
    assert Conversation(memory.scoped(project="p"), "chat").session == "chat"
    assert Conversation(memory.scoped(user="ben"), "chat").session == "chat"


# Tools


def used(call=None, **options):
    return ThreadMessage(role="tool", text="secret", call=call, **{"stored": False, **options})


def noted(*messages):
    return [message.metadata.get("tools_used") for message in with_tools(messages) if message.role == "assistant"]


def test_an_answer_notes_the_tools_used_since_the_one_before_it():
    called = assistant("", calls={"1": "map", "2": "clock"})
    found = noted(
        called, used("1", outcome="error"), used("2", sent_at=NOW), used("2"), assistant("Noon."), user("?"), assistant("Yes.")
    )  # fmt: skip
    clock = {"name": "clock", "at": "2026-05-04T00:00:00+00:00"}
    assert found == [None, [{"name": "map", "outcome": "error"}, clock], None]


def test_what_is_stored_itself_is_not_noted_and_what_is_not_stored_notes_nothing():
    results = used("1", stored=True), used("2", name="look")
    assert noted(*results, assistant("Notice.", stored=False), assistant("Done.")) == [None, [{"name": "look"}]]


def test_notes_reach_the_record_once_and_the_metadata_of_others_does_no_harm(memory):
    here = memory.scoped(session="s")
    said = [user("Time?", "1"), used("c", name="clock", outcome="ok"), assistant("Noon.", "2")]
    for messages in (said, said, [said[0], said[2]]):
        here.add(Thread(messages, scope=here.scope, clean=str).records())
    for other in ("hammer", ["saw"], [{"name": 3}], {"name": "x"}):
        here.add("We use tools.", metadata={"tools_used": other})
    view = here.sessions.current()
    assert (view.tools, len(view.messages)) == ({"clock": 1}, 6)
    assert "Tools: clock (1)." in memory.get(here.sessions.summarize().id).content


TURN = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from(["hi", "hello", TOKEN, f"{TOKEN} x " * 2_000])),
    min_size=1, max_size=6,
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(TURN, st.sampled_from(["s", "t"]))
async def test_the_records_of_the_last_turn_are_found_by_their_words(turn, session):
    said = [ThreadMessage(role=role, text=text, key=str(at)) for at, (role, text) in enumerate(turn)]
    async with AsyncMemory(":memory:", user="ana", embedder="hashing") as memory:
        clean = memory.admin.redacted
        stored = thread(*said, session=session, clean=clean)
        receipts = await memory.scoped(session=session).add(stored.records())
        last = {record.id for record in stored.records(range(stored.last_turn(), len(said)))}
        keyless = thread(*(ThreadMessage(role=one.role, text=one.text) for one in said), session="u", clean=clean)
        found = {*await turn_ids(memory, keyless)}
    assert last <= found <= {receipt.id for receipt in receipts}
    words = {(said[at].role, said[at].text) for at in range(stored.last_turn(), len(said))}
    others = [at for at, one in enumerate(said) if (one.role, one.text) not in words]
    assert found.isdisjoint(record.id for record in stored.records(others))


async def test_the_same_words_of_long_ago_are_not_of_the_turn():
    asked = thread(ThreadMessage(role="user", text="My locker code is 4417."), session="today")
    async with AsyncMemory(":memory:", user="ana", embedder="hashing") as memory:
        await memory.add("My locker code is 4417.", sent_at=datetime(2026, 1, 5, tzinfo=UTC), session="january")
        assert await turn_ids(memory, asked) == []
        (now,) = await memory.add("My locker code is 4417.", session="today")
        assert await turn_ids(memory, asked) == [now.id]
