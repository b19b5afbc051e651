"""Servers in processes of their own, as clients start them."""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from mnemic import Memory
from mnemic_mcp.command import run
from mnemic_mcp.options import parsed

NOISY = """
import ctypes, os, subprocess, sys
from mnemic import HashingEmbedder
quiet = HashingEmbedder.embed
def noisy(self, texts, **options):
    print("noise of Python")
    os.write(1, b"noise of descriptor 1\\n")
    ctypes.CDLL(None).puts(b"noise of C")
    subprocess.run(["echo", "noise of a child"], check=True)
    return quiet(self, texts, **options)
HashingEmbedder.embed = noisy
from mnemic_mcp.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
HASHING = ("--embedder", "hashing")
INITIALIZE = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
}  # fmt: skip


def request(number: int, method: str, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


def tool(number: int, name: str, **arguments: object) -> str:
    return request(number, "tools/call", name=name, arguments=arguments)


def converse(command: list[str], *requests: str) -> tuple[list[dict], str, int]:
    """What a server answers to requests, each sent when the one before is answered: stdout, stderr, exit code."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as server:
        lines = []
        for line in requests:
            server.stdin.write(line)
            server.stdin.flush()
            lines.append(server.stdout.readline())
        rest, errors = server.communicate(timeout=60)
        lines += rest.splitlines()
    return [json.loads(line) for line in lines], errors, server.returncode


def command(folder: Path, *options: str, code: str | None = None) -> list[str]:
    start = ["-m", "mnemic_mcp"] if code is None else ["-c", code]
    return [sys.executable, *start, "--persist-dir", str(folder), "--embedder", "hashing", *options]


async def test_default_over_stdio(spoken):
    async with spoken("--user", "ana", "--project", "site") as call:
        assert call.client.server_info.name == "mnemic"
        assert "Long-term memory" in call.client.instructions
        kept = await call("remember", content="Ana lives in Lisbon.")
        assert (await call("recall", query="Where does Ana live?"))["found"][0]["id"] == kept["id"]
        assert "Lisbon" in (await call("context", query="Ana"))["text"]
        assert (await call("context"))["project"]["name"] == "site"
        assert (await call("forget", ids=[kept["id"]]))["removed"] == [kept["id"]]


def test_memory_server_by_the_command(commanded):
    async def conversation(call):
        await call("store_memory", content="Ana lives in Lisbon.")
        assert (await call("search_memories", query="Where does Ana live?"))["found"]
        assert (await call("should_consolidate"))["short_term_count"] == 1
        assert (await call("get_memory_context", query="Ana"))["memories"]
        assert (await call("consolidate_memories"))["clusters_formed"] == 0

    commanded(conversation, *HASHING, "--profile", "memory-server")


def test_ooda_by_the_command(commanded):
    async def conversation(call):
        kept = await call("remember", content="Ana lives in Lisbon.", importance=8)
        assert (await call("update", id=kept["id"], importance=9))["id"] == kept["id"]
        assert (await call("recall", query="Where does Ana live?"))["found"][0]["importance"] == 9
        assert (await call("list"))["memories"][0]["id"] == kept["id"]
        assert (await call("graph", id=kept["id"]))["links"] == []
        assert (await call("context"))["important"]
        assert (await call("consolidate"))["clusters_formed"] == 0
        assert (await call("delete", ids=[kept["id"]]))["removed"] == [kept["id"]]

    commanded(conversation, *HASHING, "--profile", "ooda", "--no-consolidation")


async def test_many_mixed_calls(memory, served):
    chance = random.Random(7)
    kept: list[str] = []
    answers = {"stored": 0, "errors": 0, "found": 0}
    async with served(memory) as call:
        for number in range(300):
            match chance.choice(["remember", "recall", "recall", "context", "forget", "wrong", "start", "unknown"]):
                case "remember":
                    content = f"Service {number} listens on port {9000 + number}."
                    kept.append((await call("remember", content=content))["id"])
                    answers["stored"] += 1
                case "recall":
                    found = (await call("recall", query=f"Which port has service {chance.randrange(300)}?"))["found"]
                    answers["found"] += bool(found)
                case "context":
                    assert (await call("context", query="ports", max_tokens=100))["token_count"] <= 100
                case "start":
                    await call("context", max_tokens=200)
                case "forget" if kept:
                    assert (await call("forget", ids=[kept.pop(chance.randrange(len(kept)))]))["removed"]
                case "unknown":
                    await call.error("no_such_tool", anything=1)
                    answers["errors"] += 1
                case _:
                    await call.error("recall", query="x", limit=-1)
                    answers["errors"] += 1
    assert min(answers.values()) > 20
    assert {record.id for record in memory.list(limit=None)} == {*kept}
    assert memory.admin.verify().ok


async def test_calls_at_once_over_one_connection(spoken):
    async with spoken() as call:
        stored = await asyncio.gather(*(call("remember", content=f"Town {n} lies by the sea.") for n in range(40)))
        assert len({answer["id"] for answer in stored}) == 40
        assert len((await call("recall", query="Which towns lie by the sea?", limit=100))["found"]) > 1


