"""A disk that is full, fails or goes away, and folders that may not be written: an error of ours, nothing half done, and on."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.internals import database_of, store_of

from mnemic import (
    ConfigurationError,
    InvalidInput,
    Memory,
    Message,
    MnemicError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from mnemic.services.processes import FileLock
from mnemic.transfer import records

from .failpoints import answer_of, chosen, files

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
LONG = bool(os.environ.get("MNEMIC_BATTERY"))
POINTS = 10_000 if LONG else 4


def opened(folder):
    return Memory(folder, user="ana", session="s", embedder="hashing")


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder that is filled once."""
    folder = tmp_path_factory.mktemp("filled") / "memory"
    with opened(folder) as memory:
        memory.add([Message(role="user", content=f"turn {n} about gardens and water", id=f"m{n}") for n in range(50)])
        memory.process()
        memory.remember("The garden needs water", id="r")
    return folder


@pytest.fixture
def folder(tmp_path, filled):
    """A copy of it."""
    return Path(shutil.copytree(filled, tmp_path / "memory"))


def store(memory, turns=20):
    memory.add([Message(role="user", content=f"new turn {n} " + "word " * 50, id=f"n{n}") for n in range(turns)])
    memory.remember("The cellar is dry", id="new")


def process(memory):
    store(memory, turns=5)
    memory.process()


def erase(memory):
    erasure = memory.forget(ids=["m3", "r"], hard=True)
    if not erasure.clean:
        raise StoreFull("not all of it is gone yet")


WORK = {"store": store, "erase": erase, "process": process}


def worked(folder, name, at, mode):
    """Do work while the n-th write to a file fails; how many writes there were, whether one failed, and what was said."""
    with files(at, mode) as steps:
        said = ""
        try:
            with opened(folder) as memory:
                WORK[name](memory)
        except (MnemicError, MemoryError) as error:
            said = type(error).__name__
        return f"{steps.count} {int(steps.landed)} {said}"


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("mode", ["full", "exception", "crash"])
def test_writes_to_files_fail_one_after_the_other(tmp_path, folder, name, mode):
    """Statements are not what a disk fails at: each write, truncation and sync fails once, within checkpoints and VACUUM too."""
    shutil.copytree(folder, tmp_path / "whole")
    total = int(answer_of(lambda: worked(tmp_path / "whole", name, 0, mode)).split()[0])
    assert total > 10
    landed, typed = 0, 0
    for at in chosen(total, POINTS):
        place = tmp_path / f"{at}"
        shutil.copytree(folder, place)
        said = answer_of(lambda place=place, at=at: worked(place, name, at, mode))
        if mode == "crash":
            assert said == "ended with -9" or said.split()[1] == "0"
            landed += said == "ended with -9"
        else:
            landed += said.split()[1] == "1"
            typed += len(said.split()) > 2
        with opened(place) as memory:
            report = memory.admin.verify()
            assert report.ok, (at, said, report.findings)
            assert {m.id for m in memory.messages()} >= {f"m{n}" for n in range(50)} - {"m3"}
            WORK[name](memory)
            assert memory.admin.verify().ok
            assert not store_of(memory).erasure.unfinished()
        shutil.rmtree(place)
    assert landed >= 0.8 * len(chosen(total, POINTS))
    assert mode == "crash" or typed


def test_no_room_for_a_backup(tmp_path, folder):
    def work():
        with opened(folder) as memory, files(3, "full") as steps:
            try:
                memory.admin.backup(tmp_path / "copy")
            except StoreError as error:
                return f"{type(error).__name__} {steps.landed} {sorted(path.name for path in tmp_path.iterdir())}"
        return "stored"

    assert answer_of(work) == "StoreFull True ['memory']"


