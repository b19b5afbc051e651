"""prefer, end-session, retire, the log of everything, and the picture of a memory."""

import builtins
import sys

import pytest
from matplotlib import rc_context
from tests.internals import runtime_of

from mnemic import Emotion, Event, Memory
from mnemic.cli import plot
from mnemic.testing.fakes import MOMENT
from mnemic.transfer.picture import Picture, tiers


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

    def test_too_many(self, kept):
        before = len(kept("list", "--json").json["memories"])
        run = kept("retire", "--memory-limit", "1", "--json")
        assert 0 < run.json["archived"] < before
        assert len(kept("list", "--json").json["memories"]) == before - run.json["archived"]
        assert kept("retire", "--memory-limit", "0").code == 2


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


class TestPicture:
    def test_it_is_drawn(self, kept, tmp_path):
        with rc_context({"svg.fonttype": "none"}):  # what the user's own settings are is no matter
            drawn = {name: kept("stats", "--plot", tmp_path / name) for name in ("a.svg", "a.png")}
        for (name, run), begins in zip(drawn.items(), (b"<?xml", b"\x89PNG"), strict=True):
            assert (run.code, run.err) == (0, f"mnemic: drawn into {tmp_path / name}.\n")
            assert (tmp_path / name).read_bytes().startswith(begins)
        text = (tmp_path / "a.svg").read_text()
        assert all(f"<!-- {word} -->" in text for word in ("short-term", "long-term", "archived", "valence", "excited"))
        assert any("memories -->" in line for line in text.splitlines())

    def test_nothing_is_drawn_where_there_is_nothing(self, tmp_path):
        plot.draw(Picture([], {}), str(tmp_path / "empty.svg"))
        assert (tmp_path / "empty.svg").stat().st_size > 1000

    def test_a_file_that_cannot_be(self, kept, tmp_path):
        for name in (tmp_path / "none" / "a.svg", tmp_path / "a.nothing"):
            run = kept("stats", "--plot", name)
            assert run.code == 2
            assert "cannot be written" in run.err

    def test_without_matplotlib_the_extra_is_named(self, kept, tmp_path, monkeypatch):
        real = builtins.__import__

        def without(name, *rest):
            if name.startswith("matplotlib"):
                raise ImportError(name)
            return real(name, *rest)

        monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
        monkeypatch.setattr(builtins, "__import__", without)
        run = kept("stats", "--plot", tmp_path / "a.svg")
        assert run.code == 2
        assert 'pip install "mnemic[plot]"' in run.err

    def test_what_came_back_is_in_the_tier_it_had(self):
        told = [("remember", "a"), ("remember", "b"), ("promote", "a"), ("absorb", "b"), ("archive", "b"), ("undo", "b"),
                ("undo", "a"), ("link", "a"), ("archive", "a"), ("restore", "a"), ("restore", "a")]  # fmt: skip
        events = [
            Event(sequence=n, at=MOMENT.replace(minute=n), operation=what, id=id_) for n, (what, id_) in enumerate(told)
        ]
        found = [{tier: n for tier, n in counts.items() if n} for _, counts in tiers(events)]
        assert found == [
            {"short_term": 1}, {"short_term": 2}, {"short_term": 1, "long_term": 1}, {"long_term": 1, "archived": 1},
            {"long_term": 1, "short_term": 1}, {"short_term": 2}, {"short_term": 1, "archived": 1}, {"short_term": 2},
        ]  # fmt: skip
        assert [moment.minute for moment, _ in tiers(events)] == [0, 1, 2, 3, 5, 6, 8, 9]

    def test_the_last_of_one_moment_counts(self):
        events = [Event(sequence=n, at=MOMENT, operation="remember", id=str(n)) for n in range(3)]
        assert tiers(events) == [(MOMENT, {"short_term": 3})]

    def test_feelings_are_told_by_kind(self, kept, folder):
        from mnemic.transfer.picture import picture

        with Memory(folder, embedder="hashing") as memory:
            found = picture(runtime_of(memory), memory.scope)
        assert len(found.moods["message"]) == 2
        assert max(mood.valence for mood in found.moods["message"]) > 0.3
        assert len(found.moods["memory"]) >= 2
        assert all(isinstance(mood, Emotion) for moods in found.moods.values() for mood in moods)
        assert found.tiers[-1][1]["archived"] == 1
