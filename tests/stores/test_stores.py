"""The conformance suite over every store."""

from contextlib import closing

import pytest
from tests.stores.suite import ErasureSuite, StoreSuite

from mnemic.stores import InMemoryStore, SqliteStore


class TestSqlite(StoreSuite, ErasureSuite):
    @pytest.fixture
    def store(self, tmp_path):
        with closing(SqliteStore(tmp_path / "memory")) as store:
            yield store


@pytest.mark.encrypted
class TestEncrypted(StoreSuite, ErasureSuite):
    @pytest.fixture
    def store(self, tmp_path):
        with closing(SqliteStore(tmp_path / "memory", key=bytes(range(32)))) as store:
            yield store


class TestInMemory(StoreSuite, ErasureSuite):
    @pytest.fixture
    def store(self):
        with closing(InMemoryStore()) as store:
            yield store
