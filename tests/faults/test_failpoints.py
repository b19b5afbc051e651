"""Step 1 fails, then 2, then 3 ...: each time the record is whole, nothing acknowledged is lost, and the same call ends it."""

import os
import shutil
from contextlib import contextmanager, suppress

import pytest
from tests.battery import note

from mnemic import Consolidator, HashingEmbedder, InvalidInput, Memory, Message, MnemicError

from .failpoints import MODES, Cancelled, chosen, in_child, statements

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
LONG = bool(os.environ.get("MNEMIC_BATTERY"))
MOST = 1_000_000 if LONG else 200
SHORT_OF_LARGE = 24
"""Steps tried of a path that has more than MOST, in the short form."""
SETTINGS = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=4, similarity_threshold=0.6)
TALK = (
    "I live in Lisbon with my cat Miso.", "I work as a nurse at the hospital.", "The bicycle is in the cellar.",
    "My phone number is 912345678.",
)  # fmt: skip


@contextmanager
def opened(folder, dimension=256):
    embedder = HashingEmbedder(dimension=dimension)
    with Memory(
        folder, user="ana", session="s", embedder=embedder, consolidator=SETTINGS, durability="NORMAL"
    ) as memory:
        yield memory


def nothing(_):
    """The path begins with an empty folder."""


def talked(memory):
    memory.add([Message(role="user", content=text, id=f"m{n}") for n, text in enumerate(TALK)])


def known(memory):
    talked(memory)
    memory.process()
    memory.remember("The API runs on port 8080.", id="port")
    memory.remember("The server stands in room 12.", id="room")
    memory.link("port", "room", "references", reason="the same machine")


def boxes(memory):
    for n in range(3):
        for place, frame in enumerate(("{}.", "Note that {}.", "{}, as said.")):
            text = frame.format(f"the {n}-th box stands in the cellar of house {n}")
            memory.remember(text, id=f"b{n}-{place}", importance=0.9 - n / 100 - place / 1000)
    memory.link("b1-1", "b2-1", "references")


def merged(memory):
    boxes(memory)
    consolidate(memory)


def adds(memory):
    memory.add([Message(role="user", content=text, id=f"n{n}") for n, text in enumerate(TALK)])


def remembers(memory):
    memory.remember("The API runs on port 9000.", id="new-port")
    memory.preferences["theme"] = "dark"


def updates(memory):
    if memory.get("port").content != "The API runs on port 7000.":
        memory.update("port", content="The API runs on port 7000.", tags=["x"])
    memory.unlink("port", "room")


def processes(memory):
    memory.process()


def consolidate(memory):
    while memory.should_consolidate().should_consolidate:
        memory.consolidate()


def undo(memory):
    while id_ := memory._engine.store.lifecycle.last_consolidation("ana"):
        memory.undo(id_)


def forgets(memory):
    memory.forget(ids=["m0", "port"], reason="in jest")
    memory.restore("port")
    memory.end_session()


def erases(memory):
    memory.forget(ids=["m0", "port"], hard=True)


def erases_user(memory):
    memory.erase_user()


def reembeds(memory):
    memory.reembed(HashingEmbedder(dimension=64))


def imports(memory):
    file = memory._engine.store.location + ".jsonl"
    with suppress(FileNotFoundError), suppress(InvalidInput):  # it is all there
        memory.scoped(user="bob").import_from(file)


def exported(memory):
    known(memory)
    memory.export(memory._engine.store.location + ".jsonl", vectors=True)


PATHS = {
    "begin": (nothing, adds), "add": (talked, adds), "remember": (known, remembers), "update": (known, updates),
    "process": (talked, processes), "consolidate": (boxes, consolidate), "undo": (merged, undo),
    "forget": (known, forgets), "erase": (known, erases), "erase a member": (merged, lambda m: m.forget(ids=["b0-1", "b1-0"], hard=True)),
    "erase a user": (known, erases_user), "reembed": (known, reembeds), "import": (exported, imports),
}  # fmt: skip
KEEPS = ("add", "remember", "update", "process", "consolidate", "undo", "reembed", "import")
"""Paths that take nothing away."""


