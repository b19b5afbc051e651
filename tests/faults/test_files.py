"""Files that are missing, foreign, damaged, of another version, or that cannot grow."""

import os
import stat
import subprocess
import sys

import apsw
import pytest

from mnemic import (
    EmbeddingMismatch,
    HashingEmbedder,
    Memory,
    Message,
    MnemicError,
    SchemaTooNew,
    StoreCorrupt,
    StoreUnavailable,
)


def filled(folder, count=200):
    with Memory(folder, user="ana", embedder="hashing") as memory:
        memory.add([Message(role="user", content=f"turn {n} about gardens and water", id=str(n)) for n in range(count)])
    return folder / "mnemic.db"


def test_the_folder_is_private(tmp_path):
    before = os.umask(0)
    try:
        memory = Memory(tmp_path / "a" / "memory", embedder="hashing")
        memory.add_message("x")
        for path in (tmp_path / "a" / "memory", *(tmp_path / "a" / "memory").iterdir()):
            if path.name != ".gitignore":
                assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path.name
        assert (tmp_path / "a" / "memory" / ".gitignore").read_text() == "*\n"
        memory.close()
    finally:
        os.umask(before)


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "memory").write_text("hello")
    with pytest.raises(StoreUnavailable, match="is a file"):
        Memory(tmp_path / "memory", embedder="hashing")
    assert (tmp_path / "memory").read_text() == "hello"


def test_files_that_are_not_ours(tmp_path):
    for name, content in (("text", b"not a database at all " * 100), ("zeros", bytes(8192))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "mnemic.db").write_bytes(content)
        with pytest.raises(StoreCorrupt):
            Memory(folder, embedder="hashing")
        assert (folder / "mnemic.db").read_bytes() == content
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    with apsw.Connection(str(foreign / "mnemic.db")) as db:
        db.execute("CREATE TABLE theirs(x)")
    with pytest.raises(StoreCorrupt, match="another program"):
        Memory(foreign, embedder="hashing")


def test_a_newer_schema_is_refused_unchanged(tmp_path):
    path = filled(tmp_path / "memory", 1)
    db = apsw.Connection(str(path))
    db.pragma("user_version", 999)
    db.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match="pip install -U"):
        Memory(tmp_path / "memory", embedder="hashing")
    assert path.read_bytes() == before


def test_another_model_is_refused_until_reembedded(tmp_path):
    filled(tmp_path / "memory", 3)
    with Memory(tmp_path / "memory", user="ana", embedder=HashingEmbedder(dimension=64)) as memory:
        for call in (lambda: memory.add_message("new"), lambda: memory.search("gardens"), lambda: memory.remember("x")):
            with pytest.raises(EmbeddingMismatch, match="reembed"):
                call()
        assert len(memory.messages()) == 3
        memory.reembed()
        memory.add_message("new")
        assert len(memory.search("gardens")) == 4
        assert memory.verify().ok


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.9])
def test_a_truncated_file_is_an_error_of_ours(tmp_path, keep):
    path = filled(tmp_path / "memory", 2000)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(int(size * keep) // 4096 * 4096)

    def use_it():
        with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
            memory.messages()
            memory.search("gardens")
            memory.verify()

    with pytest.raises(MnemicError):
        use_it()


def test_flipped_bytes_never_end_the_process_or_go_unnoticed_by_verify(tmp_path):
    path = filled(tmp_path / "memory", 2000)
    original = path.read_bytes()
    probe = """
import sys
from mnemic import Memory, MnemicError
try:
    with Memory(sys.argv[1], user="ana", embedder="hashing") as memory:
        report = memory.verify()
        print("ok" if report.ok else "found")
        memory.search("gardens"); memory.messages()
except MnemicError as error:
    print("typed", type(error).__name__)
"""
    for n in range(6):
        data = bytearray(original)
        at = 4096 * (3 + n * 11) % len(data)
        data[at : at + 64] = bytes(255 - b for b in data[at : at + 64])
        path.write_bytes(data)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", probe, str(path.parent)], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[0] in {"typed", "found"}


FULL = """
import resource, signal, sys
from mnemic import Memory, Message, StoreFull, StoreUnavailable
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
memory = Memory(sys.argv[1], user="ana", embedder="hashing")
memory.add([Message(role="user", content="turn %d" % n, id=str(n)) for n in range(50)])
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, limit[1]))
stored = 50
try:
    for n in range(50, 100_000):
        memory.add([Message(role="user", content="turn %d " % n + "word " * 200, id=str(n))])
        stored = n + 1
except (StoreFull, StoreUnavailable) as error:
    print("typed:", type(error).__name__)
assert len(memory.messages()) == stored, (len(memory.messages()), stored)
assert memory.search("turn 7")
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
memory.add([Message(role="user", content="there is room again", id="again")])
assert len(memory.messages()) == stored + 1
assert memory.verify().ok
memory.close()
print("whole")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_FSIZE")
def test_no_room_left(tmp_path):
    """The limit on the size of a file is the disk that is full: the write fails whole and works again afterwards."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "memory")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "typed:"
    assert done.stdout.split()[-1] == "whole"


READ_ONLY = """
import os, sys
from mnemic import Memory, StoreReadOnly
with Memory(":memory:", embedder="hashing") as warm:  # loads what the other user may not
    warm.add_message("x"); warm.search("x"); warm.verify(); warm.get_memory_context("x"); warm.remember("x")
os.setgid(65534); os.setuid(65534)
with Memory(sys.argv[1], user="ana", embedder="hashing") as memory:
    print(len(memory.messages()), len(memory.search("gardens")), memory.verify().ok)
    for write in (lambda: memory.add_message("x"), lambda: memory.remember("x"), lambda: memory.forget(ids=["0"])):
        try:
            write()
        except StoreReadOnly as error:
            print("typed")
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="becoming another user needs root")
def test_a_folder_of_somebody_else(tmp_path_factory):
    folder = tmp_path_factory.mktemp("theirs") / "memory"
    filled(folder, 1)
    for path in (folder, *folder.parents):
        if "pytest" in str(path):
            path.chmod(0o755)
    (folder / "mnemic.db").chmod(0o644)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(folder)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "1", "True", "typed", "typed", "typed"]
