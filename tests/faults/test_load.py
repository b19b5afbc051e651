"""Many at once: nothing is lost, nothing is there twice, nobody is told to come back later, and the loop is never held up.

The long form measures as well; what it measures is written down and never asserted, because a busy machine is no fault.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.battery import count, long, note
from tests.internals import cached

from mnemic import AsyncMemory, Consolidator, Memory, Message
from mnemic.runtime import views
from mnemic.stores.sqlite.database import Database
from mnemic.text import terms

HERE = Path(__file__).parent
WAITING = 3_600
TOPICS = "garden clock bicycle kitchen harbour ticket violin winter bakery ladder engine window letter market".split()
ADJECTIVES = "red old quiet broken golden narrow heavy early borrowed wooden".split()


def started(script, *arguments, **options):
    words = [sys.executable, str(HERE / script), *map(str, arguments)]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True, **options)


def fact(n):
    """A fact of its own words, so that it can be told from all others."""
    return f"The {ADJECTIVES[n % 10]} {TOPICS[n // 10 % 14]} of house {n} belongs to tenant {n * 7919 % 100_003}."


def filled(folder, number, *, user="ana"):
    """A record of so many messages, written in large batches."""
    with Memory(folder, user=user, embedder="hashing", durability="NORMAL") as memory:
        start = datetime(2024, 1, 1, tzinfo=UTC)
        for first in range(0, number, 2_000):
            memory.add(
                Message(
                    role="user",
                    content=fact(n),
                    id=f"m{n}",
                    session=f"s{n // 20}",
                    sent_at=start + timedelta(minutes=n),
                )
                for n in range(first, min(first + 2_000, number))
            )


def measured(seconds):
    """Percentiles in milliseconds."""
    ordered = sorted(seconds)
    return {f"p{p}_ms": round(1000 * ordered[min(len(ordered) - 1, len(ordered) * p // 100)], 1) for p in (50, 95, 99)}


def own(name, pid="self"):
    """A figure of a process, in kB, or how many files it has open."""
    if name == "files":
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])


# Writers


def test_processes_of_many_threads_write(tmp_path):
    """8 processes of 16 threads, or 3 of 4: every write acknowledged, every acknowledged write there once."""
    processes, threads, writes = count(3, 8), count(4, 16), count(6, 500)
    sides = [tmp_path / f"side{n}" for n in range(processes)]
    began = time.monotonic()
    writers = [
        started("many_writer.py", tmp_path / "memory", side, f"p{n}", threads, writes) for n, side in enumerate(sides)
    ]
    try:
        said = [writer.communicate(timeout=WAITING * 4)[1] for writer in writers]
    finally:
        for writer in writers:
            writer.kill()
    assert ([writer.returncode for writer in writers], said) == ([0] * processes, [""] * processes)
    seconds = time.monotonic() - began
    ids = [id_ for side in sides for id_ in side.read_text().split("\n")[:-1]]
    assert len(ids) == len(set(ids)) == processes * threads * writes
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        held = [record.id for record in (*memory.messages(reach="user"), *memory.list(reach="user", limit=None))]
        report = memory.admin.verify()
    assert sorted(held) == sorted(ids)
    assert report.ok, report.findings
    note("load: writers", processes=processes, threads=threads, writes=len(ids), lost=0, twice=0, locked=0,
         seconds=round(seconds), writes_per_second=round(len(ids) / seconds, 1))  # fmt: skip


def test_the_same_fact_from_every_thread(tmp_path):
    """Threads at a barrier: one of them stores it, the others are told that it is known."""
    threads, rounds = count(16, 64), count(20, 1_000)
    together = threading.Barrier(threads)
    outcomes = Counter()
    with (
        Memory(tmp_path, user="ana", embedder="hashing", durability="NORMAL") as memory,
        ThreadPoolExecutor(threads) as pool,
    ):

        def say(text):
            together.wait()
            return memory.remember(text)

        for n in range(rounds):
            receipts = list(pool.map(say, [fact(n)] * threads))
            told = Counter(receipt.outcome for receipt in receipts)
            assert told == {"stored": 1, "duplicate": threads - 1}, (n, told)
            assert len({receipt.id for receipt in receipts}) == 1
            if n % 50 == 0:
                assert sorted(r.content for r in memory.list(limit=None)) == sorted(map(fact, range(n + 1)))
            outcomes += told
        assert sorted(r.content for r in memory.list(limit=None)) == sorted(map(fact, range(rounds)))
        report = memory.admin.verify()
    assert report.ok, report.findings
    note("load: same fact, threads", threads=threads, rounds=rounds, **outcomes, rows_each_round=1)


def test_the_same_fact_from_every_process(tmp_path):
    """Several processes of several threads, each round let go at once."""
    processes, threads, rounds = count(2, 4), count(4, 16), count(6, 1_000)
    with Memory(tmp_path / "memory", user="ana", embedder="hashing"):
        pass
    writers = [
        started("same_writer.py", tmp_path / "memory", threads, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(processes)
    ]
    try:
        assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * processes
        for n in range(rounds):
            for writer in writers:
                writer.stdin.write(f"{fact(n)}\n")
            for writer in writers:
                writer.stdin.flush()
            told = [pair for writer in writers for pair in json.loads(writer.stdout.readline())]
            outcomes = Counter(outcome for outcome, _ in told)
            assert outcomes == {"stored": 1, "duplicate": processes * threads - 1}, (n, told)
            assert len({id_ for _, id_ in told}) == 1
    finally:
        said = [writer.communicate(timeout=WAITING)[1] for writer in writers]
    assert ([writer.returncode for writer in writers], said) == ([0] * processes, [""] * processes)
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        assert sorted(r.content for r in memory.list(limit=None)) == sorted(map(fact, range(rounds)))
        report = memory.admin.verify()
        assert report.ok, report.findings
    note("load: same fact, processes", processes=processes, threads=threads, rounds=rounds, rows_each_round=1)


def test_a_word_has_one_stem_on_every_thread():
    """A stemmer keeps the word it works on in itself: threads that shared one found wrong terms, or died of it."""
    endings = ("ational", "ing", "fully", "ness", "ations", "ed", "izers", "x", "s", "ly")
    words = [f"{word}{ending}{last}" for word in TOPICS for ending in endings for last in ("", "s", "q", "z")]
    stem = terms._stem.__wrapped__  # without what is remembered of earlier words
    wanted = [stem(word) for word in words]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(lambda _: [stem(word) for word in words], range(count(16, 200))))
    finally:
        sys.setswitchinterval(before)
    assert all(one == wanted for one in found)


# Readers


@pytest.mark.parametrize("users", [1, 50])
async def test_128_recalls_at_once(tmp_path, users):
    """Every recall finds what it asks for; how long they take is noted in the long form."""
    size, requests = count(2_000, 100_000) // users, count(128, 10_000)
    for name in range(users):
        await asyncio.to_thread(filled, tmp_path, size, user=f"user{name}")
    chance = random.Random(5)
    waiting = iter([(chance.randrange(users), chance.randrange(size)) for _ in range(requests)])
    took: list[float] = []
    async with AsyncMemory(tmp_path, embedder="hashing") as memory:
        handles = [memory.scoped(user=f"user{name}") for name in range(users)]
        for handle in handles:
            await handle.search("warm", k=1)

        async def client():
            for name, n in waiting:
                began = time.perf_counter()
                hits = await handles[name].search(f"house {n} tenant {n * 7919 % 100_003}", k=5)
                took.append(time.perf_counter() - began)
                assert f"m{n}" in [hit.id for hit in hits], n

        await asyncio.gather(*(client() for _ in range(128)))
    assert len(took) == requests
    whose = "one user" if users == 1 else f"{users} users"
    note(f"load: 128 recalls at once, all records of {whose}", records=size * users, requests=len(took), errors=0,
         processors=os.cpu_count(), load=os.getloadavg()[0], **measured(took))  # fmt: skip


@pytest.fixture
def threads_of_work(monkeypatch):
    """The threads on which the engine opens a transaction, reads, or embeds."""
    from mnemic import HashingEmbedder

    seen: Counter[int] = Counter()

    def watched(owner, name):
        real = getattr(owner, name)

        def call(*arguments, **options):
            seen[threading.get_ident()] += 1
            return real(*arguments, **options)

        monkeypatch.setattr(owner, name, call)

    for owner, name in ((Database, "read"), (Database, "write"), (Database, "exclusive"), (HashingEmbedder, "embed")):
        watched(owner, name)
    return seen


EAGER = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=8, similarity_threshold=0.6)


async def test_no_work_is_done_on_the_loop(tmp_path, threads_of_work):
    """Recalls, writes and a consolidation at once: none of their work runs on the thread of the loop."""
    async with AsyncMemory(tmp_path, user="ana", session="s", embedder="hashing", consolidator=EAGER) as memory:
        threads_of_work.clear()  # opening is the caller's own

        async def turn(n):
            stored = await memory.remember(f"{fact(n)}")
            await memory.add_exchange(f"Question {n}?", f"Answer {n}.")
            await memory.update(stored.id, importance=0.7)
            await memory.search(f"house {n}")
            await memory.get_memory_context(f"house {n}", max_tokens=200)
            await memory.list()
            await memory.history(stored.id)

        ticks = asyncio.create_task(_ticking(0.005))
        await asyncio.gather(*(turn(n) for n in range(16)), memory.process(), memory.consolidate())
        await memory.forget(ids=[(await memory.list(limit=1))[0].id], hard=True)
        await memory.admin.export(tmp_path / "export.jsonl")
        assert (await memory.admin.verify()).ok
        ticks.cancel()
        loop = threads_of_work.pop(threading.get_ident(), 0)
        assert sum(threads_of_work.values()) > 100
        assert loop == 0


async def _ticking(seconds, gaps=None):
    """Tick, and note how late each tick is."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(seconds)
        if gaps is not None:
            gaps.append(time.perf_counter() - began - seconds)


