"""The package itself: what importing it costs, and that its README tells the truth."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import crewai_mnemic

README = Path(__file__).parents[1] / "README.md"


def test_names_are_sorted_and_there():
    assert crewai_mnemic.__all__ == sorted(crewai_mnemic.__all__)
    assert all(hasattr(crewai_mnemic, name) for name in crewai_mnemic.__all__)
    assert {*crewai_mnemic.__all__} <= {*dir(crewai_mnemic)}
    with pytest.raises(AttributeError, match="MnemicNothing"):
        _ = crewai_mnemic.MnemicNothing


def test_importing_loads_nothing_heavy():
    code = "import sys, crewai_mnemic; print([m for m in ('crewai', 'pydantic', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripted, agent_of):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    offline = block.replace('"./memory", ', '"./memory", embedder="hashing", ')
    started = offline.replace("pass  #", "agent.kickoff('Where did Kim move?')  #")
    assert len({block, offline, started}) == 3
    model = scripted("To Lisbon.")
    names: dict[str, Any] = {"agent": agent_of(model)}
    exec(compile(started, "README.md", "exec"), names)
    assert "Kim moved to Lisbon." in model.asked()
    assert len(names["tools"]) == 4
    names["memory"].close()
