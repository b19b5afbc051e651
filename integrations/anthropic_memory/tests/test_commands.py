"""The six commands: what Claude is answered, and what the record holds."""

from __future__ import annotations

import pytest
from anthropic.lib.tools import ToolError

TEA = "/memories/tea.md"
TEXT = "Ana drinks green tea.\nNo sugar.\n"


async def test_a_file_is_one_note_that_searches_find(memory, run):
    assert await run("create", TEA, file_text=TEXT) == f"File created successfully at: {TEA}"
    (note,) = memory.list()
    assert note.content == f"{TEA}\n{TEXT}"
    assert (note.key, note.source, note.metadata["path"]) == (TEA, "model_inference", TEA)
    assert memory.search("green tea")[0].id == note.id
    assert memory.search("tea.md")[0].id == note.id


async def test_a_file_is_viewed_with_line_numbers(run):
    await run("create", TEA, file_text="one\ntwo\nthree\n")
    head = f"Here's the content of {TEA} with line numbers:"
    assert await run("view", TEA) == f"{head}\n     1\tone\n     2\ttwo\n     3\tthree\n     4\t"
    assert await run("view", TEA, view_range=[2, 3]) == f"{head}\n     2\ttwo\n     3\tthree"
    assert await run("view", TEA, view_range=[3, -1]) == f"{head}\n     3\tthree\n     4\t"
    assert await run("view", TEA, view_range=[0, 1]) == f"{head}\n     1\tone"
    assert await run("view", TEA, view_range=[9, 12]) == f"{head}\n"


async def test_directories_are_listed_two_levels_deep_without_hidden_items(run):
    texts = {"a/deep/er/x.md": "x" * 1536, "a/y.md": "", "b.md": "\u00e9" * 512, ".hidden/z.md": "z", "a/.z.md": "z"}
    for path, text in texts.items():
        await run("create", f"/memories/{path}", file_text=text)
    assert (await run("view", "/memories")).splitlines() == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:",
        "2.5K\t/memories", "1.5K\t/memories/a/", "1.5K\t/memories/a/deep/", "0B\t/memories/a/y.md", "1K\t/memories/b.md",
    ]  # fmt: skip
    assert (await run("view", "/memories/a/deep/")).splitlines()[1:] == [
        "1.5K\t/memories/a/deep", "1.5K\t/memories/a/deep/er/", "1.5K\t/memories/a/deep/er/x.md",
    ]  # fmt: skip


async def test_an_empty_memory_has_a_root(run):
    assert (await run("view", "/memories")).splitlines()[1:] == ["0B\t/memories"]
    with pytest.raises(ToolError, match="The path /memories/a does not exist"):
        await run("view", "/memories/a")


async def test_an_edit_shows_its_lines_and_keeps_the_history(memory, run):
    await run("create", TEA, file_text="1\n2\n3\n4\ngreen\n6\n7\n8")
    answer = await run("str_replace", TEA, old_str="green", new_str="black\nor white")
    assert answer.splitlines()[1:] == ["     3\t3", "     4\t4", "     5\tblack", "     6\tor white", "     7\t6"]
    (note,) = memory.list()
    contents = [event.content for event in memory.history(note.id)]
    assert contents == [f"{TEA}\n1\n2\n3\n4\ngreen\n6\n7\n8", f"{TEA}\n1\n2\n3\n4\nblack\nor white\n6\n7\n8"]
    assert note.version == 2
    assert memory.search("black")[0].id == note.id


@pytest.mark.parametrize(
    ("old", "message"),
    [("coffee", "old_str `coffee` did not appear verbatim in /memories/tea.md"), ("tea", "in lines: 1, 2, 2. Please")],
)
async def test_what_is_not_there_once_is_not_replaced(memory, run, old, message):
    await run("create", TEA, file_text="tea\ntea tea")
    with pytest.raises(ToolError, match=message):
        await run("str_replace", TEA, old_str=old, new_str="x")
    assert memory.list()[0].version == 1


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        ("", 0, "new\n"),
        ("a\nb", 1, "a\nnew\nb\n"),
        ("a\nb\n", 2, "a\nb\nnew\n"),
        ("a\n", 0, "new\na\n"),
        ("\n", 1, "\nnew\n"),
    ],
)
async def test_lines_are_inserted(memory, run, text, line, after):
    await run("create", TEA, file_text=text)
    assert await run("insert", TEA, insert_line=line, insert_text="new\n\n") == f"The file {TEA} has been edited."
    assert memory.list()[0].content == f"{TEA}\n{after}"


