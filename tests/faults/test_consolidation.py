"""Consolidation that is interrupted ends where an undisturbed one ends, and leaves nothing in the tier ``consolidating``."""

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.battery import count, note
from tests.internals import database_of, store_of

from mnemic import Consolidator, Memory, StoreFull

ROOT = Path(__file__).parents[2]
SETTINGS = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=4, similarity_threshold=0.6)
RUNS = count(6, 100)
"""Processes killed at a moment drawn by chance, each after another number of writes."""
FRAMES = ("{}.", "Note that {}.", "{}, as said.")


def fill(memory):
    """Ten things told three times, some of them with another value, and links between them."""
    for n in range(10):
        said = f"the {n}-th box stands in the cellar of house {n}"
        for place, frame in enumerate(FRAMES):
            memory.remember(frame.format(said), id=f"b{n}-{place}", importance=0.9 - n / 100 - place / 1000)
    for n in range(5):
        memory.remember(f"The {n}-th box stands in the garage of house {n}.", id=f"g{n}", importance=0.8)
    memory.links.add("b1-1", "g1", "references")
    memory.links.add("g2", "b2-2", "extends")


def opened(folder):
    return Memory(folder, user="ana", embedder="hashing", consolidator=SETTINGS, durability="NORMAL")


def state(memory):
    """What consolidation decides: tiers, lineage and links, without moments."""
    with database_of(memory).read() as db:
        ids = dict(db.execute("SELECT doc, id FROM memories"))
        return {
            "memories": sorted(db.execute("SELECT id, status, round(importance, 6), tier_before FROM memories")),
            "lineage": sorted((ids[a], ids[b]) for a, b in db.execute("SELECT child, parent FROM lineage")),
            "links": sorted(
                (ids[a], ids[b], kind) for a, b, kind in db.execute("SELECT source, target, type FROM links")
            ),
        }


def sound(memory):
    report = memory.admin.verify()
    assert report.ok, report.findings


def finish(memory):
    while memory.should_consolidate().should_consolidate:
        assert memory.consolidate().id
    sound(memory)
    assert "consolidating" not in memory.stats().memories
    return state(memory)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder that is filled once; tests work in copies of it."""
    folder = tmp_path_factory.mktemp("filled") / "memory"
    with opened(folder) as memory:
        fill(memory)
    return folder


@pytest.fixture(scope="module")
def undisturbed():
    with opened(":memory:") as memory:
        fill(memory)
        end = finish(memory)
    statuses = [status for _, status, *_ in end["memories"]]
    assert (statuses.count("archived"), statuses.count("long_term")) == (20, 15)
    return end


def failing_at(memory, number, *, after=False):
    """The store refuses the n-th write from now on, or loses its answer after it was stored."""
    store = store_of(memory)
    real, count = store.apply, 0

    def apply(*arguments, **options):
        nonlocal count
        count += 1
        if count != number:
            return real(*arguments, **options)
        store.apply = real
        if after:
            real(*arguments, **options)
        raise StoreFull("No room, says the test.")

    store.apply = apply
    return lambda: setattr(store, "apply", real)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_failure_at_every_write(tmp_path, filled, undisturbed, after):
    failures = 0
    for number in range(1, 100):
        with opened(shutil.copytree(filled, tmp_path / f"{number}")) as memory:
            undo = failing_at(memory, number, after=after)
            try:
                finish(memory)
            except StoreFull:
                failures += 1
                assert "consolidating" not in memory.stats().memories
                sound(memory)
            else:
                break
            finally:
                undo()
            assert finish(memory) == undisturbed
    assert failures > 10


def test_a_failure_while_it_is_taken_back(undisturbed):
    with opened(":memory:") as memory:
        fill(memory)
        before = state(memory)
        ids = []
        while memory.should_consolidate().should_consolidate:
            ids.append(memory.consolidate().id)
        for id_ in reversed(ids):
            failing_at(memory, 1)
            held = state(memory)
            with pytest.raises(StoreFull):
                memory.undo(id_)
            assert state(memory) == held
            memory.undo(id_)
        assert state(memory) == before
        sound(memory)


def run(folder, *arguments):
    command = [sys.executable, "-m", "tests.faults.consolidator", str(folder), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def crashed(folder):
    """What the next process finds: a sound record, which the next cycle goes on with."""
    with opened(folder) as memory:
        sound(memory)
        memory.consolidate()
        assert "consolidating" not in memory.stats().memories


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_process_that_ends_at_a_write(tmp_path, filled, undisturbed, number):
    folder = shutil.copytree(filled, tmp_path / "memory")
    process = run(folder, number)
    process.communicate(timeout=60)
    assert process.returncode == 9
    crashed(folder)
    with opened(folder) as memory:
        assert finish(memory) == undisturbed


def killed(folder, filled, undisturbed, runs, seed=0):
    """Kill a consolidating process at moments drawn by chance, again and again; then let it end."""
    chance = random.Random(seed)
    for number in range(runs):
        place = shutil.copytree(filled, folder / f"run{number}")
        process = run(place, 0)
        steps = chance.randrange(14)
        for _ in range(steps):  # a line for each write: so the kill comes at another depth each time
            process.stdout.readline()
        time.sleep(chance.uniform(0, 0.004))  # and somewhere between two writes, or within one
        process.kill()
        process.communicate(timeout=60)
        with opened(place) as memory:
            sound(memory)
            assert finish(memory) == undisturbed


def test_processes_killed_at_random_moments(tmp_path, filled, undisturbed):
    killed(tmp_path, filled, undisturbed, RUNS)
    note("consolidations killed", trials=RUNS, lost=0)


def test_what_a_crash_left_unfinished_is_seen_and_consolidated(tmp_path, filled, undisturbed):
    folder = shutil.copytree(filled, tmp_path / "memory")
    with opened(folder) as memory, database_of(memory).write() as db:
        db.execute("UPDATE records SET status = 'consolidating'")
    with opened(folder) as memory:
        assert len(memory.search("box", kinds=["memory"])) > 1
        assert memory.should_consolidate().should_consolidate
        assert finish(memory) == undisturbed


def test_the_lock_ends_with_its_process(tmp_path, filled):
    folder = shutil.copytree(filled, tmp_path / "memory")
    with opened(folder) as memory:
        process = run(folder, 0, "hold")
        assert process.stdout.readline() == "held\n"
        assert memory.consolidate().id == ""
        process.kill()
        process.communicate(timeout=60)
        assert memory.consolidate().memories_promoted > 0


def test_what_an_interrupted_run_left_is_put_back_by_the_next_opening(tmp_path):
    from mnemic.types import MarkConsolidating

    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        id_ = memory.remember("The deadline is on 3 May").id
        store_of(memory).apply("ana", [MarkConsolidating(ids=(id_,))])
        assert memory.get(id_).status == "consolidating"
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        assert memory.get(id_).status == "short_term"
        assert memory.admin.verify().ok
