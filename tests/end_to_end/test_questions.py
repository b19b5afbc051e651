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
