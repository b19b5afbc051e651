"""Records of every released version open, are whole, and hold what they held; exports of earlier ones can be read."""

import gzip
import io
from pathlib import Path

import pytest
from tests.internals import database_of, store_of

import mnemic
from mnemic import Memory, SchemaTooOld

FIXTURES = Path(__file__).parents[1] / "fixtures"
RECORDS = sorted(FIXTURES.glob("record-*.db.gz"))


@pytest.fixture(params=RECORDS, ids=lambda path: path.name.removesuffix(".db.gz"))
def folder(request, tmp_path):
    return unpacked(request.param, tmp_path / "memory")


def unpacked(path, place):
    place.mkdir()
    (place / "mnemic.db").write_bytes(gzip.decompress(path.read_bytes()))
    return place


def schema(memory):
    with database_of(memory).read() as db:
        return db.execute(
            "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall()


def test_there_is_one_of_this_version():
    assert [path for path in RECORDS if mnemic.__version__ in path.name]
    assert all(path.stat().st_size < 100_000 for path in RECORDS)


def test_it_opens_and_holds_what_it_held(folder):
    with Memory(folder, user="ana", embedder="hashing") as memory:
        report = memory.admin.verify()
        assert report.ok, report.findings
        assert {"m0", "m1", "m2", "late"} <= {m.id for m in memory.messages(reach="user")}
        assert memory.get("port").content == "The API runs on port 9090."
        assert [event.content for event in memory.history("port")][:2] == [
            "The API runs on port 8080.",
            "The API runs on port 9090.",
        ]
        assert memory.get("port").metadata == {"deep": [1, {"a": None}]}
        assert memory.preferences["theme"] == "dark"
        assert (memory.get("best").status, memory.get("twin").status, memory.get("jest").status) == (
            "long_term",
            "archived",
            "archived",
        )
        assert [link.reason for link in memory.links.graph("port").links] == ["the same machine"]
        assert memory.search("where does Ana live?")[0].id == "m0"
        (episode,) = memory.episodes(reach="user")
        assert episode.message_ids
        assert memory.scoped(user="bob").messages(reach="user")[0].content == "His own words"
        memory.undo("con")
        memory.restore("jest")
        memory.process()
        assert memory.forget(ids=["m0"], hard=True).clean
        assert memory.admin.verify().ok, memory.admin.verify().findings


def test_it_is_brought_to_the_schema_of_a_new_record(folder, tmp_path):
    with Memory(folder, embedder="hashing") as old, Memory(tmp_path / "new", embedder="hashing") as new:
        assert schema(old) == schema(new), "until the first release: run python -m tests.fixtures.make_record again"


MADE = {
    ("first", "far", "references", 0.5, "of the first"),
    ("second", "far", "references", 0.25, "of the second"),
    ("near", "first", "extends", 1.0, "near the first"),
    ("first", "second", "implements", 1.0, "both are one"),
    ("first", "old", "supersedes", 1.0, "a later word"),
    ("third", "near", "references", 1.0, "of the third"),
}
"""The links that were made in ``moved-links.db.gz``, of schema 10, and not removed since: ``third`` absorbed ``first`` and
``second``, then ``head`` absorbed ``third``. One to a memory that holds again was removed from ``head``."""


@pytest.fixture
def moved(tmp_path):
    with Memory(
        unpacked(FIXTURES / "moved-links.db.gz", tmp_path / "memory"), user="ana", embedder="hashing"
    ) as memory:
        assert memory.admin.verify().ok
        yield memory


def links(memory):
    found = store_of(memory).relations.all_links("ana")
    return {(link.source, link.target, link.type, link.strength, link.reason) for link in found}


def test_links_that_were_moved_are_again_those_of_the_memories_they_were_made_for(moved):
    assert links(moved) == {
        ("head", "far", "references", 0.5, "of the first"),
        ("near", "head", "extends", 1.0, "near the first"),
        ("head", "old", "supersedes", 1.0, "a later word"),
        ("head", "near", "references", 1.0, "of the third"),
    }
    moved.undo("c2")
    moved.undo("c1")
    assert links(moved) == MADE
    assert moved.admin.verify().ok


def test_links_that_were_moved_go_with_the_memory_they_were_made_for(moved):
    assert moved.forget(ids=["first"], hard=True).clean
    assert links(moved) == {
        ("head", "far", "references", 0.25, "of the second"),
        ("head", "near", "references", 1.0, "of the third"),
    }
    moved.undo("c2")
    moved.undo("c1")
    assert links(moved) == {link for link in MADE if "first" not in link[:2]}
    assert moved.admin.verify().ok


def test_a_file_of_the_first_schema_is_refused_unchanged(tmp_path):
    path = tmp_path / "mnemic.db"
    path.write_bytes(gzip.decompress((FIXTURES / "first-schema.db.gz").read_bytes()))
    before = path.read_bytes()
    with pytest.raises(SchemaTooOld, match="mnemic export"):
        Memory(tmp_path, embedder="hashing")
    assert path.read_bytes() == before


def test_an_export_of_the_first_schema_can_be_read(tmp_path):
    """Made by ``make_record.fill``, with two memories more in quarantine, one of them forgotten before."""
    text = gzip.decompress((FIXTURES / "export-first-schema.jsonl.gz").read_bytes()).decode()
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        memory.admin.import_from(io.StringIO(text))
        report = memory.admin.verify()
        assert report.ok, report.findings
        assert {"m0", "m1", "m2", "late"} <= {m.id for m in memory.messages(reach="user")}
        assert memory.get("port").content == "The API runs on port 9090."
        assert memory.history("port")[0].content == "The API runs on port 8080."
        assert memory.get("port").metadata == {"deep": [1, {"a": None}]}
        assert memory.preferences["theme"] == "dark"
        assert [link.reason for link in memory.links.graph("port").links] == ["the same machine"]
        assert memory.get("rui").status == memory.get("page").status == memory.get("jest").status == "archived"
        assert {record.id for record in memory.list(status=["quarantined"])} == {"rui", "page"}
        again = io.StringIO()
        memory.admin.export(again, vectors=True)
        assert again.getvalue().replace('"key":"theme",', "") == text  # a preference has its name as its key since
        assert memory.search("where does Ana live?")[0].id == "m0"


def test_long_texts_of_before_get_passages(folder):
    with Memory(folder, user="ana", embedder="hashing") as memory:
        memory.remember("A long note. " * 100, id="note")
        with database_of(memory).write() as db:
            for table in ("vectors", "vectors_next"):
                db.execute(f"ALTER TABLE {table} DROP COLUMN passages")
            db.pragma("user_version", 11)
    with Memory(folder, user="ana", embedder="hashing") as memory:
        assert memory.stats().pending["embed"] == 1
        memory.admin.flush(process=False)
        assert len(store_of(memory).knowledge.vectors("ana", ["note"])["note"].passages) > 4
        assert memory.admin.verify().ok
