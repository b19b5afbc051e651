"""Whatever came before: of what is erased no word stands in any row, and the record stays in order."""

import itertools
import random
from dataclasses import replace

import pytest
from tests.battery import count, note
from tests.internals import database_of, runtime_of, store_of

from mnemic import Memory, MnemicError
from mnemic.types import Consolidate, Promotion, Revise

HISTORIES, STEPS = count(80, 3_000), 24
KINDS = ("references", "extends", "contradicts", "implements", "supersedes")
WEIGHTS = {
    "remember": 3, "derive": 1, "link": 5, "unlink": 0.5, "consolidate": 5, "undo": 1.5, "forget": 0.7, "restore": 0.7,
    "quarantine": 0.4, "release": 0.6, "update": 1, "erase": 0.7,
}  # fmt: skip


def word(name: str) -> str:
    return f"canary{name}zq"


class History:
    """Random calls on one memory; every text has a word of its own, and reasons of links quote both their ends."""

    def __init__(self, memory, seed):
        self.memory, self.draw = memory, random.Random(seed)
        self.numbers, self.consolidations = itertools.count(1), 0
        self.names, self.gone, self.done = [], set(), []

    def walk(self):
        for _ in range(3):
            self.remember()
        for kind in self.draw.choices([*WEIGHTS], [*WEIGHTS.values()], k=STEPS):
            if len(self.names) > 1:
                try:
                    getattr(self, kind)()
                except MnemicError as error:
                    self.done.append((kind, type(error).__name__))
        if self.names:
            self.erase()

    def some(self):
        return self.draw.choice(self.names)

    def remember(self, **more):
        name = f"r{next(self.numbers)}"
        text = " ".join([f"The thing called {word(name)} is here", *map(word, more.get("source_ids", ()))])
        self.memory.remember(text, id=name, tags=[word(name)], **more)
        self.names.append(name)
        self.done.append(("remember", name))

    def derive(self):
        self.remember(source_ids=[self.some()])

    def link(self):
        source, target = self.draw.sample(self.names, 2)
        kind = self.draw.choice(KINDS)
        self.memory.links.add(source, target, kind, reason=f"because {word(source)} and {word(target)}")
        self.done.append(("link", source, target, kind))

    def unlink(self):
        self.memory.links.remove(*self.draw.sample(self.names, 2))

    def consolidate(self):
        """One stands for others; in half of the cases a model gives it a text of all."""
        live = [record.id for record in self.memory.list(limit=None)]
        if len(live) < 2:
            return
        head, *members = self.draw.sample(live, self.draw.randint(2, min(3, len(live))))
        runtime, revised = runtime_of(self.memory), None
        if self.draw.random() < 0.5:
            held = self.memory.get(head)
            text = "; ".join([held.content, *(self.memory.get(name).content for name in members)])
            record = replace(held, content=text, version=held.version + 1)
            ((_, index),) = runtime.indexer.indexed([record])
            revised = Revise(record=record, indexing=index)
        self.consolidations += 1
        promotion = Promotion(id=head, absorbed=tuple(members), revised=revised)
        change = Consolidate(id=f"c{self.consolidations}", promotions=(promotion,), contradictions=(), judged=())
        runtime.store.apply("ana", [change])
        self.done.append(("consolidate", head, members, revised is not None))

    def undo(self):
        if self.consolidations:
            self.memory.undo(f"c{self.draw.randint(1, self.consolidations)}")
            self.done.append(("undo",))

    def forget(self):
        name = self.some()
        self.memory.forget(ids=[name], reason=word(name))
        self.done.append(("forget", name))

    def restore(self):
        self.memory.restore(self.some())

    def quarantine(self):
        self.memory.admin.quarantine([self.some()])

    def release(self):
        self.memory.admin.release([self.some()])

    def update(self):
        name = self.some()
        self.memory.update(name, content=f"Again {word(name)} {self.draw.random()}")

    def erase(self):
        name = self.some()
        erasure = self.memory.forget(ids=[name], hard=True)
        self.gone |= {*erasure.ids}
        self.names = [name for name in self.names if name not in self.gone]
        self.done.append(("erase", name, erasure.ids))


def rows(memory):
    """Every value of every table, and the words that are filed."""
    with database_of(memory).read() as db:
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'fulltext%' AND name != 'postings'"
        for (table,) in db.execute(sql).fetchall():
            yield table, str(db.execute(f"SELECT * FROM {table}").fetchall())
        yield "postings", str(db.execute("SELECT DISTINCT term FROM postings").fetchall())


@pytest.mark.parametrize("part", range(4))
def test_no_row_tells_of_what_is_erased(part):
    erased = 0
    for seed in range(part, HISTORIES, 4):
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            history = History(memory, seed)
            history.walk()
            erased += len(history.gone)
            for table, held in rows(memory):
                told = [name for name in history.gone if word(name) in held]
                assert not told, (seed, table, told, history.done)
            report = memory.admin.verify()
            assert report.ok, (seed, report.findings, history.done)
    assert erased > HISTORIES // 8
    note(f"erasure: histories, part {part + 1}", histories=len(range(part, HISTORIES, 4)), erased=erased, rows_left=0)


def test_a_link_that_was_moved_twice_goes_with_its_reason(tmp_path):
    """And where another member had one to the same end, that one takes its place."""
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        for name in ("goes", "stays", "first", "second", "far", "near"):
            memory.remember(f"Words of the {name} one.", id=name)
        memory.links.add("far", "goes", "references", reason="a SECRET of the first")
        memory.links.add("near", "goes", "references", reason="another SECRET")
        memory.links.add("near", "stays", "references", reason="its own words")
        for number, (head, *members) in enumerate([("first", "goes", "stays"), ("second", "first")]):
            promotion = Promotion(id=head, absorbed=tuple(members))
            change = Consolidate(id=f"c{number}", promotions=(promotion,), contradictions=(), judged=())
            store_of(memory).apply("ana", [change])
        assert "SECRET" in str(memory.links.graph("second"))
        assert memory.forget(ids=["goes"], hard=True).clean
        links = {(link.source, link.target, link.reason) for link in memory.links.graph("second").links}
        assert links == {("near", "second", "its own words")}
        assert not any("SECRET" in held for _, held in rows(memory))
        memory.undo("c1")
        memory.undo("c0")
        links = {(link.source, link.target, link.reason) for link in memory.links.graph("stays").links}
        assert links == {("near", "stays", "its own words")}
        assert memory.admin.verify().ok
