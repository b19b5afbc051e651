"""A sentence that was forgotten is left out of recall, whatever carries it; what else was said stays."""

import io
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import InvalidInput, Memory, Message
from mnemic.recall.recipes import RECIPES
from mnemic.text.sentences import sentences

BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
FACTS = (
    "My dentist is Dr. Rossi in Via Roma.", "I live in Lisbon with my sister Clara.", "I work as a nurse in a hospital.",
    "My locker has the number 4711.", "I am allergic to walnuts and to kiwis.", "We keep three hens behind the barn.",
)  # fmt: skip
QUESTIONS = ("Who is my dentist?", "Where do I live?", "What is my job?", "hens, walnuts and my locker", "")


def told(*messages: str) -> Memory:
    memory = Memory(":memory:", user="ana", embedder="hashing")
    for n, text in enumerate(messages):
        memory.add(text, id=f"m{n}", name="Ana", session="s", sent_at=BEGIN + timedelta(minutes=n))
    memory.process()
    memory.scoped(session="s").sessions.summarize()
    return memory


def of(memory: Memory, sentence: str) -> str:
    return next(record.id for record in memory.list(limit=None) if record.content == sentence)


def recalled(memory: Memory) -> str:
    """Everything that recall shows."""
    shown = [hit.text for recipe in RECIPES for q in QUESTIONS[:-1] for hit in memory.search(q, k=50, recipe=recipe)]
    shown += [
        hit.text for q in QUESTIONS[:-1] for hit in memory.search(q, k=50, kinds=["message", "episode", "memory"])
    ]
    shown += [memory.get_memory_context(q or None, max_tokens=4_000).text for q in QUESTIONS]
    shown += [episode.content for episode in memory.episodes()] + [record.content for record in memory.list(limit=None)]
    return "\n".join(shown)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.sampled_from(FACTS), min_size=2, max_size=6, unique=True),
    st.lists(st.integers(1, 3), min_size=6, max_size=6),
    st.data(),
)
def test_what_is_forgotten_is_nowhere_and_the_rest_stays(facts, sizes, data):
    parts, rest = [], list(facts)
    for size in sizes:
        parts, rest = [*parts, rest[:size]], rest[size:]
    with told(*(" ".join(part) for part in parts if part)) as memory:
        gone = data.draw(st.lists(st.sampled_from(facts), min_size=1, max_size=3, unique=True))
        before = {fact for fact in facts if fact in recalled(memory)}
        memory.forget(ids=[of(memory, fact) for fact in gone])
        after = recalled(memory)
        assert [fact for fact in gone if fact in after] == []
        assert {fact for fact in facts if fact in after} == before - {*gone}
        assert memory.admin.verify().ok


def test_a_message_goes_with_what_it_says_and_comes_back_with_it():
    with told(FACTS[0], f"{FACTS[1]} {FACTS[2]}") as memory:
        dentist, home = of(memory, FACTS[0]), of(memory, FACTS[1])
        receipts = memory.forget(ids=[dentist, home])
        assert [(r.id, r.outcome) for r in receipts] == [
            (dentist, "forgotten"),
            (home, "forgotten"),
            ("m0", "forgotten"),
        ]
        assert receipts[2].reason == f"it says the same and nothing else: {dentist}"
        assert memory.search("work", k=1)[0].text == f"[...] {FACTS[2]}"
        assert memory.get("m1").content == f"{FACTS[1]} {FACTS[2]}"  # evidence is never rewritten

        back = memory.restore([dentist, home])
        assert [(r.id, r.outcome) for r in back] == [(dentist, "restored"), (home, "restored"), ("m0", "restored")]
        assert all(fact in recalled(memory) for fact in FACTS[:3])


def test_a_message_that_is_restored_says_again_what_was_forgotten():
    with told(FACTS[0], FACTS[1]) as memory:
        dentist = of(memory, FACTS[0])
        memory.forget(ids=[dentist])
        memory.restore("m0")
        assert memory.search("dentist", k=1)[0].text == FACTS[0]
        assert dentist in {record.id for record in memory.list()}


