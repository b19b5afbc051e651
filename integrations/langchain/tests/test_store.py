"""MnemicStore: LangGraph's stores with what Mnemic adds: a place, an embedder, erasure, secrets, both kinds of calls."""

import asyncio
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.store.base import BaseStore, PutOp

from langchain_mnemic import MnemicStore
from mnemic import (
    ConfigurationError,
    HashingEmbedder,
    InvalidInput,
    Memory,
    SecretPolicy,
    StoreCorrupt,
    StoreUnavailable,
)

TOKEN = "ghp_" + "a1B2c3D4e5" * 4


class Noting(HashingEmbedder):
    """Notes what it embeds, and as what."""

    id = "noting"

    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[tuple[str, str]] = []

    def embed(self, texts: Sequence[str], *, kind: Any = "document") -> Any:
        self.kinds += [(text, kind) for text in texts]
        return super().embed(texts, kind=kind)


@pytest.fixture(params=["folder", pytest.param("postgres", marks=pytest.mark.engine)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "m")
    try:
        return request.getfixturevalue("postgres_url")
    except pytest.FixtureLookupError:
        pytest.skip("a server is started in the whole repository only: make test-engines")


@pytest.fixture
def store(place: str) -> Iterator[MnemicStore]:
    with MnemicStore(place, embedder="hashing", fields=["text"]) as opened:
        yield opened


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


def on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


# On a folder and on PostgreSQL


@tool
def note(text: str, runtime: ToolRuntime) -> str:
    """Note something, and say what was known of it."""
    assert runtime.store is not None
    known = runtime.store.search(("notes",), query=text, limit=1)
    runtime.store.put(("notes",), "last", {"text": text})
    return known[0].value["text"] if known else "nothing"


@tool
async def anote(text: str, runtime: ToolRuntime) -> str:
    """Note something, and say what was known of it."""
    assert runtime.store is not None
    known = await runtime.store.asearch(("notes",), query=text, limit=1)
    await runtime.store.aput(("notes",), "last", {"text": text})
    return known[0].value["text"] if known else "nothing"


@pytest.mark.parametrize("way", ["sync", "async", "async tool"])
async def test_tools_of_an_agent_read_and_write_it(store: MnemicStore, scripted: Any, way: str) -> None:
    used = anote if way == "async tool" else note
    calls = [
        AIMessage("", tool_calls=[{"name": used.name, "args": {"text": text}, "id": text}])
        for text in ("Green tea.", "Which tea?")
    ]
    agent: Any = create_agent(scripted(*calls, "Done."), tools=[used], store=store)
    given = {"messages": [("user", "Note it.")]}
    state = agent.invoke(given) if way == "sync" else await agent.ainvoke(given)
    answers = [message.text for message in state["messages"] if isinstance(message, ToolMessage)]
    assert answers == ["nothing", "Green tea."]
    assert isinstance(store, BaseStore)
    item = store.get(("notes",), "last")
    assert item is not None
    assert item.value == {"text": "Which tea?"}


def test_what_was_put_is_there_after_a_restart(place: str) -> None:
    value = {"text": "Grüße 🙂", "list": [1, None, {"a": True}], "n": 1.5}
    for _ in range(2):
        with MnemicStore(place, embedder="hashing", fields=["text"]) as store:
            store.put(("ana", "größe"), "k%'", value)
    with MnemicStore(place, embedder="hashing", fields=["text"]) as store:
        (item,) = store.search(("ana",), query="Grüße", filter={"n": {"$gt": 1}})
        assert (item.namespace, item.key, item.value) == (("ana", "größe"), "k%'", value)
        assert store.list_namespaces(suffix=("größe",)) == [("ana", "größe")]


def test_queries_are_embedded_as_queries_and_only_the_fields(place: str) -> None:
    embedder = Noting()
    with MnemicStore(place, embedder=embedder, fields=["text"]) as store:
        embedder.kinds.clear()
        store.put(("a",), "k", {"text": "green tea", "rank": "first"})
        assert keys(store.search(("a",), query="tea")) == ["k"]
    assert embedder.kinds == [("green tea", "document"), ("tea", "query")]


def test_another_model_is_refused(place: str) -> None:
    with MnemicStore(place, embedder=Noting()) as store:
        store.put(("a",), "k", {"text": "green tea"})
    with pytest.raises(ConfigurationError, match="vectors of 'noting', but the embedder in use is 'hashing"):
        MnemicStore(place, embedder="hashing")
    with MnemicStore(place, fields=()) as store:  # no model
        assert keys(store.search(("a",), query="anything")) == ["k"]


def test_what_was_deleted_is_not_found(store: MnemicStore) -> None:
    store.put(("a",), "gone", {"text": "green tea"})
    store.delete(("a",), "gone")
    store.put(("a",), "gone", {"text": "coffee"}, index=False)
    assert store.search(("a",), query="green tea") == []


def test_expired_items_go(place: str) -> None:
    with MnemicStore(place, fields=(), ttl={"default_ttl": 60 * 24}) as store:
        store.put(("a",), "stays", {"n": 1})
        store.put(("a",), "goes", {"n": 2}, ttl=-1)
        store.start_ttl_sweeper()
        assert "ttl-sweeper" in {thread.name for thread in threading.enumerate()}
        assert store.sweep_ttl() == 1
        assert keys(store.search(("a",))) == ["stays"]
    assert "ttl-sweeper" not in {thread.name for thread in threading.enumerate()}


def test_threads_share_a_store(store: MnemicStore) -> None:
    def work(name: str) -> None:
        for number in range(20):
            store.put((name,), f"k{number}", {"text": f"{name} {number}"})
            store.search((name,), query=name, limit=3)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, ["t0", "t1", "t2", "t3"]))
    assert [len(store.search((f"t{n}",), limit=100)) for n in range(4)] == [20] * 4


