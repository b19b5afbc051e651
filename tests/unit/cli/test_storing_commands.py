"""add and remember: text from the command line and from a pipe."""

import io

import pytest

from mnemic import EmbedderUnavailable, HashingEmbedder, Memory


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TestAdd:
    def test_stores_one_message_with_all_that_is_said_of_it(self, mnemic, folder):
        words = (
            "--role",
            "assistant",
            "--name",
            "Iris",
            "--sent-at",
            "2026-03-09T18:05:00",
            "--id",
            "m1",
            "--session",
            "s1",
        )
        run = mnemic("add", "How do you like it?", *words, "--timezone", "Asia/Tokyo", "--project", "atlas")
        assert (run.code, run.out, run.err) == (0, "stored  [m1]\n", "")
        with Memory(folder, embedder="hashing", project="atlas") as memory:
            (message,) = memory.messages(reach="project")
        assert (message.content, message.role, message.name, message.session) == (
            "How do you like it?", "assistant", "Iris", "s1",
        )  # fmt: skip
        assert message.sent_at.isoformat() == "2026-03-09T18:05:00+09:00"

    @pytest.mark.parametrize("words", [("add",), ("add", "-")])
    def test_reads_a_pipe_without_its_last_line_end(self, mnemic, folder, monkeypatch, words):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"two\nlines\r\n")))
        assert mnemic(*words).code == 0
        with Memory(folder, embedder="hashing") as memory:
            assert [m.content for m in memory.messages()] == ["two\nlines"]

    def test_does_not_wait_for_typing_that_nobody_knows_of(self, mnemic, folder, monkeypatch):
        monkeypatch.setattr("sys.stdin", Terminal("never read"))
        run = mnemic("add")
        assert (run.code, run.out) == (2, "")
        assert "There is no text" in run.err
        assert not folder.exists()

    @pytest.mark.parametrize("errors", ["strict", "surrogateescape"])  # the latter in the locale C
    def test_a_pipe_that_is_not_text(self, mnemic, monkeypatch, errors):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"ol\xe1"), encoding="utf-8", errors=errors))
        run = mnemic("add")
        assert run.code == 2
        assert "stdin is not UTF-8" in run.err

    def test_twice_is_once_and_another_text_is_rejected(self, mnemic):
        assert mnemic("add", "Hi", "--id", "m1").code == 0
        again = mnemic("add", "Hi", "--id", "m1", "--json")
        assert (again.code, again.json["outcome"]) == (0, "duplicate")
        other = mnemic("add", "Ho", "--id", "m1", "--json")
        assert (other.code, other.json["outcome"]) == (1, "rejected")
        assert set(other.json) == {"id", "outcome", "reason", "pending"}
        assert mnemic("add", "  ").code == 1

    @pytest.mark.filterwarnings("default::RuntimeWarning")
    def test_without_an_embedder_says_that_it_waits(self, mnemic, monkeypatch):
        def refuse(self, texts, *, kind="document"):
            raise EmbedderUnavailable("no weights")

        monkeypatch.setattr(HashingEmbedder, "embed", refuse)
        run = mnemic("add", "Hi")
        assert run.code == 0
        assert "found by keyword only; mnemic doctor says why" in run.err


class TestRemember:
    def test_stores_one_statement_with_all_that_is_said_of_it(self, mnemic, folder):
        mnemic("add", "Meetings before ten, please.", "--id", "m1")
        words = ("--type", "procedural", "--category", "preference", "--tag", "schedule", "--tag", "work", "--id", "p1")
        more = ("--importance", "0.9", "--source-id", "m1", "--valid-at", "2026-01-01", "--source", "model_inference")
        run = mnemic("remember", "Prefers morning meetings", *words, *more)
        assert (run.code, run.out) == (0, "stored  [p1]\n")
        with Memory(folder, embedder="hashing") as memory:
            record = memory.get("p1")
        assert (record.type, record.category, record.tags) == ("procedural", "preference", ("schedule", "work"))
        assert (record.importance, record.pinned, record.source_ids) == (0.9, True, ("m1",))
        assert (record.valid_at.isoformat(), record.source) == ("2026-01-01T00:00:00+00:00", "model_inference")

    def test_says_what_it_takes_the_place_of(self, mnemic):
        mnemic("remember", "The API runs on port 8080.", "--id", "a1", "--key", "api.port")
        run = mnemic("remember", "The API runs on port 9000.", "--id", "a2", "--key", "api.port")
        assert run.code == 0
        assert run.out.startswith("superseded  [a2]: replaces 'a1'")
        known = mnemic("remember", "The API runs on port 9000.", "--json")
        assert (known.code, known.json["id"], known.json["outcome"]) == (0, "a2", "duplicate")

    def test_reads_a_pipe(self, mnemic, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Prefers tea\n")))
        assert mnemic("remember", "--id", "t").code == 0
        assert mnemic("list", "--json").json["memories"][0]["content"] == "Prefers tea"

    def test_values_that_cannot_be_used(self, mnemic):
        assert "importance" in mnemic("remember", "x", "--importance", "7").err
        missing = mnemic("remember", "x", "--source-id", "nowhere")
        assert missing.code == 2
        assert "nowhere" in missing.err
        assert mnemic("remember", "x", "--type", "wise").code == 2
        assert mnemic("remember", " ").code == 1


class TestDocuments:
    def test_a_changed_file_is_added_again(self, mnemic, write):
        file = write("# Boiler\n\nThe valve is behind the panel.\n\n# Noise\n\nBleed the pipes.", "manual.md")
        assert mnemic("add-document", file).out == f"{file}: 2 pieces stored, 0 unchanged, 0 forgotten\n"
        assert "[unverified, document]" in mnemic("context", "Where is the valve?").out
        file.write_text("# Boiler\n\nThe valve is behind the panel.\n\n# Noise\n\nCall Rita.")
        assert mnemic("add-document", file).out == f"{file}: 1 piece stored, 1 unchanged, 1 forgotten\n"
        file.write_text("# Noise\n\nBleed the pipes.")
        run = mnemic("add-document", file, "--json").json["documents"][0]
        assert (run["stored"], run["duplicate"], run["forgotten"]) == (0, 1, 2)
        found = mnemic("list", "--kind", "message", "--json").json["messages"]
        assert [message["content"] for message in found] == ["Noise\n\nBleed the pipes."]
        assert mnemic("add-document", file, "--project", "atlas", "--json").json["documents"][0]["stored"] == 1

    def test_nothing_is_stored_unless_all_can_be_read(self, mnemic, write):
        run = mnemic("add-document", write("Text.", "a.txt"), write("x", "b.pdf"))
        assert (run.code, "pdftotext" in run.err) == (2, True)
        assert mnemic("stats", "--json").json.get("messages", 0) == 0
