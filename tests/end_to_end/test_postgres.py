"""PostgreSQL beside SQLite, and several processes on one database."""

import json
import pickle
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from tests.internals import store_of

from mnemic import Consolidator, Memory, Message

pytest.importorskip("psycopg")
pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
WRITER = ROOT / "tests" / "faults" / "writer.py"
SETTINGS = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=4, similarity_threshold=0.6)


def opened(location, **options):
    return Memory(location, user="ana", embedder="hashing", **options)


def conversation():
    turns = json.loads((ROOT / "cookbook" / "conversation.json").read_text())
    return [Message(**turn | {"sent_at": datetime.fromisoformat(turn["sent_at"])}) for turn in turns]


def questions():
    return [asked["question"] for asked in json.loads((ROOT / "cookbook" / "questions.json").read_text())]


def told(memory):
    """All hits of all questions, without the ids that are made by chance."""
    return [
        [(hit.kind, hit.text, round(hit.score, 4), len(hit.similar)) for hit in memory.search(question, k=20)]
        for question in questions()
    ]


def test_the_same_hits_in_the_same_order_as_sqlite(postgres_url, tmp_path):
    found = []
    for location in (tmp_path / "memory", postgres_url):
        with opened(location) as memory:
            memory.add(conversation())
            found.append([told(memory)])
            memory.process()
            found[-1].append(told(memory))
            found[-1].append(
                [memory.get_memory_context(question, max_tokens=50_000).text for question in questions()[:5]]
            )
    (messages, processed, contexts), theirs = found
    assert theirs[0] == messages
    assert theirs[1] == processed
    assert [text.split("\n")[1:-1] for text in theirs[2]] == [text.split("\n")[1:-1] for text in contexts]
    assert sum(map(len, messages)) >= 100


def test_what_another_process_writes_is_found(postgres_url, tmp_path):
    with opened(postgres_url) as memory:
        memory.add("hello", id="first")
        assert [hit.id for hit in memory.search("turn of child", k=50)] == ["first"]
        command = [sys.executable, str(WRITER), postgres_url, str(tmp_path / "side"), "child", "60"]
        with subprocess.Popen(command) as child:
            while child.poll() is None:
                memory.search("turn of child", k=50)
        assert child.returncode == 0
        said = {hit.id for hit in memory.search("turn of child", k=100, kinds=["message"])}
        assert said >= {f"child-{n}" for n in range(60) if n % 3}
        assert len(memory.list(limit=100)) == 20
        assert memory.admin.verify().ok


def test_killed_writers_lose_nothing_acknowledged(postgres_url, tmp_path):
    with opened(postgres_url):
        pass
    acknowledged = []
    for trial in range(3):
        side = tmp_path / f"side{trial}"
        command = [sys.executable, str(WRITER), postgres_url, str(side), f"k{trial}", "100000"]
        with subprocess.Popen(command) as child:
            while not side.exists() or side.read_bytes().count(b"\n") < 25 + 10 * trial:
                assert child.poll() is None
            child.send_signal(signal.SIGKILL)
        acknowledged += side.read_bytes().decode().split("\n")[:-1]
    with opened(postgres_url) as memory:
        for id_ in acknowledged:
            assert memory.get(id_)
        assert memory.admin.verify().ok


