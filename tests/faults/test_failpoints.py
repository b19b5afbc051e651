"""One step fails, then another ...: each time the record is whole, nothing acknowledged is lost, and the same call ends it."""

import hashlib
import os
import re
import shutil
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from tests.battery import note
from tests.internals import database_of, store_of

from mnemic import Consolidator, HashingEmbedder, InvalidInput, Memory, Message
from mnemic.stores import SqliteStore
from mnemic.stores.sql import transfer
from mnemic.testing.language_models import ScriptedModel
from mnemic.transfer.records import migrate

from .failpoints import MODES, statements, trial

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
LONG = bool(os.environ.get("MNEMIC_BATTERY"))
FEW = 20
"""Steps of a move that are tried in the short form, from its beginning to its end."""
EVERY = 6
"""Of the steps within a transaction, which is rolled back as a whole, every so-many-th fails in the short form."""
SETTINGS = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=4, similarity_threshold=0.6)
TALK = (
    "I live in Lisbon with my cat Miso.", "I work as a nurse at the hospital.", "The bicycle is in the cellar.",
    "My phone number is 912345678.",
)  # fmt: skip


@contextmanager
def opened(folder, dimension=256, *, user="ana", llm=None):
    embedder = HashingEmbedder(dimension=dimension)
    with Memory(
        folder, user=user, session="s", embedder=embedder, llm=llm, consolidator=SETTINGS, durability="NORMAL"
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
    memory.links.add("port", "room", "references", reason="the same machine")


def boxes(memory):
    for n in range(3):
        for place, frame in enumerate(("{}.", "Note that {}.", "{}, as said.")):
            text = frame.format(f"the {n}-th box stands in the cellar of house {n}")
            memory.remember(text, id=f"b{n}-{place}", importance=0.9 - n / 100 - place / 1000)
    memory.links.add("b1-1", "b2-1", "references")


def alike(memory):
    memory.remember("The API runs on port 8080.", id="port")
    memory.remember("The API of the tests runs on port 8080.", id="tests")


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
    memory.links.remove("port", "room")


def processes(memory):
    memory.process()


def consolidate(memory):
    while memory.should_consolidate().should_consolidate:
        memory.consolidate()


def undo(memory):
    newest = "SELECT id FROM consolidations WHERE undone_at IS NULL ORDER BY at DESC, id DESC LIMIT 1"
    while True:
        with database_of(memory).read() as db:
            found = db.execute(newest).fetchone()
        if not found:
            return
        memory.undo(found[0])


def forgets(memory):
    memory.forget(ids=["m0", "port"], reason="in jest")
    memory.restore("port")
    memory.sessions.end()


def erases(memory):
    memory.forget(ids=["m0", "port"], hard=True)


def erases_user(memory):
    memory.admin.erase_user()


def reembeds(memory):
    memory.admin.reembed(HashingEmbedder(dimension=64))


def links(memory):
    memory.links.add("room", "port", "extends", strength=0.5)
    memory.links.add("port", "room", "references", reason="the same rack")
    memory.links.add("port", "room", "supersedes")


def quarantines(memory):
    memory.admin.quarantine(["m0", "port"], reason="a joke")


def quarantined(memory):
    known(memory)
    quarantines(memory)


def releases(memory):
    memory.admin.release(["m0", "port"])


def backup_of(memory):
    return Path(f"{store_of(memory).location}.backup")


def backs_up(memory):
    with suppress(InvalidInput):  # it is there already: as a whole, or not at all
        memory.admin.backup(backup_of(memory))


def imports(memory):
    file = store_of(memory).location + ".jsonl"
    with suppress(FileNotFoundError), suppress(InvalidInput):  # it is all there
        memory.scoped(user="bob").admin.import_from(file)


def exported(memory):
    known(memory)
    memory.admin.export(store_of(memory).location + ".jsonl", vectors=True)


PATHS = {
    "begin": (nothing, adds), "add": (talked, adds), "remember": (known, remembers), "update": (known, updates),
    "process": (talked, processes), "consolidate": (boxes, consolidate), "undo": (merged, undo),
    "forget": (known, forgets), "erase": (known, erases), "erase a member": (merged, lambda m: m.forget(ids=["b0-1", "b1-0"], hard=True)),
    "erase a user": (known, erases_user), "reembed": (known, reembeds), "import": (exported, imports),
    "link": (known, links), "quarantine": (known, quarantines), "release": (quarantined, releases),
    "back up": (known, backs_up), "enrich": (alike, processes),
}  # fmt: skip
KEEPS = (
    "add", "remember", "update", "process", "consolidate", "undo", "reembed", "import", "link", "back up", "enrich",
)  # fmt: skip
"""Paths that take nothing away."""
OPENED = ("begin", "add")
"""Paths whose opening fails too in the short form: that of a new record, and that of all others."""
RECOVERED = ("begin", "consolidate", "erase", "erase a user", "reembed")
"""Paths that leave work for the next opening, or a record that differs from both ends."""
ERASED = {"erase": b"Miso", "erase a user": b"Miso"}
"""What no file holds after the opening that follows."""


def state(memory):
    """What a path decides, without numbers, moments and names that chance gives."""
    with database_of(memory).read() as db, db:
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
    report = memory.admin.verify()
    assert report.ok, report.findings
    assert not store_of(memory).erasure.unfinished()


def described(request):
    return {
        "memories": [
            {"memory": number, "summary": "An API and its port", "tags": ["told"]} for number in request.numbers
        ]
    }


def related(request):
    found = re.findall(r"^memory (\d+): candidates (\d+)", request.prompt, re.MULTILINE)
    return {"links": [{"memory": int(a), "candidate": int(b), "type": "extends", "reason": "alike"} for a, b in found]}


def at_work(path, folder, dimension=256):
    """A memory opened for a path: one of them asks a language model."""
    model = ScriptedModel({"enrich": described, "link": related}) if path == "enrich" else None
    return opened(folder, dimension, llm=model)


def acted(path, folder):
    with at_work(path, folder) as memory:
        PATHS[path][1](memory)


def ended(path, memory, end):
    """The same call again leads to the end."""
    PATHS[path][1](memory)
    sound(memory)
    assert state(memory) == end
    if path == "back up":
        with opened(backup_of(memory)) as copy:
            sound(copy)
            assert state(copy) == end


def after(path, folder, before, end):
    """The record after a fault: whole, complete, and brought to its end by the same call."""
    with at_work(path, folder) as memory:
        sound(memory)
        if path in KEEPS:
            assert {m.id for m in memory.messages()} >= {row[0] for row in before["messages"]}
            with database_of(memory).read() as db:
                assert {row[0] for row in db.execute("SELECT id FROM memories")} >= {
                    row[0] for row in before["memories"] if row[0] != "pref"
                }
        dimension = memory.stats().dimension or 256
        if dimension == 256:
            ended(path, memory, end)
    if dimension != 256:  # a swap of models was committed before the fault
        with at_work(path, folder, dimension) as memory:
            ended(path, memory, end)
    if path in ERASED:
        assert not any(ERASED[path] in file.read_bytes() for file in folder.iterdir())


def contents(folder):
    """What a fault left on the disk; without what SQLite makes anew."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm")):
        digest.update(f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.digest()


def after_all(path, work, trials, base, tmp_path, before, end):
    """How many faults landed; what the same files lead to is tried once, and then that the process has let go of them."""
    landed, left = 0, set()
    for step, mode in trials:
        folder = tmp_path / f"{step}-{mode}"
        shutil.copytree(base, folder)
        landed += trial(lambda at=folder: work(at), step, mode)
        found = contents(folder)
        if LONG or found not in left:
            after(path, folder, before, end)
            left.add(found)
        else:
            with at_work(path, folder) as memory:
                memory.add("The record takes what is written.")
        shutil.rmtree(folder)
    return landed


def counted(path, folder):
    """The statements of a path, with opening and closing, how many of them are the opening's, and what it leads to."""
    with statements() as steps, at_work(path, folder) as memory:
        opening = steps.count
        PATHS[path][1](memory)
    with closing(SqliteStore(folder)) as store:
        dimension = store.statistics.stats("ana").dimension or 256
    with at_work(path, folder, dimension) as memory:
        sound(memory)
        return steps, opening, state(memory)


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


def tried(steps, past=0):
    """Which steps fail, and how: in the long form each in every way.

    In the short form some of each transaction, and the commit that ends it and the step that follows; each in one way.
    """
    numbers = range(past + 1, steps.count + 1)
    if LONG:
        return [(step, mode) for step in numbers for mode in MODES]
    ends = {step for part in steps.parts for step in (part - 1, part)}
    some = [step for step in numbers if step in ends or step % EVERY == 0]
    return [(step, MODES[n % len(MODES)]) for n, step in enumerate(some)]


def enough(landed, trials):
    assert landed >= 0.9 * trials, f"{landed} of {trials} faults landed"


@pytest.mark.parametrize("path", PATHS)
def test_a_path_ends_well_whichever_step_fails(tmp_path, prepared, path):
    base, before = prepared(path)
    shutil.copytree(base, tmp_path / "whole")
    steps, opening, end = counted(path, tmp_path / "whole")
    trials = tried(steps, past=0 if LONG or path in OPENED else opening)
    landed = after_all(path, partial(acted, path), trials, base, tmp_path, before, end)
    enough(landed, len(trials))
    note(f"failpoints: {path}", steps=steps.count, landed=landed, violations=0)


def reopened(folder):
    with opened(folder):
        pass


def reopening(folder, beside):
    """The statements of opening and closing a record that was left half-way."""
    shutil.copytree(folder, beside)
    with statements() as steps:
        reopened(beside)
    shutil.rmtree(beside)
    return steps


def interrupted(path, base, parts, tmp_path):
    """What a path leaves that ended after one of its transactions, each with the steps of its recovery; one in the short form."""
    left = []
    for part in parts:
        for mode in MODES if LONG else ("crash",):
            folder = tmp_path / f"half-{part}-{mode}"
            shutil.copytree(base, folder)
            if trial(lambda at=folder: acted(path, at), part, mode):
                left.append((folder, reopening(folder, tmp_path / "beside")))
    assert left
    return left if LONG else [max(left, key=lambda half: half[1].count)]


@pytest.mark.parametrize("path", PATHS if LONG else RECOVERED)
def test_a_recovery_ends_well_whichever_step_fails(tmp_path, prepared, path):
    base, before = prepared(path)
    shutil.copytree(base, tmp_path / "whole")
    steps, _, end = counted(path, tmp_path / "whole")
    trials = landed = 0
    halves = interrupted(path, base, steps.parts or [steps.count], tmp_path)
    for half, steps in halves:
        trials += len(tried(steps))
        landed += after_all(path, reopened, tried(steps), half, tmp_path, before, end)
    enough(landed, trials)
    note(f"failpoints in recovery: {path}", halves=len(halves), trials=trials, landed=landed, violations=0)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    place = tmp_path_factory.mktemp("source") / "memory"
    for user in ("ana", "bob"):
        with opened(place, user=user) as memory:
            known(memory)
            updates(memory)
            links(memory)
            memory.forget(ids=["m0"])
    return place


def test_a_move_ends_well_whichever_step_fails(tmp_path, source, monkeypatch):
    """Who is at the other place is there as a whole, and the same call moves the rest."""
    monkeypatch.setattr(transfer, "PAGE", 4)
    with statements() as steps:
        whole = migrate(source, tmp_path / "whole")
    trials = tried(steps)
    trials = trials if LONG else trials[:: max(1, len(trials) // FEW)]
    landed, there = 0, {0: 0, 1: 0, 2: 0}
    for step, mode in trials:
        target = tmp_path / f"{step}-{mode}"
        landed += trial(lambda at=target: migrate(source, at), step, mode)
        with closing(SqliteStore(target)) as store:
            moved = store.transfer.users()
            there[len(moved)] += 1
        again = migrate(source, target)
        assert again.ok, again.findings
        assert again.digest == whole.digest
        assert [user.user for user in again.users if user.before] == moved
        shutil.rmtree(target)
    assert all(there.values())
    enough(landed, len(trials))
    note("failpoints: migrate", steps=steps.count, trials=len(trials), landed=landed, violations=0)
