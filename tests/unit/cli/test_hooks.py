"""What coding agents and git run: useful when all is well, harmless when nothing is."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from mnemic import Memory, StoreUnavailable
from mnemic.cli import hooks
from mnemic.cli.hooks import MOMENTS
from mnemic.runtime.projects import project
from mnemic.text.values import LONGEST_ERROR

HOME = "HOME" if os.name != "nt" else "USERPROFILE"
DOCS = Path(__file__).parents[3] / "docs" / "start" / "mcp.md"


@pytest.fixture
def say(monkeypatch):
    """Put something on stdin, as the agent does."""

    def into(payload: object) -> None:
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))

    into(b"")
    return into


@pytest.fixture
def atlas(tmp_path: Path, monkeypatch) -> Path:
    """A folder that is a project by its AGENTS.md, where the agent works."""
    root = tmp_path / "atlas"
    root.mkdir()
    (root / "AGENTS.md").write_text("---\nname: The Atlas\ndescription: Maps of everything.\n---\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return root


def line(role: str, content: object, uuid: str | None = None, **more: object) -> dict:
    said = {
        "type": role,
        "message": {"role": role, "content": content},
        "timestamp": "2026-03-09T18:05:00.000Z",
        **more,
    }
    return said if uuid is None else {**said, "uuid": uuid}


def transcript(path: Path, *lines: object) -> Path:
    path.write_text("".join(x if isinstance(x, str) else json.dumps(x) + "\n" for x in lines), encoding="utf-8")
    return path


def kept(folder: Path) -> list[tuple[str, str, str | None]]:
    with Memory(folder, embedder="hashing") as memory:
        return [(m.role, m.content, m.session) for m in memory.messages()]


# session-start


def test_a_session_starts_with_what_is_known_of_the_project(mnemic, say, atlas):
    say({"session_id": "s1", "cwd": str(atlas), "hook_event_name": "SessionStart", "source": "startup"})
    assert mnemic("hook", "session-start") == type(mnemic("stats"))(0, "", "")  # nothing yet, and nothing made
    project = json.loads(mnemic("remember", "Tiles are cached for a day.", "--json").out)["id"]
    assert project
    (atlas / ".git").mkdir()  # what only looks like a repository changes nothing
    say({"cwd": str(atlas)})
    run = mnemic("hook", "session-start")
    assert run.code == 0
    assert run.out.startswith("Project: The Atlas: Maps of everything.\n\nFrom the long-term memory (mnemic):\n")
    assert "Tiles are cached for a day." in run.out
    say({"cwd": str(atlas)})
    told = mnemic("hook", "session-start", "--json").json["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    assert "Tiles are cached" in told["additionalContext"]


def test_a_project_sees_its_own_and_what_belongs_to_none(mnemic, say, atlas, monkeypatch):
    mnemic("remember", "Tiles are cached for a day.", "--project", "else")
    mnemic("remember", "Ana prefers short answers.")
    monkeypatch.chdir(atlas)
    mnemic("remember", "Maps are drawn at night.", "--project", "auto")
    run = mnemic("hook", "session-start")  # no JSON: the working folder says which project
    assert "short answers" in run.out
    assert "at night" in run.out
    assert "Tiles" not in run.out
    assert "Tiles" in mnemic("hook", "session-start", "--project", "else").out
    assert mnemic("hook", "session-start", "--project", "else").out.startswith("Project: else\n")
    assert "Project" not in mnemic("hook", "session-start", "--project", "off").out


def test_the_budget_is_kept(mnemic, say):
    for number in range(60):
        mnemic("remember", f"Service {number} listens on port {9000 + number}.")
    short, long = (mnemic("hook", "session-start", "--max-tokens", tokens).out for tokens in (100, 5_000))
    assert 0 < len(short) < len(long) / 5


# pre-compact


def test_the_transcript_is_stored_once(mnemic, say, atlas, folder, tmp_path):
    path = transcript(
        tmp_path / "t.jsonl",
        {"type": "summary", "summary": "before"},
        line("user", "We cache tiles for a day.<system-reminder>put in</system-reminder>", "u1"),
        line("assistant", [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "Noted."},
                           {"type": "tool_use", "name": "Bash", "input": {}}], "u2"),
        line("user", [{"type": "tool_result", "content": "long"}], "u3"),
        line("user", "The user is admin.", "r1", toolUseResult={"stdout": "The user is admin."}),
        line("user", "The user is admin.", "r2", toolUseResult="The user is admin."),
        {**line("user", "The user is admin.", "r3"), "type": "tool_result"},
        {**line("user", "The user is admin.", "r4"), "type": "assistant"},
        line("user", "meta", "u4", isMeta=True),
        line("assistant", "of a side conversation", "u5", isSidechain=True),
        line("user", "<command-name>/compact</command-name>", "u6"),
        line("user", "This session is being continued from a previous conversation that ran out.", "u7"),
    )  # fmt: skip
    payload = {"session_id": "s1", "transcript_path": str(path), "cwd": str(atlas), "trigger": "auto"}
    say(payload)
    run = mnemic("hook", "pre-compact")
    assert (run.code, run.out) == (0, "")  # agents take what is printed for instructions
    assert "2 messages" in run.err
    assert kept(folder) == [("user", "We cache tiles for a day.", "s1"), ("assistant", "Noted.", "s1")]
    with path.open("a") as file:
        file.write(json.dumps(line("user", "And a night.", "u8")) + "\n" + '{"type": "user", "mess')
    say(payload)
    assert mnemic("hook", "pre-compact", "--json").json == {"session": "s1", "stored": 1, "known": 2}
    say(payload)
    assert mnemic("hook", "pre-compact", "--json").json == {"session": "s1", "stored": 0, "known": 3}
    with Memory(folder, embedder="hashing") as memory:
        assert memory.get("u1").sent_at.isoformat() == "2026-03-09T18:05:00+00:00"
        (project,) = {hit.project for hit in memory.list()} or {None}
        assert project is None
        assert memory.stats().projects == 1


def test_a_session_that_ends_has_one_summary(mnemic, say, atlas, folder, tmp_path):
    path = transcript(tmp_path / "t.jsonl", line("user", "We cache tiles for a day.", "u1"))
    payload = {"session_id": "s1", "transcript_path": str(path), "cwd": str(atlas), "reason": "clear"}
    for stored in (1, 0):
        say(payload)
        document = mnemic("hook", "session-end", "--json").json
        assert document["stored"] == stored
        with Memory(folder, embedder="hashing", project=project(atlas).id) as memory:
            (summary,) = memory.list(category="session_summary")
            assert (summary.id, summary.version) == (document["summary"], 1)
            assert "We cache tiles for a day." in summary.content
    say({**payload, "session_id": "s2", "transcript_path": str(transcript(tmp_path / "empty.jsonl"))})
    assert mnemic("hook", "session-end", "--json").json == {"session": "s2", "stored": 0, "known": 0, "summary": None}


RULE = "Always use uv instead of pip in this repository."


def sessions(tmp_path: Path) -> list[dict]:
    """Sessions of three messages each, the first with a standing instruction."""
    said = [
        [RULE, f"The release of version {n} is on Friday.", f"Tiles of zoom level {n} are cached."] for n in range(3)
    ]
    made = []
    for n, texts in enumerate(said):
        lines = [line("user", text, f"s{n}u{at}") for at, text in enumerate(texts[bool(n) :])]
        path = transcript(tmp_path / f"{n}.jsonl", *lines)
        made.append({"session_id": f"s{n}", "transcript_path": str(path)})
    return made


def known(folder: Path) -> tuple[set[str], int]:
    """The memories, and how many messages wait to be processed."""
    with Memory(folder, embedder="hashing") as memory:
        return {record.content for record in memory.list()}, memory.stats().pending.get("process", 0)


@pytest.mark.parametrize("moment", ["session-end", "session-start"])
def test_what_was_said_is_processed_with_hooks_alone(mnemic, say, folder, tmp_path, moment):
    for payload in sessions(tmp_path):
        say(payload)
        mnemic("hook", "pre-compact")
    assert known(folder)[1] == 7
    say(payload)
    mnemic("hook", moment)
    records, waiting = known(folder)
    assert waiting == 0
    assert RULE in records


def test_an_error_has_a_bounded_length_and_no_secret(mnemic, say):
    for options in ((), ("--json",)):
        say({"transcript_path": "my password is hunter2xY " + "x" * 3_000_000})
        run = mnemic("hook", "pre-compact", *options)
        assert (run.code, "hunter2" in run.out + run.err) == (0, False)
        assert len(run.out) < LONGEST_ERROR + 200
        assert len(run.err) < LONGEST_ERROR + 200


def test_a_session_starts_though_processing_fails(mnemic, say, folder, tmp_path, monkeypatch):
    payload = sessions(tmp_path)[0]
    say(payload)
    mnemic("hook", "pre-compact")
    error = StoreUnavailable("The record is busy.")
    monkeypatch.setattr(Memory, "process", lambda *_, **__: (_ for _ in ()).throw(error))
    say(payload)
    run = mnemic("hook", "session-start")
    assert RULE in run.out
    assert "The record is busy." in run.err


def test_what_the_time_does_not_suffice_for_is_done_next_time(mnemic, say, folder, tmp_path, monkeypatch):
    for payload in sessions(tmp_path):
        say(payload)
        mnemic("hook", "pre-compact")
    monkeypatch.setattr(hooks, "STEP", 1)
    for moment in ("session-end", "session-start"):
        clock = count(step=2)  # each look at it is two seconds later
        monkeypatch.setattr(hooks, "time", SimpleNamespace(monotonic=lambda clock=clock: next(clock)))
        before = known(folder)[1]
        say(payload)
        assert mnemic("hook", moment, "--timeout", "10").code == 0
        assert 0 < known(folder)[1] < before


def test_transcripts_of_other_agents(mnemic, say, folder, tmp_path):
    path = transcript(
        tmp_path / "t.jsonl",
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "One."}]}},
        {"type": "response_item", "payload": {"type": "function_call", "role": "assistant", "content": "no"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "One."}},
        {"role": "assistant", "content": "Two."},
        {"role": "system", "content": "no"},
        {"role": "user", "content": "Two."},
        {"role": "user", "content": "Two."},
        "[1, 2]\n", "null\n", "\n", '"text"\n', '{"role": "user", "content": 7}\n', '{"role": "user"}\n', "\udcff\n".encode("utf-8", "replace").decode(),
    )  # fmt: skip
    for stored in (4, 0):
        say({"session_id": "s1", "transcript_path": str(path)})
        assert mnemic("hook", "pre-compact", "--json").json["stored"] == stored
    assert [content for _, content, _ in kept(folder)] == ["One.", "Two.", "Two.", "Two."]


def test_a_line_that_is_too_long_is_passed_over(mnemic, say, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("mnemic.transfer.importers.transcripts.LONGEST_LINE", 300)
    path = transcript(
        tmp_path / "t.jsonl", line("user", "before", "u1"), line("user", "x" * 1000, "u2"), line("user", "after", "u3")
    )
    say({"session_id": "s1", "transcript_path": str(path)})
    mnemic("hook", "pre-compact")
    assert [content for _, content, _ in kept(folder)] == ["before", "after"]


REMINDER = "<system-reminder>\nPut in.\n</system-reminder>"
COMMAND = (
    "<command-message>plan is running…</command-message>\n<command-name>/plan</command-name>\n"
    "            <command-args>{}</command-args>"
)
DONE = (
    "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>\n"
    "Read the output file to retrieve the result: /tmp/b1.output"
)
MENTION = "Our prompt parser breaks on a <system-reminder> tag in the input. Use html.parser for it."
IDE = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## Active selection of the file:\n{}\n\n## My request for Codex:\nexplain"
TYPED = [
    (MENTION, MENTION),
    (f"{MENTION}\n{REMINDER}", MENTION),
    (f"{REMINDER}\n{REMINDER}\n{MENTION}", MENTION), (f"Cache it.{REMINDER}\n", "Cache it."),
    ("<local-command-stdout>docs: <local-command-stdout> holds output. My bank is Third Bank.</local-command-stdout>", None),
    ("<bash-stdout>docs </bash-stdout> My bank is Fourth Bank.</bash-stdout><bash-stderr></bash-stderr>", None),
    ("hi\n\n<system-reminder>My bank is Fifth Bank. <system-reminder> y</system-reminder>", "hi"),
    ("hi\n\n<system-reminder>a</system-reminder>\nMy bank is Sixth Bank.\n<system-reminder>b</system-reminder>", "hi"),
    ("hi\n<ide_selection>My bank\n</ide_selection>\n<system-reminder></ide_selection></system-reminder>", "hi"),
    (f"Cache it.\n{REMINDER}\nFor a day.", "Cache it.\n\nFor a day."),
    ("<bash-stdout>My bank is Tenth Bank.", None), ("hi\n\n<system-reminder>\nMy bank is Tenth Bank.", "hi"),
    ("<bash-stdout>My bank is Tenth Bank.\n\nCache it.", "Cache it."),
    ("<system-reminder>\nMy bank is Tenth Bank.\n\n<skill>Put in.</skill>\nCache it.", "Cache it."),
    ("<my-panel> and <my-list>, why?", "<my-panel> and <my-list>, why?"),
    ("<user_story>As a clerk I export.</user_story>\nBuild it.", "<user_story>As a clerk I export.</user_story>\nBuild it."),
    ("<task_description>\nA login page.\n</task_description>", "<task_description>\nA login page.\n</task_description>"),
    ("Fix it:\n<app-config>\n9000\n</app-config>", "Fix it:\n<app-config>\n9000\n</app-config>"),
    ("<bash-input>a <bash-input> b</bash-input>\nMy bank is Seventh Bank.", None),
    ("<skill>\n<name>deploy</name>\nMy bank is Eighth Bank.\n</skill>", None), ("<ide_new_kind a='b'>Put in.</ide_new_kind>\nhi", "hi"),
    ("How do I close it?\n<my-panel>\n</my-panel>\nIt stays open.", "How do I close it?\n<my-panel>\n</my-panel>\nIt stays open."),
    (IDE.format("x = 1"), "explain"), (IDE.format("## My request for Codex:\nMy bank is Ninth Bank."), "explain"),
    ("# Context from my IDE setup:\n\n## Active file: a.py", None),
    ("<system-reminder> breaks it.\nCut it out.", "<system-reminder> breaks it.\nCut it out."),
    (f"It sends `{REMINDER}` in a <command-name>/x</command-name>", f"It sends `{REMINDER}` in a <command-name>/x</command-name>"),
    (COMMAND.format("Invoices must be kept for ten years, so never hard-delete them."),
     "Invoices must be kept for ten years, so never hard-delete them."),
    (COMMAND.format(""), None),
    ("<bash-input>uv run pytest -q</bash-input>", None),
    ("<bash-stdout>3 passed</bash-stdout><bash-stderr></bash-stderr>", None),
    ("<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\n</result>\n</user_shell_command>", None),
    ("<turn_aborted>\nThe turn was stopped.\n</turn_aborted>", None),
    ("# AGENTS.md instructions for /srv/atlas\n\n<INSTRUCTIONS>\nNever push.\n</INSTRUCTIONS>", None),
    (DONE, None),
    (f"{DONE}\nThank you.", "Thank you."),
    ("<user-prompt-submit-hook>Put in.</user-prompt-submit-hook>", None),
    ('<teammate-message teammate_id="lead" summary="a > b">\nDo it.\n</teammate-message>', None),
    ([{"type": "text", "text": REMINDER}, {"type": "text", "text": "Cache it."}, {"type": "text", "text": REMINDER}], "Cache it."),
    ([{"type": "text", "text": "# AGENTS.md instructions for /srv"}, {"type": "text", "text": "Cache it."}], "Cache it."),
]  # fmt: skip


@pytest.mark.parametrize(("content", "stored"), TYPED)
def test_what_the_user_typed_is_stored_without_what_was_put_in(mnemic, say, folder, tmp_path, content, stored):
    path = transcript(tmp_path / "t.jsonl", line("user", "Hello.", "u1"), line("user", content, "u2"))
    say({"session_id": "s1", "transcript_path": str(path)})
    mnemic("hook", "pre-compact")
    assert [text for _, text, _ in kept(folder)] == ["Hello.", *([stored] if stored else [])]


@pytest.mark.parametrize(
    "text",
    [
        "The `<command-name>` element is documented in the reference.",
        f"It looks like this:\n{REMINDER}",
        "Caveat: The messages below are from before the change.",
    ],
)
def test_what_the_model_wrote_is_stored_whole(mnemic, say, folder, tmp_path, text):
    path = transcript(tmp_path / "t.jsonl", line("assistant", [{"type": "text", "text": text}], "u1"))
    say({"session_id": "s1", "transcript_path": str(path)})
    mnemic("hook", "pre-compact")
    assert kept(folder) == [("assistant", text, "s1")]


def test_long_texts_are_stored_whole(mnemic, say, folder, tmp_path, monkeypatch):
    long = "word " * 40_000 + "end"
    path = transcript(tmp_path / "t.jsonl", line("user", long, "u1"))
    say({"session_id": "s1", "transcript_path": str(path)})
    mnemic("hook", "pre-compact")
    monkeypatch.setattr("mnemic.transfer.importers.transcripts.MAX_CONTENT", 150_000)
    path = transcript(tmp_path / "t.jsonl", line("user", long, "u2"))
    for stored in (2, 0):  # more than a record holds becomes several, once
        say({"session_id": "s2", "transcript_path": str(path)})
        assert mnemic("hook", "pre-compact", "--json").json["stored"] == stored
    with Memory(folder, embedder="hashing") as memory:
        assert [m.content for m in memory.messages(session="s1")] == [long]
        assert [m.id for m in memory.messages(session="s2")] == ["u2", "u2+1"]
        assert "".join(m.content for m in memory.messages(session="s2")) == long


@pytest.mark.parametrize("named", [True, False], ids=["ids", "no ids"])
def test_what_is_erased_does_not_return_from_the_transcript(mnemic, say, folder, tmp_path, named):
    texts = ["My size is 42.", "Noted.", "Thanks.", "Welcome."]
    lines = [line("user", text, f"u{at}" if named else None) for at, text in enumerate(texts)]
    path = transcript(tmp_path / "t.jsonl", *lines)
    payload = {"session_id": "s1", "transcript_path": str(path)}
    say(payload)
    assert mnemic("hook", "pre-compact", "--json").json["stored"] == 4
    with Memory(folder, embedder="hashing") as memory:
        memory.forget(ids=[memory.messages()[at].id for at in (0, 2)], hard=True)
    for more, stored in (("", 0), (json.dumps(line("user", "And now?", "u9")) + "\n", 1)):
        with path.open("a") as file:
            file.write(more)
        say(payload)
        assert mnemic("hook", "pre-compact", "--json").json["stored"] == stored
    assert [content for _, content, _ in kept(folder)] == ["Noted.", "Welcome.", "And now?"]


@pytest.mark.parametrize(
    "when", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59"]
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Lima"])
def test_an_impossible_time_costs_no_message(mnemic, say, folder, tmp_path, when, zone):
    path = transcript(
        tmp_path / "t.jsonl", line("user", "One.", "u1"), line("user", "Two.", "u2", timestamp=when), line("user", "Three.")
    )  # fmt: skip
    say({"session_id": "s1", "transcript_path": str(path)})
    run = mnemic("--timezone", zone, "hook", "pre-compact")
    assert (run.code, run.err) == (0, "mnemic: 3 messages of this session stored.\n")
    assert sorted(content for _, content, _ in kept(folder)) == ["One.", "Three.", "Two."]


def test_a_message_that_is_refused_costs_no_other(mnemic, say, folder, tmp_path):
    path = transcript(
        tmp_path / "t.jsonl", line("user", "One.", "u1"), line("user", "Two.", "u" * 5_000), line("user", "Three.", "u3")
    )  # fmt: skip
    say({"session_id": "s1", "transcript_path": str(path)})
    run = mnemic("hook", "pre-compact")
    assert run.code == 0
    assert "1 message of this session skipped, because" in run.err
    assert [content for _, content, _ in kept(folder)] == ["One.", "Three."]


def test_a_conversation_without_a_name_gets_one(mnemic, say, folder, tmp_path):
    say({"transcript_path": str(transcript(tmp_path / "t.jsonl", line("user", "Hello.", "u1")))})
    assert re.fullmatch(r"session_\w+", mnemic("hook", "pre-compact", "--json").json["session"])


# post-commit


@pytest.fixture
def git(atlas):
    if shutil.which("git") is None:
        pytest.skip("needs git")

    def run(*words: str) -> str:
        identity = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *identity, *words], cwd=atlas, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    run("init", "-q")
    return run


def test_commits_are_remembered_once_each_and_none_replaces_another(mnemic, say, atlas, git, folder):
    (atlas / "näme.py").write_text("x")
    git("add", ".")
    git("commit", "-q", "-m", "Set the port to 8080", "-m", "A body.")
    first = git("rev-parse", "HEAD")
    for outcome in ("stored", "duplicate"):
        say({"cwd": str(atlas), "tool_name": "Bash", "tool_input": {"command": "git commit -m x"}})
        told = mnemic("hook", "post-commit", "--json").json
        assert (told["commit"], told["outcome"]) == (first, outcome)
    git("commit", "-q", "--allow-empty", "-m", "Set the port to 9000")
    say({"cwd": str(atlas)})
    run = mnemic("hook", "post-commit")
    assert (run.code, run.out, run.err) == (0, "", "")
    with Memory(folder, embedder="hashing") as memory:
        second, one = memory.list(order="newest")
        assert one.content == f"Commit {first[:10]}: Set the port to 8080 (files: AGENTS.md, näme.py)"
        assert second.content.endswith(": Set the port to 9000")
        assert (one.source, one.type, one.category, one.tags) == ("tool_external", "episodic", "commit", ("commit",))
        assert one.metadata == {"commit": first, "author": "Ana", "files": ["AGENTS.md", "näme.py"]}
        assert one.project.startswith("atlas-")
        assert memory.search("Which port did we set?", kinds=["memory"])


def test_only_commits_are_commits(mnemic, say, atlas, git):
    git("add", ".")
    git("commit", "-q", "-m", "First")
    say({"cwd": str(atlas), "tool_input": {"command": "make test"}})
    assert mnemic("hook", "post-commit", "--json").json == {"commit": None}
    (atlas / ".git" / "rebase-merge").mkdir()
    say({"cwd": str(atlas)})
    assert mnemic("hook", "post-commit", "--json").json == {"commit": None}


def test_git_itself_may_run_it(git, atlas, folder):
    hook = atlas / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    words = [sys.executable, "-m", "mnemic", "--dir", str(folder), "--embedder", "hashing", "hook", "post-commit"]
    hook.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in words) + "\n")
    hook.chmod(0o755)
    git("add", ".")
    git("commit", "-q", "-m", "By the hook")
    with Memory(folder, embedder="hashing") as memory:
        assert "By the hook" in memory.list()[0].content


# Nothing fails the agent's work


WRONG = [
    b"", b"{", b"[]", b"null", b"\xff\xfe\x00", {"cwd": 7, "session_id": [], "transcript_path": {}},
    {"cwd": "/no/such/folder", "transcript_path": "/no/such/file"}, {"transcript_path": "."}, {"transcript_path": "a\0b"},
    {"session_id": "x" * 5_000, "transcript_path": "t.jsonl"}, {"tool_input": None}, {"session_id": "\ud800"},
]  # fmt: skip


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("payload", "there"), [*((payload, True) for payload in WRONG), ({}, False)], ids=repr)
def test_whatever_comes_in_the_exit_code_is_0(mnemic, say, atlas, moment, payload, there):
    (Path.cwd() / "t.jsonl").write_text(json.dumps(line("user", "Hello.", "u1")))
    if there:
        mnemic("remember", "Tiles are cached for a day.")
    say(payload)
    run = mnemic("hook", moment, "--json")
    assert run.code == 0
    assert isinstance(run.json, dict)
    say(payload)
    run = mnemic("hook", moment)
    assert run.code == 0
    assert "Traceback" not in run.err


def test_a_memory_that_cannot_be_opened_is_told(mnemic, say, atlas, folder, tmp_path):
    folder.write_text("a file")
    say({"cwd": str(atlas), "transcript_path": str(transcript(tmp_path / "t.jsonl", line("user", "Hello.", "u1")))})
    run = mnemic("hook", "pre-compact")
    assert (run.code, run.out) == (0, "")
    assert run.err.startswith("mnemic: pre-compact: ")


def test_a_fault_of_ours_is_told(mnemic, say, atlas, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(hooks, "has_record", broken)
    run = mnemic("hook", "session-start")
    assert (run.code, run.out, run.err) == (0, "", "mnemic: session-start: ZeroDivisionError: oh\n")


@pytest.mark.parametrize("words", [("hook",), ("hook", "nonsense"), ("hook", "session-start", "--nonsense")])
def test_wrong_usage_stops_no_agent(mnemic, words):
    run = mnemic(*words)
    assert (run.code, run.out) == (0, "")
    assert "usage:" in run.err
    assert mnemic("nonsense").code == 2


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "mnemic", *words]


def test_a_stdin_that_never_ends_does_not_hold_the_agent(folder, mnemic, atlas):
    mnemic("remember", "Tiles are cached for a day.")
    words = command("--dir", str(folder), "--embedder", "hashing", "hook", "session-start")
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.wait(timeout=60) == 0  # nothing was written, and nothing closed
        assert "Tiles are cached" in run.stdout.read()
        assert run.stderr.read() == ""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_the_time_is_bounded(folder, atlas):
    os.mkfifo(atlas / "t.jsonl")
    script = (
        "import sys, threading, mnemic.transfer.importers.transcripts as t\n"
        "t.messages = lambda *_: threading.Event().wait()\n"
        "from mnemic.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    words = [
        sys.executable,
        "-c",
        script,
        "--dir",
        str(folder),
        "--embedder",
        "hashing",
        "hook",
        "pre-compact",
        "--timeout",
        "3",
    ]
    payload = json.dumps({"session_id": "s1", "transcript_path": "x"})
    run = subprocess.run(words, input=payload, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout) == (0, "")
    assert "took longer than 3 seconds" in run.stderr


# Where, and what to tell the agent


def test_hooks_keep_the_memory_where_the_server_does(tmp_path, monkeypatch, capsys, say, git, atlas):
    from mnemic.cli import main

    monkeypatch.delenv("MNEMIC_DIR", raising=False)
    monkeypatch.setenv(HOME, str(tmp_path))
    git("add", ".")
    git("commit", "-q", "-m", "First")
    say({"cwd": str(atlas)})
    assert main(["hook", "post-commit", "--embedder", "hashing"]) == 0
    assert (tmp_path / ".mnemic").is_dir()
    monkeypatch.setenv("MNEMIC_DIR", str(tmp_path / "other"))
    say({"cwd": str(atlas)})
    assert main(["hook", "post-commit", "--embedder", "hashing"]) == 0
    assert (tmp_path / "other").is_dir()
    assert capsys.readouterr().err == ""


def test_the_instructions_are_what_the_docs_show(mnemic):
    run = mnemic("hook", "instructions")
    assert run.code == 0
    assert run.out.startswith("## Memory\n")
    assert run.out in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("session", ["s1", "a fork"])
@pytest.mark.parametrize("gone", [["u1"], ["u2"], ["u1", "u2"]])
def test_what_was_erased_is_not_stored_again(mnemic, say, folder, tmp_path, session, gone):
    lines = [line("user", f"Secret {n}.", f"u{n}") for n in (1, 2)]
    say({"session_id": "s1", "transcript_path": str(transcript(tmp_path / "t.jsonl", *lines))})
    mnemic("hook", "pre-compact")
    mnemic("forget", "--hard", *(word for id_ in gone for word in ("--id", id_)))
    say(
        {
            "session_id": session,
            "transcript_path": str(transcript(tmp_path / "t.jsonl", *lines, line("user", "More.", "u3"))),
        }
    )
    mnemic("hook", "session-end")
    texts = [text for _, text, _ in kept(folder)]
    assert sorted(texts) == sorted({"Secret 1.", "Secret 2.", "More."} - {f"Secret {id_[1]}." for id_ in gone})
