"""What ends a statement, and what takes an ending back: nothing that is merely said does."""

import io
import random
from datetime import UTC, datetime, timedelta

import pytest

from mnemic import AsyncMemory, Consolidator, Memory, Message
from mnemic.recall.recipes import RECIPES

BEGAN = datetime(2026, 1, 5, 9, tzinfo=UTC)
THINGS = "Bug {}|Order {}|Invoice {}|Version 2.{}|Rack {}|Ticket A-{}|Flight LH{}".split("|")
PLACES = "kitchen bathroom garage attic cellar hall".split()
PEOPLE = "Ana Ben Carla David Elena Felix".split()
STATES = (
    ("{} is fixed.", "{} is not fixed."), ("{} is open.", "{} is closed now."), ("{} is paid.", "{} is no longer paid."),
    ("{} is in hall 1.", "{} moved to hall 2."), ("{} is coming.", "{} is not coming."), ("{} works.", "{} stopped working."),
)  # fmt: skip
CHANGES = (
    ("I live in Paris.", "I moved to Rome."), ("We use Slack for chat.", "We switched from Slack to Matrix."),
    ("The API listens on port 8080.", "The API now listens on port 9000."), ("I ride a motorbike.", "I sold the motorbike."),
    ("I go to the gym.", "I stopped going to the gym."), ("Book me a slot with Joana.", "I stopped running with Joana."),
    ("My birthday is on 4 May.", "Correction: my birthday is on 5 May."), ("I eat pork.", "I no longer eat pork."),
    ("I live in Berlin.", "I moved to Madrid for a semester in 2012."), ("I work at Airbus.", "Tom got laid off from Airbus."),
)  # fmt: skip


def generated(count):
    """Pairs of true statements about two like things."""
    pick = random.Random(35)
    for _ in range(count):
        first, second = pick.choice(STATES)
        form, names = pick.choice(
            [*((form, range(1, 99)) for form in THINGS), ("The {} light", PLACES), ("{}", PEOPLE)]
        )
        one, other = pick.sample(list(names), 2)
        yield first.format(form.format(one)), second.format(form.format(other))


PAIRS = [*dict.fromkeys(generated(400))][:300]


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        yield memory


def live(memory):
    return {record.content for record in memory.list(limit=None)}


@pytest.fixture
def derived(memory):
    """The id of a memory that was derived from a message of two sentences."""
    memory.add([Message(role="user", content="My dentist is Dr. Rossi. My cat is called Miso.", id="m", sent_at=BEGAN)])
    memory.add([Message(role="assistant", content="Thanks, noted.", sent_at=BEGAN)])
    memory.process()
    return next(record.id for record in memory.list() if "Rossi" in record.content)


def test_no_statement_about_one_thing_ends_one_about_another(memory):
    texts = {text for pair in PAIRS for text in pair}
    assert {memory.remember(text).outcome for text in sorted(texts)} == {"stored"}
    assert live(memory) == texts


@pytest.mark.parametrize(("first", "then"), [*PAIRS[::10], *CHANGES])
def test_nothing_that_is_said_ends_what_was_said(memory, first, then):
    for day, text in enumerate((first, then)):
        memory.add([Message(role="user", content=text, sent_at=BEGAN + timedelta(days=day))], session=str(day))
        memory.process()
    assert not [record for record in memory.list(include_expired=True) if record.expired_at]
    assert {hit.text for hit in memory.search(first)} >= {first, then}


def test_what_a_caller_replaces_ends(memory):
    old = memory.remember("My dentist is Dr. Rossi.", key="dentist")
    new = memory.remember("I see Dr. Bianchi for my teeth.", replaces=old.id)
    assert (new.outcome, live(memory)) == ("superseded", {"I see Dr. Bianchi for my teeth."})
    assert old.id in new.reason
    with pytest.raises(LookupError, match="nobody"):
        memory.remember("Tea.", replaces=["nobody"])
    assert memory.admin.verify().ok


def test_what_is_untrusted_replaces_nothing_that_is_trusted(memory):
    old = memory.remember("My dentist is Dr. Rossi.")
    assert memory.remember("It is Dr. Evil.", replaces=old.id, source="tool_external").outcome == "rejected"
    assert memory.correct(old.id, "It is Dr. Evil.", source="document")[0].outcome == "rejected"
    assert live(memory) == {"My dentist is Dr. Rossi."}


