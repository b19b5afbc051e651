"""The commands: what they print, what they answer, how they fail."""

import json
import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from datetime import UTC, datetime

import pytest

import mnemic
from mnemic import EmbedderUnavailable, HashingEmbedder, Memory, ingest
from mnemic.cli import main, output


class TestImport:
    def test_says_what_became_of_the_messages(self, chat, mnemic, write, folder):
        run = mnemic("import", write(chat))
        assert (run.code, run.err) == (0, "")
        assert (run.rows["format"], run.rows["counts"], run.rows["stored"]) == ("messages", "message 3", "3")
        with Memory(folder, embedder="hashing") as memory:
            assert [(m.id, m.name, m.session) for m in memory.messages()] == [
                ("m1", "Ana", "s1"), ("m2", None, "s1"), ("m3", "Ana", "s2"),
            ]  # fmt: skip

    def test_twice_is_once(self, mnemic, write):
        path = write([{"role": "user", "content": "ok"}, {"role": "user", "content": "ok"}])
        assert mnemic("import", path, "--json").json["stored"] == 2
        again = mnemic("import", path, "--json")
        assert again.code == 0
        assert (again.json["stored"], again.json["duplicate"]) == (0, 2)

    def test_an_id_with_another_text_is_rejected(self, chat, filled, write):
        path = write([{**chat[0], "content": "I moved to Porto."}, {"role": "user", "content": "new"}], "other.json")
        run = filled("import", path)
        assert run.code == 1
        assert (run.rows["stored"], run.rows["duplicate"]) == ("1", "0")
        assert "rejected m1: " in run.out
        answer = filled("import", path, "--json")
        assert answer.code == 1
        assert [r["id"] for r in answer.json["rejected"]] == ["m1"]

    def test_many_rejections_are_cut_short(self, mnemic, write):
        chat = [{"role": "user", "content": f"one {n}", "id": f"x{n}"} for n in range(25)]
        mnemic("import", write(chat))
        run = mnemic("import", write([{**m, "content": "two"} for m in chat]))
        assert run.out.count("rejected x") == 20
        assert "... and 5 more" in run.out

    def test_what_is_no_text_is_told_and_no_failure(self, mnemic, write):
        call = {"role": "assistant", "content": [{"type": "tool_use", "name": "look"}]}
        run = mnemic("import", write([call, {"role": "user", "content": "Hi"}]))
        assert run.code == 0
        assert (run.rows["stored"], run.rows["without text"], run.rows["undated"]) == ("1", "1", "2")
        assert run.rows["left out"] == "tool_use 1"

    def test_what_is_malformed_is_named_and_stops_nothing(self, chat, mnemic, write):
        lines = [json.dumps(m) for m in [chat[0], {"role": "user"}, *chat[1:]]]
        for content, name, place in (
            ([*chat, {"role": "user"}], "chat.json", "[3]"),
            ("\n".join(lines), "l.jsonl", "line 2"),
        ):
            run = mnemic("import", write(content, name))
            assert run.code == 1
            assert run.rows["counts"] == "message 3"
            assert f"\n  not imported: {place}.content is missing.\n" in run.out

    def test_strict_refuses_a_file_with_a_malformed_part(self, chat, mnemic, write, folder):
        file = write([*chat, {"role": "user"}])
        run = mnemic("import", file, "--strict")
        assert (run.code, run.out) == (2, "")
        nothing = "Nothing was imported; correct the file or the arguments."
        assert run.err == f"mnemic: {file}: [3].content is missing. {nothing}\n"
        assert not folder.exists()

    def test_files_that_cannot_be_read(self, mnemic, tmp_path, write):
        assert "nowhere.json cannot be read: No such file" in mnemic("import", "nowhere.json").err
        assert "holds no export that is known" in mnemic("import", tmp_path).err
        (tmp_path / "latin.json").write_bytes(b'[{"role":"user","content":"ol\xe1"}]')
        run = mnemic("import", tmp_path / "latin.json")
        assert run.code == 2
        assert run.err.startswith(f"mnemic: {tmp_path / 'latin.json'} is not UTF-8 (")
        assert "not JSON" in mnemic("import", write("Dear Ana,", "letter.txt")).err

    def test_a_byte_order_mark_is_no_text(self, chat, mnemic, tmp_path):
        (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(chat).encode())
        assert mnemic("import", tmp_path / "bom.json").code == 0

    def test_a_file_without_messages(self, mnemic, write, folder):
        run = mnemic("import", write([]))
        assert (run.code, run.out) == (1, "")
        assert "contains nothing to import" in run.err
        assert mnemic("import", write([]), "--json").json["stored"] == 0
        assert not folder.exists()

    def test_lines(self, chat, mnemic, write):
        path = write("\n".join(json.dumps(m) for m in chat), "chat.jsonl")
        assert mnemic("import", path, "--json").json["stored"] == 3

    @pytest.mark.parametrize(("extra", "session"), [((), "talk"), (("--session", "mine"), "mine")])
    def test_messages_without_a_session(self, mnemic, write, folder, extra, session):
        mnemic("import", write([{"role": "user", "content": "Hi"}], "talk.json"), *extra)
        with Memory(folder, embedder="hashing") as memory:
            assert [m.session for m in memory.messages()] == [session]

    def test_times_without_a_zone(self, mnemic, write, folder):
        message = {"role": "user", "content": "Hi", "sent_at": "2026-03-09T18:05:00"}
        mnemic("import", write([message]), "--timezone", "Asia/Tokyo")
        with Memory(folder, embedder="hashing") as memory:
            assert memory.messages()[0].sent_at.isoformat() == "2026-03-09T18:05:00+09:00"

    def test_each_format_by_name(self, mnemic, write):
        langchain = [{"type": "human", "data": {"content": "Hi"}}]
        assert mnemic("import", write(langchain), "--format", "langchain", "--json").json["format"] == "langchain"
        run = mnemic("import", write(langchain), "--format", "chatgpt")
        assert run.code == 2
        assert "[0].mapping" in run.err

    def test_stopped_half_way_says_so_and_goes_on(self, mnemic, write, monkeypatch):
        chat = [{"role": "user", "content": f"line {n}", "id": f"x{n}"} for n in range(100)]
        path, added, calls = write(chat), ingest.add, []

        def failing(runtime, scope, messages, *options):
            calls.append(len(messages))
            if len(calls) == 2:
                raise KeyboardInterrupt
            return added(runtime, scope, messages, *options)

        with monkeypatch.context() as patched:
            patched.setattr(ingest, "add", failing)
            run = mnemic("import", path)
        assert run.code == 130
        assert "stopped early" in run.err
        assert "64 stored" in run.err
        answer = mnemic("import", path, "--json").json
        assert (answer["stored"], answer["duplicate"]) == (36, 64)

    @pytest.mark.parametrize("more", [(), ("--dry-run",)])
    def test_a_text_the_store_refuses_is_rejected_alone(self, mnemic, write, more):
        chat = [{"role": "user", "content": "fine"}, {"role": "user", "content": "x" * 1_000_001}] * 2
        run = mnemic("import", write(chat), *more)
        assert run.code == 1
        assert (run.rows["counts"], run.rows["stored"], run.out.count("rejected import:")) == ("message 4", "2", 2)
        assert "1,000,001 characters" in run.out

    def test_without_an_embedder_it_is_stored_and_embedded_by_the_next_import(self, chat, mnemic, write, monkeypatch):
        def refuse(self, texts, *, kind="document"):
            raise EmbedderUnavailable("no weights")

        with monkeypatch.context() as patched, warnings.catch_warnings():
            warnings.simplefilter("default")
            patched.setattr(HashingEmbedder, "embed", refuse)
            run = mnemic("import", write(chat))
            assert run.code == 0
            assert "mnemic: warning: Without vectors for now" in run.err
            assert run.err.endswith("found by keyword only; mnemic doctor says why\n")
            assert run.rows["pending"] == "embed 3, process 3"
            assert mnemic("search", "Lisbon").code == 0
        again = mnemic("import", write(chat), "--json").json
        assert (again["duplicate"], again["pending"]) == (3, {"process": 3})


