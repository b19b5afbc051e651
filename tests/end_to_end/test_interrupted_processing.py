"""Processing that is interrupted, or done by two at once, ends where an undisturbed run ends."""

import random
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.internals import store_of

from mnemic import Memory, Message, Processing, StoreFull
from mnemic.knowledge import pipeline
from mnemic.stores.sql.queries import Knowledge

ROOT = Path(__file__).parents[2]
LONG_TALK = 220  # messages: more than a step takes
DAY = datetime(2024, 5, 6, 9, tzinfo=UTC)
PLACES = ("Lisbon", "Porto", "Faro", "Braga", "Evora", "Sintra", "Coimbra")
LINES = (
    "I live in {place}.", "My favourite dish is {dish}.", "What do you think of {place}?", "My cat is called {cat}.",
    "I work as a {job} in {place}.", "How nice!", "My phone number is {number}.", "The {cat} show is on {day} May.",
)  # fmt: skip


def talk(session, count, seed):
    """A conversation in which values change again and again."""
    chance = random.Random(seed)
    moment = DAY + timedelta(days=seed)
    messages = []
    for n in range(count):
        moment += timedelta(minutes=chance.choice([1, 2, 3, 90]))
        line = chance.choice(LINES).format(
            place=chance.choice(PLACES), dish=chance.choice(["soup", "rice", "cod"]), number=chance.randrange(100, 110),
            cat=chance.choice(["Miso", "Tofu"]), job=chance.choice(["nurse", "cook"]), day=chance.randrange(1, 29),
        )  # fmt: skip
        messages.append(
            Message(
                role=chance.choice(["user", "user", "assistant", "tool"]), name=chance.choice(["Ana", "Bo"]), content=line,
                id=f"{session}-{n}", sent_at=moment, session=session,
            )
        )  # fmt: skip
    return messages


def fill(memory):
    """Three conversations, one of them in a project, each of several steps."""
    for n, session in enumerate("stu"):
        handle = memory.scoped(project="p") if session == "u" else memory
        handle.add(talk(session, 60, n))


def state(memory):
    records = memory.list(order="oldest", limit=None, include_expired=True, reach="user")
    links = [link for r in records for link in memory.links.graph(r.id, depth=1).links]
    return {
        "memories": sorted((r.id, r.content, r.source_ids, r.project, r.expired_at is None, str(r.invalid_at)) for r in records),
        "episodes": sorted((e.id, e.message_ids, e.title, e.content, e.version) for e in memory.episodes(reach="user")),
        "links": sorted({(link.source, link.target, link.type) for link in links}),
    }  # fmt: skip


def sound(memory):
    """What must be true whatever happened."""
    report = memory.admin.verify()
    assert report.ok, report.findings
    told = [id_ for episode in memory.episodes(reach="user") for id_ in episode.message_ids]
    assert len(told) == len(set(told))
    live = [(r.project, r.spoken) for r in memory.list(limit=None, reach="user")]
    assert len(live) == len(set(live))
    return memory.stats()


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(pipeline, "STEP", 16)


@pytest.fixture(scope="module")
def undisturbed():
    with pytest.MonkeyPatch.context() as patch, Memory(":memory:", user="ana", embedder="hashing") as memory:
        patch.setattr(pipeline, "STEP", 16)
        fill(memory)
        report = memory.process()
        assert report.waiting == 0
        assert report.memories > 20
        sound(memory)
        return state(memory)


def failing_at(memory, number):
    """The store refuses the n-th write from now on, before or after it reached the disk."""
    store = store_of(memory)
    real, count = store.apply, 0

    def apply(*arguments, **options):
        nonlocal count
        count += 1
        if count == number:
            store.apply = real
            raise StoreFull("No room, says the test.")
        return real(*arguments, **options)

    store.apply = apply


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 13])
def test_a_write_that_fails_and_another_run(undisturbed, number):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        fill(memory)
        failing_at(memory, number)
        with pytest.raises(StoreFull):
            memory.process()
        before = memory.stats().pending["process"]
        sound(memory)
        report = memory.process()
        assert (report.messages, report.waiting) == (before, 0)
        assert state(memory) == undisturbed


def test_failing_at_every_write(undisturbed):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        fill(memory)
        for _ in range(200):
            failing_at(memory, 2)
            try:
                memory.process()
            except StoreFull:
                sound(memory)
                continue
            break
        assert "process" not in memory.stats().pending
        assert state(memory) == undisturbed


def test_a_failure_after_the_write_was_stored(undisturbed):
    """The store wrote and the answer was lost: nothing is made twice."""
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        fill(memory)
        store = store_of(memory)
        real = store.apply
        for _ in range(3):

            def apply(*arguments, **options):
                real(*arguments, **options)
                store.apply = real
                raise StoreFull("Stored, and the answer is lost.")

            store.apply = apply
            with pytest.raises(StoreFull):
                memory.process()
        memory.process()
        sound(memory)
        assert state(memory) == undisturbed


def test_interrupted_by_the_keyboard(undisturbed):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        fill(memory)

        def stop(done, total):
            if done > 40:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            memory.process(progress=stop)
        memory.process()
        assert state(memory) == undisturbed


def test_in_small_portions(undisturbed):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        fill(memory)
        for _ in range(100):
            if not memory.process(limit=1).waiting:
                break
        sound(memory)
        assert state(memory) == undisturbed


