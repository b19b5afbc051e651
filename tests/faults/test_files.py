"""Files that are missing, foreign, damaged, of another version, or that cannot grow."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import apsw
import pytest
from tests.internals import database_of

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
from mnemic.stores.sqlite.database import ReadOnlyFile


def filled(folder, count=200):
    with Memory(folder, user="ana", embedder="hashing") as memory:
        memory.add([Message(role="user", content=f"turn {n} about gardens and water", id=str(n)) for n in range(count)])
    return folder / "mnemic.db"


def test_the_folder_is_private(tmp_path):
    before = os.umask(0)
    try:
        memory = Memory(tmp_path / "a" / "memory", embedder="hashing")
        memory.add("x")
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
        for call in (lambda: memory.add("new")[0], lambda: memory.search("gardens"), lambda: memory.remember("x")):
            with pytest.raises(EmbeddingMismatch, match="reembed"):
                call()
        assert len(memory.messages()) == 3
        memory.admin.reembed()
        memory.add("new")
        assert len(memory.search("gardens")) == 4
        assert memory.admin.verify().ok


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("large") / "memory", 1000).parent


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.9])
def test_a_truncated_file_is_an_error_of_ours(tmp_path, large, keep):
    path = shutil.copytree(large, tmp_path / "memory") / "mnemic.db"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(int(size * keep) // 4096 * 4096)

    def use_it():
        with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
            memory.messages()
            memory.search("gardens")
            memory.admin.verify()

    with pytest.raises(MnemicError):
        use_it()


PROBE = """
import sys
from mnemic import Memory, MnemicError
for folder in sys.argv[1:]:
    try:
        with Memory(folder, user="ana", embedder="hashing") as memory:
            print("whole" if memory.admin.verify().ok else "found")
            memory.search("gardens"); memory.messages()
    except MnemicError as error:
        print("typed", type(error).__name__)
    print("opened", folder)
"""


def test_flipped_bytes_never_end_the_process_or_go_unnoticed_by_verify(tmp_path, large):
    folders = [shutil.copytree(large, tmp_path / f"{n}") for n in range(6)]
    for n, folder in enumerate(folders):
        data = bytearray((folder / "mnemic.db").read_bytes())
        at = 4096 * (3 + n * 11)
        data[at : at + 64] = bytes(255 - b for b in data[at : at + 64])
        (folder / "mnemic.db").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *map(str, folders)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    told = re.split(r"opened .*\n", done.stdout)
    assert len(told) == 7
    assert all(re.match("typed|found", one) for one in told[:-1]), done.stdout


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
assert memory.admin.verify().ok
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
    warm.add("x"); warm.search("x"); warm.admin.verify(); warm.get_memory_context("x"); warm.remember("x")
os.setgid(65534); os.setuid(65534)
with Memory(sys.argv[1], user="ana", embedder="hashing") as memory:
    print(len(memory.messages()), len(memory.search("gardens")), memory.admin.verify().ok)
    for write in (lambda: memory.add("x"), lambda: memory.remember("x"), lambda: memory.forget(ids=["0"])):
        try:
            write()
        except StoreReadOnly as error:
            print("typed")
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="becoming another user needs root")
def test_a_folder_of_somebody_else(theirs):
    theirs.chmod(0o755)
    (theirs / "mnemic.db").chmod(0o644)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(theirs)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["5", "5", "True", "typed", "typed", "typed"]


FOLLOWS = """
import os, sys
from mnemic import Memory
with Memory(":memory:", embedder="hashing") as warm:  # loads what the other user may not
    warm.add("x"); warm.search("x"); warm.admin.verify()
os.setgid(65534); os.setuid(65534)
assert not os.access(sys.argv[1], os.W_OK)
with Memory(sys.argv[1], user="ana", embedder="hashing") as memory:
    print("open", flush=True)
    for line in sys.stdin:
        messages, found, report = memory.messages(limit=None), memory.search("garden", k=500), memory.admin.verify()
        assert report.ok, report.findings
        print(len(messages), len(found), report.checks["messages"], flush=True)
"""


class Reader:
    """A process that may read a record and not write it."""

    def __init__(self, folder):
        folder.chmod(0o755)
        for path in folder.iterdir():
            path.chmod(0o644)
        self._process = subprocess.Popen(
            [sys.executable, "-c", FOLLOWS, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._line() == "open\n"

    def _line(self):
        return self._process.stdout.readline() or pytest.fail(self._process.communicate()[1])

    def counts(self):
        """How many messages are listed, found, and verified."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return [int(count) for count in self._line().split()]

    def close(self):
        said = self._process.communicate()
        assert self._process.returncode == 0, said


@pytest.fixture
def theirs():
    with tempfile.TemporaryDirectory() as top:  # pytest's own folders are closed to the other user
        Path(top).chmod(0o755)
        filled(Path(top) / "memory", 5)
        yield Path(top) / "memory"


def gardens(memory, count):
    memory.add([Message(role="user", content=f"garden {n} " + "water " * 400) for n in range(count)])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="becoming another user needs root")
@pytest.mark.parametrize("first", ["owner", "reader"])
def test_a_reader_without_write_permission_follows_the_owner(theirs, first):
    """Whichever opens the record first, and when it is checkpointed, closed and opened again."""
    reader, count = Reader(theirs) if first == "reader" else None, 5
    for _ in range(2):
        with Memory(theirs, user="ana", embedder="hashing") as owner:
            reader = reader or Reader(theirs)
            for turn in range(4):
                gardens(owner, 5)
                count += 5
                assert reader.counts() == [count] * 3
                if turn == 2:
                    assert database_of(owner).checkpoint(5.0)
        assert reader.counts() == [count] * 3
    reader.close()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="becoming another user needs root")
def test_a_reader_without_write_permission_beside_an_owner_who_writes_on(theirs):
    reader = Reader(theirs)
    with Memory(theirs, user="ana", embedder="hashing") as owner:
        gardens(owner, 1)
        done = threading.Event()

        def write():
            while not done.is_set():
                gardens(owner, 3)

        thread = threading.Thread(target=write)
        thread.start()
        listed = []
        try:
            for _ in range(6):
                before = owner.stats().messages
                listed += reader.counts()
                assert before <= listed[-3] <= listed[-1] <= owner.stats().messages
        finally:
            done.set()
            thread.join()
        assert reader.counts()[0] == owner.stats().messages
    assert listed[-1] > listed[0]
    reader.close()


def test_a_closed_record_that_changes_while_it_is_read_without_permission_is_refused(tmp_path):
    """SQLite reads it as one that never changes: what is half old and half new is no damage, and no answer."""
    path = filled(tmp_path / "memory", 1)
    file = ReadOnlyFile(path)
    db = file.connect()

    def read(failure):
        with file.consistent(db):
            with Memory(tmp_path / "memory", user="ana", embedder="hashing") as owner:
                owner.add("more")
            if failure:
                raise failure

    for failure in (None, apsw.CorruptError("half"), StoreCorrupt("half")):
        with pytest.raises(StoreUnavailable, match="Repeat"):
            read(failure)
        db = file.refresh(db)
        with file.consistent(db):
            assert db.execute("SELECT count(*) FROM messages").fetchall()[0][0] > 1
    db.close()