class TestSearch:
    def test_text(self, filled):
        run = filled("search", "Lisbon", "-k", "1")
        assert run.code == 0
        head, text = run.out.splitlines()
        assert head.startswith(" 1. 2026-03-09 18:05 UTC  Ana  in s1  [m1]  ")
        assert text == "    I moved to Lisbon in March."
        assert run.err.startswith("mnemic: evidence: ")

    def test_json(self, filled):
        explained = filled("search", "Lisbon", "-k", "1", "--explain").out
        assert re.search(r"^    dense +\+\d\.\d{3}  #+$", explained, re.MULTILINE)
        answer = filled("search", "Lisbon", "--json", "--recipe", "rrf").json
        assert (answer["query"], answer["recipe"]) == ("Lisbon", "rrf")
        best = answer["hits"][0]
        assert (best["id"], best["sent_at"], best["message_ids"]) == ("m1", "2026-03-09T18:05:00+00:00", ["m1"])
        assert set(best["scores"]) == {"dense", "bm25"}
        assert answer["evidence"] in {"strong", "weak", "none"}
        assert 0 <= answer["probability"] <= 1

    @pytest.mark.parametrize(
        ("words", "ids"),
        [
            (("--session", "s2"), {"m1", "m2", "m3"}),
            (("--session", "s2", "--reach", "session"), {"m3"}),
            (("--since", "2026-04-01"), {"m3"}),
            (("--until", "2026-03-09T18:06:00Z"), {"m1"}),
            (("--since", "2026-03-09T19:06", "--until", "2026-04-01", "--timezone", "Europe/Berlin"), {"m2"}),
        ],
    )
    def test_filters(self, filled, words, ids):
        hits = filled("search", "Ana Lisbon trams sister", *words, "--json").json["hits"]
        assert {hit["id"] for hit in hits} == ids

    def test_a_mood(self, filled):
        for command in ("search", "context"):
            hits = filled(command, "Lisbon", "--mood", "I feel so sad and lonely.", "--json").json["hits"]
            assert "emotion" in hits[0]["scores"]
            words = (command, "Lisbon", "--mood", "I feel so sad and lonely.", "--json")
            assert "emotion" not in filled(*words, "--emotion-weight", "0").json["hits"][0]["scores"]
        assert filled("search", "Lisbon", "--mood", "session", "--session", "s1").code == 0

    def test_memories_of_a_category_and_of_some_importance(self, filled):
        tea = filled("remember", "Ana likes tea.", "--category", "preference", "--importance", "0.9", "--json").json[
            "id"
        ]
        filled("remember", "Ana likes trains.", "--category", "travel", "--importance", "0.2")
        for words, kept in ((("--category", "preference"), {tea}), (("--min-importance", "0.5"), {tea})):
            hits = filled("search", "What does Ana like?", "--kinds", "memory", *words, "--json").json["hits"]
            listed = filled("list", *words, "--json").json["memories"]
            assert {hit["id"] for hit in hits} == {record["id"] for record in listed} == kept
        assert filled("list", "--kind", "message", "--min-importance", "0.5").code == 1

    def test_nothing_found(self, filled):
        run = filled("search", "Lisbon", "--since", "2030-01-01")
        assert (run.code, run.out, run.err) == (1, "", "mnemic: nothing found.\n")
        answer = filled("search", "Lisbon", "--since", "2030-01-01", "--json")
        assert (answer.code, answer.json["hits"]) == (1, [])

    def test_rather_nothing_than_something_weak(self, filled):
        words = ("search", "quantum chromodynamics lattice", "--json")
        grade = filled(*words).json["evidence"]
        assert grade != "strong"
        run = filled(*words, "--min-evidence", "strong")
        assert (run.code, run.json["hits"], run.json["evidence"]) == (1, [], grade)

    def test_users_are_walls(self, filled):
        assert filled("search", "Lisbon", "--user", "rita").code == 1

    def test_projects(self, chat, mnemic, write):
        mnemic("import", write(chat), "--project", "atlas")
        assert mnemic("search", "Lisbon", "--project", "atlas").code == 0
        assert mnemic("search", "Lisbon", "--project", "other").code == 1

    def test_bad_values(self, filled):
        assert "k must be a whole number" in filled("search", "x", "-k", "0").err
        for words in (("-k", "many"), ("--since", "yesterday"), ("--colour",)):
            assert filled("search", "x", *words).code == 2
        assert "conversation" in filled("search", "x", "--recipe", "magic").err
        assert "'yesterday' is not a time" in filled("search", "x", "--since", "yesterday").err

    def test_stored_text_does_not_command_the_terminal(self, mnemic, write):
        message = {
            "role": "user",
            "content": "red \x1b[31mtext\nsecond \x9b line",
            "name": "E\nve\x1b]0;",
            "id": "a\nb",
        }
        mnemic("import", write([message]))
        run = mnemic("search", "red")
        assert not {"\x1b", "\x9b"} & set(run.out)
        assert len(run.out.splitlines()) == 3
        assert mnemic("search", "red", "--json").json["hits"][0]["text"] == message["content"]


