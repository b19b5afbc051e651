"""The package itself: its names, what importing it costs, and the example of its README."""

from __future__ import annotations

from pathlib import Path

from mnemic_testing import PackageSuite


class TestPackage(PackageSuite):
    package, heavy = "anthropic_memory_mnemic", ("anthropic", "pydantic", "numpy")
    readme = Path(__file__).parents[1] / "README.md"

    def check(self, names):
        found = names["memory"].search("Where did Kim move?")
        assert [hit.text for hit in found] == ["/memories/home.md\nKim moved to Lisbon."]