@pytest.mark.parametrize("line", [-1, 3])
async def test_lines_are_inserted_only_where_there_are_some(memory, run, line):
    await run("create", TEA, file_text="a\nb\n")
    with pytest.raises(ToolError, match=rf"`insert_line` parameter: {line}\. .* range \[0, 2\]"):
        await run("insert", TEA, insert_line=line, insert_text="new")
    assert memory.list()[0].content == f"{TEA}\na\nb\n"


async def test_a_deleted_file_can_be_restored(memory, run):
    await run("create", TEA, file_text=TEXT)
    (note,) = memory.list()
    assert await run("delete", TEA) == f"Successfully deleted {TEA}"
    assert memory.list() == []
    assert memory.search("green tea").hits == ()
    with pytest.raises(ToolError, match="does not exist"):
        await run("view", TEA)
    memory.restore(note.id)
    assert "green tea" in await run("view", TEA)


async def test_a_deleted_file_can_be_created_again(memory, run):
    for _ in range(2):
        await run("create", TEA, file_text=TEXT)
        await run("delete", TEA)
    await run("create", TEA, file_text=TEXT)
    assert [note.content for note in memory.list()] == [f"{TEA}\n{TEXT}"]


async def test_what_was_erased_stays_erased(memory, run):
    await run("create", TEA, file_text=TEXT)
    memory.forget(ids=[memory.list()[0].id], hard=True)
    await run("create", "/memories/other.md", file_text="Something else.")
    assert "tea" not in await run("view", "/memories")
    assert memory.search("green tea", min_evidence="weak").hits == ()


async def test_a_directory_goes_with_its_files_and_no_others(run):
    for path in ("a/x", "a/b/y", "ab"):
        await run("create", f"/memories/{path}", file_text=path)
    assert await run("delete", "/memories/a/") == "Successfully deleted /memories/a"
    assert (await run("view", "/memories")).splitlines()[2:] == ["2B\t/memories/ab"]
    with pytest.raises(ToolError, match="Cannot delete the /memories directory itself"):
        await run("delete", "/memories/")
    with pytest.raises(ToolError, match="/memories/a does not exist"):
        await run("delete", "/memories/a")


async def test_a_file_is_renamed(memory, run):
    await run("create", TEA, file_text=TEXT)
    before = memory.list()[0]
    answer = await run("rename", old_path=TEA, new_path="/memories/drinks/tea.md")
    assert answer == f"Successfully renamed {TEA} to /memories/drinks/tea.md"
    (note,) = memory.list()
    assert note.content == f"/memories/drinks/tea.md\n{TEXT}"
    assert memory.get(before.id).superseded_by == (note.id,)
    await run("create", TEA, file_text="Another one.")  # the old path is free
    assert len(memory.list()) == 2


async def test_a_directory_is_renamed(run):
    for path in ("a/x", "a/b/y", "ab"):
        await run("create", f"/memories/{path}", file_text=path)
    await run("rename", old_path="/memories/a", new_path="/memories/c/d")
    shown = (await run("view", "/memories")).splitlines()[2:]
    assert shown == ["2B\t/memories/ab", "8B\t/memories/c/", "8B\t/memories/c/d/"]
    assert "a/b/y" in await run("view", "/memories/c/d/b/y")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("/memories", "/memories/b", "Cannot rename the /memories directory itself"),
        ("/memories/none", "/memories/b", "/memories/none does not exist"),
        ("/memories/a/x", "/memories/a/y", "destination /memories/a/y already exists"),
        ("/memories/a/x", "/memories/a", "destination /memories/a already exists"),
        ("/memories/a", "/memories/a/b", "/memories/a cannot be moved into itself"),
        ("/memories/a", "/memories/z/b", "/memories/z is a file"),
        ("/memories/a", f"/memories/{'b' * 189}", "has 201 characters, more than 200"),
    ],
)
async def test_what_cannot_be_renamed_stays(memory, run, old, new, message):
    for path in ("a/x", "a/y", "z"):
        await run("create", f"/memories/{path}", file_text=path)
    with pytest.raises(ToolError, match=message):
        await run("rename", old_path=old, new_path=new)
    assert sorted(note.metadata["path"] for note in memory.list()) == ["/memories/a/x", "/memories/a/y", "/memories/z"]