@pytest.mark.parametrize("back", ["restore", "update", "unlink"])
def test_each_way_takes_an_ending_back_everywhere(memory, back):
    old = memory.remember("My dentist is Dr. Rossi.").id
    new = memory.remember("My dentist is Dr. Bianchi.", replaces=old).id
    match back:
        case "restore":
            assert memory.restore(old)[0].outcome == "restored"
        case "update":
            assert memory.update(old, invalid_at=None, tags=["teeth"]).outcome == "stored"
            assert memory.get(old).tags == ("teeth",)
        case "unlink":
            assert "holds again" in memory.links.remove(new, old, "supersedes").reason
    assert live(memory) == {"My dentist is Dr. Rossi.", "My dentist is Dr. Bianchi."}
    assert not any(hit.superseded_by for hit in memory.search("dentist"))
    assert "no longer" not in memory.get_memory_context("Who is my dentist?").to_prompt()
    assert memory.admin.verify().ok


@pytest.mark.parametrize("back", ["restore", "update", "unlink"])
def test_an_ended_value_stays_ended_while_another_has_its_key(memory, back):
    old = memory.remember("My dentist is Dr. Rossi.", key="dentist").id
    new = memory.remember("My dentist is Dr. Bianchi.", key="dentist").id
    match back:
        case "restore":
            reason = memory.restore(old)[0].reason
        case "update":
            reason = memory.update(old, invalid_at=None).reason
        case "unlink":
            reason = memory.links.remove(new, old).reason
    assert repr(new) in reason
    assert live(memory) == {"My dentist is Dr. Bianchi."}
    memory.forget(ids=[new])
    assert memory.restore(old)[0].outcome == "restored"


@pytest.mark.parametrize("wrong", ["my dentist", "m", "derived"])
@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_a_correction_reaches_recall(memory, derived, wrong, recipe):
    wrong = derived if wrong == "derived" else wrong
    assert memory.correct(wrong, "My dentist is Dr. Bianchi.", dry_run=True)[0].outcome == "superseded"
    assert live(memory) == {"My dentist is Dr. Rossi.", "My cat is called Miso."}
    receipt = memory.correct(wrong, "My dentist is Dr. Bianchi.")[0]
    assert receipt.outcome == "superseded"
    assert live(memory) == {"My dentist is Dr. Bianchi.", "My cat is called Miso."}
    hits = [hit.id for hit in memory.search("Who is my dentist?", recipe=recipe)]
    assert hits.index(receipt.id) < hits.index("m")
    assert memory.get("m").content == "My dentist is Dr. Rossi. My cat is called Miso."
    assert memory.restore(derived)[0].outcome == "restored"
    assert memory.admin.verify().ok


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_an_edit_of_what_was_said_reaches_recall(memory, recipe):
    memory.add([Message(role="user", content="My dentist is Dr. Rossi.", id="m", sent_at=BEGAN)])
    memory.process()
    (record,) = memory.list()
    for name in ("Bianchi", "Costa"):
        memory.update(record.id, content=f"My dentist is Dr. {name}.")
        memory.process()
        first, second = memory.search("Who is my dentist?", recipe=recipe)
        assert (first.text, second.id) == (f"My dentist is Dr. {name}.", "m")
        assert second.superseded_by == (record.id,)
        assert live(memory) == {f"My dentist is Dr. {name}."}
    assert memory.admin.verify().ok
    memory.forget(ids=["m"], hard=True)
    assert memory.list(include_expired=True) == []


@pytest.mark.parametrize("question", ["Does {} live in {}?", "{} in {}", "What did {} say of {} and of 12 Park Lane?"])
@pytest.mark.parametrize("reach", ["user", "auto"])
@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_no_question_puts_what_has_ended_before_what_took_its_place(memory, recipe, reach, question):
    visit = memory.scoped(session="visit")
    for name, old, new in (("Anna", "Bristol", "York"), ("Tom", "Leeds", "Bath"), ("Eva", "12 Park Lane", "Kent")):
        visit.add([Message(role="user", content=f"My friend {name} lives in {old}.", id=name, sent_at=BEGAN)])
        visit.add([Message(role="user", content=f"I saw {old} from the train.", sent_at=BEGAN)])
        corrected = memory.correct(name, f"My friend {name} lives in {new}.")[0].id
        hits = [hit.id for hit in visit.search(question.format(name, old), recipe=recipe, reach=reach)]
        assert hits.index(corrected) < hits.index(name)


def test_a_correction_keeps_the_key_and_leaves_what_says_something_else(memory):
    memory.remember("My dentist is Dr. Rossi.", key="dentist")
    memory.remember("My dentist's practice is in Via Roma.")
    memory.correct("my dentist is Dr. Rossi", "My dentist is Dr. Bianchi.")
    assert {(record.content, record.key) for record in memory.list()} == {
        ("My dentist is Dr. Bianchi.", "dentist"),
        ("My dentist's practice is in Via Roma.", None),
    }


