"""An encrypted record: nothing of it is readable without its key, and changing the key leaves it whole."""

import io
import os
import random
import secrets
import signal
import time
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.failpoints import CRASHED, code_of, forked, in_child
from tests.internals import database_of, store_of

from mnemic import Memory, Message, MnemicError
from mnemic.errors import ConfigurationError, InvalidInput, MissingExtra, StoreCorrupt, StoreUnavailable, WrongKey
from mnemic.stores.sqlite import cipher as ciphers
from mnemic.stores.sqlite import copies, database, rewriting
from mnemic.stores.sqlite.cipher import Cipher
from mnemic.stores.sqlite.erasure import Erasure
from mnemic.stores.sqlite.rewriting import Rewriting
from mnemic.stores.sqlite.store import SqliteStore

KEY, OTHER, PASSPHRASE = bytes(range(32)), bytes(range(1, 33)), "tide over the old harbour"
PLANTED = 500
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def opened(folder, key=KEY, **options):
    return Memory(folder, user="ana", embedder="hashing", durability="NORMAL", key=key, **options)


def filled(folder, key=KEY, count=20):
    """A record of so many texts, closed; and what it exports."""
    with opened(folder, key) as memory:
        memory.add(said(f"Boat {n} is called {secrets.token_hex(8)}." for n in range(count)))
        return exported(memory)


def said(texts):
    return [Message(role="user", content=text) for text in texts]


def exported(memory):
    out = io.StringIO()
    memory.admin.export(out, vectors=True)
    return out.getvalue()


def content(folder, key=KEY):
    """What a whole record exports."""
    with opened(folder, key) as memory:
        assert memory.admin.verify().ok
        return exported(memory)


def files(*places):
    return [path for place in places for path in (place.rglob("*") if place.is_dir() else [place]) if path.is_file()]


# What needs no cipher


def test_what_cannot_be_encrypted_is_refused(tmp_path):
    for location, options in (
        (":memory:", {}), ("postgresql://localhost/app", {}), (tmp_path / "a", {"vectors": "http://localhost:8000"}),
        (tmp_path / "b", {"vectors": "chroma"}),
    ):  # fmt: skip
        with pytest.raises(ConfigurationError, match=r"key|Chroma|RAM"):
            opened(location, **options)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("key", ["", "\n", "a\nb", "\ud800", b"", b"short", bytes(33), 7, ["a"]])
def test_what_is_no_key_is_refused_and_not_quoted(tmp_path, key):
    with pytest.raises(ConfigurationError, match="passphrase") as caught:
        opened(tmp_path / "memory", key)
    assert "short" not in str(caught.value)
    assert not (tmp_path / "memory").exists()


def test_an_sqlite_that_cannot_encrypt_says_what_to_run(tmp_path, monkeypatch):
    monkeypatch.delattr(apsw, "mc_version", raising=False)
    with pytest.raises(MissingExtra, match="pip install --force-reinstall --no-deps apsw-sqlite3mc"):
        opened(tmp_path / "memory")
    assert not (tmp_path / "memory").exists()
    with opened(tmp_path / "memory", None) as memory:
        with pytest.raises(MissingExtra):
            memory.admin.rekey(PASSPHRASE)
        assert memory.admin.verify().ok


@given(st.binary(max_size=64))
def test_only_the_beginning_of_an_sqlite_file_passes_for_an_encrypted_one(head):
    assert ciphers._is_encrypted(head) == (head[21:24] == b"@  " and head[:16] != b"SQLite format 3\0")


# Keys


@pytest.mark.encrypted
@pytest.mark.parametrize("key", [KEY, PASSPHRASE], ids=["raw", "passphrase"])
def test_only_its_key_opens_a_record(tmp_path, key):
    before = filled(tmp_path / "memory", key)
    for wrong in (None, OTHER, "tide over the old harbor"):
        with pytest.raises(WrongKey) as caught:
            opened(tmp_path / "memory", wrong)
        assert PASSPHRASE not in str(caught.value)
        assert "harbor" not in str(caught.value)
    assert content(tmp_path / "memory", key) == before