def state(memory):
    """What a path decides, without numbers, moments and names that chance gives."""
    with memory._engine.store._db.read() as db, db:
        tables = ("messages", "episodes", "memories")
        names = {doc: id_ for table in tables for doc, id_ in db.execute(f"SELECT doc, id FROM {table}")}
        names = {doc: "pref" if id_.startswith("pref_") else id_ for doc, id_ in names.items()}
        found = {
            "messages": [(names[doc], text, status, names.get(e, e)) for doc, text, status, e in db.execute(
                "SELECT doc, content, status, episode FROM messages")],
            "episodes": [(names[doc], *row) for doc, *row in db.execute("SELECT doc, title, content, status FROM episodes")],
            "memories": [(names[doc], *row) for doc, *row in db.execute(
                "SELECT doc, content, status, summary, tags, expired_at IS NULL FROM memories")],
            "links": [(names[a], names[b], *row) for a, b, *row in db.execute("SELECT source, target, type, reason FROM links")],
            "lineage": [(names[a], names[b]) for a, b in db.execute("SELECT child, parent FROM lineage")],
            "vectors": [(names[doc], len(blob)) for doc, blob in db.execute("SELECT doc, vector FROM vectors")],
            "header": [row for row in db.execute("SELECT key, value FROM header") if row[0] in ("model", "dimension", "erasing")],
            "pending": list(db.execute("SELECT task, count(*) FROM pending GROUP BY task")),
            "users": list(db.execute("SELECT name FROM users")),
        }  # fmt: skip
    return {table: sorted(rows, key=repr) for table, rows in found.items()}


def sound(memory):
    report = memory.verify()
    assert report.ok, report.findings


def after(path, folder, before, end):
    """The record after a fault: whole, complete, and brought to its end by the same call."""
    with opened(folder) as memory:
        sound(memory)
        if path in KEEPS:
            assert {m.id for m in memory.messages()} >= {row[0] for row in before["messages"]}
            with memory._engine.store._db.read() as db:
                assert {row[0] for row in db.execute("SELECT id FROM memories")} >= {
                    row[0] for row in before["memories"] if row[0] != "pref"
                }
        dimension = memory.stats().dimension or 256
    with opened(folder, dimension) as memory:  # a swap of models may have been committed before the fault
        PATHS[path][1](memory)
        sound(memory)
        assert state(memory) == end


def trial(path, folder, step, mode):
    """One fault at one step; whether it landed."""
    act = PATHS[path][1]
    if mode == "crash":

        def work():
            with statements(None, step, mode), opened(folder) as memory:
                act(memory)

        code = in_child(work)
        assert code in (0, -9), code
        return code == -9
    with statements(None, step, mode) as steps:
        try:
            with opened(folder) as memory:
                act(memory)
        except (MnemicError, Cancelled):
            assert steps.landed
        if mode == "exception":
            steps.at = 0
    return steps.landed


def counted(path, folder):
    """How many statements a path has, with opening and closing, and what it leads to."""
    with statements() as steps, opened(folder) as memory:
        PATHS[path][1](memory)
    with opened(folder, memory._engine.embedder.dimension) as memory:
        sound(memory)
        return steps.count, state(memory)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder for each path, made once; and the state it is in."""
    made = {}

    def get(path):
        if path not in made:
            folder = tmp_path_factory.mktemp("prepared") / "memory"
            if PATHS[path][0] is nothing:
                folder.mkdir()
                made[path] = folder, None
            else:
                with opened(folder) as memory:
                    PATHS[path][0](memory)
                    sound(memory)
                    made[path] = folder, state(memory)
        return made[path]

    return get


@pytest.mark.parametrize("path", PATHS)
def test_every_step_fails_once(tmp_path, prepared, path):
    base, before = prepared(path)
    shutil.copytree(base, tmp_path / "whole")
    total, end = counted(path, tmp_path / "whole")
    steps = chosen(total, MOST) if total <= MOST else chosen(total, SHORT_OF_LARGE)
    landed = 0
    for number, step in enumerate(steps):
        for mode in MODES if LONG else (MODES[number % len(MODES)],):
            folder = tmp_path / f"{step}-{mode}"
            shutil.copytree(base, folder)
            landed += trial(path, folder, step, mode)
            after(path, folder, before, end)
            shutil.rmtree(folder)
    assert landed >= 0.9 * len(steps) * (len(MODES) if LONG else 1), f"{landed} of {len(steps)} faults landed"
    note(f"failpoints: {path}", steps=len(steps), landed=landed, violations=0)