def test_a_backup_of_a_memory_in_use(tmp_path, folder):
    seen = []
    with opened(folder) as memory, opened(folder) as other:
        other.add("before", id="before")
        report = memory.admin.backup(
            tmp_path / "deep" / "copy", progress=lambda done, total: seen.append((done, total))
        )
        other.add("after", id="after")
        assert report.ok
        assert report.checks["messages"] == 51
        held = memory.list()
    assert seen[-1][0] == seen[-1][1] > 0
    copy = tmp_path / "deep" / "copy"
    assert sorted(path.name for path in copy.iterdir()) == [".gitignore", "mnemic.db"]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    assert stat.S_IMODE((copy / "mnemic.db").stat().st_mode) == 0o600
    with opened(copy) as restored:
        assert "before" in {m.id for m in restored.messages()}
        assert "after" not in {m.id for m in restored.messages()}
        assert restored.list() == held
        assert restored.search("gardens and water")


@pytest.mark.parametrize("at", ["pages", "verifying"])
def test_a_copy_that_was_killed_is_no_memory(tmp_path, folder, at, monkeypatch):
    """It would open as an empty record, or as one that was never verified."""

    def work():
        def killed(*_):
            os._exit(9)

        monkeypatch.setattr("mnemic.stores.sqlite.store._Copy.verify", killed)
        with opened(folder) as memory:
            memory.admin.backup(tmp_path / "copy", progress=killed if at == "pages" else None)

    answer_of(work)
    (left,) = tmp_path.glob("copy.*.part")
    before = {path.name: path.read_bytes() for path in left.iterdir()}
    for refused in (lambda: opened(left), lambda: records.restore_backup(left, tmp_path / "new")):
        with pytest.raises((StoreUnavailable, InvalidInput), match=r"unfinished copy|no backup"):
            refused()
    with pytest.raises(StoreUnavailable, match="unfinished copy"):
        opened(left)
    assert {path.name: path.read_bytes() for path in left.iterdir()} == before
    with opened(folder) as memory:
        assert memory.admin.backup(tmp_path / "copy").ok
    assert not left.exists()
    with opened(tmp_path / "copy") as copy:
        assert len(copy.messages(limit=None)) == 50


def test_what_killed_copies_left_goes_with_the_next(tmp_path, folder):
    """Each holds a record, whole or in part; what somebody is still writing stays."""
    for name in ("copy.0a1b2c3d.part", "copy.4e5f6a7b.part", "other.0a1b2c3d.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mnemic.db").write_text("a letter")
    busy = FileLock(tmp_path / "copy.4e5f6a7b.part" / "copying.lock")
    assert busy.acquire()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for name in (f"out.jsonl.{gone.pid}.part", f"out.jsonl.{os.getpid() + 1}x.part", f"out.jsonl.{os.getppid()}.part"):
        (tmp_path / name).write_text("a letter")
    with opened(folder) as memory:
        assert memory.admin.backup(tmp_path / "copy").ok
        memory.admin.export(tmp_path / "out.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["copy", "copy.4e5f6a7b.part", "memory", "other.0a1b2c3d.part", "out.jsonl", f"out.jsonl.{os.getpid() + 1}x.part",
         f"out.jsonl.{os.getppid()}.part"]
    )  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == [".gitignore", "mnemic.db"]
    busy.release()


def test_a_backup_overwrites_nothing(tmp_path, folder):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").write_text("mine")
    with opened(folder) as memory:
        for place in (tmp_path / "full", tmp_path / "full" / "letter", folder):
            with pytest.raises(InvalidInput, match="overwrites nothing"):
                memory.admin.backup(place)
        with pytest.raises(ConfigurationError, match="cannot be a folder"):
            memory.admin.backup(tmp_path / "mem\udce9")
        for place in ("", 3):
            with pytest.raises(InvalidInput):
                memory.admin.backup(place)
        with pytest.raises(StoreUnavailable):
            memory.admin.backup(tmp_path / "full" / "letter" / "below")
    assert (tmp_path / "full" / "letter").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "memory"]


def test_a_record_in_ram_can_be_kept(tmp_path):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add("kept", id="m")
        assert memory.admin.backup(tmp_path / "kept").ok
    with opened(tmp_path / "kept") as memory:
        assert memory.get("m").content == "kept"


