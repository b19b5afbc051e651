"""Fakes for tests of programs: embedders that fail or have chosen vectors, records, and scripted language models.

The conformance suites for embedders, vector indexes, adapters and tools are in the distribution ``mnemic-testing``.
"""

from mnemic.testing.fakes import FailingEmbedder, PreparedEmbedder, memory_record, message

__all__ = ["FailingEmbedder", "PreparedEmbedder", "memory_record", "message"]