@pytest.mark.encrypted
def test_a_key_for_a_plain_record_is_refused_with_the_way_to_encrypt_it(tmp_path):
    before = filled(tmp_path / "memory", None)
    with pytest.raises(WrongKey, match="mnemic rekey"):
        opened(tmp_path / "memory")
    assert content(tmp_path / "memory", None) == before


@pytest.mark.encrypted
def test_a_passphrase_is_derived_once_for_all_connections(tmp_path, monkeypatch):
    derived = []
    scrypt = ciphers.hashlib.scrypt
    monkeypatch.setattr(ciphers.hashlib, "scrypt", lambda *a, **k: derived.append(1) or scrypt(*a, **k))
    with opened(tmp_path / "memory", PASSPHRASE) as memory:
        db = database_of(memory)
        with db.read(), db.read(), db.read():
            assert memory.add("Hello.")[0].outcome == "stored"
        assert PASSPHRASE not in repr(memory) + repr(memory.admin.settings) + repr(db.cipher) + repr(memory.stats())
    assert len(derived) == 1


@pytest.mark.encrypted
@forks
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_processes_that_make_a_record_at_once_share_its_salt(tmp_path):
    def work():
        with opened(tmp_path / "memory", PASSPHRASE) as memory:
            memory.add("Hello.")

    assert [code_of(child) for child in [forked(work) for _ in range(4)]] == [0] * 4
    with opened(tmp_path / "memory", PASSPHRASE) as memory:
        assert len(memory.messages()) == 4


@pytest.mark.encrypted
def test_a_record_that_cannot_be_written_is_read_with_its_key(tmp_path, monkeypatch):
    before = filled(tmp_path / "memory")
    db = database.ReadOnlyFile(tmp_path / "memory" / "mnemic.db", Cipher(KEY))
    with closing(db.connect()) as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchall() == [(20,)]
    assert content(tmp_path / "memory") == before


# What can be read without the key


@pytest.mark.encrypted
def test_no_planted_text_is_in_any_byte_of_folder_log_backup_and_export(tmp_path):
    planted = [secrets.token_hex(12) for _ in range(PLANTED)]

    def found(key, place):
        place.mkdir()
        with opened(place / "memory", key) as memory:
            for n in range(0, PLANTED, 50):
                memory.add(said(f"The word is {word}." for word in planted[n : n + 50]))
            memory.remember(f"A fact about {planted[0]}", tags=[planted[1]], metadata={"word": planted[2]})
            assert memory.search(planted[7])[0].text == f"The word is {planted[7]}."
            memory.admin.backup(place / "backup")
            memory.admin.export(place / "ana.export", vectors=True)
            assert (place / "memory" / "mnemic.db-wal").stat().st_size > 0, "the log has to be among what is searched"
            vectors = [memory.admin.vector(m.id).values.astype("<f2").tobytes() for m in memory.messages(limit=5)]
            data = [path.read_bytes() for path in files(place)]
        data += [path.read_bytes() for path in files(place)]
        return {needle for needle in (*(w.encode() for w in planted), *vectors) if any(needle in d for d in data)}

    assert len(found(None, tmp_path / "plain")) == PLANTED + 5, "what is not found there proves nothing"
    assert found(KEY, tmp_path / "encrypted") == set()


@pytest.mark.encrypted
def test_a_large_record_is_rewritten_without_a_temporary_file(tmp_path, monkeypatch):
    monkeypatch.setattr("mnemic.stores.sqlite.erasure.IN_RAM", 0)
    filled(tmp_path / "memory")
    with opened(tmp_path / "memory") as memory:
        places = []
        monkeypatch.setattr(database._Connection, "pragma", _noting(places, database._Connection.pragma))
        memory.forget(ids=[memory.messages()[0].id], hard=True)
    assert 1 not in places


