"""The plugin for Claude Code says what the commands understand and what the pages say."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import mnemic
from mnemic.cli import main
from mnemic.cli.hooks import MOMENTS
from mnemic.cli.parser import make_parser
from mnemic_mcp.options import parsed

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "integrations" / "mcp" / "plugin"


def read(name):
    return json.loads((PLUGIN / name).read_text(encoding="utf-8"))


def test_the_marketplace_names_the_plugin_where_it_is():
    (listed,) = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))["plugins"]
    assert (ROOT / listed["source"]).resolve() == PLUGIN
    made = read(".claude-plugin/plugin.json")
    assert (made["name"], made["version"]) == (listed["name"], mnemic.__version__)
    assert len(made["description"]) < 200


def test_its_server_and_its_hooks_are_commands_that_there_are():
    (server,) = read(".mcp.json")["mcpServers"].values()
    assert server["command"] == "mnemic-mcp"
    assert parsed(server["args"])
    commands = [
        hook["command"]
        for group in read("hooks/hooks.json")["hooks"].values()
        for one in group
        for hook in one["hooks"]
    ]
    assert len(commands) == 3
    for command in commands:
        program, *words = command.split()
        assert program == "mnemic"
        assert make_parser().parse_args(words).moment in MOMENTS


def test_the_page_shows_the_same_hooks_and_the_skill_the_same_instructions(capsys):
    page = (ROOT / "docs" / "start" / "mcp.md").read_text(encoding="utf-8")
    shown = [
        json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL) if '"SessionStart"' in block
    ]
    assert [block["hooks"] for block in shown] == [read("hooks/hooks.json")["hooks"]]
    skill = (PLUGIN / "skills" / "memory" / "SKILL.md").read_text(encoding="utf-8")
    head, _, text = skill.removeprefix("---\n").partition("\n---\n\n")
    assert [line.partition(":")[0] for line in head.splitlines()] == ["name", "description"]
    assert main(["hook", "instructions"]) == 0
    assert text == capsys.readouterr().out


def test_the_entry_of_the_registry_names_the_package_and_its_options():
    entry = json.loads((ROOT / "integrations" / "mcp" / "server.json").read_text(encoding="utf-8"))
    (package,) = entry["packages"]
    assert {entry["version"], package["version"]} == {mnemic.__version__}
    assert package["identifier"] == "mnemic-mcp"
    assert len(entry["description"]) <= 100
    assert (
        parsed([word for one in package["packageArguments"] for word in (one["name"], one["default"])]).user
        == "default"
    )
    page = (ROOT / "integrations" / "mcp" / "README.md").read_text(encoding="utf-8")
    assert f"<!-- mcp-name: {entry['name']} -->" in page


def test_the_desktop_bundle_starts_the_server(tmp_path):
    folder = ROOT / "integrations" / "mcp" / "bundle"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {manifest["version"], project["version"]} == {mnemic.__version__}
    assert project["dependencies"] == [f"mnemic-mcp[minilm]=={mnemic.__version__}"]
    started = manifest["server"]["mcp_config"]
    entry = started["args"].index(manifest["server"]["entry_point"])
    words = [
        sys.executable,
        folder / manifest["server"]["entry_point"],
        *started["args"][entry + 1 :],
        "--dir",
        tmp_path,
    ]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    hello["params"] = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    done = subprocess.run(words, input=json.dumps(hello) + "\n", capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "mnemic"
