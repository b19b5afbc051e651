"""Two processes on one PostgreSQL record serve one user: nothing is lost, nothing is consolidated twice."""

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.battery import count, note
from tests.stores.postgres_worker import opened

from mnemic import NotFound

pytest.importorskip("psycopg")
pytestmark = pytest.mark.engine
ROOT = Path(__file__).parents[2]


@contextmanager
def worker(*arguments):
    """A worker, killed at the end if it is still there."""
    command = [sys.executable, "-m", "tests.stores.postgres_worker", *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def consolidated(memory):
    """The short-term memories that consolidations in force took, each as often as it was taken."""
    taken = Counter()
    with memory._engine.store._db.read() as db:
        for (plan,) in db.execute("SELECT plan FROM consolidations WHERE undone_at IS NULL").fetchall():
            for promotion in json.loads(plan)["promotions"]:
                held = [promotion, *promotion["absorbed"]]  # what is long-term by then may go into a later one
                taken.update(one["doc"] for one in held if one["status"] == "short_term")
    return taken


def restored(memory):
    """Memories that an event brought back after they were absorbed: these may be taken again."""
    with memory._engine.store._db.read() as db:
        rows = db.execute("SELECT doc FROM events WHERE operation IN ('restore', 'undo')").fetchall()
    return {row[0] for row in rows}


def test_nothing_is_lost_and_nothing_is_consolidated_twice(postgres_url):
    operations = count(250, 5_000)
    with opened(postgres_url) as memory:
        memory.remember("Something to begin with")
    with worker(postgres_url, "w1", operations) as first, worker(postgres_url, "w2", operations) as second:
        with ThreadPoolExecutor(2) as readers:  # both at once: one whose pipe is full would wait
            lines = [*readers.map(lambda process: process.communicate()[0].splitlines(), (first, second))]
        assert [process.returncode for process in (first, second)] == [0, 0]
    assert [len(own) for own in lines] == [operations, operations]
    said = [line for own in lines for line in own]
    ids = {line.removeprefix("stored ") for line in said if line.startswith("stored ")}
    kinds = Counter(line.split()[0] for line in said)
    assert kinds["refused"] < len(said) / 20, kinds
    runs = [line for line in said if line.startswith("consolidated ") and not line.endswith(" -")]
    assert len(runs) == len(set(runs))
    with opened(postgres_url) as memory:
        lost = [id_ for id_ in ids if not there(memory, id_)]
        taken, again = consolidated(memory), restored(memory)
        twice = [doc for doc, times in taken.items() if times > 1 and doc not in again]
        report = memory.verify()
    assert (lost, twice, report.findings) == ([], [], ())
    assert len(taken) > 10
    note("mixed operations of two workers", trials=len(said), lost=0, consolidated=len(taken), twice=0)


def there(memory, id_):
    try:
        memory.get(id_)
    except NotFound:
        return False
    return True


@pytest.mark.parametrize("write", [1, 2])
def test_a_worker_that_is_killed_while_it_consolidates_is_taken_over(postgres_url, write):
    with opened(postgres_url) as memory:
        for n in range(4):
            for way in ("The lamp {} stands in the hall.", "Note that the lamp {} stands in the hall."):
                memory.remember(way.format(n), importance=0.9)
        with worker(postgres_url, "stop", write) as other:
            assert other.stdout.readline() == "in the middle\n"
            before = memory.consolidate()
            assert not before.id, "the other one is at it"
        assert consolidated(memory) == {}
    with opened(postgres_url) as memory:
        assert "consolidating" not in memory.stats().memories
        assert memory.consolidate().id
        assert set(consolidated(memory).values()) == {1}
        assert memory.verify().ok
