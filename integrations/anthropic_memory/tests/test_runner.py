"""The SDK's own tool runner, with a scripted Claude."""

from __future__ import annotations

import pytest
from anthropic.lib.tools import ToolError

from anthropic_memory_mnemic import AsyncMnemicMemoryTool, MnemicMemoryTool

ASKED = {"model": "claude", "max_tokens": 100, "messages": [{"role": "user", "content": "Plan my trip."}]}
CREATE = {"command": "create", "path": "/memories/trip.md", "file_text": "Ana travels to Lisbon in March.\n"}
VIEW = {"command": "view", "path": "/memories"}


def test_claude_writes_and_reads_its_files(memory, scripted):
    claude = scripted(VIEW, CREATE, {**VIEW, "path": "/memories/trip.md"}, "Noted.")
    with claude.client() as client:
        final = client.beta.messages.tool_runner(tools=[MnemicMemoryTool(memory)], **ASKED).until_done()
    assert final.content[0].text == "Noted."
    assert claude.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    shown = [result["content"] for result in claude.results]
    assert shown[0].endswith("0B\t/memories")
    assert shown[1] == "File created successfully at: /memories/trip.md"
    assert "     1\tAna travels to Lisbon in March." in shown[2]
    assert memory.search("When does Ana travel?")[0].text == "/memories/trip.md\nAna travels to Lisbon in March.\n"


async def test_an_asynchronous_client(memory, scripted):
    claude = scripted(CREATE, "Noted.")
    async with claude.async_client() as client:
        runner = client.beta.messages.tool_runner(tools=[AsyncMnemicMemoryTool(memory)], **ASKED)
        assert (await runner.until_done()).content[0].text == "Noted."
    assert [note.metadata["path"] for note in memory.list()] == ["/memories/trip.md"]


def test_another_conversation_finds_the_files_of_its_user_alone(memory, scripted):
    for user, expected in (("bea", "trip.md"), ("bob", "")):
        tool = MnemicMemoryTool(memory, scope={"user": user})
        if expected:
            tool.call(CREATE)
        claude = scripted(VIEW, "I looked.")
        with claude.client() as client:
            client.beta.messages.tool_runner(tools=[tool], **ASKED).until_done()
        assert ("trip.md" in claude.results[0]["content"]) == bool(expected)


@pytest.mark.parametrize(
    "wrong",
    [
        {"command": "view", "path": "/memories/../secrets"},
        {"command": "view", "path": "/memories/none"},
        {"command": "create", "path": "/memories/a"},
        {"command": "create", "path": "/memories/a", "file_text": None},
        {"command": "create", "path": 3, "file_text": "x"},
        {"command": "erase", "path": "/memories"},
        {},
    ],
)
def test_what_claude_gets_wrong_it_is_told(memory, scripted, wrong):
    claude = scripted(wrong, "Sorry.")
    with claude.client() as client:
        final = client.beta.messages.tool_runner(tools=[MnemicMemoryTool(memory)], **ASKED).until_done()
    (result,) = claude.results
    assert result["is_error"]
    assert result["content"]
    assert final.content[0].text == "Sorry."
    assert memory.list() == []


COMMANDS = [
    VIEW,
    CREATE,
    {"command": "str_replace", "path": "/memories/trip.md", "old_str": "March", "new_str": "May"},
    {"command": "insert", "path": "/memories/trip.md", "insert_line": 0, "insert_text": "x"},
    {"command": "delete", "path": "/memories/trip.md"},
    {"command": "rename", "old_path": "/memories/trip.md", "new_path": "/memories/a.md"},
]


@pytest.mark.parametrize("value", [..., None, {}])
@pytest.mark.parametrize(("given", "missing"), [(given, name) for given in COMMANDS for name in given])
async def test_a_missing_argument_is_named(memory, given, missing, value):
    sync, asynchronous = MnemicMemoryTool(memory), AsyncMnemicMemoryTool(memory)
    sync.call(CREATE)
    told = rf"^Wrong arguments: ({given['command']}: )?[^;]*{missing}[^;]*\. Nothing was done\.$"
    wrong = {name: value if name == missing else one for name, one in given.items()}
    wrong = {name: one for name, one in wrong.items() if one is not ...}
    with pytest.raises(ToolError, match=told):
        sync.call(wrong)
    with pytest.raises(ToolError, match=told):
        await asynchronous.call(wrong)
    assert [note.content for note in memory.list()] == [f"{CREATE['path']}\n{CREATE['file_text']}"]


def test_a_run_that_fails_keeps_what_was_written(memory, scripted):
    claude = scripted(CREATE)  # and no answer after it
    with claude.client() as client, pytest.raises(Exception, match=r"Connection error|StopIteration"):
        client.with_options(max_retries=0).beta.messages.tool_runner(
            tools=[MnemicMemoryTool(memory)], **ASKED
        ).until_done()
    assert [note.metadata["path"] for note in memory.list()] == ["/memories/trip.md"]
