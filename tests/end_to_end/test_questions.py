"""The last questions: kept if the settings say so, without secrets, and gone with whatever is erased."""

import io

import pytest

from mnemic import ConfigurationError, Emotion, Memory, RetentionPolicy
from mnemic.cli import main

KEY = "AKIAIOSFODNN7EXAMPLQ"


@pytest.fixture
def opened(tmp_path):
    def opened(user="ana", questions=3, **options):
        retention = RetentionPolicy(questions=questions)
        return Memory(tmp_path / "memory", user=user, embedder="hashing", retention=retention, **options)

    return opened


def asked(memory):
    return [question.text for question in memory.admin.questions()]


def test_none_is_kept_by_default(tmp_path):
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        memory.add("I live in Lisbon.")
        memory.search("Where does Ana live?")
        memory.get_memory_context("Where does Ana live?")
        assert memory.admin.questions() == []


def test_the_last_ones_are_kept_each_once(opened):
    with opened() as memory:
        memory.search("Is anybody there?")
        assert asked(memory) == [], "a question makes no user"
        memory.add("I live in Lisbon.")
        for text in ("one", "two", "three", "four", "  "):
            memory.search(text)
        memory.get_memory_context("two", mood=Emotion(valence=0.5, arousal=-0.5))
        memory.get_memory_context()
        memory.scoped(project="site", session="s1").search("five")
        with memory.scoped(user="ben") as other:
            assert asked(other) == []
    with opened() as memory:
        five, two, four = memory.admin.questions()
        assert (five.text, five.project, five.session, five.mood) == ("five", "site", "s1", None)
        assert (two.text, two.mood.valence, two.mood.arousal, two.session) == ("two", 0.5, -0.5, None)
        assert four.text == "four"
        assert five.asked_at >= two.asked_at >= four.asked_at
    with opened(questions=0) as memory:
        memory.admin.retire()
        assert asked(memory) == []


def test_they_hold_no_secret(opened, tmp_path):
    with opened() as memory:
        memory.add("I live in Lisbon.")
        memory.search(f"What is {KEY} for?")
        assert asked(memory) == ["What is [redacted: aws-access-key] for?"]
    assert all(KEY.encode() not in path.read_bytes() for path in (tmp_path / "memory").iterdir())


def test_whatever_is_erased_takes_them_along(opened, tmp_path):
    with opened() as memory:
        memory.add("I live in Lisbon.", id="m")
        memory.add("My cat is called Ottokar.", id="cat")
        memory.search("How old is Ottokar the Great?")
        memory.scoped(user="ben").add("Hello.")
        memory.scoped(user="ben").search("Who is Ben?")
        memory.forget(ids=["m"])
        assert asked(memory)
        done = memory.forget(ids=["cat"], hard=True)
        assert done.clean
        assert done.counts["questions"] == 1
        assert asked(memory) == []
        memory.search("Where is Lisbon on the map?")
        assert memory.admin.erase_user().counts["questions"] == 1
        assert asked(memory.scoped(user="ben")) == ["Who is Ben?"]
    for word in (b"Ottokar", b"Lisbon"):
        assert all(word not in path.read_bytes() for path in (tmp_path / "memory").iterdir())


def test_they_are_not_exported(opened):
    with opened() as memory:
        memory.add("I live in Lisbon.")
        memory.search("Where does the unicorn live?")
        file = io.StringIO()
        memory.admin.export(file)
        assert "unicorn" not in file.getvalue()


def test_a_file_switches_them_on(tmp_path, capsys):
    (tmp_path / "mnemic.toml").write_text('embedder = "hashing"\n[retention]\nquestions = 5\n')
    for words in (("add", "I live in Lisbon."), ("search", "Where does Ana live?")):
        assert main(["--dir", str(tmp_path), "--user", "ana", *words]) == 0
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        assert asked(memory) == ["Where does Ana live?"]
    with pytest.raises(ConfigurationError, match="questions must be a whole number from 0 to 1000"):
        RetentionPolicy(questions=-1)


