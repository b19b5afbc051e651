"""``verify`` sees every invariant that is broken, and ``repair`` puts right what can be without guessing."""

import pytest
from tests.internals import database_of, store_of

from mnemic import Memory, Message, SecretPolicy
from mnemic.types import Consolidate, Promotion


def fill(memory):
    """Something of everything that a record holds."""
    memory.add(
        [
            Message(role="user", content="I live in Lisbon.", id="m0"),
            Message(role="user", content="I work as a nurse.", id="m1"),
        ]
    )
    memory.process()
    memory.remember("The API runs on port 8080.", id="port")
    memory.remember("The server stands in room 12.", id="room")
    memory.update("room", content="The server stands in room 13.")
    memory.links.add("port", "room", "references", reason="the same machine")
    for id_ in ("best", "twin"):
        memory.remember(f"A box is red, says the {id_} one", id=id_)
    change = Consolidate(
        id="con",
        promotions=(Promotion(id="best", absorbed=("twin",)),),
        contradictions=(),
        judged=("port",),
    )
    store_of(memory).apply("ana", [change])
    memory.remember("Forgotten", id="gone")
    memory.forget(ids=["gone"])
    memory.scoped(user="bob").add("His own words", id="his")
    assert memory.admin.verify().ok, memory.admin.verify().findings


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", user="ana", session="s", embedder="hashing") as memory:
        fill(memory)
        yield memory


DOC = "(SELECT doc FROM {} WHERE id = '{}')"
PORT, ROOM, M0, M1, HIS = (
    DOC.format(*pair)
    for pair in (
        ("memories", "port"),
        ("memories", "room"),
        ("messages", "m0"),
        ("messages", "m1"),
        ("messages", "his"),
    )
)
BOB = "(SELECT user_id FROM users WHERE name = 'bob')"
SPARE = "99999"
COPY = "doc, user, id, session, project, content, hash, length, metadata, source, trust, created_at, title, started_at, ended_at, status"