def _noting(values, pragma):
    def noted(self, name, value=None):
        values.extend([value] if name == "temp_store" else [])
        return pragma(self, name) if value is None else pragma(self, name, value)

    return noted


@pytest.mark.encrypted
def test_a_changed_byte_is_an_error_and_never_another_answer(tmp_path):
    before, chance = filled(tmp_path / "memory"), random.Random(3)
    path = tmp_path / "memory" / "mnemic.db"
    whole = path.read_bytes()
    for page in range(len(whole) // 4096):
        at = page * 4096 + chance.randrange(24 if page == 0 else 0, 4096)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :])
        with suppress(WrongKey, StoreCorrupt), opened(tmp_path / "memory") as memory:
            report = memory.admin.verify()
            assert not report.ok, f"byte {at} of {len(whole)} was changed"
        path.write_bytes(whole)
    assert content(tmp_path / "memory") == before


# Backups, exports, erasure


@pytest.mark.encrypted
def test_an_export_is_encrypted_and_imports_with_its_key(tmp_path):
    file = tmp_path / "ana.export"
    before = filled(tmp_path / "memory", PASSPHRASE)
    with opened(tmp_path / "memory", PASSPHRASE) as memory:
        memory.admin.export(file, vectors=True)
        bob, eve = memory.scoped(user="bob"), memory.scoped(user="eve")
        bob.admin.import_from(file)
        assert exported(bob) == before, "without a word the key is that of the record"
        assert eve.admin.import_file(file).format == "mnemic"
        assert exported(eve) == before
    with Memory(":memory:", user="ana", embedder="hashing") as plain:
        for take in (plain.admin.import_from, plain.admin.import_file):
            for wrong in (None, "another"):
                with pytest.raises(WrongKey):
                    take(file, key=wrong)
        plain.admin.import_from(file, key=PASSPHRASE)
        assert exported(plain) == before
    assert file.stat().st_mode & 0o777 == 0o600
    assert [*tmp_path.glob("*.part*")] == []


@pytest.mark.encrypted
def test_a_backup_has_the_key_of_its_record(tmp_path):
    before = filled(tmp_path / "memory", PASSPHRASE)
    with opened(tmp_path / "memory", PASSPHRASE) as memory:
        assert memory.admin.backup(tmp_path / "backup").ok
    with pytest.raises(WrongKey):
        opened(tmp_path / "backup", None)
    assert content(tmp_path / "backup", PASSPHRASE) == before


@pytest.mark.encrypted
def test_the_search_after_an_erasure_sees_through_the_encryption(tmp_path, monkeypatch):
    with opened(tmp_path / "memory") as memory:
        memory.add("The lighthouse keeper repairs the brass clock.", id="m1")
        memory.add("The lighthouse keeper repairs the brass bell.", id="m2")
        memory.admin.export(tmp_path / "memory" / "ana.export")
        erasure = memory.forget(ids=["m1"], hard=True)
        assert erasure.purge.pending == "ana.export cannot be read, and was not searched"
        (tmp_path / "memory" / "ana.export").unlink()
        with monkeypatch.context() as patch:
            patch.setattr(Erasure, "_rewrite", lambda *_: None)  # what was deleted stays in the gaps of pages
            with database_of(memory).exclusive() as db:
                db.pragma("secure_delete", 0)
            left = memory.forget(ids=["m2"], hard=True)
        assert left.purge.found, "a search that finds nothing here finds nothing anywhere"
        assert store_of(memory).erasure.purge([b"the brass bell"]).found == 0


# Another key


