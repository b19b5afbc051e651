"""What the tool promises beyond files: users, secrets, consolidation, failures."""

from __future__ import annotations

import asyncio
from inspect import isawaitable

import pytest
from anthropic.lib.tools import ToolError

from anthropic_memory_mnemic import AsyncMnemicMemoryTool, MnemicMemoryTool
from mnemic import AsyncMemory, ConfigurationError, InvalidInput, Memory, StoreFull

TEA = "/memories/tea.md"


async def test_two_users_have_files_of_their_own(memory, run):
    for user in ("bea", "bob"):
        options = {"scope": {"user": user}}
        await run("create", TEA, file_text=f"{user} drinks tea.", options=options)
    for user in ("bea", "bob"):
        options = {"scope": {"user": user}}
        assert f"{user} drinks" in await run("view", TEA, options=options)
        assert [note.content for note in memory.scoped(user=user).list()] == [f"{TEA}\n{user} drinks tea."]
    await run("delete", TEA, options={"scope": {"user": "bob"}})
    assert "bea drinks" in await run("view", TEA, options={"scope": {"user": "bea"}})
    assert memory.list() == []


async def test_a_project_has_files_of_its_own_and_a_session_none(memory, run):
    await run("create", TEA, file_text="at home", over=memory.scoped(session="monday"))
    await run("create", TEA, file_text="at work", over=memory.scoped(project="work"))
    for over, place in (
        (memory, "home"),
        (memory.scoped(session="friday"), "home"),
        (memory.scoped(project="work"), "work"),
    ):
        assert f"at {place}" in await run("view", TEA, over=over)
        assert (await run("view", "/memories", over=over)).count("tea.md") == 1
    await run("delete", TEA, over=memory)
    assert "at work" in await run("view", TEA, over=memory.scoped(project="work"))


async def test_other_memories_are_no_files(memory, run):
    memory.remember("Ana likes tea.", key=TEA.replace("tea", "other"), metadata={"path": "/memories/no.md"})
    memory.add("I like tea.")
    assert (await run("view", "/memories")).splitlines()[1:] == ["0B\t/memories"]


async def test_secrets_are_not_stored_and_claude_is_told(memory, run):
    answer = await run("create", TEA, file_text="Tea.\nMy password is hunter42.\n")
    assert answer.splitlines()[0] == f"File created successfully at: {TEA}"
    assert "[redacted: ...]" in answer
    assert "[redacted: password]" in await run("view", TEA)
    answer = await run("str_replace", TEA, old_str="Tea.", new_str="My password is hunter43.")
    assert "hunter43" not in answer
    assert "[redacted: ...]" in answer
    answer = await run("insert", TEA, insert_line=0, insert_text="Green.")
    assert answer == f"The file {TEA} has been edited."  # what was redacted before is no news
    assert "hunter4" not in str([memory.history(note.id) for note in memory.list()])


async def test_a_secret_in_a_path_is_refused(memory, run):
    key = "sk-abcdefghijklmnopqrstuvwxyz1234567890"
    await run("create", TEA, file_text="Tea.")
    for command in ("create", "rename"):
        with pytest.raises(ToolError, match="holds a secret") as caught:
            await run(command, f"/memories/{key}", file_text="x", old_path=TEA, new_path=f"/memories/{key}/x")
        assert key not in str(caught.value)
    assert [note.metadata["path"] for note in memory.list()] == [TEA]


async def test_a_policy_that_refuses_secrets_refuses_the_file(run):
    with Memory(":memory:", embedder="hashing", secrets="refuse") as memory:
        with pytest.raises(ToolError, match="Nothing was stored: it holds a secret"):
            await run("create", TEA, file_text="My password is hunter42.", over=memory)
        await run("create", TEA, file_text="Tea.", over=memory)
        with pytest.raises(ToolError, match="Nothing was stored: it holds a secret"):
            await run("str_replace", TEA, old_str="Tea.", new_str="My password is hunter42.", over=memory)
        assert [note.content for note in memory.list()] == [f"{TEA}\nTea."]


async def test_idle_work_keeps_files_that_say_the_same(memory, run):
    text = "Ana drinks green tea every morning."
    for name in ("a", "b"):
        await run("create", f"/memories/{name}.md", file_text=text)
    memory.remember(text, importance=1.0)
    memory.process()
    report = memory.consolidate(importance_threshold=0.0, similarity_threshold=0.0, min_age_hours=0.0)
    assert report.memories_promoted == 1  # it ran, and took what is no file
    for name in ("a", "b"):
        assert text in await run("view", f"/memories/{name}.md")


