"""process, consolidate, undo, forget, restore, log."""

import io
import sys
from dataclasses import replace

import pytest

from mnemic import LanguageModelStats, Memory, StageUsage
from mnemic.cli.output import progress_bar


@pytest.fixture
def known(mnemic, folder):
    """The command on a memory of three statements that do not resemble each other."""
    with Memory(folder, embedder="hashing") as memory:
        memory.remember("Prefers morning meetings", id="p1", category="preference", tags=["schedule"])
        memory.remember("The API runs on port 8080.", id="a1", importance=0.9)
        memory.remember("Ana's sister Rita lives in Porto.", id="r1")
    return mnemic


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TestProcess:
    def test_text(self, filled):
        run = filled("process")
        assert (run.code, run.err) == (0, "")
        lines = dict(line.split(None, 1) for line in run.out.splitlines())
        assert (lines["messages"], lines["episodes"]) == ("3", "2")
        assert lines["waiting"] == "0"
        assert filled("stats", "--json").json["pending"].get("process", 0) == 0
        assert filled("process").out == "Nothing waits.\n"

    def test_json_and_limit(self, filled):
        report = filled("process", "--limit", "2", "--json").json
        assert (report["messages"], report["episodes"], report["waiting"]) == (2, 1, 1)
        assert filled("process", "--limit", "0").code == 2

    def test_the_bar_is_for_terminals(self, monkeypatch, capsys):
        with progress_bar("message") as step:
            step(1, 3)
        assert capsys.readouterr().err == ""
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        with progress_bar("message") as step:
            step(1, 3)
            step(3, 3)
        assert "3/3" in terminal.getvalue()

    def test_a_language_model_by_name(self, filled, monkeypatch):
        named = []
        init = Memory.__init__

        def noting(self, location, **options):
            named.append(options.pop("llm"))
            init(self, location, **options)

        monkeypatch.setattr(Memory, "__init__", noting)
        filled("process", "--llm", "anthropic:claude-haiku-4-5")
        filled("process")
        assert named == ["anthropic:claude-haiku-4-5", None]

    def test_a_language_model_that_does_not_answer(self, filled, monkeypatch):
        init, stats = Memory.__init__, Memory.stats
        monkeypatch.setattr(Memory, "__init__", lambda self, at, **options: init(self, at, **{**options, "llm": None}))
        monkeypatch.setattr(
            Memory,
            "stats",
            lambda self: replace(
                stats(self),
                llm=LanguageModelStats(model="some:model", error="no key", stages={"story": StageUsage(fallbacks=2)}),
            ),
        )
        run = filled("process", "--llm", "some:model")
        assert run.code == 0
        assert run.err.startswith("mnemic: some:model gave no usable answer 2 times; the rules were used instead.")
        for command in (
            ("consolidate", "--dry-run"),
            ("forget", "--dry-run", "the weather"),
            ("forget", "--hard", "the weather"),
        ):
            assert "some:model" in filled(*command, "--llm", "some:model").err


class TestConsolidate:
    now = ("--min-age-hours", "0", "--importance-threshold", "0.8")

    def test_dry_run_changes_nothing(self, known):
        run = known("consolidate", *self.now, "--dry-run")
        assert run.code == 0
        assert "[a1]  The API runs on port 8080.\nNothing was changed" in run.out
        assert known("stats", "--json").json["memories"] == {"short_term": 3}
        report = known("consolidate", *self.now, "--dry-run", "--json").json
        assert (report["dry_run"], report["id"], report["memories_promoted"]) == (True, "", 1)

    def test_and_back(self, known):
        run = known("consolidate", *self.now)
        assert "memories promoted  1\n" in run.out
        id_ = run.out.splitlines()[-1].rpartition(" ")[2]
        assert known("stats", "--json").json["memories"] == {"short_term": 2, "long_term": 1}
        assert known("undo", id_).out == f"taken back  [{id_}]\n"
        assert known("stats", "--json").json["memories"] == {"short_term": 3}
        again = known("undo", id_, "--json")
        assert (again.code, again.json["outcome"]) == (0, "duplicate")

    def test_says_for_whom_a_memory_stands(self, known, folder):
        with Memory(folder, embedder="hashing") as memory:
            memory.remember("The deploy target is the Lisbon cluster", id="x1", importance=0.8)
            memory.remember("The deploy target is the Lisbon cluster!", id="x2", importance=0.8)
        run = known("consolidate", *self.now, "--similarity-threshold", "0.8")
        (report,) = [line for line in run.out.splitlines() if "stands for" in line]
        assert report in {"    stands for [x1]", "    stands for [x2]"}

    def test_only_what_is_named(self, known, folder):
        with Memory(folder, embedder="hashing") as memory:
            memory.remember("The deploy target is the Lisbon cluster", id="x1", importance=0.3)
            memory.remember("The deploy target is the Lisbon cluster!", id="x2", importance=0.2)
        run = known("consolidate", "--id", "x1", "--id", "x2", "--similarity-threshold", "0.8")
        assert "memories promoted  1\n" in run.out
        assert "    stands for [x2]" in run.out
        assert "x9" in known("consolidate", "--id", "x1", "--id", "x9").err

    def test_too_young(self, known):
        assert "memories promoted  0\n" in known("consolidate").out

    def test_advice(self, known):
        run = known("consolidate", "--advice")
        assert (run.code, run.err) == (1, "")
        assert run.out.startswith("no: ")
        assert run.out.endswith("(3 short-term, 0 long-term)\n")
        advice = known("consolidate", "--advice", "--json")
        assert (advice.code, advice.json["should_consolidate"], advice.json["short_term_count"]) == (1, False, 3)

    def test_errors(self, known):
        assert "--importance-threshold" in known("consolidate", "--importance-threshold", "2").err
        assert known("undo", "con_nowhere").code == 2