@pytest.mark.skipif(not long(), reason="measures: long form only")
async def test_how_long_the_loop_is_held_up(tmp_path):
    """The largest gap of a 5 ms ticker while 128 clients recall and a consolidation runs. Noted, not asserted."""
    await asyncio.to_thread(filled, tmp_path, 20_000)
    gaps: list[float] = []
    idle: list[float] = []
    async with AsyncMemory(tmp_path, user="ana", embedder="hashing", consolidator=EAGER) as memory:
        for n in range(200):
            await memory.remember(f"{fact(n)} Noted.")
        ticks = asyncio.create_task(_ticking(0.005, idle))
        await asyncio.sleep(10)
        ticks.cancel()
        ticks = asyncio.create_task(_ticking(0.005, gaps))
        deadline = time.monotonic() + 60

        async def client(seed):
            chosen = random.Random(seed)
            while time.monotonic() < deadline:
                assert await memory.search(f"house {chosen.randrange(20_000)}", k=5)

        await asyncio.gather(*(client(n) for n in range(128)), memory.consolidate())
        ticks.cancel()
    note("load: event loop", ticks=len(gaps), largest_gap_ms=round(1000 * max(gaps), 1), **measured(gaps),
         largest_gap_idle_ms=round(1000 * max(idle), 1), load=os.getloadavg()[0])  # fmt: skip


