"""The package itself: its names, what importing it costs, and the example of its README."""

from __future__ import annotations

from pathlib import Path

from mnemic_testing import PackageSuite


class TestPackage(PackageSuite):
    package, heavy = "agent_framework_mnemic", ("agent_framework", "pydantic", "numpy")
    readme = Path(__file__).parents[1] / "README.md"

    def check(self, names):
        assert "I moved to Lisbon." in [message.content for message in names["memory"].messages(session="monday")]