class TestCorrect:
    def test_by_description(self, known):
        preview = known("correct", "--dry-run", "morning meetings", "Prefers meetings after lunch")
        assert (preview.code, preview.out) == (0, "would replace 'p1': Prefers morning meetings\n")
        assert known("show", "p1", "--json").json["memory"]["superseded_by"] == []
        run = known("correct", "morning meetings", "Prefers meetings after lunch")
        assert run.code == 0
        assert "replaces 'p1'" in run.out
        assert known("search", "meetings", "--kinds", "memory").out.count("Prefers meetings after lunch") == 1
        assert known("restore", "p1").code == 0

    def test_nothing_is_clearly_about_it(self, known):
        run = known("correct", "quantum chromodynamics", "It is about gluons.")
        assert run.code == 1
        assert "nothing is clearly about it" in run.out


class TestForget:
    def test_by_description(self, known):
        run = known("forget", "my schedule preferences")
        assert (run.code, run.out) == (0, "forgotten  [p1]  Prefers morning meetings\n")
        assert run.err == "mnemic: 1 forgotten, 0 kept; mnemic restore ID brings one back.\n"
        assert known("search", "morning meetings", "--kinds", "memory", "--tag", "schedule").code == 1

    def test_what_resembles_is_kept_and_told(self, known, folder):
        with Memory(folder, embedder="hashing") as memory:
            memory.remember("Rita paints boats in the harbour.", id="r2")
        run = known("forget", "where Rita lives")
        assert run.code == 0
        assert "forgotten  [r1]" in run.out
        assert "kept       [r2]  similar, but not clearly meant: Rita paints" in run.out
        assert "1 forgotten, 1 kept" in run.err
        assert known("show", "r2", "--json").json["memory"]["status"] == "short_term"

    def test_a_dry_run_changes_nothing(self, known):
        run = known("forget", "--dry-run", "my schedule preferences")
        assert (run.code, run.out) == (0, "would be forgotten  [p1]  Prefers morning meetings\n")
        assert run.err == "mnemic: 1 would be forgotten, 0 would be kept; nothing was changed.\n"
        seen = known("forget", "--dry-run", "my schedule preferences", "--json").json
        assert known("show", "p1", "--json").json["memory"]["status"] == "short_term"
        assert known("forget", "my schedule preferences", "--json").json == seen
        assert "--id" in known("forget", "--dry-run", "--id", "p1").err

    def test_nothing_matches(self, known):
        run = known("forget", "quantum chromodynamics")
        assert (run.code, run.out, run.err) == (1, "", "mnemic: Nothing matches; nothing was forgotten.\n")
        answer = known("forget", "quantum chromodynamics", "--json")
        assert (answer.code, answer.json) == (1, {"receipts": []})

    def test_by_id(self, known):
        run = known("forget", "--id", "p1", "--id", "nowhere", "--reason", "a jest", "--json")
        assert run.code == 0
        assert [(r["id"], r["outcome"]) for r in run.json["receipts"]] == [("p1", "forgotten"), ("nowhere", "rejected")]
        again = known("forget", "--id", "p1")
        assert (again.code, again.out) == (1, "unchanged  [p1]  already archived\n")
        assert "archive  reason a jest" in known("show", "p1").out

    @pytest.mark.parametrize("words", [(), ("all of it", "--id", "p1")])
    def test_one_of_both(self, known, words):
        run = known("forget", *words)
        assert run.code == 2
        assert "one of them" in run.err

    def test_nothing_in_particular(self, known):
        assert "nothing in particular" in known("forget", "everything").err


class TestRestore:
    def test_brings_back(self, known):
        known("forget", "--id", "p1", "--id", "a1")
        run = known("restore", "p1", "a1")
        assert run.code == 0
        assert run.out == "restored  [p1]  Prefers morning meetings\nrestored  [a1]  The API runs on port 8080.\n"
        assert known("restore", "p1").out == "duplicate  [p1]: not archived\n"

    def test_unknown(self, known):
        known("forget", "--id", "p1")
        run = known("restore", "p1", "nowhere", "--json")
        assert run.code == 1
        assert [r["outcome"] for r in run.json["receipts"]] == ["restored", "rejected"]
        assert known("restore").code == 2


class TestLog:
    def test_newest_first(self, known):
        known("forget", "--id", "p1", "--reason", "a jest")
        head, *rest = known("log").out.splitlines()
        assert head.endswith("  archive  [p1]  reason a jest  Prefers morning meetings")
        assert [line.split()[2:4] for line in rest] == [["remember", f"[{id_}]"] for id_ in ("r1", "a1", "p1")]

    def test_json_and_limit(self, known):
        events = known("log", "--limit", "2", "--json").json["events"]
        assert [(event["operation"], event["id"]) for event in events] == [("remember", "r1"), ("remember", "a1")]
        assert set(events[0]) == {"sequence", "at", "operation", "id", "version", "content", "detail"}
        assert known("log", "--limit", "-1").code == 2

    def test_of_one_record_of_any_kind(self, filled):
        assert filled("show", "m1").out.endswith("  add\n")

    def test_nothing(self, filled):
        run = filled("log")
        assert (run.code, run.err) == (1, "mnemic: nothing found.\n")

    def test_stored_text_stays_on_its_line(self, mnemic):
        mnemic("remember", "two\nlines \x1b[31m")
        run = mnemic("log")
        assert run.out.endswith("  two lines [31m\n")
        assert len(run.out.splitlines()) == 1