def test_what_is_forgotten_stays_so_in_another_record(tmp_path):
    with told(f"{FACTS[0]} {FACTS[1]}", FACTS[2]) as memory:
        memory.forget(ids=[of(memory, FACTS[0]), of(memory, FACTS[2])])
        memory.admin.export(tmp_path / "ana.jsonl")
    with Memory(":memory:", user="ana", embedder="hashing") as copy:
        copy.admin.import_from(tmp_path / "ana.jsonl")
        assert [fact for fact in FACTS[:3] if fact in recalled(copy)] == [FACTS[1]]


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(FACTS), min_size=1, max_size=3, unique=True), min_size=1, max_size=4), st.data()
)
def test_what_is_restored_in_another_record_brings_back_the_same(parts, data):
    with told(*map(" ".join, parts)) as memory, Memory(":memory:", user="ana", embedder="hashing") as copy:
        ids = [record.id for record in memory.list(limit=None)]
        gone = data.draw(st.lists(st.sampled_from([*ids, "m0"]), min_size=1, max_size=3, unique=True))
        memory.forget(ids=gone)
        file = io.StringIO()
        memory.admin.export(file)
        file.seek(0)
        copy.admin.import_from(file)
        live = []
        for record in (memory, copy):
            record.restore(gone)
            memories = Counter(memory.content for memory in record.list(limit=None))
            messages = record.search("my", k=50, kinds=["message"])
            live.append(
                (
                    memories,
                    {(message.id, message.text) for message in messages},
                    [episode.content for episode in record.episodes()],
                )
            )
        assert live[0] == live[1]


def test_retention_and_consolidation_take_nothing_out_of_a_message():
    with told(f"{FACTS[0]} {FACTS[1]}") as memory:
        memory.update(of(memory, FACTS[0]), delete_after=BEGIN)
        memory.admin.flush()
        assert f"{FACTS[0]} {FACTS[1]}" in recalled(memory)


def test_a_sentence_is_erased_with_the_message_that_says_nothing_else():
    with told(FACTS[0], f"{FACTS[1]} {FACTS[2]}") as memory:
        dentist, home = of(memory, FACTS[0]), of(memory, FACTS[1])
        assert {dentist, "m0"} <= {*memory.forget(ids=[dentist], hard=True).ids}
        with pytest.raises(InvalidInput, match=r"messages that say more: 'm1'. Nothing was erased"):
            memory.forget(ids=[home], hard=True)
        assert memory.get(home).content == FACTS[1]
        assert {home, "m1"} <= {*memory.forget(ids=[home, "m1"], hard=True).ids}
        assert not [fact for fact in FACTS[:3] if fact in recalled(memory)]


@pytest.mark.parametrize("text", [FACTS[0], f"{FACTS[0]} {FACTS[1]}"])
def test_an_edit_leaves_no_unmarked_word_of_what_it_corrects(text):
    with told(text) as memory:
        memory.update(of(memory, FACTS[0]), content="My dentist is Dr. Bianchi in Via Garibaldi.")
        for recipe in RECIPES:
            hits = memory.search("Who is my dentist?", recipe=recipe)
            assert "Bianchi" in hits[0].text
            assert all(hit.superseded_by for hit in hits if "Rossi" in hit.text)


OF_MARCUS = (
    "Marcus wrote to me again.", "I met my old friend Marcus at the station.", "Thank you for telling me about Marcus.",
    "How do you feel about Marcus today?", "The affair with Marcus began in Porto.",
)  # fmt: skip


@settings(max_examples=8, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(OF_MARCUS), st.sampled_from((*FACTS, "")), st.booleans()), min_size=1, max_size=5
    ),
    st.booleans(),
    st.booleans(),
)
def test_everything_about_somebody_goes_whoever_said_it_and_what_else_was_said_stays(said, early, named_first):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        for n, (about, fact, assistant) in enumerate(said):
            text = " ".join(filter(None, (about, fact) if named_first else (fact, about)))
            role = "assistant" if assistant else "user"
            memory.add(
                [Message(role=role, content=text, id=f"m{n}", session="s", sent_at=BEGIN + timedelta(minutes=n))]
            )
        if early:
            memory.process()
        facts = {fact for _, fact, _ in said if fact and fact in recalled(memory)}
        preview = memory.forget("everything about Marcus", dry_run=True)
        receipts = memory.forget("everything about Marcus")
        assert {receipt.id for receipt in preview if receipt.changed} <= {
            receipt.id for receipt in receipts if receipt.changed
        }
        memory.process()
        shown = recalled(memory) + memory.get_memory_context("What do you know about Marcus?").text
        assert "Marcus" not in shown
        assert {fact for fact in facts if fact in shown} == facts
        assert memory.admin.verify().ok


@pytest.mark.parametrize("processed", [False, True])
def test_a_hidden_sentence_is_shown_again_when_its_receipt_is_restored(processed):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add(f"Marcus wrote to me again. He wants the key. {FACTS[1]}", id="m")
        if processed:
            memory.process()
        gone = [receipt.id for receipt in memory.forget("everything about Marcus")]
        assert memory.search("my sister", k=1)[0].text == f"[...] [...] {FACTS[1]}"
        assert memory.get("m").content.startswith("Marcus")
        memory.restore(gone)
        assert memory.search("my sister", k=1)[0].text == memory.get("m").content