def given(memory):
    return [one.question for one in memory.admin.contexts()]


def test_contexts_are_kept_as_they_were_given(tmp_path):
    with Memory(tmp_path, user="ana", embedder="hashing", retention=RetentionPolicy(contexts=2)) as memory:
        memory.get_memory_context("Is anybody there?")
        assert given(memory) == [], "a question makes no user"
        memory.add("I live in Lisbon.", id="m")
        memory.add("My cat is called Ottokar.", id="cat")
        site = memory.scoped(project="site", session="s1")
        shown = site.get_memory_context(f"Who is Ottokar, {KEY}?", max_tokens=200)
        memory.get_memory_context()
        memory.search("Lisbon")
        assert memory.admin.questions() == []
    with Memory(tmp_path, user="ana", embedder="hashing", retention=RetentionPolicy(contexts=2)) as memory:
        (one,) = memory.admin.contexts()
        assert (one.question, one.project, one.session) == ("Who is Ottokar, [redacted: aws-access-key]?", "site", "s1")
        assert (one.prompt, one.token_count, one.max_tokens) == (shown.to_prompt(), shown.token_count, 200)
        assert (one.evidence, one.probability) == (shown.found.evidence, shown.found.probability)
        assert {hit.id for hit in one.hits if hit.shown} == {hit.id for hit in shown.hits}
        best = one.hits[0]
        assert (best.id, best.text) == ("cat", "My cat is called Ottokar.")
        assert best.contributions.keys() == shown.found[0].contributions.keys()
        for text in ("two", "three"):
            memory.get_memory_context(text)
        assert given(memory) == ["three", "two"]
        assert given(memory.scoped(user="ben")) == []
        assert memory.forget(ids=["cat"], hard=True).clean
        assert given(memory) == []
        memory.get_memory_context("four")
        assert memory.admin.erase_user().counts["contexts"] == 1
    assert all(word not in path.read_bytes() for path in tmp_path.iterdir() for word in (KEY.encode(), b"Ottokar"))


@pytest.mark.parametrize("whole_user", [False, True])
def test_what_is_erased_while_a_context_is_made_does_not_come_back(tmp_path, whole_user):
    def erase(text):
        with Memory(tmp_path, user="ana", embedder="hashing") as other:
            if any(message.id == "m" for message in other.messages()):
                done = other.admin.erase_user() if whole_user else other.forget(ids=["m"], hard=True)
                assert done.counts
                other.add("Hello again.")
        return len(text)

    kept = RetentionPolicy(contexts=5)
    with Memory(tmp_path, user="ana", embedder="hashing", retention=kept, tokenizer=erase) as memory:
        memory.add("My cat is called Ottokar.", id="m")
        memory.get_memory_context("What is my cat called?")
        assert given(memory) == []
    assert all(b"Ottokar" not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_secret_is_not_cut_in_two(tmp_path):
    with Memory(tmp_path, user="ana", embedder="hashing", secrets="allow") as memory:
        memory.add(f"{'The key is long. ' * 17}{KEY}", id="m")
    with Memory(tmp_path, user="ana", embedder="hashing", retention=RetentionPolicy(contexts=5)) as memory:
        memory.get_memory_context("Which key?")
        (one,) = memory.admin.contexts()
        assert "AKIA" not in one.hits[0].text + one.prompt
        assert len(one.hits[0].text) <= 300


def test_contexts_are_dropped_when_they_are_no_longer_wanted(tmp_path):
    with Memory(tmp_path, user="ana", embedder="hashing", retention=RetentionPolicy(contexts=2)) as memory:
        memory.add("I live in Lisbon.")
        memory.get_memory_context("one")
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        memory.get_memory_context("two")
        assert given(memory) == ["one"]
        memory.admin.retire()
        assert given(memory) == []
    with pytest.raises(ConfigurationError, match="contexts"):
        RetentionPolicy(contexts=1_001)