@pytest.mark.encrypted
def test_a_record_keeps_everything_under_every_key(tmp_path):
    folder = tmp_path / "memory"
    before, steps = filled(folder, None), []
    with opened(folder, None) as memory:
        for key in (PASSPHRASE, "another", KEY, None, OTHER):
            memory.admin.rekey(key, progress=lambda done, total: steps.append((done, total)))
            assert exported(memory) == before, "the handle goes on"
            assert memory.admin.verify().ok
            assert steps[-1][0] == steps[-1][1] > 1
        memory.add("Written under the last key.", id="m")
        memory.search("under the last key")
    with opened(folder, OTHER) as memory:
        assert memory.get("m").content == "Written under the last key."
    assert {path.name for path in folder.iterdir()} == {"mnemic.db", ".gitignore"}
    assert (folder / "mnemic.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.encrypted
def test_a_record_that_is_open_elsewhere_keeps_its_key(tmp_path, monkeypatch):
    before = filled(tmp_path / "memory")
    monkeypatch.setattr(database._busy_handler, "__defaults__", (0.1,))
    with opened(tmp_path / "memory") as memory, opened(tmp_path / "memory") as other:
        with pytest.raises(StoreUnavailable, match="another handle or process"):
            memory.admin.rekey(OTHER)
        assert exported(memory) == exported(other) == before
        other.close()
        memory.admin.rekey(OTHER)
    assert content(tmp_path / "memory", OTHER) == before


@pytest.mark.encrypted
def test_what_cannot_be_rekeyed_says_so(tmp_path):
    filled(tmp_path / "memory", None)
    with opened(tmp_path / "memory", None) as memory, pytest.raises(InvalidInput, match="no key to remove"):
        memory.admin.rekey(None)
    with Memory(":memory:", embedder="hashing") as memory, pytest.raises(ConfigurationError):
        memory.admin.rekey(KEY)


@pytest.mark.encrypted
def test_a_copy_that_is_damaged_does_not_replace_the_record(tmp_path, monkeypatch):
    before = filled(tmp_path / "memory")
    sync = copies.sync

    def full(path):
        sync(path)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copies, "sync", full)
    with opened(tmp_path / "memory") as memory:
        with pytest.raises(StoreUnavailable, match="No space left"):
            memory.admin.rekey(OTHER)
        assert exported(memory) == before
    assert content(tmp_path / "memory") == before
    assert not [*(tmp_path / "memory").glob("*.part")]