@given(st.permutations(FACTS), st.integers(2, 5))
@settings(max_examples=25)
def test_what_is_forgotten_of_a_message_does_not_make_it_a_hit(facts, many):
    """Its cosine is that of what is left, and no word of what is gone counts."""
    gone, *left = facts[:many]
    memory, rest = (Memory(":memory:", user="ana", embedder="hashing") for _ in range(2))
    with memory, rest:
        for one, text in ((memory, " ".join([gone, *left])), (rest, " ".join(left))):
            one.add([Message(role="user", content=text, id="m", session="s", sent_at=BEGIN)])
            one.add([Message(role="user", content=f"I walked {n} kilometres.", sent_at=BEGIN) for n in range(5)])
        memory.process()
        assert memory.forget(gone)[0].outcome == "forgotten"
        for question in (gone, *QUESTIONS[:-1]):
            (hit,) = (hit for hit in memory.search(question, kinds=["message"]) if hit.id == "m")
            (other,) = (hit for hit in rest.search(question, kinds=["message"]) if hit.id == "m")
            assert gone not in hit.text
            assert hit.scores["dense"] == pytest.approx(other.scores["dense"], abs=1e-3)  # stored as float16
            assert bool(hit.scores["bm25"]) == bool(other.scores["bm25"])


SHORT = ("I smoke.", "I like skiing.", "He snores.", "Fumo.", "Ich rauche.", "\u6211\u62bd\u70df\u3002")


@pytest.mark.parametrize("short", SHORT)
def test_a_message_with_another_sentence_however_short_says_more(short):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add(f"{FACTS[0]} {short}", id="m")
        dentist = memory.remember(FACTS[0], source_ids=["m"]).id
        with pytest.raises(InvalidInput, match=r"messages that say more: 'm'. Nothing was erased"):
            memory.forget(ids=[dentist], hard=True)
        assert [receipt.id for receipt in memory.forget(ids=[dentist])] == [dentist]
        assert [message.content for message in memory.messages()] == [f"{FACTS[0]} {short}"]
        assert memory.search(short, k=1)[0].text == f"[...] {short}"


@pytest.mark.parametrize("short", SHORT[:2])
def test_a_description_takes_no_sentence_beside_what_it_means(short):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add(f"{FACTS[0]} {short}", id="m")
        (receipt,) = memory.forget("my dentist")
        assert (receipt.id, receipt.outcome) == ("m", "rejected")
        assert short in recalled(memory)


TWO = (
    "Uncle Marcus has dementia, and Aunt Rosa moved to a care home in Ulm.",
    "My colleague Priya is pregnant, and Marcus got promoted to team lead.",
    "Marcus starts school on 17 August; Ben goes to kindergarten at Sonnenhof.",
    "Marcus has a key to the shed. He never gives it back.",
    "What did Marcus say to Ben, and who told Rosa?",
)  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from((*TWO, *OF_MARCUS)), st.sampled_from((*FACTS, *SHORT[:2], "")), st.booleans()),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
    st.booleans(),
)
def test_what_a_receipt_says_is_forgotten_is_shown_by_nothing(said, early, remembered):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        for n, (about, fact, fact_first) in enumerate(said):
            text = " ".join(filter(None, (fact, about) if fact_first else (about, fact)))
            memory.add(text, id=f"m{n}", session="s", sent_at=BEGIN + timedelta(minutes=n))
        if early:
            memory.process()
        if remembered:
            memory.remember(said[0][0])
        receipts = memory.forget("everything about Marcus")
        told = [one for about, *_ in said for one in sentences(about) if "Marcus" in one]
        gone = {one for one in told if any(one[:60] in receipt.reason for receipt in receipts if receipt.changed)}
        assert gone >= {*told} or any("Marcus" in receipt.reason for receipt in receipts.rejected)
        for _ in range(2):
            shown = recalled(memory) + "".join(hit.text for hit in memory.search("Marcus", k=50))
            shown += memory.get_memory_context("What do you know about Marcus?").text
            assert [one for one in gone if one in shown] == []
            assert all(fact in shown for _, fact, _ in said)
            memory.process()
        assert memory.admin.verify().ok


