"""prefer, end-session, retire, and the log of everything."""

import pytest

from mnemic import Memory


@pytest.fixture
def kept(mnemic, folder):
    """The command on a memory that has something in every tier."""
    with Memory(folder, embedder="hashing") as memory:
        for text in (
            "The box stands in the cellar.",
            "Note that the box stands in the cellar.",
            "A detail of no worth",
        ):
            memory.remember(text, importance=None if "detail" in text else 0.9)
        memory.add_exchange("What a wonderful, happy day!!!", "Indeed.", session="s1")
        memory.process()
        memory.consolidate(min_age_hours=0, similarity_threshold=0.5)
    return mnemic


class TestPrefer:
    def test_set_read_remove(self, kept):
        assert kept("prefer").code == 1
        assert kept("prefer", "theme", "dark").out == "theme  dark\n"
        kept("prefer", "indent", "4")
        assert kept("prefer", "theme").out == "dark\n"
        assert kept("prefer", "--json").json == {"preferences": {"indent": 4, "theme": "dark"}}
        assert kept("prefer", "theme", "--remove").code == 0
        assert (kept("prefer", "theme").code, kept("prefer", "theme", "--remove").code) == (1, 1)
        assert kept("prefer", "--json").json == {"preferences": {"indent": 4}}

    def test_a_project_has_its_own(self, kept):
        kept("prefer", "theme", "dark")
        kept("prefer", "theme", "light", "--project", "atlas")
        assert kept("prefer", "theme", "--project", "atlas").out == "light\n"
        assert kept("prefer", "theme").out == "dark\n"

    def test_what_makes_no_sense_is_refused(self, kept):
        assert kept("prefer", "--remove").code == 2
        assert kept("prefer", "theme", "dark", "--remove").code == 2


class TestEndSession:
    def test_a_summary_is_kept(self, kept):
        run = kept("end-session", "--session", "s1")
        assert run.code == 0
        assert "2 messages" in run.out
        assert kept("end-session", "--session", "s1", "--json").json["receipt"]["outcome"] == "duplicate"
        assert "Session on" in kept("context").out

    def test_nothing_was_said_or_none_is_named(self, kept):
        run = kept("end-session", "--session", "other")
        assert (run.code, run.err) == (1, "mnemic: there are no messages in 'other'.\n")
        assert kept("end-session", "--session", "other", "--json").json == {"receipt": None, "summary": None}
        assert kept("end-session").code == 2


class TestRetire:
    def test_nothing_goes_unasked(self, kept):
        assert kept("retire").out == "Nothing is due.\n"

    def test_too_many(self, kept, tmp_path):
        before = len(kept("list", "--json").json["memories"])
        (tmp_path / "strict.toml").write_text("[retention]\nmemory_limit = 1\n")
        run = kept("retire", "--config", tmp_path / "strict.toml", "--json")
        assert 0 < run.json["archived"] < before
        assert len(kept("list", "--json").json["memories"]) == before - run.json["archived"]


class TestLog:
    def test_memories_or_everything(self, kept):
        events = kept("log", "--limit", "500", "--json").json["events"]
        assert [event["sequence"] for event in events] == sorted((e["sequence"] for e in events), reverse=True)
        assert {"remember", "absorb", "promote", "weigh"} <= {event["operation"] for event in events}
        assert "add" not in {event["operation"] for event in events}
        everything = kept("log", "--all", "--limit", "500", "--json").json["events"]
        assert {"add", "episode"} <= {event["operation"] for event in everything}
        assert [e for e in everything if e in events] == events

    def test_each_version_has_its_text(self, folder, kept):
        with Memory(folder, embedder="hashing") as memory:
            id_ = memory.remember("The lease ends in May").id
            memory.update(id_, content="The lease ends in June")
            newest, before = memory.admin.log(kinds=["memory"], limit=2)
            assert (newest.operation, newest.content) == ("update", "The lease ends in June")
            assert (before.operation, before.content, before.id) == ("remember", "The lease ends in May", id_)
            assert memory.admin.log(kinds=["memory"], before=newest.sequence, limit=1) == [before]
            assert {event.operation for event in memory.admin.log(operations=["add"], limit=None)} <= {"add"}
            assert memory.scoped(user="bob").admin.log() == []
            with pytest.raises(ValueError, match="kinds"):
                memory.admin.log(kinds=["nothing"])
