"""Conformance suites for embedders, vector indexes, adapters and tools of frameworks, and fakes for tests of programs.

The suites are plain classes of pytest tests: subclass one, give the fixture it asks for, and the promises are checked::

    class TestMyEmbedder(EmbedderSuite):
        @pytest.fixture
        def embedder(self):
            return MyEmbedder()
"""

from mnemic.testing.adapters import AdapterConformance, Script
from mnemic.testing.embedders import EmbedderSuite
from mnemic.testing.fakes import FailingEmbedder, PreparedEmbedder, memory_record, message
from mnemic.testing.tools import ToolAnswer, ToolConformance
from mnemic.testing.vector_indexes import VectorIndexSuite

__all__ = [
    "AdapterConformance",
    "EmbedderSuite",
    "FailingEmbedder",
    "PreparedEmbedder",
    "Script",
    "ToolAnswer",
    "ToolConformance",
    "VectorIndexSuite",
    "memory_record",
    "message",
]