DESCRIPTIONS = ("my dentist", "my sister Clara", "my job", "my locker", "everything about walnuts", "the hens")


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.sampled_from(FACTS), min_size=2, max_size=6, unique=True),
    st.integers(2, 3),
    st.sampled_from(DESCRIPTIONS),
    st.sampled_from(["My dentist is Dr. Bianchi.", "We keep four hens behind the barn."]),
    st.data(),
)
def test_receipts_quote_nothing_that_was_forgotten_and_say_one_thing_of_each_record(facts, size, asked, right, data):
    """In a preview, in a correction, and when it is done."""
    with told(*(" ".join(facts[at : at + size]) for at in range(0, len(facts), size))) as memory:
        gone = data.draw(st.lists(st.sampled_from(facts), min_size=1, max_size=3, unique=True))
        memory.forget(ids=[of(memory, fact) for fact in gone])
        live = {message.id for message in memory.messages()}  # an erasure is for what was forgotten, too
        preview = memory.forget(asked, dry_run=True)
        for receipts in (
            preview,
            memory.forget(asked, dry_run=True, hard=True),
            memory.correct(asked, right, dry_run=True),
            *(memory.correct(id_, right, dry_run=True) for id_ in live),
        ):
            reasons = [receipt.reason for receipt in receipts if receipt.id in {*live, ""}]
            assert [reason for reason in reasons if any(fact in reason for fact in gone)] == []
            assert len({receipt.id for receipt in receipts}) == len(receipts)
        done = memory.forget(asked)
        assert {(one.id, one.outcome) for one in done} == {(one.id, one.outcome) for one in preview}


def test_a_sentence_that_is_a_memory_too_has_one_receipt():
    with told("I live in Lisbon with my sister Clara. I am allergic to walnuts and to kiwis.") as memory:
        preview = memory.forget("everything about walnuts", dry_run=True)
        done = memory.forget("everything about walnuts")
    assert len({receipt.id for receipt in preview}) == len(preview)
    assert [(one.id, one.outcome) for one in done] == [(one.id, one.outcome) for one in preview]


def test_messages_as_others_are_to_see_them():
    with told(f"{FACTS[0]} {FACTS[1]}", FACTS[2]) as memory:
        memory.forget(ids=[of(memory, FACTS[0])])
        shown = memory.admin.without_forgotten(memory.messages())
        assert [message.content for message in shown] == [f"[...] {FACTS[1]}", FACTS[2]]
        assert memory.messages()[0].content == f"{FACTS[0]} {FACTS[1]}"


def test_a_correction_by_id_replaces_no_forgotten_sentence():
    with told(f"{FACTS[0]} {FACTS[1]}") as memory:
        memory.forget(ids=[of(memory, FACTS[0])])
        would = memory.correct("m0", "My dentist is Dr. Bianchi.", dry_run=True)[0]
        assert "Rossi" not in would.reason


OF_BOTH = (
    "Marcus seems unhappy. He has an interview at Globex next week.",
    "My boss is Marcus.",
    "Marcus owns safety.",
)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(OF_BOTH), st.sampled_from((*FACTS, "")), st.booleans()), min_size=1, max_size=4),
    st.booleans(),
    st.integers(1, 2),
)
def test_what_is_restored_is_listed_as_before_and_no_sentence_of_the_assistant_is(said, early, times):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        for n, (about, fact, assistant) in enumerate(said):
            role = "assistant" if assistant else "user"
            memory.add(
                [Message(role=role, content=f"{about} {fact}", session="s", sent_at=BEGIN + timedelta(minutes=n))]
            )
        if early:
            memory.process()
        before = Counter(record.content for record in memory.list(limit=None))
        for _ in range(times):
            gone = [receipt.id for receipt in memory.forget("everything about Marcus") if receipt.changed]
            assert "Marcus" not in recalled(memory)
            memory.restore(gone)
            assert Counter(record.content for record in memory.list(limit=None)) == before
        memory.process()
        told = " ".join(f"{about} {fact}" for about, fact, assistant in said if not assistant)
        assert all(one in told for record in memory.list(limit=None) for one in sentences(record.content))
        assert memory.admin.verify().ok


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("early", [False, True])
def test_what_a_later_conversation_says_as_well_stays_a_memory(hard, early):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add(f"{FACTS[0]} {FACTS[2]}", id="m0", session="a", sent_at=BEGIN)
        if early:
            memory.process()
        memory.add(f"{FACTS[1]} {FACTS[0]}", id="m1", session="b", sent_at=BEGIN + timedelta(days=3))
        memory.process()
        assert {record.content for record in memory.list()} == {*FACTS[:3]}
        memory.forget(ids=["m0"], hard=hard)
        assert {record.content: record.source_ids for record in memory.list()} == dict.fromkeys(FACTS[:2], ("m1",))
        if not hard:
            memory.restore("m0")
            assert {record.content for record in memory.list()} == {*FACTS[:3]}
        memory.forget(ids=["m1"], hard=hard)
        assert FACTS[1] not in recalled(memory)
        assert memory.admin.verify().ok
