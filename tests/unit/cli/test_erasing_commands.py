"""forget --hard, backup, restore-backup, doctor --fix."""

import shutil

import apsw
import pytest

from mnemic import Memory


@pytest.fixture
def known(mnemic, folder):
    """The command on a memory of a message and two statements."""
    with Memory(folder, embedder="hashing") as memory:
        memory.add("I live in Lisbon.", id="m1")
        memory.remember(
            "Prefers morning meetings", id="p1", category="preference", tags=["schedule"], source_ids=["m1"]
        )
        memory.remember("The API runs on port 8080.", id="a1")
    return mnemic


def test_hard_by_id_takes_what_was_made_from_it(known):
    run = known("forget", "--hard", "--id", "m1", "--id", "nobody")
    assert run.code == 0
    assert "erased     [m1]" in run.out
    assert "erased     [p1]" in run.out
    assert "not there  [nobody]" in run.out
    assert known("show", "m1").code == 2
    assert known("show", "a1").code == 0
    assert known("forget", "--hard", "--id", "m1").code == 1


def test_hard_by_description_and_as_json(known):
    run = known("forget", "--hard", "my schedule preferences", "--json")
    assert run.json["erasure"]["ids"] == ["m1", "p1"], "nothing else was made of the message"
    assert run.json["erasure"]["purge"]["pending"] == ""
    assert run.json["clean"]
    assert known("show", "a1").code == 0


def test_hard_by_description_takes_few(known, folder):
    with Memory(folder, embedder="hashing") as memory:
        for day in range(6):
            memory.remember(f"The tide table of day {day} is on the fridge.", id=f"t{day}")
    run = known("forget", "--hard", "the tide table")
    assert (run.code, "6 records" in run.err) == (2, True)
    assert known("forget", "--hard", "--dry-run", "the tide table").out.count("would be forgotten") == 6
    assert known("show", "t0").code == 0


def test_everything_wants_to_be_meant(known):
    for words in (
        ("--hard", "--everything"),
        ("--everything", "--yes"),
        ("--hard", "--everything", "--yes", "--id", "m1"),
    ):
        assert known("forget", *words).code == 2
    assert known("show", "m1").code == 0
    assert known("forget", "--hard", "--everything", "--yes").code == 0
    assert known("list").code == 1


def test_what_is_left_of_everything_is_told(known, folder):
    known("export", folder / "ana.jsonl")
    run = known("forget", "--hard", "--everything", "--yes", "--json")
    assert (run.code, run.json["clean"]) == (1, False)
    assert run.json["erasure"]["purge"]["found"] > 0
    assert "may still be on disk" in run.err
    assert "ana.jsonl" in run.err
    again = known("forget", "--hard", "--id", "m1")
    assert again.code == 1
    assert "ana.jsonl" in again.err
    (folder / "ana.jsonl").unlink()
    known("add", "I live in Porto.", "--id", "m2")
    assert known("forget", "--hard", "--id", "m2").code == 0


def test_backup_and_back(known, tmp_path, folder):
    run = known("backup", tmp_path / "copy")
    assert run.code == 0
    assert "and verified: messages 1, episodes 0, memories 2, " in run.out
    assert known("backup", tmp_path / "copy").code == 2
    assert known("restore-backup", tmp_path / "copy").code == 2, "there is a memory already"
    shutil.rmtree(folder)
    assert known("restore-backup", tmp_path / "nothing").code == 2
    assert not folder.exists()
    assert known("restore-backup", tmp_path / "copy", "--json").json["ok"]
    assert known("show", "p1").code == 0


def test_doctor_mends_after_a_backup(known, folder, tmp_path):
    db = apsw.Connection(str(folder / "mnemic.db"))
    db.execute("DELETE FROM fulltext WHERE rowid = 1; INSERT INTO access VALUES(1, 77, 1, 1)")
    db.close()
    assert known("doctor", "--deep").code == 1
    run = known("doctor", "--fix", "--json")
    assert run.code == 0
    assert "full text of 3 records rebuilt" in run.json["fixed"]
    (beside,) = (path for path in tmp_path.iterdir() if "before-fix" in path.name)
    assert run.json["backup"] == str(beside)
    assert known("search", "Lisbon").code == 0
    assert "nothing to repair" in known("doctor", "--fix").out


def test_doctor_leaves_a_damaged_file_alone(known, folder, tmp_path):
    path = folder / "mnemic.db"
    data = bytearray(path.read_bytes())
    data[4096 * 6 : 4096 * 6 + 2000] = bytes(2000)
    path.write_bytes(data)
    run = known("doctor", "--fix")
    assert run.code in (1, 2)
    assert path.read_bytes() == data
    assert not [path for path in tmp_path.iterdir() if "before-fix" in path.name]