async def test_concurrent_asynchronous_calls(store: MnemicStore) -> None:
    await asyncio.gather(*(store.aput(("a",), f"k{n}", {"text": f"tea {n}"}) for n in range(20)))
    found = await asyncio.gather(*(store.asearch(("a",), query=f"tea {n}", limit=1) for n in range(20)))
    assert [keys(f) for f in found] == [[f"k{n}"] for n in range(20)]
    await store.adelete(("a",), "k3")
    assert await store.aget(("a",), "k3") is None
    assert await store.alist_namespaces() == [("a",)]


def test_it_stands_beside_a_record(place: str) -> None:
    with MnemicStore(place, fields=()) as store, Memory(place, user="ana", embedder="hashing") as memory:
        memory.add_exchange("I moved to Lisbon.", "Lovely.")
        store.put(("ana",), "k", {"text": "a value"})
        with MnemicStore(memory, fields=()) as other:
            assert keys(other.search(())) == ["k"]
        assert memory.admin.verify().ok
        memory.admin.erase_user()
        assert keys(store.search(("ana",))) == ["k"]


@pytest.mark.parametrize("secrets", ["redact", SecretPolicy()])
def test_secrets_are_redacted_in_values(place: str, secrets: Any) -> None:
    embedder = Noting()
    with MnemicStore(place, embedder=embedder, secrets=secrets) as store:
        store.put(("ana",), "k", {"text": f"my token is {TOKEN}", "deep": [{"password": "hunter2"}], "n": 1})
        (item,) = store.search(("ana",), query=f"token {TOKEN}")
        assert item.value == {
            "text": "my token is [redacted: github-token]", "deep": [{"password": "[redacted: password]"}], "n": 1,
        }  # fmt: skip
    assert not any(TOKEN in text for text, _ in embedder.kinds)


def test_what_is_done_with_secrets(place: str) -> None:
    with MnemicStore(place, fields=(), secrets="allow") as store:
        store.put(("ana",), "k", {"text": TOKEN})
        assert store.search(("ana",))[0].value == {"text": TOKEN}
    with MnemicStore(place, fields=(), secrets="refuse") as store:
        with pytest.raises(InvalidInput, match=r"github-token.*nothing was stored"):
            store.batch([PutOp(("bo",), "a", {"text": "fine"}), PutOp(("bo",), "k", {"text": TOKEN})])
        assert store.search(("bo",)) == []


