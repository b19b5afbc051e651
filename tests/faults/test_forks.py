"""A handle is carried over a fork: no acknowledged write is lost, whoever ends first, and what cannot be safe is refused."""

import asyncio
import multiprocessing
import os
import socket
import socketserver
import threading
import time
from contextlib import nullcontext

import apsw
import pytest
from tests.internals import database_of

from mnemic import AsyncMemory, Memory, StoreUnavailable
from mnemic.knowledge import episodes

from .failpoints import HUNG, code_of, forked

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "memory"


def opened(folder, **more):
    return Memory(folder, user="ana", embedder="hashing", **more)


def ids(folder):
    with opened(folder) as memory:
        assert memory.admin.verify().ok
        return {message.id for message in memory.messages(limit=None)}


def test_what_a_child_wrote_stays_when_the_parent_closes_first(folder, tmp_path):
    memory = opened(folder)
    memory.add("before", id="before")
    closed = tmp_path / "closed"

    def work():
        memory.add("at once", id="child-0")
        while not closed.exists():
            time.sleep(0.01)
        for n in range(1, 20):
            memory.add(f"turn {n}", id=f"child-{n}")
        assert len(memory.messages(limit=None)) == 21
        memory.close()

    child = forked(work)
    deadline = time.monotonic() + 60
    while len(memory.messages()) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    memory.close()
    closed.touch()
    assert code_of(child) == 0
    assert ids(folder) == {"before", *(f"child-{n}" for n in range(20))}


def test_children_of_a_parent_that_is_writing_and_searching(folder):
    """Children are forked while threads write, search and process: each write that was acknowledged is there."""
    memory = opened(folder)
    memory.add("the first", id="first")
    memory.search("turn")
    memory.process()  # a child waits for ever for a module that a thread of its parent was importing
    stop, said, errors = threading.Event(), [], []

    def busy(work):
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            errors.append(error)
            raise

    def write():
        said.append(memory.add("a turn of the parent", id=f"parent-{len(said)}")[0].id)

    work = (write, lambda: memory.search("turn"), memory.process)
    threads = [threading.Thread(target=busy, args=(one,)) for one in work]
    for thread in threads:
        thread.start()

    def child(name):
        for n in range(5):
            memory.add(f"turn {n} of {name}", id=f"{name}-{n}")
            assert memory.search(f"turn {n} of {name}")
        memory.process()

    children = [forked(lambda name=f"c{n}": child(name)) for n in range(8)]
    codes = [code_of(one) for one in children]
    stop.set()
    for thread in threads:
        thread.join()
    memory.close()
    assert not errors
    assert codes == [0] * 8
    assert ids(folder) == {"first", *said, *(f"c{n}-{i}" for n in range(8) for i in range(5))}


def test_workers_of_a_web_server_that_loads_its_application_before_it_forks(folder):
    """As with ``gunicorn --preload``: each worker answers with the handle it inherited, and ends without closing it."""
    memory = opened(folder)
    memory.add("before", id="before")
    assert memory.search("before")

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            name = self.rfile.readline().decode().strip()
            memory.add(f"turn of {name}", id=name)
            self.wfile.write(memory.search(f"turn of {name}", k=1)[0].id.encode())

    class Server(socketserver.ForkingMixIn, socketserver.TCPServer):
        block_on_close = True

    said = []
    with Server(("127.0.0.1", 0), Handler) as server:
        for n in range(3):
            with socket.create_connection(server.server_address, 60) as client:
                client.sendall(f"w{n}\n".encode())
                server.handle_request()
                memory.add(f"turn {n} of the parent", id=f"p{n}")
                said.append(client.recv(100).decode())
    memory.close()
    assert said == ["w0", "w1", "w2"]
    assert ids(folder) == {"before", *(f"{who}{n}" for who in "wp" for n in range(3))}