def _dies(patch, owner, name, *, after):
    """Let the process die before or after a call."""
    call = getattr(owner, name)

    def dying(*args, **named):
        if after:
            call(*args, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    patch.setattr(owner, name, dying)


@pytest.mark.encrypted
@forks
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(("old", "new"), [(None, KEY), (KEY, OTHER), (KEY, None)], ids=["on", "other", "off"])
@pytest.mark.parametrize(
    ("owner", "name", "after", "moved"),
    [
        (database, "_lock_exclusively", False, False), (database, "_lock_exclusively", True, False), (copies, "_check", False, False),
        (copies, "sync", True, False), (Path, "replace", False, False), (Path, "replace", True, True),
        (Rewriting, "apply", False, True), (rewriting, "head_of", True, True), (Path, "open", True, True),
        (Path, "unlink", False, True), (Path, "unlink", True, True), (Rewriting, "apply", True, True),
    ],
)  # fmt: skip
def test_a_record_is_whole_under_one_of_both_keys_wherever_the_process_dies(
    tmp_path, monkeypatch, old, new, owner, name, after, moved
):
    before = filled(tmp_path / "memory", old)

    def work():
        with opened(tmp_path / "memory", old) as memory:
            _dies(monkeypatch, owner, name, after=after)
            memory.admin.rekey(new)

    assert in_child(work) == -signal.SIGKILL
    with pytest.raises(WrongKey):
        opened(tmp_path / "memory", old if moved else new)
    assert content(tmp_path / "memory", new if moved else old) == before
    assert {path.name for path in (tmp_path / "memory").iterdir()} == {"mnemic.db", ".gitignore"}


@pytest.mark.encrypted
@forks
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_kills_at_any_moment_leave_a_whole_record(tmp_path):
    before, chance, ends = filled(tmp_path / "memory", count=400), random.Random(5), []
    held, other = KEY, OTHER
    for _ in range(8):

        def work(new=other, old=held):
            with opened(tmp_path / "memory", old) as memory:
                memory.admin.rekey(new)

        child = forked(work)
        time.sleep(chance.random() / 5)
        os.kill(child, signal.SIGKILL)
        ends.append(code_of(child))
        with suppress(WrongKey):
            assert content(tmp_path / "memory", other) == before
            held, other = other, held
        assert content(tmp_path / "memory", held) == before
    assert -signal.SIGKILL in ends


@pytest.mark.encrypted
@forks
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(("old", "new"), [(None, KEY), (KEY, OTHER)])
def test_whoever_waits_meanwhile_opens_the_new_file_or_is_refused(tmp_path, monkeypatch, old, new):
    folder, go, commit = tmp_path / "memory", tmp_path / "go", Rewriting.commit
    filled(folder, old)

    def waiting(key):
        while not go.exists():
            time.sleep(0.01)
        monkeypatch.setattr(database.random, "uniform", _telling(tmp_path / f"waits-{os.getpid()}"))
        try:
            with opened(folder, key) as memory:
                assert len(memory.messages()) >= 20
                memory.add("Late, and kept.")
        except WrongKey:
            os._exit(CRASHED)

    def late(*args):
        """By now the others have the old file open and wait for its lock, or were refused by its first bytes."""
        go.touch()
        deadline = time.monotonic() + 60
        while len([*tmp_path.glob("waits-*")]) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        commit(*args)

    children = [forked(lambda key=key: waiting(key)) for key in (old, new) * 2]
    monkeypatch.setattr(Rewriting, "commit", late)
    with opened(folder, old) as memory:
        memory.admin.rekey(new)
    ends = [code_of(child) for child in children]
    assert ends[::2] == [CRASHED] * 2, "with the old key"
    assert {*ends[1::2]} <= {0, CRASHED}, "with the new one, which the old file refuses at first sight"
    with opened(folder, new) as memory:
        assert memory.admin.verify().ok
        assert len(memory.messages()) == 20 + ends.count(0)


def _telling(file):
    def uniform(low, high):
        file.touch()
        return high

    return uniform


@pytest.mark.encrypted
def test_a_migration_takes_a_key_for_each_side(tmp_path):
    from mnemic.transfer.records import migrate

    before = filled(tmp_path / "plain", None)
    assert migrate(tmp_path / "plain", tmp_path / "new", target_key=KEY).ok
    assert content(tmp_path / "new") == before
    assert migrate(tmp_path / "new", tmp_path / "again", source_key=KEY).ok
    assert content(tmp_path / "again", None) == before
    with pytest.raises(ConfigurationError):
        migrate(tmp_path / "plain", "postgresql://localhost/app", target_key=KEY)
    with pytest.raises(MnemicError):
        migrate(tmp_path / "new", tmp_path / "third")


@pytest.mark.encrypted
def test_a_sync_opens_the_other_folder_with_its_key(tmp_path):
    for folder, key in (("phone", KEY), ("tablet", OTHER), ("stick", None)):
        filled(tmp_path / folder, key, count=2)
    with opened(tmp_path / "laptop") as laptop:
        laptop.admin.sync(tmp_path / "phone")
        with pytest.raises(WrongKey):
            laptop.admin.sync(tmp_path / "tablet")
        laptop.admin.sync(tmp_path / "tablet", key=OTHER)
        with pytest.raises(WrongKey, match="not encrypted"):
            laptop.admin.sync(tmp_path / "stick")
        assert len(laptop.messages()) == 4
        held = exported(laptop)
    assert {*content(tmp_path / "tablet", OTHER).splitlines()} == {*held.splitlines()}


@pytest.mark.encrypted
def test_a_folder_says_whether_it_is_encrypted(tmp_path):
    filled(tmp_path / "a")
    filled(tmp_path / "b", None)
    assert SqliteStore.encrypted(tmp_path / "a")
    assert not SqliteStore.encrypted(tmp_path / "b")
    assert not SqliteStore.encrypted(tmp_path / "c")