# What is done to the record, what verify says of it, and whether it can be repaired.
PLANTED = {
    "no event": (f"DELETE FROM events WHERE doc = {PORT}", "no event", False),
    "a row is gone": ("DELETE FROM records WHERE id = 'port'", "event of a missing record", False),
    "an event of another user": (
        f"UPDATE events SET user_id = {BOB} WHERE doc = {PORT}",
        "event filed under another user",
        False,
    ),
    "erased and there": (
        f"INSERT INTO events(user_id, at, operation, doc) VALUES(1, 0, 'erase', {PORT})",
        "an erased record still exists",
        False,
    ),
    "archived without a word": (
        "UPDATE records SET status = 'archived' WHERE id = 'port'",
        "neither forgotten nor absorbed",
        False,
    ),
    "live and forgotten": ("UPDATE records SET status = 'short_term' WHERE id = 'gone'", "a live record", False),
    "no representative": (
        f"DELETE FROM lineage WHERE parent = {DOC.format('memories', 'twin')}",
        "without its representative",
        False,
    ),
    "a version is missing": (f"DELETE FROM versions WHERE doc = {ROOM}", "versions with a gap", False),
    "a version too many": (
        f"INSERT INTO versions SELECT user_id, {PORT}, 7, 0, row FROM versions LIMIT 1",
        "versions with a gap",
        False,
    ),
    "a version of nothing": (
        f"INSERT INTO versions SELECT user_id, {SPARE}, 1, 0, row FROM versions LIMIT 1",
        "versions refers to rows that are not there",
        False,
    ),
    "no vector": (f"DELETE FROM vectors WHERE doc = {PORT}", "neither a vector", True),
    "a vector of nothing": (
        f"INSERT INTO vectors SELECT user_id, {SPARE}, vector, passages FROM vectors LIMIT 1",
        "vectors refers to rows that are not there",
        True,
    ),
    "a vector of another user": (
        f"UPDATE vectors SET user_id = {BOB} WHERE doc = {PORT}",
        "vectors refers to rows that are not there",
        True,
    ),
    "a short vector": (f"UPDATE vectors SET vector = x'0000' WHERE doc = {PORT}", "another length", True),
    "a vector that is no number": (
        f"UPDATE vectors SET vector = CAST(x'00FE' || substr(vector, 3) AS BLOB) WHERE doc = {PORT}",
        "an invalid vector",
        True,
    ),
    "a vector of zeros": (
        f"UPDATE vectors SET vector = zeroblob(length(vector)) WHERE doc = {PORT}",
        "an invalid vector",
        True,
    ),
    "no model": ("DELETE FROM header WHERE key = 'model'", "no model in the header", True),
    "no dimension": ("DELETE FROM header WHERE key = 'dimension'", "a model without a dimension", True),
    "another dimension": (
        "UPDATE header SET value = 8 WHERE key = 'dimension'",
        "another length than the header says",
        True,
    ),
    "no next number": ("DELETE FROM header WHERE key = 'next_doc'", "the header has no next_doc", True),
    "no fence": ("DELETE FROM header WHERE key = 'fence'", "the header has no fence", False),
    "traits out of all bounds": (
        "UPDATE records SET traits = 1 << 40 WHERE id = 'm0'",
        "CHECK constraint failed",
        False,
    ),
    "work on nothing": (
        f"INSERT INTO pending(task, doc, user_id, since) VALUES('embed', {SPARE}, 1, 0)",
        "pending refers to rows that are not there",
        True,
    ),
    "uses of nothing": (f"INSERT INTO access VALUES(1, {SPARE}, 1, 1)", "access refers to rows", True),
    "a judgement on nothing": (f"INSERT INTO judged VALUES(1, {SPARE}, 1)", "judged refers to rows", True),
    "lineage to nothing": (f"INSERT INTO lineage VALUES(1, {PORT}, {SPARE})", "lineage refers to rows", False),
    "a cycle": (f"INSERT INTO lineage VALUES(1, {PORT}, {ROOM}), (1, {ROOM}, {PORT})", "a cycle in the lineage", False),
    "lineage between users": (f"INSERT INTO lineage VALUES(1, {PORT}, {HIS})", "lineage refers to rows", False),
    "trust that rose": ("UPDATE records SET trust = 0.1 WHERE id = 'm0'", "more trusted", False),
    "trust of a representative": ("UPDATE records SET trust = 0.1 WHERE id = 'twin'", "more trusted", False),
    "an episode of another project": (
        "UPDATE records SET project = 'p' WHERE kind = 'episode'",
        "episode of another project",
        False,
    ),
    "an episode of another session": (
        "UPDATE records SET session = 'other' WHERE kind = 'episode'",
        "another conversation",
        False,
    ),
    "a representative elsewhere": ("UPDATE records SET project = 'p' WHERE id = 'best'", "another level", False),
    "an episode is gone": (f"UPDATE records SET episode = {SPARE} WHERE id = 'm0'", "records refers to rows", True),
    "a message it does not tell of": (
        f"DELETE FROM lineage WHERE parent = {M0} AND child IN (SELECT doc FROM episodes)",
        "does not contain it",
        False,
    ),
    "an empty episode": (
        "DELETE FROM lineage WHERE child IN (SELECT doc FROM episodes)",
        "an episode without messages",
        False,
    ),
    "replaced and believed": (
        f"INSERT INTO links(user_id, source, target, type, strength, created_at) VALUES(1, {PORT}, {ROOM}, 'supersedes', 1, 0)",
        "has not expired",
        False,
    ),
    "a link to nothing": (f"UPDATE links SET target = {SPARE}", "links refers to rows", False),
    "a link of another user": (f"UPDATE links SET user_id = {BOB}", "links refers to rows", False),
    "a link to itself": ("UPDATE links SET target = source", "CHECK constraint failed", False),
    "a strong link": ("UPDATE links SET strength = 1.5", "CHECK constraint failed", False),
    "importance": ("UPDATE records SET importance = 2 WHERE id = 'port'", "CHECK constraint failed", False),
    "a strong feeling": ("UPDATE records SET arousal = -1.5 WHERE id = 'm0'", "CHECK constraint failed", False),
    "claimed": ("UPDATE records SET status = 'consolidating' WHERE id = 'port'", "being consolidated", True),
    "no full text": (f"DELETE FROM fulltext WHERE rowid = {PORT}", "no full text", True),
    "full text of nothing": (f"INSERT INTO fulltext(rowid, terms) VALUES({SPARE}, '1:x')", "full text without", True),
    "full text under another user": (
        f"DELETE FROM fulltext WHERE rowid = {PORT}; INSERT INTO fulltext(rowid, terms) VALUES({PORT}, '2:the 2:api')",
        "does not match the text",
        True,
    ),
    "a damaged index": ("UPDATE fulltext_data SET block = zeroblob(length(block)) WHERE id > 10", "damaged", True),
    "a number not given yet": ("UPDATE header SET value = 3 WHERE key = 'next_doc'", "above the counter", False),
    "another text": (
        "UPDATE records SET content = 'The API runs on port 9090.' WHERE id = 'port'",
        "does not match its hash",
        False,
    ),
    "another story": ("UPDATE records SET content = 'x' WHERE kind = 'episode'", "does not match its hash", False),
    "no json": ("UPDATE records SET tags = 'x' WHERE id = 'port'", "tags of a record", False),
    "another json": ("UPDATE records SET metadata = '[]' WHERE id = 'm0'", "metadata of a record", False),
    "an unreadable event": ("UPDATE events SET detail = '{'", "detail of an event", False),
    "an unreadable version": ("UPDATE versions SET row = '['", "earlier version", False),
    "a promotion of nothing": (f"UPDATE promotions SET doc = {SPARE}", "promotions refers to rows", False),
}