def test_a_correction_to_what_is_known_ends_what_is_wrong(memory):
    wrong = memory.remember("Bob's team meeting is on Tuesday.")
    right = memory.remember("Bob's team meeting is on Thursday.")
    receipt = memory.correct(wrong.id, "Bob's team meeting is on Thursday.")[0]
    assert (receipt.outcome, receipt.id) == ("superseded", right.id)
    assert [record.id for record in memory.list()] == [right.id]
    assert memory.correct(right.id, "Bob's team meeting is on Thursday.")[0].outcome == "duplicate"
    memory.restore(wrong.id)
    assert {record.id for record in memory.list()} == {wrong.id, right.id}


def test_nothing_is_corrected_where_nothing_is_clearly_meant(memory, derived):
    receipts = memory.correct("my submarine", "I have no submarine.")
    assert not any(receipt.changed for receipt in receipts)
    assert len(memory.list()) == 2


async def test_the_asynchronous_face_corrects_as_well():
    async with AsyncMemory(":memory:", user="ana", embedder="hashing") as memory:
        old = await memory.remember("My dentist is Dr. Rossi.")
        assert (await memory.correct(old.id, "My dentist is Dr. Bianchi."))[0].outcome == "superseded"
        assert [record.content for record in await memory.list()] == ["My dentist is Dr. Bianchi."]


ENDS = {
    "an end": lambda m, id_: m.update(id_, invalid_at=BEGAN + timedelta(days=9)),
    "a lifetime": lambda m, id_: m.update(id_, delete_after=BEGAN + timedelta(days=9)),
    "another statement": lambda m, id_: m.remember("Has no gym.", replaces=id_),
    "forgetting": lambda m, id_: m.forget(ids=[id_]),
}
AGAIN = {
    "remember": lambda m: m.remember("Goes to Nordic Gym."),
    "remember a value": lambda m: m.remember("Goes to Nordic Gym.", key="gym"),
    "correct": lambda m: m.correct(m.remember("Goes to no gym.").id, "Goes to Nordic Gym."),
}


