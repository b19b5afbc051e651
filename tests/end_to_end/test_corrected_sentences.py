"""A correction reaches the sentence that it corrects, whatever carries it, and no other one."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Consolidator, InvalidInput, Memory, Message
from mnemic.recall.recipes import RECIPES

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
LATER = datetime(2026, 4, 1, 9, tzinfo=UTC)
# a sentence, the question of its matter, and values
FAMILIES = (
    ("My dentist is Dr. {}.", "Who is my dentist?", ("Rossi", "Bianchi", "Costa", "Weber")),
    ("I live in {} with my sister.", "Where do I live?", ("Lisbon", "Porto", "Leeds", "York")),
    ("The API runs on port {}.", "Which port does the API run on?", ("8080", "9000", "9090", "7001")),
    ("Logs go to {}.", "Where do logs go?", ("Loki", "Splunk", "Kibana", "Graylog")),
    ("My son is {} years old.", "How old is my son?", ("4", "5", "6", "7")),
    ("We keep {} hens behind the barn.", "How many hens do we keep?", ("three", "nine", "twelve", "ten")),
)  # fmt: skip
QUESTIONS = [question for _, question, _ in FAMILIES]
STYLES = (None, "markdown", "xml", "json")
MARKS = ("[no longer current]", '"current": false', 'current="false"', "(before: ")


@st.composite
def messages(draw):
    """The sentences of a message, the place of the one that is corrected, its question, and the same with two other values."""
    families = draw(st.permutations(FAMILIES))[: draw(st.integers(1, 6))]
    place = draw(st.integers(0, len(families) - 1))
    form, question, values = families[place]
    sentences = [form.format(draw(st.sampled_from(values))) for form, _, values in families]
    sentences[place], right, third = map(form.format, draw(st.permutations(values))[:3])
    return sentences, place, question, right, third


def told(text, *, processed, **options):
    memory = Memory(":memory:", user="ana", embedder="hashing", **options)
    memory.add([Message(role="user", content=text, id="m", session="s", sent_at=BEGAN)])
    memory.add([Message(role="assistant", content="Thanks, noted.", session="s", sent_at=BEGAN + timedelta(minutes=1))])
    if processed:
        memory.process()
    return memory


def hits(memory, **options):
    for question in QUESTIONS:
        for recipe in RECIPES:
            yield from memory.search(question, recipe=recipe, **options)
        yield from memory.search(question, kinds=["message", "episode", "memory"], **options)


def lines(memory, *, max_tokens=2_000):
    """The lines of every context; those of JSON are its entries."""
    elsewhere = memory.scoped(session="new")
    for question in (*QUESTIONS, None):
        context = elsewhere.get_memory_context(question, max_tokens=max_tokens)
        for style in STYLES:
            yield from context.to_prompt(style=style).replace('{"', '\n{"').splitlines()
        yield from context.text.splitlines()


def check(memory, wrong, others, *, kept):
    """What is wrong is marked or not shown and no memory says it; the others are current, and as many are memories."""
    for hit in hits(memory):
        said = [one for one in others if one in hit.text]
        assert not hit.current or wrong not in hit.text
        assert hit.current or not said
    found = {one for line in lines(memory) for one in others if one in line}
    assert found == {*others}
    for line in lines(memory):
        assert wrong not in line or any(mark in line for mark in MARKS)
        assert "no longer current" not in line or not any(one in line for one in others)
    listed = "\n".join(record.content for record in memory.list(limit=None))
    assert wrong not in listed
    assert {one for one in others if one in listed} >= kept
    assert not any(wrong in episode.content for episode in memory.episodes())
    assert memory.admin.verify().ok


def is_first(memory, question, right):
    return all(memory.search(question, recipe=recipe)[0].text == right for recipe in RECIPES)


@settings(max_examples=25, deadline=None)
@given(messages(), st.sampled_from(["never", "before", "after"]), st.booleans())
def test_a_correction_reaches_one_sentence_and_is_taken_back(said, processed, by_id):
    sentences, place, question, right, _ = said
    old, others = sentences[place], [*sentences[:place], *sentences[place + 1 :]]
    with told(" ".join(sentences), processed=processed == "before") as memory:
        kept = {one for one in others if any(one in record.content for record in memory.list())}
        new = memory.correct("m" if by_id else old, right)[0].id
        check(memory, old, others, kept=kept)
        if processed == "after":
            memory.process()
            check(memory, old, others, kept=kept)
        assert is_first(memory, question, right)
        assert memory.get("m").content == " ".join(sentences)
        (hit,) = (hit for hit in memory.search(old, k=50) if hit.id == "m")
        assert (hit.current, hit.superseded_by) == ((True, ()) if others else (False, (new,)))

        (ended,) = (record.id for record in memory.list(limit=None, include_expired=True) if record.expired_at)
        memory.forget(ids=[new])
        memory.restore(ended)
        memory.process()
        assert all(hit.current for hit in hits(memory))
        assert not any("no longer current" in line for line in lines(memory))
        assert any(old in line for line in lines(memory))
        assert old in {record.content for record in memory.list()}
        assert memory.admin.verify().ok


@settings(max_examples=10, deadline=None)
@given(messages(), st.lists(st.sampled_from(["process", "idle", "copy"]), max_size=3), st.booleans())
def test_nothing_that_follows_brings_it_back(tmp_path_factory, said, steps, again):
    sentences, place, _, right, third = said
    old, others = sentences[place], [*sentences[:place], *sentences[place + 1 :]]
    memory = told(" ".join(sentences), processed=False, consolidator=Consolidator(min_age_hours=0))
    memory.correct(old, right)
    if again:
        memory.correct(right, third)
    for step in steps:
        match step:
            case "process":
                memory.process()
            case "idle":
                memory.consolidate()
                memory.admin.flush()
            case "copy":
                file = tmp_path_factory.mktemp("copy") / "ana.jsonl"
                memory.admin.export(file)
                memory.close()
                memory = Memory(":memory:", user="ana", embedder="hashing")
                memory.admin.import_from(file)
        check(memory, old, others, kept=set())
    if again:
        assert not any(right in record.content for record in memory.list())
    memory.close()


@settings(max_examples=10, deadline=None)
@given(messages(), st.booleans())
def test_a_value_that_came_back_is_current(said, processed):
    sentences, place, _, right, _ = said
    with told(" ".join(sentences), processed=processed) as memory:
        memory.correct(sentences[place], right)
        memory.correct(right, sentences[place])
        memory.process()
        shown = [hit for hit in hits(memory) if sentences[place] in hit.text]
        assert shown
        assert all(hit.current and not hit.superseded_by for hit in shown)
        assert not any("no longer current" in line for line in lines(memory) if sentences[place] in line)


@pytest.mark.parametrize("processed", [True, False])
def test_an_excerpt_shows_no_corrected_sentence(processed):
    about = " ".join(f"Note {n} on the garden: the roses of row {n} need water and a better fence." for n in range(60))
    with told(f"{about} My dentist is Dr. Rossi. My cat is called Miso. {about}", processed=processed) as memory:
        memory.correct("my dentist", "My dentist is Dr. Bianchi.")
        for question in ("Who is my dentist?", "What is my cat called?"):
            prompt = memory.get_memory_context(question, max_tokens=400).to_prompt()
            assert "My dentist is Dr. Rossi." not in prompt.replace("(before: My dentist is Dr. Rossi.)", "")
            assert "no longer current" not in prompt
        assert "Miso" in prompt


def test_as_of_a_time_before_the_correction_it_holds():
    with told("My dentist is Dr. Rossi. I have two cats.", processed=True) as memory:
        known = datetime.now(UTC)
        memory.correct("my dentist", "My dentist is Dr. Bianchi.")
        for then in ({"known_at": known}, {"at": LATER}):
            (hit,) = (hit for hit in memory.search("Who is my dentist?", **then) if hit.id == "m")
            assert (hit.text, hit.current) == ("My dentist is Dr. Rossi. I have two cats.", True)


def test_every_sentence_of_a_message_is_corrected():
    with told("My dentist is Dr. Rossi. My cat is called Miso.", processed=False) as memory:
        new = {
            memory.correct("my dentist", "My dentist is Dr. Bianchi.")[0].id,
            memory.correct("my cat", "My cat is called Momo.")[0].id,
        }
        memory.process()
        (hit,) = (hit for hit in memory.search("Who is my dentist?") if hit.id == "m")
        assert ({*hit.superseded_by}, hit.current, hit.text) == (new, False, memory.get("m").content)
        assert {record.id for record in memory.list()} == new


def test_an_erased_correction_leaves_the_other_sentences_current():
    with told("My dentist is Dr. Rossi. My cat is called Miso.", processed=False) as memory:
        memory.forget(ids=[memory.correct("my dentist", "My dentist is Dr. Bianchi.")[0].id], hard=True)
        memory.process()
        (hit,) = memory.search("What is my cat called?", kinds=["message"], k=1)
        assert (hit.text, hit.current) == ("[...] My cat is called Miso.", True)
        assert [record.content for record in memory.list()] == ["My cat is called Miso."]


@pytest.mark.parametrize("how", ["restore", "update", "unlink"])
@pytest.mark.parametrize("processed", [True, False])
def test_each_way_back_restores_what_carries_it(how, processed):
    with told("My dentist is Dr. Rossi. My cat is called Miso.", processed=processed) as memory:
        new = memory.correct("my dentist", "My dentist is Dr. Bianchi.")[0].id
        memory.process()
        (old,) = (record.id for record in memory.list(include_expired=True) if record.expired_at)
        assert not any("Rossi" in episode.content for episode in memory.episodes())
        match how:
            case "restore":
                memory.restore(old)
            case "update":
                memory.update(old, invalid_at=None)
            case "unlink":
                memory.links.remove(new, old, "supersedes")
        assert any("Rossi" in episode.content for episode in memory.episodes())
        assert all(hit.current for hit in hits(memory))


CONTRACT = (
    "Here is my contract.\n\n\u00a7 5 Term\n\nThe term is two years.\n\n\u00a7 6 Deposit\n\nThe deposit is three net monthly "
    "rents, that is 2,670 euros. The landlord invests it.\n\n\u00a7 7 Pets\n\nPets are allowed."
)


@pytest.mark.parametrize("processed", [False, True])
def test_a_correction_reaches_the_sentence_of_a_pasted_document(processed):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add(CONTRACT, id="m", session="s", sent_at=BEGAN)
        if processed:
            memory.process()
        assert memory.correct("the deposit", "The deposit is 2,000 euros.")[0].outcome == "superseded"
        memory.process()
        found = memory.search("How much is the deposit?", k=50)
        assert found[0].text == "The deposit is 2,000 euros."
        assert not any("2,670" in hit.text for hit in found)
        assert "2,670" not in memory.get_memory_context("How much is the deposit?").text
        assert any("[...] The landlord invests it." in hit.text for hit in found)


JOINED = "The API runs on port 8080. Logs go to Loki."
HOSTED = "The API runs on Bluebird. Logs go to Loki."
"""With a name where the bytes of files are searched: four digits stand in random ids by chance."""


@pytest.mark.parametrize("by_id", [True, False])
def test_a_remembered_statement_ends_as_a_whole_and_is_erased_so(by_id, tmp_path):
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        held = memory.remember(HOSTED, tags=["ops"]).id
        new = memory.correct(held if by_id else "where the API runs", "The API runs on Kestrel.")[0].id
        assert {(r.content, r.tags) for r in memory.list()} == {("The API runs on Kestrel.", ("ops",))}
        memory.forget(ids=[new])
        memory.restore(held)
        assert [record.content for record in memory.list()] == [HOSTED]
        memory.correct(held, "The API runs on Magpie.")
        assert memory.forget(ids=[held], hard=True).clean
        assert memory.admin.verify().ok
    assert not any(b"Bluebird" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("processed", [True, False])
def test_an_erased_message_leaves_nothing_of_what_was_corrected(processed, tmp_path):
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        said = memory.add(HOSTED)[0].id
        if processed:
            memory.process()
        memory.correct("where the API runs", "The API runs on Kestrel.")
        memory.process()
        ended = [record.id for record in memory.list(include_expired=True) if record.expired_at]
        with pytest.raises(InvalidInput, match="say more"):
            memory.forget(ids=ended, hard=True)
        assert memory.forget(ids=[*ended, said], hard=True).clean
    assert not any(b"Bluebird" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("text", "wrong", "right", "left"),
    [
        ("The Acme contract was signed by Jo. It runs until 2027.", "when the Acme contract ends", "The Acme contract runs until 2028.", "The Acme contract was signed by Jo. [...]"),
        ("My daughter Mia goes to Oak School. She is 7 and plays chess.", "Mia is 7", "Mia is 8.", "My daughter Mia goes to Oak School. [...]"),
        ("I have hepatitis B. My doctor is Dr. Lima. I live in Leeds.", "my doctor", "My doctor is Dr. Haas.", "I have hepatitis B. [...] I live in Leeds."),
    ],
)  # fmt: skip
def test_the_sentence_with_the_other_value_ends(text, wrong, right, left):
    with Memory(":memory:", user="kim") as memory:
        memory.add(text)
        memory.correct(wrong, right)
        assert next(hit for hit in memory.search(text) if hit.kind == "message").text == left


def test_where_no_sentence_is_clearly_meant_none_stands_as_true():
    with Memory(":memory:", user="kim", embedder="hashing") as memory:
        said = memory.add("We have a dog named Rex. Rex is a beagle. Rex eats twice a day.")[0].id
        memory.process()
        memory.correct(said, "Our dog Rex is a poodle.")
        assert not next(hit for hit in memory.search("What breed is Rex?") if hit.id == said).current


def test_a_summary_is_written_again_and_never_ends():
    with Memory(":memory:", user="kim", session="monday", embedder="hashing") as memory:
        memory.add_exchange("My dentist is Dr. Rossi. I have two cats.", "Nice.")
        memory.sessions.end()
        memory.correct("my dentist", "My dentist is Dr. Bianchi.")
        assert [one.content for one in memory.list(include_expired=True) if one.expired_at] == [
            "My dentist is Dr. Rossi."
        ]
        assert all(hit.current for hit in memory.search("Nice.") if hit.text == "Nice.")


def test_what_is_left_of_a_memory_is_not_stored_twice():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        held = memory.remember(JOINED).id
        memory.remember("Logs go to Loki.")
        memory.correct(held, "The API runs on port 9000.")
        assert sorted(r.content for r in memory.list()) == ["Logs go to Loki.", "The API runs on port 9000."]


def test_an_edit_reaches_a_memory_that_says_the_same_beside_other_things():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add(JOINED, id="m", sent_at=BEGAN)
        joined = memory.remember(JOINED, source_ids=["m"]).id
        single = memory.remember("The API runs on port 8080.", source_ids=["m"]).id
        memory.update(single, content="The API runs on port 9000.")
        assert (memory.get(single).content, memory.get(joined).content) == (
            "The API runs on port 9000.",
            "Logs go to Loki.",
        )


@pytest.mark.parametrize(
    ("held", "statement"),
    [
        (JOINED, "The API runs on port 9000. Logs go to Splunk."),
        ("Who is your dentist? - Dr. Rossi.", "My dentist is Dr. Bianchi."),
    ],
)
def test_what_is_replaced_as_a_whole(held, statement):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.correct(memory.remember(held).id, statement)
        assert [record.content for record in memory.list()] == [statement]


@pytest.mark.parametrize(
    ("wrong", "right", "statement", "description"),
    [
        ("I'm vegetarian.", "Actually I'm vegan, not vegetarian.", "The user is vegan.", "I'm vegetarian"),
        ("I live in Lisbon.", "I live in Porto now, not in Lisbon.", "Ana lives in Porto.", "I live in Lisbon"),
        ("I live in Lisbon.", "I live in Porto rather than Lisbon.", "The user lives in Porto.", "where I live"),
    ],
)
@pytest.mark.parametrize("processed", [True, False])
def test_what_denies_the_wrong_value_states_the_right_one(wrong, right, statement, description, processed):
    for said in ([wrong, right], [right]):
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            for n, text in enumerate(said):
                memory.add(text, id=f"m{n}", session=str(n))
            if processed:
                memory.process()
            memory.correct(description, statement)
            ended = {r.content for r in memory.list(include_expired=True) if r.expired_at}
            assert ended == {*said} - {right}


@pytest.mark.parametrize("first", ["correct", "process"])
def test_what_two_devices_did_apart_leaves_no_corrected_sentence(tmp_path, first):
    """One device corrects a sentence while the other one makes memories and an episode of it."""
    with (
        Memory(tmp_path / "a", user="ana", embedder="hashing") as one,
        Memory(tmp_path / "b", user="ana", embedder="hashing") as other,
    ):
        one.add(f"{JOINED} My dentist is Dr. Rossi.", id="m", session="s", sent_at=BEGAN)
        one.admin.sync(other)
        acts = [lambda: one.correct("The API runs on port 8080.", "The API runs on port 9000."), other.process]
        for act in acts if first == "correct" else acts[::-1]:
            act()
        one.admin.sync(other)
        for device in (one, other):
            device.process()
        one.admin.sync(other)
        for device in (one, other):
            check(device, "The API runs on port 8080.", ["Logs go to Loki.", "My dentist is Dr. Rossi."], kept=set())
        assert {r.content for r in one.list()} == {r.content for r in other.list()} >= {"Logs go to Loki."}


CONFIGURATIONS = (
    ("yaml", ["services:", "  db:", "    image: postgres:16", "    port: 5433", "    volume: pgdata"], "    port: 5433",
     "the port of the db", "The port of the db is 5439."),
    ("python", ["POOL_SIZE = 5", "MAX_OVERFLOW = 10", 'DEFAULT_CURRENCY = "EUR"'], "POOL_SIZE = 5", "the pool size",
     "The pool size is 20."),
)  # fmt: skip


@pytest.mark.parametrize(("language", "code", "wrong", "described", "right"), CONFIGURATIONS)
@pytest.mark.parametrize("processed", [False, True])
def test_of_a_code_block_one_line_ends(language, code, wrong, described, right, processed):
    block = "\n".join((f"```{language}", *code, "```"))
    with told(f"Here is our configuration:\n\n{block}", processed=processed) as memory:
        (receipt, *_) = memory.correct(described, right)
        assert receipt.outcome == "superseded"
        assert wrong.strip() in receipt.reason
        shown = next(hit.text for hit in memory.search("our configuration") if "```" in hit.text)
        assert wrong not in shown
        assert all(line in shown for line in code if line != wrong)
        assert memory.messages()[0].content.endswith(block)  # the evidence is as it was