def plant(memory, sql):
    with database_of(memory).exclusive() as db:
        db.pragma("foreign_keys", 0)
        db.pragma("ignore_check_constraints", 1)
        db.execute(sql)
        db.pragma("ignore_check_constraints", 0)
        db.pragma("foreign_keys", 1)


@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_broken_is_found_and_repaired_where_that_is_safe(memory, planted):
    sql, said, safe = PLANTED[planted]
    plant(memory, sql)
    found = memory.admin.verify().findings
    assert any(said in finding for finding in found), found
    texts = everything(memory)
    done = store_of(memory).repair()
    left = [finding for finding in memory.admin.verify().findings if said in finding]
    if safe:
        assert done
        assert not left
        assert store_of(memory).repair() == ()
    else:
        assert left
    assert everything(memory) == texts, "evidence is never touched"
    memory.admin.flush(process=False)
    if safe:
        assert memory.admin.verify().ok, memory.admin.verify().findings


def everything(memory):
    """All that people said and were told, and how it hangs together."""
    with database_of(memory).read() as db, db:
        tables = (
            "SELECT id, content FROM messages",
            "SELECT id, content FROM memories",
            "SELECT id, title, content FROM episodes",
            "SELECT * FROM lineage",
            "SELECT * FROM links",
            "SELECT * FROM versions",
            "SELECT sequence, operation, detail FROM events",
        )
        return [sorted(map(repr, db.execute(sql))) for sql in tables]


def test_a_consolidation_under_way_is_no_finding(memory):
    plant(memory, "UPDATE records SET status = 'consolidating' WHERE id = 'port'")
    with store_of(memory).lifecycle.exclusive() as alone:
        assert alone
        assert memory.admin.verify().ok
        assert store_of(memory).repair() == ()
    assert not memory.admin.verify().ok


def test_a_new_record_is_whole():
    with Memory(":memory:", embedder="hashing") as memory:
        report = memory.admin.verify()
        assert report.ok
        assert report.checks["invariants"] > 20
        assert store_of(memory).repair() == ()