class TestContext:
    def test_text(self, filled):
        run = filled("context", "Where does Ana live?", "--max-tokens", "500")
        assert run.code == 0
        assert "- Ana: I moved to Lisbon in March." in run.out
        assert run.err.startswith("mnemic: ")
        assert "tokens from 3 records" in run.err

    def test_json_and_budget(self, filled):
        answer = filled("context", "Where does Ana live?", "--max-tokens", "75", "--json").json
        assert answer["query"] == "Where does Ana live?"
        assert 0 < answer["token_count"] <= 75
        assert answer["truncated"] is True
        assert "more was found than fits" in filled("context", "Ana", "--max-tokens", "75").err

    def test_the_start_of_a_session(self, filled):
        answer = filled("context", "--json").json
        assert answer["query"] is None
        assert {hit["id"] for hit in answer["hits"]} == {"m1", "m2", "m3"}

    def test_filters(self, filled):
        hits = filled("context", "Ana", "--session", "s2", "--reach", "session", "--json").json["hits"]
        assert [hit["id"] for hit in hits] == ["m3"]

    def test_nothing_found(self, filled):
        run = filled("context", "Ana", "--user", "nobody")
        assert (run.code, run.out, run.err) == (1, "", "mnemic: nothing found.\n")
        assert filled("context", "Ana", "--user", "nobody", "--json").json["text"] == ""