def test_processes_of_multiprocessing(folder):
    """Blocking and asynchronous handles that were in use are passed on, while idle work waits in the parent."""
    memory, beside = opened(folder), AsyncMemory(folder, user="ana", embedder="hashing")
    asyncio.run(beside.add("before", id="before"))
    memory.add_exchange("I live in Lisbon.", "Good.")
    memory.idle.arm(seconds=3600)

    def work(name):
        memory.add(f"turn of {name}", id=name)
        asyncio.run(beside.add(f"turn of {name} beside", id=f"{name}-beside"))
        memory.process()
        assert memory.episodes()

    forks = multiprocessing.get_context("fork")
    children = [forks.Process(target=work, args=(f"c{n}",)) for n in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join(HUNG)
    assert [child.exitcode for child in children] == [0] * 3
    asyncio.run(beside.close())
    memory.close()
    assert ids(folder) >= {"before", *(f"c{n}{of}" for n in range(3) for of in ("", "-beside"))}


def test_a_fork_in_the_middle_of_processing_does_not_stop_the_child(folder, monkeypatch):
    """Between two writes, wherever that is: a value that is being computed must hold no lock that the child inherits."""
    memory = opened(folder)
    memory.add_exchange("I live in Lisbon.", "Good.")
    inside, leave, real = threading.Event(), threading.Event(), episodes.background

    def slow(*given):
        inside.set()
        assert leave.wait(60)
        return real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(episodes, "background", slow)
        thread = threading.Thread(target=memory.process)
        thread.start()
        assert inside.wait(60)

        def work():
            patch.undo()
            memory.process()
            assert memory.episodes()

        child = forked(work)
        code = code_of(child)
        leave.set()
        thread.join()
    assert code == 0
    memory.close()


def test_a_fork_in_the_middle_of_a_write_is_refused_in_the_child(folder):
    memory = opened(folder)
    memory.add("before", id="before")
    inside, leave = threading.Event(), threading.Event()

    def long():
        with database_of(memory).write() as db:
            db.execute("INSERT OR REPLACE INTO header (key, value) VALUES ('test', 'x')")
            inside.set()
            leave.wait()

    thread = threading.Thread(target=long)
    thread.start()
    inside.wait()

    def work():
        for refused in (
            lambda: memory.add("x")[0], lambda: memory.search("before"), lambda: opened(folder),
            lambda: memory.scoped(user="ben").remember("x"),
        ):  # fmt: skip
            with pytest.raises(StoreUnavailable, match="spawn"):
                refused()
        with Memory(folder.with_name("other"), user="ana", embedder="hashing") as other:
            assert other.add("another record")[0].outcome == "stored"
        memory.close()

    child = forked(work)
    leave.set()
    thread.join()
    assert code_of(child) == 0
    memory.add("after", id="after")
    memory.close()
    assert ids(folder) == {"before", "after"}


def test_a_fork_that_nobody_announced_is_refused(folder, monkeypatch):
    """uWSGI forks by itself and tells Python in the child alone."""
    memory = opened(folder)
    monkeypatch.setattr("mnemic.services.processes.PATIENCE", 0.0)
    monkeypatch.setattr(type(database_of(memory)), "paused", lambda self, until: nullcontext())

    def work():
        with pytest.raises(StoreUnavailable, match="lazy-apps"):
            memory.add("x")

    assert code_of(forked(work)) == 0
    assert memory.add("y")[0].outcome == "stored"
    memory.close()


def test_a_record_in_ram_says_so():
    with opened(":memory:") as memory:
        memory.add("x")

        def work():
            with pytest.raises(StoreUnavailable, match="RAM"):
                memory.search("x")

        assert code_of(forked(work)) == 0
        assert memory.search("x")


def test_what_waits_for_a_quiet_time_is_left_to_the_parent(folder):
    with opened(folder) as memory:
        memory.add_exchange("I live in Lisbon.", "Good.")
        memory.idle.arm(seconds=3600)

        def work():
            assert memory.idle.wait() is None
            memory.idle.arm(seconds=0.01)
            deadline = time.monotonic() + 30
            while not memory.episodes() and time.monotonic() < deadline:
                time.sleep(0.01)
            assert memory.episodes()

        assert code_of(forked(work)) == 0
        assert memory.idle.wait() > 3000


def test_grandchildren_and_many_handles_on_one_file(folder):
    first, second = opened(folder), opened(folder)

    def work():
        first.add("c", id="c")
        grandchild = forked(lambda: second.add("g", id="g")[0])
        first.close()
        assert code_of(grandchild) == 0
        second.add("d", id="d")

    assert code_of(forked(work)) == 0
    first.add("p", id="p")
    first.close()
    second.close()
    assert ids(folder) == {"c", "g", "d", "p"}


def test_an_interrupt_while_a_fork_waits_lets_everybody_go_on(folder, monkeypatch):
    memory = opened(folder)
    memory.add("before", id="before")
    database = database_of(memory)

    def interrupted(until):
        raise KeyboardInterrupt

    monkeypatch.setattr(database, "_drain_readers", interrupted)

    def work():
        with pytest.raises(StoreUnavailable, match="spawn"):
            memory.add("x")

    assert code_of(forked(work)) == 0
    memory.add("after", id="after")
    memory.close()
    assert ids(folder) == {"before", "after"}


def test_two_threads_fork_at_once(folder, monkeypatch):
    memory = opened(folder)
    memory.add("before", id="before")
    database, codes = database_of(memory), []
    real = database._drain_readers
    monkeypatch.setattr(database, "_drain_readers", lambda until: (time.sleep(0.3), real(until))[1])

    def fork(name):
        codes.append(code_of(forked(lambda: memory.add(name, id=name)[0])))

    threads = [threading.Thread(target=fork, args=(f"c{n}",)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 3
    memory.close()
    assert ids(folder) == {"before", "c0", "c1", "c2"}


def test_a_fork_while_another_thread_opens_is_refused_in_the_child(folder, monkeypatch):
    monkeypatch.setattr("mnemic.services.processes.PATIENCE", 0.1)
    opened(folder).close()
    opening, go, held = threading.Event(), threading.Event(), []

    def slow(connection):
        opening.set()
        assert go.wait(30)

    with monkeypatch.context() as patch:
        patch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, slow])
        thread = threading.Thread(target=lambda: held.append(opened(folder)))
        thread.start()
        assert opening.wait(30)

        def work():
            patch.undo()
            with pytest.raises(StoreUnavailable, match="spawn"):
                opened(folder)

        child = forked(work)
        go.set()
        thread.join()
    assert code_of(child) == 0
    held[0].close()
