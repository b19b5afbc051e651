"""Two processes on one PostgreSQL record serve one user: nothing is lost, nothing is consolidated twice."""

import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.battery import count, note
from tests.internals import database_of
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
    with database_of(memory).read() as db:
        tiers = {"promotions": "t.status", "members": "r.tier_before"}
        for table, tier in tiers.items():  # what is long-term by then may go into a later one
            sql = f"""SELECT t.doc FROM {table} t JOIN consolidations c ON c.user_id = t.user_id AND c.id = t.consolidation
                JOIN records r ON r.doc = t.doc WHERE c.undone_at IS NULL AND {tier} = 'short_term'"""
            taken.update(doc for (doc,) in db.execute(sql).fetchall())
    return taken


def restored(memory):
    """Memories that an event brought back after they were absorbed: these may be taken again."""
    with database_of(memory).read() as db:
        rows = db.execute("SELECT doc FROM events WHERE operation IN ('restore', 'undo')").fetchall()
    return {row[0] for row in rows}


def life(url, name, operations, *stop, lines=None):
    """Run a worker, and kill it when it holds still or after so many lines; what it acknowledged, and how it ended."""
    with worker(url, name, operations, *stop) as process:
        said = []
        for line in process.stdout:
            if line == "in the middle\n" or len(said) == lines:
                process.kill()
            said.append(line)
        code = process.wait()
    return [line.strip() for line in said if line.endswith("\n") and line != "in the middle\n"], code


def succession(url, operations):
    """One worker after the other does a part: killed while it consolidates, killed anywhere, and one that lives."""
    third = operations // 3
    second, code = life(url, "w2", operations, third)
    assert code == -signal.SIGKILL
    next_one, code = life(url, "w3", operations, lines=third)
    assert code == -signal.SIGKILL
    done = len(second) + len(next_one)
    last, code = life(url, "w4", max(operations - done, 1))
    return second + next_one + last, code


def test_nothing_is_lost_and_nothing_is_consolidated_twice(postgres_url):
    operations = count(250, 5_000)
    with opened(postgres_url) as memory:
        memory.remember("Something to begin with")
    with ThreadPoolExecutor(2) as both:
        first = both.submit(life, postgres_url, "w1", operations)
        others = both.submit(succession, postgres_url, operations)
    lines, codes = zip(first.result(), others.result(), strict=True)
    assert codes == (0, 0)
    assert all(len(own) >= operations for own in lines)
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
        report = memory.admin.verify()
        assert "consolidating" not in memory.stats().memories
    assert (lost, twice, report.findings) == ([], [], ())
    assert len(taken) > 10
    note("mixed operations of two workers, two killed", trials=len(said), lost=0, taken=len(taken), twice=0, **kinds)


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
        assert memory.admin.verify().ok
