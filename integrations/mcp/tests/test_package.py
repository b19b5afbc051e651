"""The package itself: what importing it costs, and that its README and its page tell the truth."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mnemic
import mnemic_mcp
from mnemic.runtime.config import read_config
from mnemic_mcp.options import PROFILES, parsed

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PAGE = (Path(__file__).parents[3] / "docs" / "start" / "mcp.md").read_text(encoding="utf-8")


def test_names_are_sorted_and_there():
    assert mnemic_mcp.__all__ == sorted(mnemic_mcp.__all__)
    assert all(hasattr(mnemic_mcp, name) for name in mnemic_mcp.__all__)
    assert {*mnemic_mcp.__all__} <= {*dir(mnemic_mcp)}
    with pytest.raises(AttributeError, match="nothing"):
        _ = mnemic_mcp.nothing


def test_only_the_standard_library_is_loaded_before_stdout_is_protected():
    code = (
        "import sys, mnemic_mcp.__main__; print({m.partition('.')[0] for m in sys.modules} - sys.stdlib_module_names)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", PATHS + code], capture_output=True, text=True, check=True)
    assert {*re.findall(r"\w+", done.stdout)} <= {"__main__", "mnemic", "mnemic_mcp"}


PATHS = f"import sys; sys.path += {[str(Path(package.__file__).parents[1]) for package in (mnemic, mnemic_mcp)]!r}\n"


def test_the_configurations_start_the_command_with_options_it_understands():
    blocks = [
        json.loads(block) for text in (README, PAGE) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    ]
    servers = [one for block in blocks for key in ("mcpServers", "servers") for one in block.get(key, {}).values()]
    started = [[server["command"], *server["args"]] for server in servers if "command" in server]
    assert len(started) >= 3
    for words in started:
        assert parsed(words[words.index("mnemic-mcp") + 1 :]).persist_dir.name == ".mnemic"


def test_the_readme_and_the_page_name_the_tools():
    tools = {name: {*re.findall(r"\w+", listed.partition(";")[0])} for name, listed in PROFILES.items()}
    assert tools["default"] <= {*re.findall(r"`(\w+)`", README)}
    assert set().union(*tools.values()) <= {*re.findall(r"`(\w+)`", PAGE)}


def test_the_page_names_every_option_and_its_settings_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        parsed(["--help"])
    options = {*re.findall(r"--[a-z-]+", capsys.readouterr().out)} - {"--help", "--version"}
    (table,) = re.findall(r"^## Options$(.*?)^##", PAGE, re.MULTILINE | re.DOTALL)
    assert not options - {*re.findall(r"--[a-z-]+", table)}
    (settings,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "mnemic.toml").write_text(settings, encoding="utf-8")
    assert {*read_config(None, tmp_path).values} == {"llm", "recipe", "processing", "consolidator", "idle", "retention"}