class TestConsolidation:
    def _fill(self, memory):
        for n in range(6):
            said = f"the {n}-th box stands in the cellar of house {n}"
            for place, frame in enumerate(("{}.", "Note that {}.", "{}, as said.")):
                memory.remember(frame.format(said), id=f"b{n}-{place}", importance=0.9 - n / 100 - place / 1000)

    def _worker(self, url, *arguments):
        command = [sys.executable, "-m", "tests.faults.consolidator", url, *arguments]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    def _tiers(self, memory):
        ids = [f"b{n}-{place}" for n in range(6) for place in range(3)]
        return {id_: memory.get(id_).status for id_ in ids}

    def test_two_processes_consolidate_once(self, postgres_url):
        with opened(postgres_url, consolidator=SETTINGS) as memory:
            self._fill(memory)
            workers = [self._worker(postgres_url, "0") for _ in range(2)]
            for worker in workers:
                worker.communicate(timeout=120)
                assert worker.returncode == 0
            while memory.should_consolidate().should_consolidate:
                memory.consolidate()
            tiers = self._tiers(memory)
            for n in range(6):
                assert sorted(tiers[f"b{n}-{place}"] for place in range(3)) == ["archived", "archived", "long_term"]
                events = [e.operation for place in range(3) for e in memory.history(f"b{n}-{place}")]
                assert (events.count("promote"), events.count("absorb")) == (1, 2)
            assert memory.admin.verify().ok

    def test_the_lock_of_a_killed_process_is_taken_over(self, postgres_url):
        with opened(postgres_url, consolidator=SETTINGS) as memory:
            self._fill(memory)
            holder = self._worker(postgres_url, "0", "hold")
            assert holder.stdout.readline() == "held\n"
            lifecycle = store_of(memory).lifecycle
            with lifecycle.exclusive() as alone:
                assert not alone
            holder.send_signal(signal.SIGKILL)
            holder.communicate()
            for _ in range(1_000):  # the server notices the end of the connection in its own time
                with lifecycle.exclusive() as alone:
                    if alone:
                        break
            assert alone

    @pytest.mark.parametrize("last", ["1", "2", "3"])
    def test_what_a_killed_process_left_on_the_workbench_is_put_back(self, postgres_url, last):
        with opened(postgres_url, consolidator=SETTINGS) as memory:
            self._fill(memory)
        worker = self._worker(postgres_url, last)
        worker.communicate(timeout=120)
        assert worker.returncode == 9
        with opened(postgres_url, consolidator=SETTINGS) as memory:
            while memory.should_consolidate().should_consolidate:
                assert memory.consolidate().id
            assert "consolidating" not in memory.stats().memories
            assert sorted(self._tiers(memory).values()).count("long_term") == 6
            assert memory.admin.verify().ok


def test_without_the_driver_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] in ("psycopg", "psycopg_pool")]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in [name for name in sys.modules if name.startswith("mnemic.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"mnemic\[postgres\]"):
        Memory("postgres://host/db", embedder="hashing")


def test_the_location_opens_the_same_record_in_another_process(postgres_url):
    with opened(postgres_url.replace("postgres:@", "postgres:s3cret@")) as memory:
        memory.remember("Ana likes tea.")
        assert "s3cret" not in memory.admin.location
        code = (
            "import sys; from mnemic import Memory\n"
            "with Memory(sys.argv[1], user='ana', embedder='hashing') as memory: print(memory.list()[0].content)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, memory.admin.location], capture_output=True, text=True, check=True
        )
    assert done.stdout.strip() == "Ana likes tea."


def test_a_chat_memory_finds_its_record_again(postgres_url, tmp_path, monkeypatch):
    """What is written down has no password, and opens no empty folder elsewhere."""
    mnemic_llama = pytest.importorskip("llama_index.memory.mnemic")
    monkeypatch.chdir(tmp_path)
    secret = postgres_url.replace("postgres:@", "postgres:s3cret@")
    chat = mnemic_llama.MnemicChatMemory(
        memory=secret, scope={"user": "ana"}, session_id="now", options={"embedder": "hashing"}, idle=False
    )
    chat.memory.add("Ana likes tea.", session="now")
    data, frozen = chat.to_json(), pickle.dumps(chat)
    assert "s3cret" not in data + repr(frozen)
    chat.memory.close()
    code = (
        "import pickle, sys; from llama_index.memory.mnemic import MnemicChatMemory\n"
        "first, second = MnemicChatMemory.from_json(sys.argv[1]), pickle.loads(bytes.fromhex(sys.argv[2]))\n"
        "for chat in (first, second): print(chat.memory.messages()[0].content)\n"
        "first.memory.close()"
    )
    done = subprocess.run([sys.executable, "-c", code, data, frozen.hex()], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["Ana likes tea."] * 2
    assert list(tmp_path.iterdir()) == []
