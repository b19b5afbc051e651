"""Whatever Claude does, the answers are those of the SDK's own tool on a folder."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anthropic_memory_mnemic import MnemicMemoryTool

NAMES = st.sampled_from(["a", "b", "a.md", ".h", "\u00fc"])
PATHS = st.lists(NAMES, max_size=3).map(lambda names: "/".join(["/memories", *names]))
TEXTS = st.text(alphabet="ab \n\r\u00e9", max_size=12)
LINES = st.integers(-2, 5)
NEEDLES = st.text(alphabet="ab\n", max_size=2)
COMMANDS = st.one_of(
    st.fixed_dictionaries(
        {"command": st.just("view"), "path": PATHS, "view_range": st.none() | st.tuples(LINES, LINES)}
    ),
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("str_replace"), "path": PATHS, "old_str": NEEDLES, "new_str": TEXTS}),
    st.fixed_dictionaries({"command": st.just("insert"), "path": PATHS, "insert_line": LINES, "insert_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PATHS, "new_path": PATHS}),
)
USERS = itertools.count()


def answer(tool: Any, command: dict[str, Any]) -> str:
    """What a tool answers; errors of the operating system, which Claude sees as they are, by that alone."""
    try:
        text = tool.call({**command, "view_range": command.get("view_range") and [*command["view_range"]]})
    except ToolError as error:
        return f"error: {error}"
    except OSError:
        return "error"
    return re.sub(
        r"^[\d.]+[BKMG]\t(/memories(?:/.*/)?)$", r"\1", text, flags=re.MULTILINE
    )  # sizes of directories differ


def without_empty_directories(root: Path) -> None:
    for folder in sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


@given(commands=st.lists(COMMANDS, min_size=1, max_size=12))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_answers_are_those_of_a_folder(memory, commands):
    ours = MnemicMemoryTool(memory.scoped(user=f"user{next(USERS)}"))
    with TemporaryDirectory() as folder:
        theirs = BetaLocalFilesystemMemoryTool(folder)
        for command in commands:
            expected, given_ = answer(theirs, command), answer(ours, command)
            without_empty_directories(theirs.memory_root)
            if expected == "error":
                assert given_.startswith("error: ")
            elif command["command"] == "view" and "up to 2 levels" in expected:
                assert given_.splitlines()[2:] == expected.splitlines()[2:]  # the first is the size of the directory
            else:
                assert given_ == expected
        for file in filter(Path.is_file, theirs.memory_root.rglob("*")):
            path = f"/memories/{file.relative_to(theirs.memory_root)}"
            assert answer(ours, {"command": "view", "path": path}) == answer(theirs, {"command": "view", "path": path})


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 1536, 2048, 100_000])
def test_sizes_are_written_alike(memory, tmp_path, size):
    ours, theirs = MnemicMemoryTool(memory), BetaLocalFilesystemMemoryTool(str(tmp_path))
    for tool in (ours, theirs):
        tool.call({"command": "create", "path": "/memories/a", "file_text": "x" * size})
    lines = [tool.call({"command": "view", "path": "/memories"}).splitlines()[2] for tool in (ours, theirs)]
    assert lines[0] == lines[1]
