"""The commands on an encrypted record: the key comes from the environment or the keyring, and is never told."""

import io

import pytest

from mnemic import Memory
from mnemic.runtime.config import record_key
from mnemic.stores import SqliteStore

KEY, NEW = "a-long-passphrase-of-ours", "another passphrase, with spaces"
pytestmark = pytest.mark.encrypted


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch):
    monkeypatch.setattr("mnemic.llm.keys.keyring_key", lambda _: None)


@pytest.fixture
def key(monkeypatch):
    """Sets the key of the environment."""

    def put(value):
        monkeypatch.setenv("MNEMIC_KEY", value) if value else monkeypatch.delenv("MNEMIC_KEY", raising=False)

    put(None)
    return put


def contents(mnemic):
    return [memory["content"] for memory in mnemic("list", "--kind", "message", "--json").json["messages"]]


def test_a_record_is_encrypted_rekeyed_and_decrypted(filled, mnemic, folder, key, monkeypatch):
    before = contents(mnemic)
    key(KEY)
    assert mnemic("stats").code == 2
    assert mnemic("rekey", "--json").json == {"encrypted": True}
    assert SqliteStore.encrypted(folder)
    assert contents(mnemic) == before
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{NEW}\n"))
    told = mnemic("rekey")
    assert (told.code, KEY in told.out + told.err, NEW in told.out + told.err) == (0, False, False)
    assert mnemic("stats").code == 2
    key(NEW)
    assert contents(mnemic) == before
    assert mnemic("rekey", "--remove", "--json").json == {"encrypted": False}
    key(None)
    assert contents(mnemic) == before
    assert not SqliteStore.encrypted(folder)


def test_a_server_takes_no_key_in_a_sync(filled, folder, key):
    key(KEY)
    assert filled("rekey").code == 0
    run = filled("sync", folder, "postgresql://127.0.0.1:1/nowhere")
    assert run.code == 2
    assert "127.0.0.1" in run.err


def test_a_new_record_has_the_key_of_the_environment_and_no_command_tells_it(mnemic, folder, key, tmp_path):
    key(KEY)
    assert mnemic("add", "The alarm code is 4711.").code == 0
    with Memory(folder, embedder="hashing", key=KEY) as memory:
        assert memory.messages()[0].content == "The alarm code is 4711."
    runs = [
        mnemic("doctor", "--deep", "--json"), mnemic("config", "--json"), mnemic("users"), mnemic("stats"),
        mnemic("export", tmp_path / "default.export"), mnemic("backup", tmp_path / "backup"),
        mnemic("doctor", "--fix"), mnemic("search", "alarm"),
    ]  # fmt: skip
    assert [run.code for run in runs] == [0] * len(runs)
    assert not [run for run in runs if KEY in run.out + run.err]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"alarm" in path.read_bytes()]
    assert mnemic("import", tmp_path / "default.export", "--user", "ana").code == 0
    assert "alarm" in mnemic("export", "-").out, "stdout is for whoever reads it"
    again = mnemic("restore-backup", tmp_path / "backup", "--dir", tmp_path / "again")
    assert again.code == 0
    moved = mnemic("migrate", "--from", folder, "--to", tmp_path / "moved")
    assert moved.code == 0, moved.err
    assert SqliteStore.encrypted(tmp_path / "moved")
    key("wrong")
    refused = mnemic("search", "alarm")
    assert (refused.code, "wrong" in refused.err.replace("WrongKey", "")) == (2, False)
    key(None)
    assert "MNEMIC_KEY" in mnemic("search", "alarm").err


def test_the_keyring_has_the_key_of_encrypted_folders_only(folder, key, monkeypatch):
    monkeypatch.setattr("mnemic.llm.keys.keyring_key", {"mnemic": KEY}.get)
    assert record_key(folder) is None, "a folder that is not there is not encrypted unasked"
    with Memory(folder, embedder="hashing", key=KEY):
        pass
    assert record_key(folder) == KEY
    key(NEW)
    assert record_key(folder) == NEW