def test_a_damaged_record_makes_no_backup(tmp_path, folder):
    with opened(folder) as memory:
        with database_of(memory).exclusive() as db:
            db.execute("UPDATE records SET content = 'another' WHERE id = 'm1'")
        with pytest.raises(StoreCorrupt, match="is damaged"):
            memory.admin.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_backup_becomes_a_memory_again(tmp_path, folder):
    with opened(folder) as memory:
        memory.admin.backup(tmp_path / "copy")
    shutil.rmtree(folder)
    assert records.restore_backup(tmp_path / "copy", folder).ok
    with opened(folder) as memory:
        assert len(memory.messages()) == 50
        assert memory.admin.verify().ok
    with pytest.raises(InvalidInput, match="overwrites nothing"):
        records.restore_backup(tmp_path / "copy", folder)
    with pytest.raises(InvalidInput, match="no backup"):
        records.restore_backup(tmp_path / "nothing", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "nothing").exists()


def test_a_log_without_its_file_is_kept(folder):
    """To begin anew there would throw away what is in the log."""

    def work():
        memory = opened(folder)
        memory.add("only in the log", id="late")
        os._exit(0)

    answer_of(work)
    log = (folder / "mnemic.db-wal").read_bytes()
    assert log
    for leave in (lambda path: path.write_bytes(b""), lambda path: path.unlink()):
        leave(folder / "mnemic.db")
        with pytest.raises(StoreCorrupt, match="its log"):
            opened(folder)
        assert (folder / "mnemic.db-wal").read_bytes() == log


def gone(folder):
    shutil.rmtree(folder)


def moved(folder):
    folder.rename(folder.with_name("elsewhere"))


def restored(folder):
    with opened(folder) as memory:
        memory.admin.backup(folder.with_name("copy"))
    gone(folder)
    folder.with_name("copy").rename(folder)


def file_replaced(folder):
    other = folder.with_name("other.db")
    other.write_bytes(b"another file")
    other.replace(folder / "mnemic.db")


def log_removed(folder):
    (folder / "mnemic.db-wal").unlink()


def log_replaced(folder):
    log_removed(folder)
    (folder / "mnemic.db-wal").touch()


