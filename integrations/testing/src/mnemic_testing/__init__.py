"""Conformance suites for embedders, vector indexes, and the adapters and tools of frameworks.

The suites are plain classes of pytest tests: subclass one, give the fixture it asks for, and the promises are checked::

    class TestMyEmbedder(EmbedderSuite):
        @pytest.fixture
        def embedder(self):
            return MyEmbedder()
"""

import pytest

pytest.register_assert_rewrite(
    *(f"mnemic_testing.{name}" for name in ("adapters", "embedders", "packages", "tools", "vector_indexes"))
)

from mnemic_testing.adapters import AdapterConformance, Script  # noqa: E402 - after what is to be rewritten
from mnemic_testing.embedders import EmbedderSuite  # noqa: E402
from mnemic_testing.packages import PackageSuite  # noqa: E402
from mnemic_testing.tools import ToolAnswer, ToolConformance  # noqa: E402
from mnemic_testing.vector_indexes import VectorIndexSuite  # noqa: E402

__all__ = [
    "AdapterConformance",
    "EmbedderSuite",
    "PackageSuite",
    "Script",
    "ToolAnswer",
    "ToolConformance",
    "VectorIndexSuite",
]
