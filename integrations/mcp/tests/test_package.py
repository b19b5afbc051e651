"""The package itself: what importing it costs, and that its README tells the truth."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mnemic
import mnemic_mcp
from mnemic.runtime.config import read_config
from mnemic_mcp.options import PROFILES, parsed

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


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


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 1
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"README block {number}", "exec"), names)


def test_the_configurations_are_json_the_command_understands():
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", README, re.DOTALL)]
    servers = [server for block in blocks for group in block.values() for server in group.values()]
    assert len(servers) == 2
    for server in servers:
        assert server["command"] == "mnemic-mcp"
        assert parsed(server["args"]).persist_dir.name == ".mnemic"


def test_the_readme_and_the_help_name_the_same_tools():
    named = {*re.findall(r"`(\w+)`", README[README.index("## Tools") :])}
    assert {tool for tools in PROFILES.values() for tool in re.findall(r"\w+", tools.partition(";")[0])} <= named


def test_the_page_names_every_option_and_its_settings_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page = (Path(__file__).parents[3] / "docs/start/mcp.md").read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        parsed(["--help"])
    options = {*re.findall(r"--[a-z-]+", capsys.readouterr().out)} - {"--help", "--version"}
    for text in (page, README):
        assert not options - {*re.findall(r"--[a-z-]+", text[: text.index("## Tools")])}
    (settings,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mnemic.toml").write_text(settings, encoding="utf-8")
    assert {*read_config(None, tmp_path).values} == {"llm", "recipe", "processing", "consolidator", "idle", "retention"}
