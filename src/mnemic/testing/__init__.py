"""Conformance suites that stores and embedders subclass, and fakes for tests of programs that use Mnemic.

The suites are plain classes of pytest tests: subclass one, give the fixture it asks for, and the promises are checked::

    class TestMyStore(StoreSuite):
        @pytest.fixture
        def store(self, tmp_path):
            with closing(MyStore(tmp_path)) as store:
                yield store
"""

from mnemic.testing.embedders import EmbedderSuite
from mnemic.testing.erasing_stores import ErasureSuite
from mnemic.testing.fakes import FailingEmbedder, PreparedEmbedder, memory_record, message
from mnemic.testing.stores import StoreSuite
from mnemic.testing.vector_indexes import VectorIndexSuite

__all__ = [
    "EmbedderSuite",
    "ErasureSuite",
    "FailingEmbedder",
    "PreparedEmbedder",
    "StoreSuite",
    "VectorIndexSuite",
    "memory_record",
    "message",
]