class TestProcedures:
    def test_steps_outcomes_and_requests(self, mnemic, folder):
        used = {"tools_used": [{"name": "search_flights", "outcome": "ok"}, {"name": "book", "outcome": "ok"}]}
        used["tools_used"].append({"name": "pay\x1b[2J", "outcome": "ok"})
        with Memory(folder, embedder="hashing") as memory:
            memory.add("Book a flight to Rome.", sent_at=datetime(2026, 3, 1, tzinfo=UTC))
            memory.add("It is booked.", role="assistant", sent_at=datetime(2026, 3, 1, tzinfo=UTC), metadata=used)
        run = mnemic("procedures", "Book a flight to Oslo.")
        assert run.code == 0
        head, went, request = run.out.splitlines()
        assert " 1. search_flights, then book  0." in head  # what is no name of a tool is left out
        assert went == "    worked 1 of 1 times, last on 2026-03-01 00:00 UTC"
        assert request == "    Book a flight to Rome."
        (found,) = mnemic("procedures", "Book a flight to Oslo.", "--json").json["procedures"]
        assert (found["steps"][0], found["successes"]) == ("search_flights", 1)

    def test_nothing_found(self, filled):
        run = filled("procedures", "Book a flight.")
        assert (run.code, run.out, run.err) == (1, "", "mnemic: nothing found.\n")