async def test_several_servers_on_one_folder_at_once(spoken, tmp_path):
    async def one(number: int) -> list[str]:
        async with spoken("--user", "ana", "--profile", "ooda") as call:
            ids = [(await call("remember", content=f"Door {number}{step} is painted red."))["id"] for step in range(5)]
            assert (await call("recall", query=f"What colour is door {number}4?"))["found"]
            await call("consolidate")
            return ids

    stored = await asyncio.gather(*(one(number) for number in range(1, 4)))
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        assert {id_ for ids in stored for id_ in ids} == {record.id for record in memory.list()}
        assert memory.admin.verify().ok


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "work" / "atlas"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (root / ".git" / "config").write_text('[remote "origin"]\nurl = https://ana:pw@example.com/acme/atlas.git\n')
    (root / "CLAUDE.md").write_text("---\nname: Atlas\ndescription: Maps of everything.\n---\n")
    (root / "src").mkdir()
    return root


def test_the_project_is_that_of_the_working_directory(commanded, repository, tmp_path):
    async def inside(call):
        await call("remember", content="Tiles are cached for a day.")
        project = (await call("context"))["project"]
        assert (project["name"], project["id"], project["description"]) == (
            "Atlas",
            "acme/atlas",
            "[unverified, document] Maps of everything.",
        )
        assert Path(project["root"]) == repository
        prompt = await call.client.get_prompt("session_start", {})
        assert prompt.messages[0].content.text.startswith(
            "Project: Atlas: [unverified, document] Maps of everything.\n\n"
        )

    async def named(call):
        start = await call("context")
        assert start["project"]["name"] == "Atlas"
        assert [line["text"] for line in start["important"]] == ["Tiles are cached for a day."]

    async def elsewhere(call):
        start = await call("context")
        assert start["project"] == {
            "name": "else",
            "id": "else",
            "user": "default",
            "counts": start["project"]["counts"],
        }
        assert not (await call("recall", query="tiles"))["found"]

    commanded(inside, *HASHING, cwd=repository / "src")
    commanded(named, *HASHING, "--project", "acme/atlas", cwd=repository)
    commanded(elsewhere, *HASHING, "--project", "else", cwd=repository)
    with Memory(tmp_path / "memory", embedder="hashing") as memory:
        assert [record.project for record in memory.list()] == ["acme/atlas"]


@pytest.mark.parametrize("options", [("--project", "off"), ()])
def test_off_and_a_folder_that_nothing_marks_are_no_project(commanded, repository, tmp_path, options):
    async def conversation(call):
        assert "id" not in (await call("context"))["project"]
        await call("remember", content="Ana lives in Lisbon.")

    (tmp_path / "plain").mkdir()
    commanded(conversation, *HASHING, *options, cwd=repository if options else tmp_path / "plain")
    with Memory(tmp_path / "memory", embedder="hashing") as memory:
        assert [record.project for record in memory.list()] == [None]


def test_nothing_but_the_protocol_reaches_stdout(tmp_path):
    answers, errors, code = converse(
        command(tmp_path, code=NOISY),
        request(1, "initialize", **INITIALIZE),
        tool(2, "remember", content="Ana lives in Lisbon."),
        tool(3, "recall", query="Where does Ana live?"),
        tool(4, "no such tool"),
    )
    assert [answer["id"] for answer in answers] == [1, 2, 3, 4]
    assert "Lisbon" in answers[2]["result"]["content"][0]["text"]
    for noise in ("Python", "descriptor 1", "C", "a child"):
        assert f"noise of {noise}" in errors
    assert code == 0


def test_a_broken_request_is_answered_and_survived(tmp_path):
    answers, _, code = converse(
        command(tmp_path),
        request(1, "initialize", **INITIALIZE),
        request(2, "no/such/method"),
        tool(3, "recall", query="x"),
    )
    assert [("error" in answer, answer["id"]) for answer in answers] == [(False, 1), (True, 2), (False, 3)]
    assert code == 0


@pytest.fixture
def refusal(capsys):
    """What the command says instead of serving, in this process."""

    def said(*words):
        output = io.StringIO()
        assert (run(parsed(list(map(str, words))), output), output.getvalue()) == (2, "")
        errors = capsys.readouterr().err
        assert errors.startswith("mnemic-mcp: ")
        return errors

    return said