# A slow language model


async def test_no_write_waits_for_a_language_model(tmp_path):
    """While the model thinks, a hundred facts are remembered; only then may it answer."""
    pytest.importorskip("pydantic_ai")
    from mnemic.llm import LanguageModel
    from mnemic.testing.language_models import ScriptedModel

    asked, answer = threading.Event(), threading.Event()

    def slow(request):
        asked.set()
        assert answer.wait(WAITING)
        return {"episodes": [{"topic": "a flat", "first": request.numbers[0], "last": request.numbers[-1]}]}

    nothing = {
        "narrate": {"episodes": []}, "extract": {"prediction": "", "statements": []}, "enrich": "no", "expand": "no",
        "decide": {"decision": "keep_both"}, "link": {"links": []},
    }  # fmt: skip
    model = LanguageModel(ScriptedModel({"segment": slow, **nothing}), timeout=WAITING, retries=0)
    async with AsyncMemory(tmp_path, user="ana", session="s", embedder="hashing", llm=model) as memory:
        for n in range(6):
            await memory.add(f"I live in house {n}. {fact(n)}")
        work = asyncio.create_task(memory.process())
        try:
            assert await asyncio.to_thread(asked.wait, WAITING)
            receipts = [await memory.remember(fact(n)) for n in range(100, 200)]
            added = (await memory.add("This was said meanwhile."))[0]
            found = await memory.search("house 150", k=3)
            assert not answer.is_set()
            assert not work.done()
        finally:
            answer.set()
        assert {receipt.outcome for receipt in (*receipts, added)} == {"stored"}
        assert receipts[50].id in [hit.id for hit in found]
        await work
        held = {record.id for record in await memory.list(limit=None)}
        assert {receipt.id for receipt in receipts} <= held
        assert (await memory.admin.verify()).ok
    model.close()
    note("load: slow language model", remembers=len(receipts), waited=0)


