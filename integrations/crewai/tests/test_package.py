"""The package itself: its names, what importing it costs, and the example of its README."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic_testing import PackageSuite


class TestPackage(PackageSuite):
    package, heavy = "crewai_mnemic", ("crewai", "pydantic", "numpy")
    readme = Path(__file__).parents[1] / "README.md"

    @pytest.fixture
    def given(self, scripted, agent_of):
        return {"agent": agent_of(scripted("To Lisbon."))}

    def offline(self, block):
        started = block.replace("pass  #", "agent.kickoff('Where did Kim move?')  #")
        assert started != block
        return super().offline(started)

    def check(self, names):
        assert "Kim moved to Lisbon." in names["agent"].llm.asked()
        assert len(names["tools"]) == 4
