"""The package itself: what importing it costs, and that its README tells the truth."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agent_framework_mnemic

README = Path(__file__).parents[1] / "README.md"


def test_names_are_sorted_and_there():
    assert agent_framework_mnemic.__all__ == sorted(agent_framework_mnemic.__all__)
    assert all(hasattr(agent_framework_mnemic, name) for name in agent_framework_mnemic.__all__)
    assert {*agent_framework_mnemic.__all__} <= {*dir(agent_framework_mnemic)}
    with pytest.raises(AttributeError, match="MnemicNothing"):
        _ = agent_framework_mnemic.MnemicNothing


def test_importing_loads_nothing_heavy():
    code = "import sys, agent_framework_mnemic; print([m for m in ('agent_framework', 'pydantic', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = blocks
    offline = block.replace('"./memory", ', '"./memory", embedder="hashing", ')
    assert offline != block
    names: dict[str, Any] = {}
    exec(compile(offline, "README.md", "exec"), names)
    assert "I moved to Lisbon." in [message.content for message in names["memory"].messages(session="monday")]
    names["memory"].close()