# Many users, long runs


def test_many_users(tmp_path, monkeypatch):
    """Everybody recalls what is theirs, and what is kept in RAM for them has a bound."""
    users, each, bound = count(200, 10_000), count(3, 10), count(60, 20_000)
    before = own("VmRSS") if long() else 0
    monkeypatch.setattr(views, "MAX_CACHED_ROWS", bound)
    took: list[float] = []
    with Memory(tmp_path, embedder="hashing", durability="NORMAL") as memory:
        for user in range(users):
            mine = memory.scoped(user=f"user {user}")
            mine.add(Message(role="user", content=fact(user * each + n), id=f"m{n}") for n in range(each))
        order = list(range(users))
        random.Random(3).shuffle(order)
        for user in order:
            wanted = user * each + user % each
            began = time.perf_counter()
            hits = memory.scoped(user=f"user {user}").search(
                f"house {wanted} tenant {wanted * 7919 % 100_003}", k=each + 5
            )
            took.append(time.perf_counter() - began)
            assert {hit.text for hit in hits} <= {fact(user * each + n) for n in range(each)}
            assert hits[0].text == fact(wanted), user
            assert sum(cached(memory)[0].values()) <= bound
        assert len(cached(memory)[0]) <= bound // each
        assert memory.admin.verify(deep=long()).ok
    after = own("VmRSS") if long() else 0
    note("load: many users", users=users, memories_each=each, wrong=0, rows_in_ram=bound, rss_grew_mb=round((after - before) / 1024),
         **measured(took))  # fmt: skip


@pytest.mark.skipif(not long(), reason="minutes: long form only")
def test_a_long_run(tmp_path):
    """Four parts of reading to one of writing: memory, files and log stay what they are after warming up."""
    minutes = float(os.environ.get("MNEMIC_SOAK_MINUTES", "30"))
    filled(tmp_path, 5_000)
    chosen = random.Random(11)
    window: list[float] = []
    seen: list[dict[str, float]] = []
    log = tmp_path / "mnemic.db-wal"
    largest, calls, warm = 0, 0, None
    began = time.monotonic()
    deadline, mark = began + minutes * 60, began + minutes * 60 / 10
    with Memory(tmp_path, user="ana", embedder="hashing", consolidator=EAGER, durability="NORMAL") as memory:
        alive: list[str] = []
        while time.monotonic() < deadline:
            calls += 1
            started_at = time.perf_counter()
            if chosen.random() < 0.8:
                assert memory.search(f"house {chosen.randrange(5_000)}", k=5)
                window.append(time.perf_counter() - started_at)
            elif len(alive) < 500:
                alive.append(memory.remember(f"{fact(calls)} Call {calls}.").id)
            else:
                memory.forget(ids=alive[:250], hard=True)
                del alive[:250]
            largest = max(largest, log.stat().st_size if log.exists() else 0)
            if time.monotonic() >= mark:
                mark += minutes * 60 / 10
                seen.append({"rss_kb": own("VmRSS"), "files": own("files"), **measured(window)})
                window.clear()
                warm = warm or seen[0]
        report = memory.admin.verify()
    assert report.ok, report.findings
    grew = seen[-1]["rss_kb"] / seen[1]["rss_kb"] - 1
    note("load: long run", minutes=minutes, calls=calls, rss_grew_percent=round(100 * grew, 1), files=[s["files"] for s in seen],
         largest_log_mb=round(largest / 2**20, 1), first=seen[0], last=seen[-1])  # fmt: skip
    assert grew < 0.05 + 20_000 / seen[1]["rss_kb"]  # 5 %, and some room for the allocator
    assert max(s["files"] for s in seen[1:]) <= seen[0]["files"] + 1
    assert largest <= 64 * 2**20