def test_the_end_of_stdin_ends_the_server(tmp_path):
    done = subprocess.run(command(tmp_path), input="", capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_and_keeps_what_was_stored(tmp_path, number):
    with subprocess.Popen(command(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        for line in (request(1, "initialize", **INITIALIZE), tool(2, "remember", content="Ana lives in Lisbon.")):
            server.stdin.write(line)
            server.stdin.flush()
            assert "error" not in json.loads(server.stdout.readline())
        server.send_signal(number)
        assert server.wait(timeout=60) == 0
    with Memory(tmp_path, embedder="hashing") as memory:
        assert [record.content for record in memory.list()] == ["Ana lives in Lisbon."]


def test_a_folder_that_cannot_be_is_told_on_stderr(tmp_path, refusal):
    (tmp_path / "file").write_text("x")
    assert "Traceback" not in refusal("--dir", tmp_path / "file", "--embedder", "hashing")


def test_settings_come_from_the_folder_or_a_file(commanded, tmp_path, refusal):
    """Without --embedder, a wrong one in the file would load the default model, and its table would say so."""
    folder, file = tmp_path / "memory", tmp_path / "other.toml"
    folder.mkdir()
    (folder / "mnemic.toml").write_text('embedder = "hashing"\ntimezone = "Nowhere/At All"\n')
    file.write_text("[consolidator]\nimportance_treshold = 0.5\n")
    assert "Nowhere/At All" in refusal("--dir", folder)
    assert "Did you mean 'importance_threshold'?" in refusal("--dir", folder, "--config", file)

    async def conversation(call):
        await call("remember", content="Ana lives in Lisbon.", type="preference")
        assert not (await call("recall", query="Where does Ana live?", reach="session"))["found"]

    commanded(conversation, "--timezone", "Europe/Lisbon", "--session", "s1", folder=folder)
    with Memory(folder, embedder="hashing") as memory:
        assert [record.category for record in memory.list()] == ["preference"]


def test_the_session_and_the_recipe_come_from_the_file(commanded, tmp_path, refusal):
    (tmp_path / "mnemic.toml").write_text('embedder = "hashing"\nrecipe = "rrf"\nsession = "s1"\n')
    with Memory(tmp_path, embedder="hashing") as memory:
        memory.add("Ana lives in Lisbon.", session="s1")
        memory.add("Ana lived in Porto.", session="s2")
    for options, wanted in (
        ([], ["Ana lives in Lisbon."]),
        (["--session", "s2"], ["Ana lived in Porto."]),
        (["--session", "new"], []),
    ):

        async def conversation(call, wanted=wanted):
            found = (await call("recall", query="Where does Ana live?", reach="session"))["found"]
            assert [hit["text"] for hit in found] == wanted

        commanded(conversation, "--project", "off", *options, folder=tmp_path)
    (tmp_path / "mnemic.toml").write_text('embedder = "hashing"\nrecipe = "best"\n')
    assert "There is no recipe 'best'" in refusal("--dir", tmp_path, "--project", "off")


def test_the_language_model_of_the_command_line_is_that_of_the_memory(commanded):
    async def conversation(call):
        read = await call.client.read_resource("memory://stats")
        assert json.loads(read.contents[0].text)["llm"]["model"] == "test:here"

    commanded(conversation, *HASHING, "--llm", "test:here")


def test_help_is_for_people(capsys):
    with pytest.raises(SystemExit) as end:
        parsed(["--help"])
    assert end.value.code == 0
    assert "memory-server" in capsys.readouterr().out


def test_the_folder_is_where_the_hooks_look(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("MNEMIC_DIR", raising=False)
    assert parsed([]).persist_dir == Path("~/.mnemic").expanduser()
    monkeypatch.setenv("MNEMIC_DIR", "")
    assert parsed([]).persist_dir == Path("~/.mnemic").expanduser()
    monkeypatch.setenv("MNEMIC_DIR", "~/notes")
    assert parsed([]).persist_dir == Path("~/notes").expanduser()
    assert (
        parsed(["--dir", str(tmp_path)]).persist_dir == parsed(["--persist-dir", str(tmp_path)]).persist_dir == tmp_path
    )
    monkeypatch.setenv("MNEMIC_DIR", "postgresql://ana:hunter2@localhost/app")
    with pytest.raises(SystemExit) as end:
        parsed([])
    told = capsys.readouterr().err
    assert end.value.code == 2
    assert "serves a folder" in told
    assert "hunter2" not in told


async def test_what_a_hook_stored_the_server_serves(monkeypatch, tmp_path):
    """With MNEMIC_DIR set, and no folder named, both have one memory."""
    monkeypatch.setenv("MNEMIC_DIR", str(tmp_path / "shared"))
    said = tmp_path / "transcript.jsonl"
    said.write_text('{"role": "user", "content": "The parser lives in the attic."}\n', encoding="utf-8")
    told = json.dumps({"transcript_path": str(said), "cwd": str(tmp_path), "session_id": "s1"})
    words = [sys.executable, "-m", "mnemic", "hook", "pre-compact", "--embedder", "hashing"]
    done = subprocess.run(words, input=told, capture_output=True, text=True, check=True)
    assert (tmp_path / "shared" / "mnemic.db").exists(), done.stderr
    arguments = ["-m", "mnemic_mcp", "--embedder", "hashing"]
    server = StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ}, cwd=tmp_path)
    async with Client(stdio_client(server)) as client:
        found = await client.call_tool("recall", {"query": "Where does the parser live?"})
    assert "attic" in found.structured_content["found"][0]["text"]


def test_the_command_line():
    options = parsed(["--persist-dir", "~/there", "--user", "ana", "--no-consolidation", "--profile", "ooda"])
    assert options.persist_dir == Path("~/there").expanduser()
    assert (options.user, options.project, options.consolidate, options.profile) == ("ana", "auto", False, "ooda")
    assert parsed([]).consolidate is True