async def test_files_survive_closing(tmp_path, run):
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        await run("create", TEA, file_text="Tea.", over=memory)
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        assert "Tea." in await run("view", TEA, over=memory)


async def test_what_a_program_wrote_over_a_note_is_shown_whole(memory, run):
    await run("create", TEA, file_text="Tea.")
    memory.update(memory.list()[0].id, content="Ana drinks coffee now.")
    assert (await run("view", TEA)).endswith("     1\tAna drinks coffee now.")
    await run("insert", TEA, insert_line=1, insert_text="Black.")
    assert memory.list()[0].content == f"{TEA}\nAna drinks coffee now.\nBlack.\n"


async def test_all_files_are_cleared_and_nothing_else(memory):
    memory.remember("Ana likes tea.")
    for kind in (MnemicMemoryTool, AsyncMnemicMemoryTool):
        tool = kind(memory)
        for path in ("/memories/a", "/memories/b/c"):
            made = tool.call({"command": "create", "path": path, "file_text": "x"})
            _ = await made if isawaitable(made) else made
        for _ in range(2):
            cleared = tool.clear_all_memory()
            assert (await cleared if isawaitable(cleared) else cleared) == "All memory cleared"
        assert [record.content for record in memory.list()] == ["Ana likes tea."]


async def test_many_files_at_once(memory):
    tool = AsyncMnemicMemoryTool(memory)
    paths = [f"/memories/{number}.md" for number in range(8)]
    await asyncio.gather(*(tool.call({"command": "create", "path": path, "file_text": path}) for path in paths))
    assert sorted(note.metadata["path"] for note in memory.list()) == paths


async def test_two_writers_of_one_path_leave_one_file(memory, run, monkeypatch):
    """As when two processes create it at the same moment, and neither sees the note of the other."""
    real = Memory.remember
    monkeypatch.setattr(Memory, "remember", lambda self, content, *, key, **given: real(self, content, **given))
    tool = MnemicMemoryTool(memory)
    tool.call({"command": "create", "path": TEA, "file_text": "Green."})
    first = memory.list()[0].id
    memory.forget(ids=[first])
    tool.call({"command": "create", "path": TEA, "file_text": "Black."})
    memory.restore(first)
    assert len(memory.list()) == 2
    assert "Black." in await run("view", TEA)
    assert (await run("view", "/memories")).count(TEA) == 1
    await run("rename", old_path=TEA, new_path="/memories/a.md")
    assert [note.content for note in memory.list()] == ["/memories/a.md\nBlack."]
    memory.restore(first)
    await run("delete", "/memories/a.md")
    await run("delete", TEA)
    assert memory.list() == []


async def test_a_record_that_fails_is_an_answer(memory, run, monkeypatch):
    def full(*_args, **_kwargs):
        raise StoreFull("There is no room left.")

    monkeypatch.setattr(Memory, "remember", full)
    with pytest.raises(ToolError, match="There is no room left"):
        await run("create", TEA, file_text="Tea.")


async def test_an_asynchronous_handle():
    async with AsyncMemory(":memory:", embedder="hashing") as memory:
        tool = AsyncMnemicMemoryTool(memory)
        await tool.call({"command": "create", "path": TEA, "file_text": "Tea."})
        assert len(await memory.list()) == 1
        with pytest.raises(ConfigurationError, match="memory must be a Memory"):
            MnemicMemoryTool(memory)


@pytest.mark.parametrize("kind", [MnemicMemoryTool, AsyncMnemicMemoryTool])
def test_arguments_are_checked_when_they_are_given(memory, kind):
    for wrong in (None, "./memory", {"user": "ana"}, AsyncMemory):
        with pytest.raises(ConfigurationError, match="memory must be a"):
            kind(wrong)
    for size in (0, 900_001, "10", None):
        with pytest.raises(ConfigurationError, match="max_characters must be 1 to 900,000"):
            kind(memory, max_characters=size)
    for scope in ({"user": None}, {"role": "x"}, 3):
        with pytest.raises(InvalidInput, match="scope"):
            kind(memory, scope=scope)
    cached = kind(memory, cache_control={"type": "ephemeral"}).to_dict()
    assert cached == {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