# In a file


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_the_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    with MnemicStore(tmp_path / "new", fields=()) as store:
        store.put(("a",), "k", {})
        modes = {path.name: path.stat().st_mode & 0o777 for path in [tmp_path / "new", *(tmp_path / "new").iterdir()]}
    assert (modes["new"], modes["store.db"]) == (0o700, 0o600)
    assert (tmp_path / "new" / ".gitignore").read_text() == "*\n"


def test_what_was_replaced_is_not_found_by_its_old_text(tmp_path: Path) -> None:
    with MnemicStore(tmp_path, embedder="hashing", fields=["text"]) as store:
        store.put(("a",), "k", {"text": "green tea"})
        store.put(("a",), "k", {"text": "coffee"}, index=False)
        assert store.search(("a",), query="green tea") == []


def filled(store: MnemicStore, seed: int) -> list[tuple[str, str]]:
    """Many items, some of them replaced by longer and shorter ones, so that rows move between pages."""
    choose, items = random.Random(seed), list[tuple[str, str]]()
    for number in range(300):
        words = [f"Zanzibar{number:04}", *["lorem ipsum dolor"] * choose.randrange(1, 60)]
        items.append((f"user{number % 7}", f"key-{words[0]}"))
        store.put(items[-1][:1], items[-1][1], {"text": " ".join(words)}, ttl=60)
        if choose.random() < 0.4:
            user, key = choose.choice(items)
            store.put((user,), key, {"text": " ".join([key, *["dolor sit"] * choose.randrange(1, 90)])})
    return choose.sample(items, 150)


def without_syncs(connection: apsw.Connection) -> None:
    connection.execute("PRAGMA synchronous=OFF")  # no test cuts the power


@pytest.mark.parametrize("seed", [2, 9])
def test_deletion_leaves_no_byte(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, without_syncs])
    with MnemicStore(tmp_path, embedder="hashing", fields=["text"]) as store:
        gone = filled(store, seed)
        for user, key in gone:
            store.delete((user,), key)
        left = on_disk(tmp_path)
        assert sum(key.removeprefix("key-").encode() in left for _, key in gone) <= 3  # in gaps of pages: 1 and 3
    left = on_disk(tmp_path)
    assert not [key for _, key in gone if key.removeprefix("key-").encode() in left]


def test_expiry_leaves_no_byte(tmp_path: Path) -> None:
    with MnemicStore(tmp_path, embedder="hashing") as store:
        store.put(("a",), "stays", {"text": "Zanzibarbarossa"})
        store.put(("a",), "key of Timbuktunesia", {"text": "Timbuktunesia"}, ttl=-1)
        assert b"Timbuktunesia" in on_disk(tmp_path)
        assert store.sweep_ttl() == 1
    assert b"Timbuktunesia" not in on_disk(tmp_path)
    assert b"Zanzibarbarossa" in on_disk(tmp_path)


def test_the_receipt_of_the_memory_names_the_file_of_the_store(tmp_path: Path) -> None:
    text = "Zanzibarbarossa lives in Lisbon by the sea"
    with Memory(tmp_path, user="ana", embedder="hashing") as memory, MnemicStore(memory, fields=()) as store:
        memory.remember(text, id="m1")
        store.put(("ana",), "k", {"text": text})
        assert "store.db" in memory.forget(ids=["m1"], hard=True).purge.pending
        store.delete(("ana",), "k")
    assert b"Zanzibarbarossa" not in on_disk(tmp_path)


