"""Three devices of one user that live apart and sync: random lives, a clock for each, and what must be equal afterwards."""

import itertools
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from tests.battery import long
from tests.internals import database_of, store_of

from mnemic import Consolidator, Memory, MnemicError
from mnemic.stores.sql.tombstones import covers
from mnemic.stores.sql.trails import content_and_title
from mnemic.text import values

START = datetime(2026, 5, 1, tzinfo=UTC)
SKEWS = (timedelta(), timedelta(hours=1), timedelta(hours=-2))
"""What the clock of each device shows beyond the true time."""
SETTINGS = Consolidator(min_age_hours=0, buffer_threshold=1, similarity_threshold=0.5, importance_threshold=0.05)
KEYS = (None, "drink", "town")
WORDS = itertools.count(1)
SHARED = (
    "I like green tea in the morning.",
    "Please note: I like green tea in the morning.",
    "The flight leaves at noon.",
)
"""Statements that several devices make on their own."""

OPERATIONS = (
    "add", "remember", "remember", "remember", "derive", "update", "update", "pin", "end", "correct", "forget", "restore",
    "link", "link", "unlink", "process", "consolidate", "undo", "quarantine", "release", "search", "erase", "erase",
)  # fmt: skip
numbers = st.integers(0, 30)
steps = st.one_of(
    *[st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 2), numbers, numbers)] * 5,
    st.tuples(st.just("sync"), st.sampled_from([*itertools.permutations(range(3), 2)])),
)
lives = st.lists(steps, min_size=6, max_size=24)
"""What several devices do, one after the other, and which of them sync."""