class TestStats:
    def test_text(self, filled):
        run = filled("stats")
        assert run.code == 0
        lines = dict(line.split(None, 1) for line in run.out.splitlines())
        assert (lines["user"], lines["messages"], lines["sessions"]) == ("default", "3", "2")
        assert (lines["embedding"], lines["dimension"]) == ("model  hashing-256", "256")
        assert (lines["links"], lines["pending"]) == ("0", "process 3")
        assert "memories" not in lines

    def test_kinds_of_memories(self, filled):
        assert filled("remember", "Ana likes tea.", "--category", "travel log").code == 0
        assert filled("remember", "Boil the water first.", "--type", "procedural").code == 0
        first = filled("remember", "Ana's bike is red.", "--key", "bike", "--json").json["id"]
        filled("remember", "Ana's bike is blue.", "--key", "bike")
        filled("prefer", "theme", "dark")
        filled("end-session", "--session", "s1")
        answer = filled("stats", "--json").json
        found = filled("list", "--limit", "99", "--json").json["memories"]
        assert first not in {record["id"] for record in found}
        for field, name in (("types", "type"), ("categories", "category")):
            kinds = Counter(record[name] for record in found if record[name])
            assert answer[field] == dict(kinds)
        assert (answer["preferences"], answer["summaries"]) == (1, 1)
        out = filled("stats").out
        assert "preference 1, session_summary 1, travel log 1" in out
        assert "procedural 1" in out

    def test_json(self, filled):
        answer = filled("stats", "--user", "rita", "--json").json
        assert (answer["user"], answer["messages"], answer["sessions"]) == ("rita", 0, 0)


class TestFolder:
    def test_reading_begins_no_memory(self, mnemic, folder):
        for words in (("search", "x"), ("context",), ("stats",)):
            run = mnemic(*words)
            assert run.code == 2
            assert "There is no memory in" in run.err
        assert not folder.exists()

    def test_from_the_environment(self, chat, tmp_path, write, monkeypatch, capsys):
        monkeypatch.setenv("MNEMIC_DIR", str(tmp_path / "elsewhere"))
        assert main(["import", str(write(chat)), "--embedder", "hashing"]) == 0
        assert (tmp_path / "elsewhere" / "mnemic.db").exists()
        assert main(["--json", "--embedder", "hashing", "search", "Lisbon"]) == 0
        assert main(["search", "Lisbon", "--dir", str(tmp_path / "third")]) == 2

    def test_options_before_the_command_and_after_it(self, filled, folder, capsys):
        assert main(["stats", "--dir", str(folder), "--embedder", "hashing", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["messages"] == 3
        assert main(["--dir", "nowhere", "stats", "--dir", str(folder), "--embedder", "hashing"]) == 0

    def test_ram_is_refused(self, capsys):
        assert main(["--dir", ":memory:", "stats"]) == 2
        assert "ends with the command" in capsys.readouterr().err

    def test_a_file_in_the_way(self, chat, mnemic, write, folder):
        folder.write_text("x")
        run = mnemic("import", write(chat))
        assert run.code == 2
        assert "is a file" in run.err

    def test_another_embedder_is_explained(self, filled, monkeypatch):
        monkeypatch.setattr(HashingEmbedder, "id", "hashing-other")
        run = filled("search", "Lisbon")
        assert run.code == 2
        assert "vectors of 'hashing-256'" in run.err

    @pytest.mark.parametrize(("option", "value"), [("--timezone", "Mars/Base"), ("--embedder", "no/such/folder")])
    def test_bad_options(self, filled, option, value):
        run = filled("stats", option, value)
        assert run.code == 2
        assert run.err.startswith("mnemic: ")


class TestEnds:
    def test_no_command_shows_the_help(self, capsys):
        assert main([]) == 2
        assert "usage: mnemic" in capsys.readouterr().err

    def test_help_and_version_are_fine(self, capsys):
        assert main(["--version"]) == 0
        assert capsys.readouterr().out == f"mnemic {mnemic_version()}\n"
        for command in ("import", "search", "context", "stats", "doctor"):
            assert main([command, "--help"]) == 0
            assert "example" in capsys.readouterr().out

    def test_unknown_commands(self, capsys):
        assert main(["destroy"]) == 2
        assert "(choose from 'config', " in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("given", "meant"),
        [(["serch"], "search"), (["list", "--order", "newst"], "newest")],
    )
    def test_the_nearest_choice_is_suggested(self, capsys, given, meant):
        assert main(given) == 2
        assert f"did you mean {meant!r}?" in capsys.readouterr().err

    def test_interrupted(self, filled, monkeypatch):
        def interrupt(self):
            raise KeyboardInterrupt

        monkeypatch.setattr(Memory, "stats", interrupt)
        run = filled("stats")
        assert (run.code, run.out) == (130, "")
        assert "interrupted" in run.err

    def test_defects_are_not_dressed_up(self, filled, monkeypatch):
        def defect(self):
            raise ZeroDivisionError

        monkeypatch.setattr(Memory, "stats", defect)
        with pytest.raises(ZeroDivisionError):
            filled("stats")

    def test_sizes(self):
        assert [output.size(n) for n in (7, 1500, 4_200_000, 9_900_000_000)] == ["7 B", "1.5 kB", "4.2 MB", "9.9 GB"]


def mnemic_version() -> str:
    return mnemic.__version__


def command(*words, **options):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60, check=False, **options)