def test_what_others_wrote_meanwhile_is_no_damage(tmp_path):
    """A connection that has checked the full text once must not take what another wrote since for damage."""
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        for turn in range(8):
            memory.add(
                [Message(role="user", content=f"turn {n} of {turn} about gardens", id=f"{turn}-{n}") for n in range(40)]
            )
            assert memory.admin.verify().ok, memory.admin.verify().findings


SECRETS = {
    "github-token": "ghp_" + "a1B2c3D4e5" * 4,
    "password": "hunter2-and-more",
}


def told_secretly(folder):
    """Secrets in each place that a record has for text, put there while the policy allowed it."""
    token = SECRETS["github-token"]
    with Memory(folder, user="ana", session=f"talk {token}", embedder="hashing", secrets="allow") as memory:
        memory.add([Message(role="user", content=f"My password is {SECRETS['password']}", id="said", name="Ana")])
        memory.add(
            [Message(role="user", content="Hello", id="meta", metadata={"deep": [{"password": SECRETS["password"]}]})]
        )
    with Memory(folder, user="bob", embedder="hashing", secrets="allow") as memory:
        memory.remember("The key is in the vault", id="tag", tags=[token])
        memory.remember(f"It was {token} once", id="version")
        memory.update("version", content="It is another now")
        memory.remember("One that stays", id="link")
        memory.links.add("link", "tag", "references", reason=f"see {token}")
        memory.remember("One that went", id="event")
        memory.forget(ids=["event"], reason=f"it said {token}")
        memory.remember("One without", id="clean")


def test_secrets_that_stand_in_the_record_are_found_and_never_told(tmp_path):
    told_secretly(tmp_path)
    with Memory(tmp_path, user="carol", embedder="hashing") as memory:
        assert memory.admin.verify(deep=False).ok
        report = memory.admin.verify(deep=True)
        token, password = sorted(report.findings)
        assert not report.ok
        assert "a secret (github-token) is stored in said, meta, tag, version, link, event," in token
        assert "a secret (password) is stored in said, meta," in password
        assert not any(secret in finding for finding in report.findings for secret in SECRETS.values())
        assert "hard=True" in token
        for user, ids in (("ana", ["said", "meta"]), ("bob", ["tag", "version", "link", "event"])):
            memory.scoped(user=user).forget(ids=ids, hard=True)
        assert memory.admin.verify(deep=True).ok, memory.admin.verify(deep=True).findings
        assert memory.scoped(user="bob").get("clean").content == "One without"


def test_what_the_policy_allows_is_no_finding(tmp_path):
    told_secretly(tmp_path)
    some = SecretPolicy(kinds=["github-token"])
    with Memory(tmp_path, embedder="hashing", secrets="allow") as memory:
        assert memory.admin.verify(deep=True).ok
    with Memory(tmp_path, embedder="hashing", secrets=some) as memory:
        assert [f.split(" is stored")[0] for f in memory.admin.verify(deep=True).findings] == [
            "a secret (github-token)"
        ]


def test_an_id_that_is_a_secret_is_not_told_either_and_many_are_counted(tmp_path):
    with Memory(tmp_path, embedder="hashing", secrets="allow") as memory:
        memory.add([Message(role="user", content="x", id=SECRETS["github-token"], name=SECRETS["github-token"])])
        memory.add([Message(role="user", content=f"{n} {SECRETS['github-token']}", id=f"m{n}") for n in range(700)])
    with Memory(tmp_path, embedder="hashing") as memory:
        (finding,) = memory.admin.verify(deep=True).findings
        assert SECRETS["github-token"] not in finding
        assert "is stored in [redacted: github-token] #" in finding
        assert "m18 and 681 more," in finding


def test_what_was_redacted_is_no_finding(tmp_path):
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        memory.add(
            [Message(role="user", content=f"My password is {SECRETS['password']}", session=SECRETS["github-token"])]
        )
        memory.add([Message(role="user", content="Hello", metadata={"password": SECRETS["password"]})])
        memory.process()
        assert memory.admin.verify(deep=True).ok