def run(folder, last=0, starter="-", merging="merged"):
    command = [sys.executable, "-m", "tests.end_to_end.process_until", str(folder), str(last), str(starter), merging]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """Makes copies of a folder in which long conversations wait."""
    folder = tmp_path_factory.mktemp("big") / "memory"
    with Memory(folder, user="ana", embedder="hashing", durability="NORMAL") as memory:
        memory.add([message for n in range(3) for message in talk("stu"[n], LONG_TALK, n)])
    return lambda copy: shutil.copytree(folder, copy)


@pytest.fixture(scope="module")
def alone(big, tmp_path_factory):
    """What one process makes of it, with and without merging."""
    made, place = {}, tmp_path_factory.mktemp("alone")
    processes = {merging: run(big(place / merging), 0, "-", merging) for merging in ("merged", "apart")}
    for merging, process in processes.items():
        assert process.communicate(timeout=120)[0].split() == [str(3 * LONG_TALK), "0"]
        with Memory(place / merging, user="ana", embedder="hashing") as memory:
            sound(memory)
            made[merging] = state(memory)
    return made


def test_killed_processes_and_a_last_run(tmp_path, big, alone):
    folder = big(tmp_path / "memory")
    for last in (1, 2, 2, 3):
        process = run(folder, last)
        process.communicate(timeout=120)
        assert process.returncode == 9
        with Memory(folder, user="ana", embedder="hashing") as memory:
            sound(memory)
    process = run(folder)
    process.communicate(timeout=120)
    assert process.returncode == 0
    with Memory(folder, user="ana", embedder="hashing") as memory:
        assert sound(memory).pending.get("process") is None
        assert state(memory) == alone["merged"]


def message_ids(episodes):
    """The messages of episodes; each stands in one of them."""
    found = [id_ for _, ids, *_ in episodes for id_ in ids]
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.parametrize("merging", ["apart", "merged"])
def test_two_processes_at_once(tmp_path, big, alone, merging):
    """Where episodes merge, the order in which conversations are taken decides which; all else is as of one process."""
    folder, starter = big(tmp_path / "memory"), tmp_path / "go"
    processes = [run(folder, 0, starter, merging) for _ in range(2)]
    starter.touch()
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    settings = Processing(enable_episode_merging=merging == "merged")
    with Memory(folder, user="ana", embedder="hashing", processing=settings) as memory:
        memory.process()  # a process leaves a conversation that another one is at
        assert sound(memory).pending.get("process") is None
        assert message_ids(state(memory)["episodes"]) == message_ids(alone[merging]["episodes"])
        # Each process saw what the other stored only after its own step, so links may differ; no statement is stored twice.
        live = [record.spoken for record in memory.list(limit=None, reach="user")]
        assert len(live) == len(set(live))
        if merging == "apart":
            assert state(memory)["episodes"] == alone[merging]["episodes"]


@pytest.mark.parametrize("seed", range(3))
def test_something_is_remembered_between_reading_and_writing(seed):
    """What a run was about to store is stored by somebody else first: the run goes on, and nothing is lost or doubled."""
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add(talk("s", 60, seed))
        store = store_of(memory)
        real = store.apply
        busy = False

        def apply(user, changes, **options):
            nonlocal busy
            if not busy:
                busy = True
                for change in changes:
                    if type(change).__name__ == "AddMemory":
                        memory.remember(change.record.content)
                busy = False
            return real(user, changes, **options)

        store.apply = apply
        try:
            memory.process()
        finally:
            store.apply = real
        memory.process()
        assert "process" not in sound(memory).pending


def test_two_remember_the_same_news_at_once():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.remember("I live in Lisbon.", key="home")
        store = store_of(memory)
        real = store.apply

        def apply(user, changes, **options):
            store.apply = real
            memory.remember("I live in Porto.", key="home")
            return real(user, changes, **options)

        store.apply = apply
        assert memory.remember("I live in Porto.", key="home").outcome == "duplicate"
        assert [r.content for r in memory.list()] == ["I live in Porto."]


def test_what_waits_is_asked_once_for_many_conversations(monkeypatch):
    asked = []
    conversations = Knowledge.conversations
    monkeypatch.setattr(Knowledge, "conversations", lambda own, user: asked.append(user) or conversations(own, user))
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add([message for n in range(40) for message in talk(f"s{n}", 3, n)])
        memory.process()
        assert memory.stats().pending.get("process", 0) == 0
    assert len(asked) == 3, "at the beginning, for the steps, and for what is left"


def test_the_conversation_that_waits_longest_is_always_next(monkeypatch):
    taken = []
    waiting = Knowledge.waiting

    def noted(own, user, level, limit):
        batch = waiting(own, user, level, limit)
        taken.extend((found.message.sent_at, level[1]) for found in batch[:1])
        return batch

    monkeypatch.setattr(Knowledge, "waiting", noted)
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        for session, count, seed in (("long", 60, 0), ("short", 5, 1), ("late", 5, 2)):
            memory.add(talk(session, count, seed))
        memory.process()
    assert taken == sorted(taken)
    sessions = [session for _, session in taken]
    assert sessions[0] == sessions[sessions.index("short") + 1] == "long", "what is left of it waits for the short one"


def test_conversations_that_come_in_meanwhile_wait_for_the_next_call():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add([message for n in range(4) for message in talk(f"s{n}", 3, n)])
        more = iter(range(50, 90))
        memory.process(progress=lambda done, total: memory.add(talk(f"s{(n := next(more))}", 3, n)))
        waits = memory.stats().pending["process"]
        assert waits == 12, "four conversations came, and wait for the next call"
        assert memory.process().waiting == 0
