"""kill -9 of everything at once: four writers, one that processes and consolidates, and a reader, on one folder."""

import os
import random
import signal
import time
from contextlib import suppress

import pytest
from tests.battery import note

from mnemic import Conflict, Consolidator, Memory, Message, NotFound

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
TRIALS = 1_000 if os.environ.get("MNEMIC_BATTERY") else 20
WRITERS, ACKS = 4, 100
IN_ONE_FOLDER = 10
SETTINGS = Consolidator(
    min_age_hours=0, buffer_threshold=1, max_batch_size=8, similarity_threshold=0.6, importance_threshold=0.05
)


def opened(folder):
    return Memory(folder, user="ana", embedder="hashing", consolidator=SETTINGS, durability="NORMAL")


def write(folder, side, name):
    """Stores until it is killed; each id is acknowledged in a side file after the call returned."""
    with opened(folder) as memory, side.open("ab", buffering=0) as acknowledged:
        for n in range(1_000_000):
            ids = [f"{name}-{n}"]
            if n % 4 == 0:
                ids.append(f"{name}-{n}-b")
                memory.add(
                    [Message(role="user", content=f"turn {n} of {name}: {id_}", id=id_, session=name) for id_ in ids]
                )
            elif n % 4 == 3 and n > 8:
                memory.update(f"{name}-{n - 1}", content=f"fact {n - 1} of {name}, once more", tags=["again"])
                memory.forget(ids=[f"{name}-{n - 4}"])
                continue
            else:
                memory.remember(f"fact {n} of {name}", id=ids[0])
            os.write(acknowledged.fileno(), "".join(f"{id_}\n" for id_ in ids).encode())


def tidy(folder, side, _name):
    with opened(folder) as memory:
        for n in range(1_000_000):
            with suppress(Conflict):  # a memory was forgotten meanwhile: nothing was changed
                if memory.consolidate().id:
                    side.write_text("consolidated")
            if n % 4 == 3:  # it goes on as long as others write
                memory.process(limit=20)


def read(folder, side, _name):
    with opened(folder) as memory:
        while True:
            for hit in memory.search("what is the fact of w1?", k=5):
                assert hit.text
            assert all(record.content for record in memory.list(limit=20))
            side.write_text("read")


def start(work, *arguments):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(*arguments)
        finally:
            os._exit(code)
    return child


def acknowledged(side):
    """Whole lines only: a line cut by the kill was not acknowledged."""
    return side.read_text().split("\n")[:-1] if side.exists() else []


def trial(folder, sides, number, chance):
    """Start all, wait until all are at work and there is enough to lose, kill all; the ids that were acknowledged."""
    written = [sides / f"{number}-{n}" for n in range(WRITERS)]
    beside = [sides / f"{number}-tidy", sides / f"{number}-read"]
    children = [start(write, folder, side, f"t{number}w{n}") for n, side in enumerate(written)]
    children += [start(work, folder, side, "") for work, side in zip((tidy, read), beside, strict=True)]
    deadline = time.monotonic() + 120
    enough = ACKS + chance.randrange(60)
    try:
        while sum(map(len, map(acknowledged, written))) < enough or not all(side.exists() for side in beside):
            assert time.monotonic() < deadline, "too few acknowledged writes to prove anything"
            for child in children:
                assert os.waitpid(child, os.WNOHANG) == (0, 0), "a process ended by itself"
            time.sleep(chance.random() / 100)
    finally:
        chance.shuffle(children)
        for child in children:
            os.kill(child, signal.SIGKILL)
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert ends == [-signal.SIGKILL] * len(children)
    return [id_ for side in written for id_ in acknowledged(side)]


def lost(folder, ids):
    missing = []
    with opened(folder) as memory:
        report = memory.verify()
        assert report.ok, report.findings
        assert "consolidating" not in memory.stats().memories
        for id_ in ids:
            try:
                memory.get(id_)
            except NotFound:
                missing.append(id_)
    return missing


def test_no_acknowledged_write_is_lost(tmp_path):
    chance, ids, total = random.Random(11), [], 0
    for number in range(TRIALS):
        folder = tmp_path / f"memory{number // IN_ONE_FOLDER}"
        if number % IN_ONE_FOLDER == 0:
            ids = []
        found = trial(folder, tmp_path, number, chance)
        assert len(found) >= ACKS
        total += len(found)
        ids += found
        assert lost(folder, ids) == []
    assert total >= TRIALS * ACKS
    note("kill -9 with four writers", trials=TRIALS, acknowledged=total, lost=0)