def bytes_of(folder):
    """All but the index of the log, in which readers leave marks."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm")}


@pytest.mark.skipif(os.name == "nt", reason="files that are open stay there")
@pytest.mark.parametrize("befall", [gone, moved, restored, file_replaced, log_removed, log_replaced])
def test_nothing_is_acknowledged_into_files_that_are_no_longer_there(folder, befall):
    """The system keeps an open file alive without a name: what is written into it is lost when it is closed."""
    memory = opened(folder)
    assert memory.add("here", id="here")[0].outcome == "stored"
    befall(folder)
    before = bytes_of(folder)
    for write in (
        lambda: memory.add("lost", id="lost")[0], lambda: memory.remember("lost"), lambda: memory.process(),
        lambda: memory.forget(ids=["here"]), lambda: memory.forget(ids=["here"], hard=True),
    ):  # fmt: skip
        with pytest.raises(
            StoreUnavailable, match=r"(removed|replaced) while .* Nothing of this call was stored.*backup"
        ):
            write()
    assert {message.id for message in memory.messages()} == {*(f"m{n}" for n in range(50)), "here"}
    assert memory.search("here")
    report = memory.admin.verify()
    assert not report.ok
    assert "while this memory was open" in report.findings[0]
    assert bytes_of(folder) == before
    assert memory.admin.backup(folder.with_name("rescued")).ok
    memory.close()
    if befall in (log_removed, log_replaced):  # what was in the log is brought into the file
        with opened(folder) as again:
            assert again.get("here").content == "here"
            assert again.admin.verify().ok
    else:
        assert bytes_of(folder) == before
    with opened(folder.with_name("rescued")) as rescued:
        assert {message.id for message in rescued.messages()} == {*(f"m{n}" for n in range(50)), "here"}
        assert rescued.admin.verify().ok


@pytest.mark.skipif(os.name == "nt", reason="files that are open stay there")
def test_a_record_that_was_replaced_is_not_mistaken_for_the_old_one_after_a_fork(folder):
    """All connections are closed before a fork: those made after it must lead to the same file."""
    memory = opened(folder)
    memory.add("here", id="here")
    answer_of(lambda: "forked")
    assert memory.add("the log is a new one", id="new")[0].outcome == "stored"
    answer_of(lambda: "forked")
    restored(folder)

    def refused():
        for call in (lambda: memory.add("lost")[0], memory.messages):
            with pytest.raises(StoreUnavailable, match="replaced while"):
                call()
        return "refused"

    assert answer_of(refused) == "refused"
    refused()
    memory.close()


def test_closing_what_was_replaced_leaves_the_log_of_its_successor(folder):
    """SQLite looks before it removes the log: were that to change, the successor would lose what is in it."""
    memory = opened(folder)
    restored(folder)
    with opened(folder) as successor:
        assert successor.add("after", id="after")[0].outcome == "stored"
        memory.close()
        assert successor.add("and on", id="on")[0].outcome == "stored"
    with opened(folder) as again:
        assert {message.id for message in again.messages()} >= {"after", "on"}


def test_a_log_that_another_process_removes_rightly_is_no_loss(folder):
    """The last one to close removes it; that is never one that somebody has open."""
    with opened(folder) as memory:
        for n in range(3):
            answer_of(lambda n=n: opened(folder).add("beside", id=f"b{n}")[0].outcome)

            def closed(n=n):
                with opened(folder) as other:
                    return other.add("beside", id=f"c{n}")[0].outcome

            assert answer_of(closed) == "stored"
            assert memory.add("mine", id=f"a{n}")[0].outcome == "stored"
            assert database_of(memory).checkpoint(5.0)
        assert memory.admin.verify().ok
    with opened(folder) as memory:
        assert len(memory.messages(limit=None)) == 59


def test_a_process_that_changes_its_folder_finds_its_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with opened("memory") as memory:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert memory.add("here")[0].outcome == "stored"
        assert memory.admin.verify().ok
    assert not list((tmp_path / "elsewhere").iterdir())


TAKEN_AWAY = """
import os, sys
from mnemic import Memory, MnemicError, StoreError
with Memory(":memory:", embedder="hashing") as warm:
    warm.add("x"); warm.search("x"); warm.admin.verify(); warm.remember("x")
folder = sys.argv[1]
for path, _, names in os.walk(folder):
    os.chown(path, 65534, 65534)
    for name in names:
        os.chown(os.path.join(path, name), 65534, 65534)
os.setgid(65534); os.setuid(65534)
memory = Memory(folder, user="ana", embedder="hashing")
memory.add("mine", id="mine")
os.chmod(os.path.join(folder, "mnemic.db"), 0o400)
os.chmod(folder, 0o500)
memory.add("through the open file", id="open")
print(len(memory.messages()))
memory.close()
again = Memory(folder, user="ana", embedder="hashing")
print(len(again.messages()), again.admin.verify().ok)
try:
    again.forget(ids=["mine"], hard=True)
    print("erased")
except StoreError as error:
    print(type(error).__name__)
again.close()
os.chmod(folder, 0o700); os.chmod(os.path.join(folder, "mnemic.db"), 0o600)
with Memory(folder, user="ana", embedder="hashing") as memory:
    print(memory.forget(ids=["mine"], hard=True).clean)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="becoming another user needs root")
def test_permissions_taken_away_at_run_time():
    with tempfile.TemporaryDirectory() as top:  # pytest's own folders are closed to the other user
        folder = Path(top) / "memory"
        with opened(folder) as memory:
            memory.add("first", id="first")
        for path in (folder, folder.parent):
            path.chmod(0o755)
        command = [sys.executable, "-c", TAKEN_AWAY, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["3", "3", "True", "StoreReadOnly", "True"]
