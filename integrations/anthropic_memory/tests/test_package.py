"""The package itself: what importing it costs, and that its README tells the truth."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import anthropic_memory_mnemic

README = Path(__file__).parents[1] / "README.md"


def test_names_are_sorted_and_there():
    assert anthropic_memory_mnemic.__all__ == sorted(anthropic_memory_mnemic.__all__)
    assert all(hasattr(anthropic_memory_mnemic, name) for name in anthropic_memory_mnemic.__all__)
    assert {*anthropic_memory_mnemic.__all__} <= {*dir(anthropic_memory_mnemic)}
    with pytest.raises(AttributeError, match="MnemicNothing"):
        _ = anthropic_memory_mnemic.MnemicNothing


def test_importing_loads_nothing_heavy():
    code = "import sys, anthropic_memory_mnemic; print([m for m in ('anthropic', 'pydantic', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    offline = block.replace('"./memory", ', '"./memory", embedder="hashing", ')
    assert offline != block
    names: dict[str, Any] = {}
    exec(compile(offline, "README.md", "exec"), names)
    found = names["memory"].search("Where did Kim move?")
    assert [hit.text for hit in found] == ["/memories/home.md\nKim moved to Lisbon."]
    names["memory"].close()
