"""What a correction by description ends: what says something else and holds, and exactly what its preview names."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.battery import long

from mnemic import Memory, Message
from mnemic.knowledge.remember import statement_of
from mnemic.lifecycle import corrections

# the description, what was said before, what is said now, what a model makes of it, and two values
FAMILIES = (
    ("where I live", ("I live in {0}.", "I live in {0} these days."),
     ("I've moved, I live in {1} now.", "I no longer live in {0}, I live in {1} now.", "I've moved from {0}. I live in {1}."),
     ("The user lives in {1}.", "I live in {1}."), ("Leeds", "York")),
    ("my therapist", ("My therapist is Dr. {0}.",),
     ("My therapist is now Dr. {1}.", "I'm back with Dr. {1} as my therapist.", "I left Dr. {0}, Dr. {1} is my therapist."),
     ("The user's therapist is Dr. {1}.", "My therapist is {1}."), ("Okafor", "Lindqvist")),
    ("my dose", ("I'm on {0} mg of sertraline.", "My dose is {0} mg of sertraline."),
     ("My dose went up, I'm on {1} mg of sertraline now.", "My dose of sertraline was raised from {0} to {1} mg."),
     ("The user takes {1} mg of sertraline.",), ("50", "100")),
    ("my diet", ("My diet is {0}.", "I eat a {0} diet."), ("I changed my diet, it's {1} now.", "I'm on a {1} diet now."),
     ("The user is on a {1} diet.", "The user's diet is {1}."), ("vegan", "keto")),
    ("the release day", ("The release day is {0}.",), ("We moved the release day to {1}.", "The release day is {1} now."),
     ("The release day is {1}.",), ("Monday", "Thursday")),
)  # fmt: skip


def together(*families):
    """Each form at least once; in the long form each with each."""
    if long():
        return product(*families)
    return islice(zip(*map(cycle, families), strict=True), max(map(len, families)))


TOLD = [
    (wrong, *(form.format(*pair) for form in forms))
    for wrong, *families, values in FAMILIES
    for forms in together(*families)
    for pair in (values, values[::-1])
]


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        yield memory


def ended(memory):
    return {record.id: record for record in memory.list(limit=None, include_expired=True) if record.expired_at}


def named(receipt):
    """The ids that a receipt says would be, or are, replaced."""
    return set(re.findall(r"'(\w+)'", receipt.reason))


@pytest.mark.parametrize("processed", [False, True])
@pytest.mark.parametrize(("wrong", "old", "new", "statement"), TOLD)
def test_what_agrees_with_the_statement_is_never_wrong(memory, wrong, old, new, statement, processed):
    memory.add("My brother Tom lives in Oslo and works at a bank.", session="first")
    memory.add(old, id="old", session="first")
    memory.add(new, id="new", session="now")
    if processed:
        memory.process()
    corrected = memory.correct(wrong, statement)
    assert not [record for record in ended(memory).values() if "old" not in record.source_ids]
    assert corrected[0].changed == bool(ended(memory))
    assert memory.admin.verify().ok


@pytest.mark.parametrize("processed", [False, True])
@pytest.mark.parametrize(
    ("wrong", "old", "new", "statement"), [told for told in TOLD if told[1].startswith(("I live", "My", "The"))]
)
def test_the_outdated_one_is(memory, wrong, old, new, statement, processed):
    memory.add(old, id="old", session="first")
    memory.add(new, id="new", session="now")
    if processed:
        memory.process()
    memory.correct(wrong, statement)
    assert {id_ for record in ended(memory).values() for id_ in record.source_ids} == {"old"}


# a description of a named or numbered thing, and two statements on it that exclude each other
EXCHANGED = (
    ("how Globex pays", "Globex pays by card.", "Globex pays by invoice."),
    ("ticket 4711", "Ticket 4711 is waiting for the customer.", "Ticket 4711 is solved."),
    ("our SLA", "Our SLA is 2 hours for P1 tickets.", "Our SLA is 1 hour for P1 tickets."),
    ("the timeout", "The timeout is 30 seconds.", "The timeout is 30 minutes."),
    ("where Ana works", "Ana works in sales.", "Ana works in marketing."),
    ("SSO for Globex", "SSO is enabled for Globex.", "SSO is disabled for Globex."),
    ("invoice 99123", "Invoice 99123 is unpaid.", "Invoice 99123 is paid."),
    ("Rita", "Rita is vegetarian.", "Rita is vegan."),
    ("what Ben does at Acme", "Ben is a developer at Acme.", "Ben is a manager at Acme."),
    ("release 4.12", "Release 4.12 is stable.", "Release 4.12 is broken."),
)


def hold(memory, text, way):
    if way == "remember":
        memory.remember(text)
    else:
        memory.add(text)
    if way == "process":
        memory.process()


@pytest.mark.parametrize("way", ["remember", "add", "process"])
@pytest.mark.parametrize(("wrong", "old", "new"), [*EXCHANGED, *((wrong, new, old) for wrong, old, new in EXCHANGED)])
def test_another_word_or_unit_says_something_else(memory, wrong, old, new, way):
    hold(memory, "My brother Tom lives in Oslo and works at a bank.", way)
    hold(memory, old, way)
    assert memory.correct(wrong, new)[0].outcome == "superseded"
    assert [record.content for record in ended(memory).values()] == [old]
    assert memory.correct(wrong, new)[0].outcome == "rejected"


SUBJECTS = st.sampled_from([
    "Globex", "Invoice 99123", "Release 4.12", "Ticket P1", "Our SLA", "The staging server", "Rita", "My router"
])  # fmt: skip
VALUES = st.sampled_from([
    "blue", "solved", "vegan", "Porto", "30 seconds", "30 minutes", "31 minutes", "9 am", "9 pm", "Monday", "Friday", "Basic"
])  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(SUBJECTS, st.lists(VALUES, min_size=2, max_size=2, unique=True), st.sampled_from(["remember", "add", "process"]))
def test_of_one_thing_another_value_is_wrong_and_the_same_is_not(subject, values, way):
    old, new = (f"{subject} state is {value}." for value in values)
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        hold(memory, old, way)
        assert memory.correct(f"the state of {subject}", old)[0].outcome == "rejected"
        assert memory.correct(f"the state of {subject}", new)[0].outcome == "superseded"
        assert [record.content for record in ended(memory).values()] == [old]


@pytest.mark.parametrize("wrong", ["Rita", "Rita's height"])
def test_a_name_alone_means_no_other_matter(memory, wrong):
    for said in ("Rita lives in Oslo.", "Rita is a teacher.", "Rita is vegetarian.", "Rita is tall."):
        memory.remember(said)
    assert memory.correct(wrong, "Rita is vegan.")[0].outcome == "rejected"
    assert not ended(memory)


@pytest.mark.parametrize("way", ["remember", "add", "process"])
@pytest.mark.parametrize(
    ("wrong", "before", "new", "others"),
    [
        ("when we deploy", ("We deploy on Thursdays.", "We deploy on Tuesdays now."), "We deploy on Mondays.",
         ("We deploy with Ansible.",)),
        ("my dose", ("My dose is 50 mg of sertraline.", "My dose is 75 mg of sertraline."),
         "The user takes 100 mg of sertraline.", ("My dose of vitamins comes from Globex.",)),
        ("ticket 4711", ("Ticket 4711 is open.", "Ticket 4711 is waiting for the customer."), "Ticket 4711 is solved.",
         ("Ticket 4711 is from Globex.", "Ticket 4712 is open.")),
        ("where my sister lives", ("My sister lives in Oslo.", "My sister lives in Rome now."), "My sister lives in Bergen.",
         ("My brother lives in Bergen.", "My sister likes Rome.")),
    ],
)  # fmt: skip
def test_every_earlier_value_is_wrong_and_no_other_matter(memory, wrong, before, new, others, way):
    for text in (*before, *others):
        hold(memory, text, way)
    memory.correct(wrong, new)
    assert {record.content for record in ended(memory).values()} == {*before}


@pytest.mark.parametrize("wrong", ["my dentist", "m"])
@pytest.mark.parametrize("key", ["dentist", None])
def test_a_correction_keeps_what_is_not_of_the_words(memory, wrong, key):
    kept = {"key": key, "tags": ["health"], "category": "care", "importance": 0.9, "metadata": {"seen": 2}}
    kept["delete_after"] = datetime.now(UTC).replace(microsecond=0) + timedelta(days=9)
    memory.add("My dentist is Dr. Rossi.")
    memory.remember("My dentist is Dr. Rossi.", id="m", **kept)
    new = memory.get(memory.correct(wrong, "My dentist is Dr. Bianchi.")[0].id)
    assert (new.pinned, {**kept, "tags": ("health",)}) == (True, {name: getattr(new, name) for name in kept})


@pytest.mark.parametrize("key", ["dentist", None, "said"])
def test_a_correction_is_taken_back_by_forgetting_it(memory, key):
    said = key == "said"
    if said:
        memory.add("My dentist is Dr. Rossi. I have two cats.", id="m")
    else:
        memory.remember("My dentist is Dr. Rossi.", key=key)
    receipt = memory.correct("m" if said else "my dentist", "My dentist is Dr. Bianchi.")[0]
    (old,) = ended(memory)
    memory.forget(ids=[receipt.id])
    assert not said or (memory.restore("m")[0].outcome, old in memory.restore("m")[0].reason) == ("duplicate", True)
    assert memory.restore(old)[0].outcome == "restored"
    assert [record.content for record in memory.list()] == ["My dentist is Dr. Rossi."]
    assert memory.search("Who is my dentist?")[0].current
    assert memory.admin.verify().ok


def test_a_decimal_in_a_description_is_one_number(memory):
    held = [memory.remember(f"Release {number} is stable.").id for number in ("4.12", "4", "12")]
    assert [receipt.id for receipt in memory.forget("release 4.12", dry_run=True) if receipt.changed] == held[:1]


def test_a_value_that_comes_back_ends_the_one_between(memory):
    for session, (text, name) in enumerate([
        ("My therapist is Dr. {}.", "Okafor"),
        ("My therapist is now Dr. {}.", "Lindqvist"),
        ("I'm back with Dr. {} as my therapist.", "Okafor"),
    ]):  # fmt: skip
        memory.add(text.format(name), session=str(session))
        if session:
            memory.correct("my therapist", f"The user's therapist is Dr. {name}.")
    assert [record.content for record in memory.list()] == ["The user's therapist is Dr. Okafor."]
    assert "I'm back with Dr. Okafor as my therapist." not in {one.content for one in ended(memory).values()}
    assert [hit.current for hit in memory.search("therapist") if "Lindqvist" in hit.text] == [False]


@pytest.mark.parametrize("old", ["Mein Arzt ist Dr. Weber.", "Bei meinem Arzt Dr. Weber war ich gestern."])
def test_a_german_description_means_what_has_its_noun(memory, old):
    memory.add(old, id="old")
    memory.add("Mein Nachbar ist Dr. Kern.")
    assert memory.correct("mein Arzt", "Mein Arzt ist Dr. Schulz.")[0].outcome == "superseded"
    assert [record.source_ids for record in ended(memory).values()] == [("old",)]


@pytest.mark.parametrize("statement", ["My dentist is Dr. Rossi.", "The user's dentist is Dr. Rossi."])
def test_nothing_is_wrong_where_all_says_the_same(memory, statement):
    memory.add("My dentist is Dr. Rossi now.")
    for receipts in (memory.correct("my dentist", statement, dry_run=True), memory.correct("my dentist", statement)):
        assert [receipt.outcome for receipt in receipts] == ["rejected", "rejected"]
        assert receipts[0].reason.startswith("nothing says otherwise")
        assert receipts[1].reason == "kept: says the same: My dentist is Dr. Rossi now."
    assert memory.list() == []


@pytest.mark.parametrize("first", ["my dentist", "my cat"])
def test_a_correction_of_one_sentence_leaves_that_of_another(memory, first):
    statements = {"my dentist": "My dentist is Dr. Bianchi.", "my cat": "My cat is called Momo."}
    memory.add("My dentist is Dr. Rossi. My cat is called Miso.", id="m")
    for wrong in (first, *statements.keys() - {first}):
        memory.correct(wrong, statements[wrong])
    assert {record.content for record in memory.list()} == {*statements.values()}


OLD = st.lists(
    st.sampled_from((
        "Standup is at 9:15 every day now.", "From now on standup is at 9:30, and on Tuesdays and Thursdays only.",
        "We moved the standup to 10:00.", "Standup is at 9:50 on Fridays.",
    )),
    min_size=1, max_size=3, unique=True,
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    OLD, st.sampled_from(("when standup is", "the standup time", "standup", "the time of the standup")), st.booleans()
)
def test_no_earlier_value_stays_current_processed_or_not(old, wrong, processed):
    other = "We had a good talk at standup on Friday."
    with Memory(":memory:", user="marta") as memory:
        for n, text in enumerate((*old, other)):
            memory.add(text, sent_at=datetime(2026, 9, 14, tzinfo=UTC) + timedelta(days=n))
        if processed:
            memory.process()
        memory.correct(wrong, "Standup is at 9:45 on Mondays.")
        current = {hit.text for hit in memory.search("When is standup?", k=20) if hit.current}
        assert current == {other, "Standup is at 9:45 on Mondays."}


@pytest.mark.parametrize("processed", [False, True])
def test_what_gives_no_value_of_the_thing_is_not_what_is_wrong(processed):
    lawyer = "Brandt wrote: the new battery works and he withdraws the lawyer threat."
    cable = "Brandt pays 20 euros for the cable."
    with Memory(":memory:", user="marta") as memory:
        memory.add("Customer Brandt gets a new battery as goodwill, but he pays half: 240 euros.", session="a")
        memory.add("No, I meant Brandt pays a quarter, 120 euros.", session="a")
        memory.add(lawyer, session="b")
        memory.add(cable, session="b")
        if processed:
            memory.process()
        memory.correct("Brandt's share of the battery", "Brandt pays 100 euros for the battery.")
        current = {hit.text for hit in memory.search("Brandt", k=20) if hit.current}
        assert current == {lawyer, cable, "Brandt pays 100 euros for the battery."}


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize(
    ("reply", "repeated"),
    [
        ("Great, 18 December at Caf\u00e9 Pf\u00f6rtner it is.", True),
        ("Noted: 18 December.", True),
        ("I've put the party on 18 December in your calendar.", True),
        ("I'll plan the food for 18 people then.", False),
        ("Great, Caf\u00e9 Pf\u00f6rtner it is.", False),
        ("Is 18 December a Friday?", False),
    ],
)
def test_a_reply_that_repeats_what_is_wrong_is_corrected_with_it(reply, repeated, ended):
    with Memory(":memory:", user="marta") as memory:
        talk = memory.scoped(session="z1")
        talk.add_exchange("The office party is on 18 December at Caf\u00e9 Pf\u00f6rtner.", reply)
        talk.add_exchange("Its budget is 600 euros.", "Noted, 600 euros.")
        if ended:
            talk.sessions.end()
        receipts = memory.correct("the office party date", "The office party is on 19 December.")
        assert [hit.current for hit in memory.search("party", k=20) if hit.text == reply] == [not repeated]
        assert not any("Session on" in receipt.reason for receipt in receipts)
        if repeated:
            derived = [e.title for e in memory.episodes()] + [r.content for r in memory.list() if r.category]
            assert not any("18 December" in text for text in derived)
            marked = memory.scoped(session="z2").get_memory_context("When is the office party?").text
            assert all("[no longer current]" in line for line in marked.splitlines() if "18 December" in line)
        assert memory.admin.verify().ok


@pytest.mark.parametrize("processed", [False, True])
@pytest.mark.parametrize(
    ("said", "reply", "wrong", "right"),
    [
        (
            "I earn 2,640 after tax.",
            "That's a solid salary for Bristol.",
            "my salary",
            "I earn 3,050 pounds after tax.",
        ),
        ("I was born on 4 May 1992.", "Your birthday is in spring.", "my birthday", "I was born on 5 May 1992."),
        (
            "I go to Dr. Lowe for my teeth.",
            "A good dentist is worth gold.",
            "my dentist",
            "I go to Dr. Silva for my teeth.",
        ),
        ("I drive a red Fiesta.", "A small car is handy in Bath.", "my car", "I drive a blue Polo."),
    ],
)
def test_a_reply_on_the_matter_does_not_stand_for_what_the_user_said(said, reply, wrong, right, processed):
    with Memory(":memory:", user="nora") as memory:
        memory.add_exchange(said, reply, session="s")
        memory.add_exchange("I bake bread on Sundays.", "Sourdough?", session="t")
        if processed:
            memory.process()
        assert memory.correct(wrong, right)[0].outcome == "superseded"
        assert [hit.current for hit in memory.search(said, k=20) if hit.text == said] in ([False], [])


@pytest.mark.parametrize("reply", ["Noted: 4471.", "4471, got it.", "Understood, 4471!"])
def test_an_acknowledgement_of_what_is_wrong_ends_with_it(reply):
    with Memory(":memory:", user="nora") as memory:
        memory.add_exchange("My locker number is 4471.", reply)
        memory.correct("my locker number", "My locker number is 4482.")
        assert [hit.current for hit in memory.search("locker 4471", k=20) if hit.text == reply] == [False]


PORTS = st.integers(9000, 9009)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["say", "remember", "key", "replace", "correct", "restore", "forget"]), PORTS),
    st.tuples(st.just("process"), st.just(0)),
)


def take(memory, step, port):
    text, held = f"Staging runs on port {port}.", [record.id for record in memory.list()]
    match step:
        case "say":
            memory.add(text)
        case "remember":
            memory.remember(text)
        case "key":
            memory.remember(text, key="staging.port")
        case "replace" if held:
            memory.remember(text, replaces=held[0])
        case "correct":
            memory.correct("staging port", text)
        case "restore" if ended(memory):
            memory.restore(min(ended(memory)))
        case "forget" if held:
            memory.forget(ids=held[:1])
        case "process":
            memory.process()


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=6), st.integers(9000, 9012))
def test_a_preview_names_what_the_call_ends(steps, port):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        for step in steps:
            take(memory, *step)
        known = {record.id for record in memory.list(limit=None, include_expired=True)}
        before, statement = ended(memory), f"Staging runs on port {port}."
        preview = memory.correct("staging port", statement, dry_run=True)
        assert ended(memory) == before
        done = memory.correct("staging port", statement)
        gone = {id_: record for id_, record in ended(memory).items() if id_ not in before}
        would = named(preview[0]) if preview[0].changed else set()
        wrong = {id_: record for id_, record in gone.items() if record.content != statement}  # others get its key
        assert would == {id_ if id_ in known else record.source_ids[0] for id_, record in wrong.items()}
        assert preview[1:] == done[1:]
        assert done[0].changed == bool(gone)
        assert not gone or named(done[0]) == gone.keys()
        assert {receipt.id for receipt in done[1:]}.isdisjoint(ended(memory))
        assert memory.admin.verify().ok


@pytest.mark.parametrize("processed", [False, True])
def test_each_record_near_a_description_is_read_once(monkeypatch, processed):
    read = Counter()

    def counted(runtime, scope, stored, terms, said):
        read[stored.value.id] += 1
        return statement_of(runtime, scope, stored, terms, said)

    monkeypatch.setattr(corrections, "statement_of", counted)
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        for n in range(30):
            memory.add(f"The number of the boiler in flat {n} is {n + 100}.")
        if processed:
            memory.process()
        receipts = memory.correct("the number of the boiler", "The number of the boiler is 5.", dry_run=True)
        assert len(receipts) > 20
    assert {*read.values()} == {1}


@pytest.mark.parametrize("processed", [False, True])
@pytest.mark.parametrize(
    ("others", "wrong", "asked", "right"),
    [
        (["Priya's doctor is Dr. Lang too."], "My doctor is Dr. Lang.", "my doctor", "My doctor is Dr. Moser."),
        (
            ["Eva's parents live in Wien.", "Eva's boyfriend lives in Wien."],
            "Eva lives in Wien.", "where Eva lives", "Eva lives in Graz.",
        ),
        (["Tom's brother works at AVL."], "Tom works at AVL.", "where Tom works", "Tom works at Infineon."),
        (["I am not allergic to cats."], "I am allergic to amoxicillin.", "my allergy", "I am allergic to penicillin."),
        (["I can eat oats.", "I can eat rice."], "I can't eat gluten.", "what I can't eat", "I can't eat lactose."),
    ],
)  # fmt: skip
def test_what_is_anothers_or_said_of_the_contrary_stays(others, wrong, asked, right, processed):
    with Memory(":memory:", user="marta") as memory:
        for text in (wrong, *others):
            memory.add(text)
        if processed:
            memory.process()
        memory.correct(asked, right)
        hits = memory.search(f"{wrong} {' '.join(others)}", k=20)
        assert {hit.text for hit in hits if hit.current} >= {*others}
        assert not any(hit.current for hit in hits if hit.text == wrong)


# what was said, the description, and what is true
IN_A_TAIL = (
    ("I take 20 mg of lisinopril every morning for my blood pressure.", "my lisinopril dose",
     "I take 10 mg of lisinopril every morning."),
    ("I take 200 mg of magnesium every night for my legs.", "my magnesium", "My magnesium dose is 300 mg."),
    ("I swim 20 lengths every Monday with my brother.", "how much I swim", "I swim 30 lengths every Monday."),
    ("I pay 45 euros a month for the gym near my office.", "the price of the gym", "I pay 55 euros a month for the gym."),
    ("We meet on Thursdays at my sister's place.", "when we meet", "We meet on Tuesdays."),
    ("I live in Leeds with my sister.", "where I live", "I live in York."),
    ("I'm vegetarian because of my stomach.", "my diet", "I'm vegan."),
    ("I run 8 km on Sundays with Priya's dog.", "my Sunday run", "I run 10 km on Sundays."),
    ("We moved here in 2019 because of my job.", "when we moved here", "We moved here in 2018."),
    ("The exam is on 3 June in my sister's school.", "the exam date", "The exam is on 5 June."),
)  # fmt: skip
OF_ANOTHER = (
    ("My brother lives in Oslo.", "where I live", "I live in York."),
    ("I think my brother lives in Oslo.", "where I live", "I live in York."),
    ("I live with my brother Tom.", "where I live", "I live in York."),
    ("I visited my brother Tom in Leeds.", "where I live", "I live in York."),
    ("The rent of my brother is 800 euros.", "my rent", "My rent is 900 euros."),
    ("Dinner at my sister's house is at 7.", "when dinner is", "Dinner is at 8."),
    ("Every morning my father takes 20 mg of lisinopril.", "my lisinopril dose", "I take 10 mg of lisinopril every morning."),
    ("I give my cat 20 mg of lisinopril every morning.", "my lisinopril dose", "I take 10 mg of lisinopril every morning."),
    ("On Mondays my sister swims 20 lengths.", "how much I swim", "I swim 30 lengths on Mondays."),
    ("Pieter Claes still owes 1,420 euros.", "the deposit", "Pieter Claes paid a deposit of 500 euros."),
)  # fmt: skip


@pytest.mark.parametrize("processed", [False, True])
@pytest.mark.parametrize("reply", [False, True])
@pytest.mark.parametrize(
    ("said", "asked", "right", "ends"),
    [*((*case, True) for case in IN_A_TAIL), *((*case, False) for case in OF_ANOTHER)],
)
def test_what_somebody_has_counts_where_the_words_before_it_do_not_say_all(said, asked, right, ends, reply, processed):
    with Memory(":memory:", user="marta") as memory:
        memory.add(said)
        if reply:
            memory.add([Message(role="assistant", content=f"Noted: {said}")])
        if processed:
            memory.process()
        memory.correct(asked, right)
        hits = [hit.current for hit in memory.search(said, k=20) if hit.kind == "message" and hit.text == said]
        assert hits == [not ends]


# a statement, its correction by a description, and replies: those that repeat what is wrong, and those that do not
REPLIES = (
    ("My rent is 890 euros a month.", "my rent", "My rent is 940 euros a month.",
     ("A rent of 890 euros is fair for Leipzig.", "With a rent of 890 euros, 1,300 remain for everything else."),
     ("A bike for 890 euros is a good buy.", "The rent isn't 890 euros, is it?", "Line 890 of the table is empty.")),
    ("The launch is on 14 March.", "the launch date", "The launch is on 21 March.",
     ("With the launch on 14 March you have nine weeks.", "A launch on 14 March gives Priya two weeks for the video."),
     ("I'll plan the food for 14 people then.", "The trade fair begins on 14 March too, so book rooms early.")),
    ("My flight leaves at 7:40 on Friday.", "my flight", "My flight leaves at 9:10 on Friday.",
     ("A flight at 7:40 means getting up at 4.",), ("The train at 7:40 would be too late.",)),
    ("Pieter Claes paid a deposit of 600 euros.", "the deposit", "Pieter Claes paid a deposit of 500 euros.",
     ("With the deposit of 600 euros from Pieter Claes, 1,420 remain due.",), ("Pieter Claes still owes 1,420 euros.",)),
    ("Joris is travelling to Porto.", "where Joris is travelling", "Joris is travelling to Lisbon.",
     ("Joris will like travelling to Porto by train.",), ("Porto is lovely in spring.", "Joris can fly via Porto.")),
    ("The workshop is in room 12 next to my office.", "where the workshop is", "The workshop is in room 15.",
     ("The workshop in room 12 needs a beamer.", "Room 12, then."), ("Room 12 has a beamer.",)),
    ("My dentist is Dr. Rossi.", "my dentist", "My dentist is Dr. Bianchi.",
     ("Your dentist Dr. Rossi sends reminders.",), ("Dr. Rossi is on holiday this week.",)),
    ("Standup is at 9:15.", "when standup is", "Standup is at 9:45.",
     ("With standup at 9:15, Ana's call moves to ten.",), ("Then the train at 9:15 is too late for standup.",)),
    ("I take 20 mg of lisinopril every morning for my blood pressure.", "my lisinopril dose",
     "I take 10 mg of lisinopril every morning.",
     ("Lisinopril 20 mg in the morning is a common dose.", "With 20 mg of lisinopril, watch for dizziness."),
     ("Walk 20 minutes every morning too.",)),
)  # fmt: skip


@pytest.mark.parametrize("processed", [False, True])
@pytest.mark.parametrize(
    ("said", "asked", "right", "reply", "repeated"),
    [
        (said, asked, right, reply, repeated)
        for said, asked, right, *replies in REPLIES
        for repeated, texts in zip((True, False), replies, strict=True)
        for reply in texts
    ],
)
def test_a_reply_ends_if_it_gives_the_wrong_value_as_that_of_the_same_thing(
    said, asked, right, reply, repeated, processed
):
    with Memory(":memory:", user="marta") as memory:
        memory.add_exchange(said, reply)
        if processed:
            memory.process()
        memory.correct(asked, right)
        current = {hit.text: hit.current for hit in memory.search(f"{said} {reply}", k=20) if hit.kind == "message"}
        assert current == {said: False, reply: not repeated}
        assert memory.admin.verify().ok