@pytest.mark.parametrize("key", ["gym", None], ids=["keyed", "plain"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("again", AGAIN)
def test_what_ended_and_is_stored_again_holds_now(memory, end, again, key):
    ENDS[end](memory, memory.remember("Goes to Nordic Gym.", valid_at=BEGAN, key=key).id)
    assert "Goes to Nordic Gym." not in live(memory)
    AGAIN[again](memory)
    assert "Goes to Nordic Gym." in live(memory)
    assert memory.search("Which gym?")[0].text == "Goes to Nordic Gym."
    if key is None and again == "remember":
        assert memory.remember("Goes to Nordic Gym.").outcome == "duplicate"
    with io.StringIO() as file, Memory(":memory:", user="eve", embedder="hashing") as other:
        memory.admin.export(file)
        file.seek(0)
        other.admin.import_from(file)
        assert live(other) == live(memory)
    assert memory.admin.verify().ok


@pytest.mark.parametrize("end", [name for name in ENDS if name != "forgetting"])
def test_what_ended_and_is_said_again_is_a_memory_again(memory, end):
    def say(id_, day):
        memory.add([Message(role="user", content="I go to Nordic Gym.", id=id_, sent_at=BEGAN + timedelta(days=day))])
        memory.process()

    say("first", 0)
    ENDS[end](memory, memory.list()[0].id)
    say("again", 20)
    assert "I go to Nordic Gym." in live(memory)


def test_what_was_said_before_an_end_holds_no_longer_than_that(memory):
    for id_, day in (("first", 0), ("late", 5)):
        memory.add([Message(role="user", content="I go to Nordic Gym.", id=id_, sent_at=BEGAN + timedelta(days=day))])
        memory.process(limit=1)
        if id_ == "first":
            memory.update(memory.list()[0].id, invalid_at=BEGAN + timedelta(days=9))
    assert live(memory) == set()


@pytest.mark.parametrize("change", [{"invalid_at": None}, {"delete_after": None}])
def test_what_ended_by_itself_stays_ended_while_another_has_its_key(memory, change):
    old = memory.remember("Goes to Nordic Gym.", key="gym", valid_at=BEGAN).id
    memory.update(old, **dict.fromkeys(change, BEGAN + timedelta(days=9)))
    new = memory.remember("Goes to FitX.", key="gym").id
    assert repr(new) in memory.update(old, **change).reason
    assert memory.update(old, tags=["sport"]).outcome == "stored"
    assert live(memory) == {"Goes to FitX."}


def test_consolidation_merges_nothing_into_what_has_ended():
    with Memory(":memory:", user="ana", embedder="hashing", consolidator=Consolidator(min_age_hours=0)) as memory:
        old = memory.remember("Goes to Nordic Gym.", importance=0.9, valid_at=BEGAN).id
        memory.update(old, invalid_at=BEGAN + timedelta(days=9))
        memory.remember("Goes to Nordic Gym.", importance=0.8)
        memory.consolidate()
        assert live(memory) == {"Goes to Nordic Gym."}


def values(memory):
    return {(record.key, record.content) for record in memory.list()}


def test_one_text_is_the_value_of_each_key_it_is_stored_under(memory):
    keys = ["car.colour", "door.colour", "roof.colour"]
    assert [memory.remember("Blue", key=key).outcome for key in (*keys, *keys)] == ["stored"] * 3 + ["duplicate"] * 3
    assert memory.remember("Blue").outcome == "duplicate"
    assert values(memory) == {(key, "Blue") for key in keys}
    memory.remember("Red", key="car.colour")
    assert memory.remember("Red", key="door.colour").outcome == "superseded"
    assert values(memory) == {("car.colour", "Red"), ("door.colour", "Red"), ("roof.colour", "Blue")}
    assert memory.admin.verify().ok


def test_a_statement_gets_a_key_and_keeps_it(memory):
    plain = memory.remember("Blue").id
    receipt = memory.remember("Blue", key="car.colour")
    assert (receipt.outcome, values(memory)) == ("superseded", {("car.colour", "Blue")})
    assert receipt.reason == f"replaces {plain!r}: it has the key car.colour now"
    assert memory.remember("Blue", key="door.colour").outcome == "stored"
    assert memory.restore(plain)[0].outcome == "rejected"


def test_the_same_value_of_another_key_can_be_restored_and_edited_to(memory):
    old = memory.remember("Blue", key="car.colour").id
    memory.forget(ids=[old])
    other = memory.remember("Blue", key="door.colour").id
    assert memory.restore(old)[0].outcome == "restored"
    memory.update(other, content="Red")
    assert memory.update(other, content="Blue").outcome == "stored"
    assert values(memory) == {("car.colour", "Blue"), ("door.colour", "Blue")}


def test_consolidation_merges_the_values_of_no_key():
    office = "The office of the Berlin team is {} Torstrasse 12."
    with Memory(":memory:", user="ana", embedder="hashing", consolidator=Consolidator(min_age_hours=0)) as memory:
        for key in ("office.berlin", "office.current", None, None):
            memory.remember(office.format("in" if key == "office.berlin" else "at"), key=key, importance=0.9)
            memory.remember(office.format("near"), importance=0.9)
        before = values(memory)
        memory.consolidate()
        assert {key for key, _ in values(memory)} == {key for key, _ in before}
        assert memory.admin.verify().ok


REPLACE = {
    "correct": lambda m: m.correct("I live in Rome", "I live in Oslo.")[0].id,
    "replace": lambda m: m.remember("I live in Oslo.", replaces="m").id,
}


@pytest.mark.parametrize("processed", [True, False])
@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("how", REPLACE)
def test_what_was_said_stays_replaced_when_its_replacement_goes(memory, how, hard, processed):
    memory.add([Message(role="user", content="I live in Rome.", id="m", sent_at=BEGAN)])
    before = datetime.now(UTC)
    if processed:
        memory.process()
    new = REPLACE[how](memory)
    memory.forget(ids=[new], hard=hard)
    (hit,) = memory.search("Where do I live?")
    assert (hit.id, hit.current, hit.superseded_by, hit.ended) == ("m", False, () if hard else (new,), hard)
    for question in ("Where do I live?", None):
        prompt = memory.get_memory_context(question).to_prompt()
        assert "[no longer current]" in prompt
        assert "Oslo" not in prompt
    assert memory.search("Where do I live?", known_at=before)[0].current
    (old,) = memory.list(include_expired=True)
    memory.restore(old.id)
    assert memory.search("Where do I live?")[0].current
    assert "no longer current" not in memory.get_memory_context("Where do I live?").to_prompt()


def test_a_message_with_something_that_holds_is_current(memory, derived):
    new = memory.correct(derived, "My dentist is Dr. Bianchi.")[0].id
    memory.forget(ids=[new], hard=True)
    assert memory.search("What is my cat called?")[0].current