PROBE = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=0)
try: db.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error: print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
def test_searching_the_folder_for_what_was_erased_lets_go_of_no_lock(tmp_path: Path) -> None:
    """Files of SQLite lose their locks when the process closes another handle on them."""
    with Memory(tmp_path, user="ana", embedder="hashing") as memory, MnemicStore(memory, fields=()) as store:
        store.put(("a",), "k", {"text": "stays"})
        memory.remember("Ana lives in Lisbon by the sea", id="m1")
        with closing(apsw.Connection(str(tmp_path / "store.db"))) as held:
            held.execute("BEGIN IMMEDIATE")
            assert memory.forget(ids=["m1"], hard=True).clean
            command = [sys.executable, "-c", PROBE, str(tmp_path / "store.db")]
            assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "database is locked\n"


def test_a_write_that_a_reader_kept_waiting_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain_mnemic.store.BUSY_MS", 10)
    with MnemicStore(tmp_path, fields=()) as store:
        store.put(("a",), "k", {"n": 1})
        with closing(apsw.Connection(str(tmp_path / "store.db"))) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM store").fetchall()
            with pytest.raises(apsw.BusyError):
                store.put(("a",), "k", {"n": 2})
            reader.execute("COMMIT")
        item = store.get(("a",), "k")
        assert item is not None
        assert item.value == {"n": 1}
        store.put(("a",), "k", {"n": 3})


def test_processes_share_a_folder(tmp_path: Path) -> None:
    script = (
        "import sys; from langchain_mnemic import MnemicStore\n"
        "with MnemicStore(sys.argv[1], embedder='hashing') as s:\n"
        "    [s.put((sys.argv[2],), str(n), {'n': n}) for n in range(15)]\n"
    )
    commands = [[sys.executable, "-c", script, str(tmp_path / "m"), f"p{n}"] for n in range(3)]
    running = [subprocess.Popen(command) for command in commands]
    assert [process.wait() for process in running] == [0, 0, 0]
    with MnemicStore(tmp_path / "m", embedder="hashing") as store:
        assert len(store.search((), limit=100)) == 45


# What cannot be opened


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"no database, but long enough to look like a header " * 40)
    with pytest.raises(StoreCorrupt, match=r"store\.db"):
        MnemicStore(tmp_path, fields=())
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable, match="file"):
        MnemicStore(tmp_path / "file", fields=())
    with pytest.raises(ConfigurationError, match="Memory or the location"):
        MnemicStore(3)  # type: ignore[arg-type]
    store = MnemicStore(tmp_path / "new", fields=())
    store.close()
    store.close()


def test_no_location_is_that_of_a_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path / "named", tmp_path / "memory"):
        monkeypatch.setenv("MNEMIC_DIR", str(folder) if folder.name == "named" else "")
        with MnemicStore(fields=()) as store, Memory(embedder="hashing") as memory:
            store.put(("a",), "k", {"text": folder.name})
            assert Path(memory.admin.location) == folder
        assert {file.name for file in folder.iterdir()} >= {"store.db", "mnemic.db"}


@pytest.mark.parametrize(
    "location",
    ["mysql://root:hunter2@host/db", "sqlite:///store.db", "https://host/memory", "", Path("postgresql://host/db")],
)
def test_other_addresses_are_refused_and_make_nothing(
    location: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"Give a folder|must be a folder|as a string") as caught:
        MnemicStore(location, embedder="hashing")
    assert "hunter2" not in str(caught.value)
    assert not [*tmp_path.iterdir()]


def test_databases_that_cannot_be_opened() -> None:
    pytest.importorskip("langgraph.store.postgres")
    with pytest.raises(StoreUnavailable, match="cannot be opened") as caught:
        MnemicStore("postgresql://ana:s3cret@127.0.0.1:1/db?connect_timeout=2", fields=())
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("missing", "location", "extra"),
    [("langgraph.store.sqlite", ":memory:", "store"), ("langgraph.store.postgres", "postgresql://h/d", "postgres")],
)
def test_without_their_packages_the_error_says_what_to_install(missing: str, location: str, extra: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import langchain_mnemic, mnemic\n"
        "langchain_mnemic.MnemicRetriever\n"
        f"try: langchain_mnemic.MnemicStore({location!r}, fields=())\n"
        "except mnemic.MissingExtra as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(f'Run: pip install "langchain-mnemic[{extra}]"')