@pytest.mark.parametrize("path", [TEA, "/memories", "/memories/a"])
async def test_what_exists_is_not_created(memory, run, path):
    await run("create", TEA, file_text=TEXT)
    await run("create", "/memories/a/b", file_text=TEXT)
    with pytest.raises(ToolError, match=f"File {path} already exists"):
        await run("create", path, file_text="x")
    with pytest.raises(ToolError, match=f"{TEA} is a file"):
        await run("create", f"{TEA}/x/y", file_text="x")
    assert len(memory.list()) == 2


@pytest.mark.parametrize("command", ["str_replace", "insert"])
async def test_what_is_no_file_is_not_edited(run, command):
    await run("create", "/memories/a/b", file_text=TEXT)
    given = {"old_str": "a", "new_str": "b", "insert_line": 0, "insert_text": "x"}
    with pytest.raises(ToolError, match="The path /memories/a is not a file"):
        await run(command, "/memories/a", **given)
    with pytest.raises(ToolError, match="The path /memories/c does not exist"):
        await run(command, "/memories/c", **given)


@pytest.mark.parametrize("command", ["view", "create", "str_replace", "insert", "delete", "rename"])
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/memories/../etc/passwd", "would escape /memories"),
        ("/memories/a/../../memoriesX", "would escape /memories"),
        ("/etc/passwd", "must start with /memories"),
        ("/memoriesX/a", "must start with /memories"),
        ("memories/a", "must start with /memories"),
        ("", "must start with /memories"),
        ("/memories/a\nb", "not printable"),
        ("/memories/a\u202eb", "not printable"),
        ("/memories/a\ud800", "not printable"),
        ("/memories/\x00", "not printable"),
        (f"/memories/{'a' * 200}", "210 characters, more than 200"),
    ],
)
async def test_no_path_leads_out(memory, run, command, path, message):
    given = {"old_path": path, "new_path": path, "file_text": "x", "old_str": "a", "new_str": "b"}
    with pytest.raises(ToolError, match=message):
        await run(command, path, insert_line=0, insert_text="x", **given)
    assert memory.list() == []


async def test_a_path_is_known_by_any_spelling(memory, run):
    await run("create", "/memories/./a//b/../tea.md", file_text=TEXT)
    assert memory.list()[0].metadata["path"] == "/memories/a/tea.md"
    assert "green" in await run("view", "/memories/a/tea.md/")


async def test_too_long_a_file_is_refused_whole(memory, run):
    options = {"max_characters": 10}
    await run("create", TEA, file_text="123456789\n", options=options)
    for given in ({"old_str": "1", "new_str": "12"}, {"insert_line": 0, "insert_text": "x"}):
        command = "insert" if "insert_line" in given else "str_replace"
        with pytest.raises(ToolError, match=r"characters, more than 10\. Use several files\."):
            await run(command, TEA, options=options, **given)
    with pytest.raises(ToolError, match="more than 100,000"):
        await run("create", "/memories/long", file_text="x" * 100_001)
    assert [note.content for note in memory.list()] == [f"{TEA}\n123456789\n"]


async def test_the_longest_file_can_be_stored(memory, run):
    options = {"max_characters": 900_000}
    await run("create", f"/memories/{'a' * 190}", file_text="x" * 900_000, options=options)
    assert len(memory.list()[0].content) == 900_201
