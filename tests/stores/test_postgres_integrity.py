"""``verify``, ``repair`` and ``mnemic doctor`` over PostgreSQL: what is broken is found, and put right where that is safe."""

import json

import pytest
from tests.battery import long
from tests.faults.test_verify import BOB, PLANTED, PORT, SPARE, everything, fill
from tests.internals import database_of, store_of

from mnemic import Memory
from mnemic.cli import main

psycopg = pytest.importorskip("psycopg")

from mnemic.stores.postgres.store import PostgresStore  # noqa: E402

pytestmark = pytest.mark.engine

SQLITE_ONLY = {
    "a number not given yet",  # a sequence gives them
    "a row is gone",  # with all that refers to it
    "another json",  # of messages, which is checked below in the filter columns
}
OWN = {
    "a posting is missing": (
        f"DELETE FROM postings WHERE doc = {PORT} AND term = '8080'", "that does not match the text", True,
    ),
    "a posting too many": (
        f"INSERT INTO postings SELECT user_id, 'zebra', doc, 1 FROM memories WHERE doc = {PORT}", "does not match the text", True,
    ),
    "another count": (f"UPDATE postings SET count = 9 WHERE doc = {PORT}", "that does not match the text", True),
    "no postings at all": (f"DELETE FROM postings WHERE doc = {PORT}", "a record has no full text", True),
    "postings of nothing": (
        f"INSERT INTO postings VALUES(1, 'zebra', {SPARE}, 1)", "full text without a record", True,
    ),
    "postings of another user": (
        f"UPDATE postings SET user_id = {BOB} WHERE doc = {PORT}", "full text filed under another user", True,
    ),
    "no filter entry": (
        f"UPDATE records SET facets = NULL WHERE doc = {PORT}", "filter columns that do not match", True,
    ),
    "a filter entry too many": (
        f"UPDATE records SET facets = facets || '\\x00'::bytea WHERE doc = {PORT}", "filter columns that do not match",
        True,
    ),
    "a short vector": (
        f"DROP INDEX vectors_hnsw; UPDATE vectors SET vector = CAST('[1]' AS halfvec) WHERE doc = {PORT}",
        "another length", True,
    ),
    "a long vector": (
        f"UPDATE vectors SET vector = vector + vector WHERE doc = {PORT}", "an invalid vector", True,
    ),
    "a vector of zeros": (
        f"UPDATE vectors SET vector = vector - vector WHERE doc = {PORT}", "an invalid vector", True,
    ),
    "no index over the vectors": ("DROP INDEX vectors_hnsw", "the vectors have no index", True),
}  # fmt: skip
TAKEN = ("x'", "fulltext", "CAST(x", "next_doc", "zeroblob")  # the words of SQLite
SHARED = {
    name: planted
    for name, planted in PLANTED.items()
    if (planted[2] or long())
    and name not in SQLITE_ONLY
    and not any(word in planted[0] for word in TAKEN)
    and not planted[1].endswith(("refers to rows", "refers to rows that are not there", "CHECK constraint failed"))
}


@pytest.fixture
def memory(postgres_url):
    with Memory(postgres_url, user="ana", session="s", embedder="hashing") as memory:
        fill(memory)
        memory.update("port", tags=["network"], metadata={"level": 1})
        assert memory.admin.verify().ok, memory.admin.verify().findings
        yield memory


def plant(memory, statements):
    with database_of(memory).write() as db:
        db.execute("SET LOCAL session_replication_role = replica")  # references are not looked at
        for sql in statements.split("; "):
            db.execute(sql)


@pytest.mark.parametrize("planted", [*OWN, *SHARED])
def test_what_is_broken_is_found_and_repaired_where_that_is_safe(memory, planted):
    sql, said, safe = (OWN | SHARED)[planted]
    plant(memory, sql)
    found = memory.admin.verify().findings
    assert any(said in finding for finding in found), found
    texts = everything(memory)
    done = store_of(memory).repair()
    left = [finding for finding in memory.admin.verify().findings if said in finding]
    assert everything(memory) == texts, "evidence is never touched"
    if not safe:
        assert left
        return
    assert done
    assert not left
    assert store_of(memory).repair() == ()
    memory.admin.flush(process=False)
    assert memory.admin.verify().ok, memory.admin.verify().findings
    assert memory.search("port 8080", tags=["network"], k=1)[0].id == "port"


def test_an_index_that_postgres_does_not_use_is_made_anew(memory, postgres_server, postgres_url):
    schema = postgres_url.rsplit("schema=", 1)[1]
    with psycopg.connect(postgres_server, autocommit=True) as admin:
        admin.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = CAST(%s AS regclass)",
            (f"{schema}.vectors_hnsw",),
        )
    assert memory.admin.verify().findings == ("the index vectors_hnsw is not valid: rebuild it with REINDEX",)
    assert store_of(memory).repair() == ("the index vectors_hnsw rebuilt",)
    assert memory.admin.verify().ok


class TestDoctor:
    @pytest.fixture
    def doctor(self, capsys, postgres_url, monkeypatch):
        monkeypatch.delenv("MNEMIC_DIR", raising=False)

        def run(*words, url=postgres_url):
            capsys.readouterr()
            code = main(["--dir", url, "--embedder", "hashing", "--user", "ana", "doctor", "--json", *words])
            return code, json.loads(capsys.readouterr().out)

        return run

    def test_nothing_is_made_where_there_is_nothing(self, doctor, postgres_url, postgres_server):
        code, told = doctor()
        assert (code, told["ok"]) == (0, True)
        assert told["memory"].startswith("none yet in postgresql://")
        with psycopg.connect(postgres_server) as db:
            schema = postgres_url.rsplit("schema=", 1)[1]
            assert db.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() == (0,)
        assert not PostgresStore.at(postgres_url)[1]

    @pytest.mark.parametrize("words", [(), ("--deep",), ("--fix",)])
    def test_a_record_that_is_whole(self, doctor, memory, words):
        code, told = doctor(*words)
        assert (code, told["findings"]) == (0, [])
        assert told["checked"]["messages"] == 3
        assert told.get("fixed") == ("nothing to repair" if words == ("--fix",) else None)

    def test_full_text_is_put_right(self, doctor, memory):
        plant(memory, OWN["another count"][0])
        assert doctor()[0] == 0  # only --deep reads every text
        code, told = doctor("--deep")
        assert (code, len(told["findings"])) == (1, 1)
        code, told = doctor("--fix")
        assert (code, told["findings"]) == (0, [])
        assert told["fixed"] == "the full text of 1 record rebuilt"
        assert "pg_dump" in told["backup"]
        assert memory.admin.verify().ok

    def test_a_server_that_is_not_there_is_a_finding_without_its_password(self, doctor):
        code, told = doctor(url="postgresql://ana:s3cret@127.0.0.1:1/db?connect_timeout=2")
        assert code == 1
        assert "cannot be reached" in told["findings"][0]
        assert "s3cret" not in json.dumps(told)
