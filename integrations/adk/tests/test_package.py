"""The package itself: its names, what importing it costs, and the example of its README."""

from __future__ import annotations

from pathlib import Path

from mnemic_testing import PackageSuite


class TestPackage(PackageSuite):
    package, heavy = "adk_mnemic", ("google.adk", "pydantic", "numpy")
    readme = Path(__file__).parents[1] / "README.md"

    def check(self, names):
        kims = names["memory"].scoped(user="kim", project="shop")
        assert "I moved to Lisbon." in [message.content for message in kims.messages(session="monday")]