def limits(examples):
    """Settings of a run: the same lives every time in the short form."""
    return settings(
        max_examples=examples, deadline=None, derandomize=not long(), database=None, suppress_health_check=[*HealthCheck],
        phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip


class Clocks:
    """The true time, which goes on with every look, and the device that looks."""

    def __init__(self):
        self.ticks, self.device = itertools.count(1), 0

    def now(self):
        return START + timedelta(milliseconds=next(self.ticks), microseconds=self.device) + SKEWS[self.device]


@contextmanager
def own_clocks():
    """Every module of the library reads the clock of the device at work, also one that is imported meanwhile."""
    clocks, real = Clocks(), values.now
    _replace_now(real, clocks.now)
    try:
        yield clocks
    finally:
        _replace_now(clocks.now, real)


def _replace_now(old, new):
    for name, module in list(sys.modules.items()):
        if name.startswith("mnemic") and getattr(module, "now", None) == old:
            module.now = new


@dataclass
class Devices:
    """Three records, and what was stored and erased on any of them; every text has a word of its own."""

    places: Sequence[Path | str]
    clocks: Clocks
    user: str = "ana"
    dead: set = field(default_factory=set)
    done: list = field(default_factory=list)

    def __post_init__(self):
        self.memories = [
            Memory(place, user=self.user, embedder="hashing", consolidator=SETTINGS, durability="NORMAL")
            for place in self.places
        ]
        for device in range(3):
            self.act(device, "add", 0, 1)

    def close(self):
        for memory in self.memories:
            memory.close()

    def rows(self, device):
        return store_of(self.memories[device]).synced.read(self.user)

    def live(self, life):
        """Do the steps of a life."""
        for operation, *given in life:
            if operation == "sync":
                self.sync(*given[0])
            else:
                self.act(given[0], operation, *given[1:])

    def ids(self, device, kind=None):
        return sorted(id_ for id_, s in self.rows(device).outlines.items() if kind in (None, s.kind))

    def word(self):
        return f"canary{next(WORDS)}zq"

    def act(self, device, operation, one, two):
        self.clocks.device = device
        try:
            done = getattr(self, operation)(self.memories[device], device, one, two)
        except MnemicError as error:
            done = type(error).__name__
        self.done.append((device, operation, done))

    def some(self, device, at, kind=None):
        ids = self.ids(device, kind)
        return ids[at % len(ids)] if ids else "nothing"

    def add(self, memory, device, one, two):
        text = f"My {('boat', 'house', 'cat')[two % 3]} is called {self.word()}."
        return memory.add(text, id=f"m{one % 6}" if two % 4 == 0 else None)[0].id

    def remember(self, memory, device, one, two):
        if two % 4 == 0:
            return memory.remember(SHARED[one % len(SHARED)]).id
        if two % 4 == 1:
            return memory.remember(f"The thing is called {self.word()}.", id=f"r{one % 4}").id
        return memory.remember(f"The thing is called {self.word()}.", key=KEYS[one % 3], importance=0.9).id

    def derive(self, memory, device, one, two):
        source = self.some(device, one)
        return memory.remember(f"From that follows {self.word()}.", source_ids=[source]).id, source

    def update(self, memory, device, one, two):
        id_ = self.some(device, one, "memory")
        return id_, memory.update(id_, content=f"Rather, it is called {self.word()}.").outcome

    def pin(self, memory, device, one, two):
        return memory.update(self.some(device, one, "memory"), importance=1.0).outcome

    def end(self, memory, device, one, two):
        id_ = self.some(device, one, "memory")
        return id_, memory.update(id_, invalid_at=None if two % 2 else START + timedelta(days=two % 9)).outcome

    def correct(self, memory, device, one, two):
        id_ = self.some(device, one)
        return id_, memory.correct(id_, f"In truth it is {self.word()}.")[0].id

    def forget(self, memory, device, one, two):
        return memory.forget(ids=[self.some(device, one)])[0]

    def restore(self, memory, device, one, two):
        return memory.restore(self.some(device, one))[0]

    def link(self, memory, device, one, two):
        kind = ("references", "supersedes", "extends")[(one + two) % 3]
        return memory.links.add(
            self.some(device, one, "memory"), self.some(device, two, "memory"), kind, reason="so"
        ).id

    def unlink(self, memory, device, one, two):
        return memory.links.remove(self.some(device, one, "memory"), self.some(device, two, "memory")).outcome

    def process(self, memory, device, one, two):
        return memory.process().memories

    def consolidate(self, memory, device, one, two):
        return memory.consolidate().id

    def undo(self, memory, device, one, two):
        made = sorted(self.rows(device).consolidations)
        return memory.undo(made[one % len(made)] if made else "none").outcome

    def quarantine(self, memory, device, one, two):
        return memory.admin.quarantine([self.some(device, one)], reason="doubtful")

    def release(self, memory, device, one, two):
        return memory.admin.release([self.some(device, one)])

    def search(self, memory, device, one, two):
        return len(memory.search("what is it called?", k=3))

    def erase(self, memory, device, one, two):
        id_ = self.some(device, one)
        before = self.texts(device)
        erasure = memory.forget(ids=[id_], hard=True)
        after = {text for _, text in self.texts(device)}
        self.dead |= {text for id_, text in before if id_ in erasure.ids and "canary" in text and text not in after}
        return erasure.ids

    def texts(self, device):
        """The texts that messages and memories have or had, with their ids."""
        store = store_of(self.memories[device]).synced
        states = store.states(self.user, self.ids(device)).values()
        return {(s.id, content_and_title(text)[0]) for s in states if s.kind != "episode" for _, text in s.texts}

    def sync(self, one, two):
        """Both are equal and in order; no text is lost but of what is erased; another sync changes nothing."""
        self.clocks.device = one
        before = self.texts(one) | self.texts(two)
        report = self.memories[one].admin.sync(self.memories[two])
        self.done.append(("sync", one, two, report.sides))
        self.assert_equal(one, two)
        for memory in (self.memories[one], self.memories[two]):
            found = memory.admin.verify(deep=True)
            assert found.ok, (found.findings, self.done)
        lost = before - self.texts(one)
        if not any(side.erased for side in report.sides):
            assert not lost, (lost, self.done)
        events = [self.rows(device).event for device in (one, two)]
        again = self.memories[two].admin.sync(self.memories[one])
        assert not again.changed, (again, self.done)
        assert not again.conflicts
        assert events == [self.rows(device).event for device in (one, two)]

    def state(self, device):
        """All that two devices share of the user."""
        rows = self.rows(device)
        states = store_of(self.memories[device]).synced.states(self.user, sorted(rows.outlines))
        undone = {id_: held.undone_at for id_, held in rows.consolidations.items()}
        return {"records": states, "links": rows.links, "erased": rows.tombstones, "undone": undone}

    def assert_equal(self, one, two):
        left, right = self.state(one), self.state(two)
        for what in left:
            assert left[what] == right[what], (what, self.done)

    def assert_erased(self):
        """No row tells of what was erased on any device."""
        for device, memory in enumerate(self.memories):
            rows = self.rows(device)
            assert not [s.id for s in rows.outlines.values() if covers(rows.tombstones, s.id, s.began)]
            with database_of(memory).read() as db:
                held = str(
                    [db.execute(f"SELECT * FROM {table}").fetchall() for table in ("records", "versions", "events")]
                )
            assert not [text for text in self.dead if text.split()[-1].strip(".") in held], self.done