class TestProcess:
    def test_help_is_light(self):
        code = (
            "import sys; from mnemic.cli import main; code = main(['search', '--help']);"
            "heavy = {'numpy', 'apsw', 'tqdm', 'onnxruntime', 'mnemic.memory'} & set(sys.modules);"
            "sys.exit(code or (f'loaded: {heavy}' if heavy else 0))"
        )
        run = command("-c", code)
        assert (run.returncode, run.stderr) == (0, "")

    def test_as_a_module(self, filled, folder):
        run = command("-m", "mnemic", "--dir", str(folder), "--embedder", "hashing", "search", "Lisbon", "--json")
        assert (run.returncode, run.stderr) == (0, "")
        assert json.loads(run.stdout)["hits"][0]["id"] == "m1"

    def test_a_reader_that_went_away(self, filled, folder):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "wb") as broken:
            run = subprocess.run(
                [sys.executable, "-m", "mnemic", "--dir", str(folder), "--embedder", "hashing", "search", "Lisbon"],
                stdout=broken, stderr=subprocess.PIPE, timeout=60, check=False,
            )  # fmt: skip
        assert run.returncode == 141
        assert b"Error" not in run.stderr

    def test_a_terminal_that_knows_no_such_letters(self, mnemic, write, folder):
        mnemic("import", write([{"role": "user", "name": "Zoë", "content": "Olá, 東京"}]))
        words = ("-m", "mnemic", "--dir", str(folder), "--embedder", "hashing", "search", "Olá")
        ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        run = command(*words, env=ascii_only)
        assert run.returncode == 0
        assert "Ol?, ??" in run.stdout
        assert json.loads(command(*words, "--json", env=ascii_only).stdout)["hits"][0]["text"] == "Olá, 東京"


class TestPrefer:
    @pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999"])
    def test_what_is_no_json_is_a_text(self, filled, text):
        assert filled("prefer", " n ", text).code == 0
        assert filled("prefer", "n").out == f"{text}\n"
        assert filled("prefer", "n", "--remove").code == 0
        assert filled("prefer", "n").code == 1


@pytest.mark.parametrize("words", [("add",), ("remember",), ("keys", "set", "openai")])
def test_a_closed_stdin_is_named(mnemic, monkeypatch, words):
    monkeypatch.setattr("sys.stdin", None)
    run = mnemic(*words)
    assert run.code == 2
    assert "stdin is closed" in run.err
