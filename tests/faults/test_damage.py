"""Files that were damaged: no process dies, and no answer is wrong without a word."""

import io
import os
import random
import shutil
import sqlite3
import subprocess
import traceback
from collections import Counter
from contextlib import closing, suppress

import apsw
import numpy as np
import pytest
from tests.battery import note
from tests.internals import store_of

from mnemic import Memory, Message, MnemicError

from .failpoints import answer_of

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
MUTANTS = 500 if os.environ.get("MNEMIC_BATTERY") else 20
PAGE = 4096
ALLOWED = {"typed", "told", "right"}


def probe(folder, wanted):
    """``typed``: an error of ours. ``told``: verify() finds something. ``right``: all that was told is there and is found.

    ``shorter``: so is all but the last transaction, which was only in the log.
    """
    try:
        with Memory(folder, user="ana", embedder="hashing") as memory:
            if not memory.admin.verify().ok:
                return "told"
            held = {m.id: m.content for m in memory.messages()} | {m.id: m.content for m in memory.list(limit=None)}
            found = len(memory.search("gardens and water", k=5)) == 5
    except MnemicError as error:
        return f"typed {type(error).__name__}"
    except Exception:  # noqa: BLE001 - what must not be, told in full
        return f"untyped {traceback.format_exc()[-1500:]}"
    late = {id_ for id_ in wanted if id_.startswith("late")}
    if found and held == wanted:
        return "right"
    return "shorter" if found and held == {id_: wanted[id_] for id_ in set(wanted) - late} else f"wrong {len(held)}"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A record with a log that was not merged, as a killed process leaves it, another one of the same kind, and what is in them."""
    made = []
    for number in range(2):
        folder = tmp_path_factory.mktemp("whole") / "memory"
        with Memory(folder, user="ana", session="s", embedder="hashing") as memory:
            memory.add(
                [
                    Message(role="user", content=f"turn {n} about gardens and water {number}", id=f"m{n}")
                    for n in range(200)
                ]
            )
            memory.process(limit=60)
            memory.remember("The garden needs water", id="r")
            memory.update("r", content="The garden needs much water")
        left = folder.with_name("left")
        with Memory(folder, user="ana", embedder="hashing") as memory:
            memory.add(
                [
                    Message(role="user", content=f"late turn {n} about gardens and water", id=f"late{n}")
                    for n in range(20)
                ]
            )
            wanted = {m.id: m.content for m in memory.messages()} | {m.id: m.content for m in memory.list(limit=None)}
            subprocess.run(["cp", "-r", str(folder), str(left)], check=True)  # by another process: see scanner.py
        made.append((left, wanted))
    return made


def flip(data, chance):
    at = chance.randrange(len(data))
    for place in range(at, min(len(data), at + chance.randrange(1, 65))):
        data[place] ^= chance.randrange(1, 256)
    return data


def cut(data, chance):
    return data[: chance.randrange(len(data))]


def cut_at_a_page(data, chance):
    return data[: chance.randrange(len(data) // PAGE) * PAGE]


def zeros(data, chance):
    at = chance.randrange(max(1, len(data) // PAGE)) * PAGE
    data[at : at + PAGE] = bytes(min(PAGE, len(data) - at))
    return data


def doubled(data, chance):
    """A page in the place of another, as a disk that writes to the wrong sector leaves it."""
    a, b = (chance.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    data[a : a + PAGE] = data[b : b + PAGE]
    return data


def empty(_data, _chance):
    return bytearray()


KINDS = (flip, flip, cut, cut_at_a_page, zeros, doubled, empty)


def mutant(folder, number, other):
    """Damage one file of a folder; what was done, in words."""
    chance = random.Random(number)
    name = "mnemic.db-wal" if number % 4 == 3 else "mnemic.db"
    path = folder / name
    if number % 12 == 11:  # the log of another record
        shutil.copyfile(other / "mnemic.db-wal", folder / "mnemic.db-wal")
        return "another log"
    if number % 17 == 16:
        (folder / "mnemic.db-wal").unlink()
        return "no log"
    if number % 19 == 18:
        path.unlink()
        path.mkdir()
        return f"a folder in the place of {name}"
    kind = KINDS[number % len(KINDS)]
    path.write_bytes(bytes(kind(bytearray(path.read_bytes()), chance)))
    if number % 3:
        (folder / "mnemic.db-shm").unlink()
    return f"{kind.__name__} {name}"


def test_damage_is_told_and_ends_no_process(tmp_path, whole):
    (source, wanted), (other, _) = whole
    seen, bad = Counter(), []
    for number in range(MUTANTS):
        folder = tmp_path / "damaged"
        shutil.copytree(source, folder)
        done_to = mutant(folder, number, other)
        said = answer_of(lambda folder=folder: probe(folder, wanted))
        word = said.split()[0]
        seen[word] += 1
        if word not in ALLOWED | ({"shorter"} if "log" in done_to or "wal" in done_to else set()):
            bad.append((number, done_to, said))
        shutil.rmtree(folder)
    assert not bad, bad
    assert seen["typed"] + seen["told"] >= MUTANTS / 4, seen
    note("damaged files", files=MUTANTS, deaths=0, wrong=0, **seen)


def test_what_is_not_damaged_is_right(tmp_path, whole):
    (source, wanted), _ = whole
    shutil.copytree(source, tmp_path / "whole")
    assert probe(tmp_path / "whole", wanted) == "right"
    shutil.copytree(source, tmp_path / "without")
    (tmp_path / "without" / "mnemic.db-wal").unlink()
    assert probe(tmp_path / "without", wanted) == "shorter"


def test_only_the_end_of_the_log_is_lost_with_it(tmp_path, whole):
    """A log that ends too early loses whole transactions from its end, never the middle: the rest is sound."""
    (source, wanted), _ = whole
    chance = random.Random(3)
    for _ in range(MUTANTS // 4):
        folder = tmp_path / "cut"
        shutil.copytree(source, folder)
        log = folder / "mnemic.db-wal"
        log.write_bytes(cut(log.read_bytes(), chance))
        (folder / "mnemic.db-shm").unlink()
        with Memory(folder, user="ana", embedder="hashing") as memory:
            assert memory.admin.verify().ok, memory.admin.verify().findings
            held = {m.id: m.content for m in memory.messages()}
        assert held.items() <= wanted.items()
        assert {f"m{n}" for n in range(200)} <= set(held)
        late = sorted(int(id_[4:]) for id_ in held if id_.startswith("late"))
        assert late in ([], list(range(20))), "they were one transaction"
        shutil.rmtree(folder)


CALLS = {
    "search": lambda memory: memory.search("house 2"),
    "context": lambda memory: memory.get_memory_context("house"),
    "messages": lambda memory: memory.messages(),
    "process": lambda memory: memory.process(),
    "export": lambda memory: memory.admin.export(io.StringIO()),
    "consolidate": lambda memory: memory.consolidate(),
    "erase": lambda memory: memory.forget(ids=["m1"], hard=True),
}


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("vectors", "vector", "5"), ("vectors", "vector", "'abc'"), ("records", "content", "x'ff'"),
        ("records", "said_at", "'x'"), ("records", "role", "x'00ff'"), ("records", "length", "'x'"),
    ],
)  # fmt: skip
def test_values_of_another_type_are_told(tmp_path, table, column, value):
    """What a page of another table, in the place of one, leads to: an error of ours, and a finding."""
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        memory.add(Message(role="user", content=f"I live in house {n}", id=f"m{n}") for n in range(5))
        assert memory.admin.verify().ok
    with closing(sqlite3.connect(tmp_path / "mnemic.db")) as db, db:
        db.execute(f"UPDATE {table} SET {column} = {value} WHERE doc = 2")
    for name, call in CALLS.items():
        with Memory(tmp_path, user="ana", embedder="hashing") as memory:
            (finding,) = memory.admin.verify().findings
            assert finding == f"the file is damaged: {table}.{column} has 1 values of another type"
            with suppress(MnemicError):  # many calls read none of it
                call(memory)
            assert memory.admin.verify().findings == (finding,) or name == "erase"


def test_errors_of_others_are_not_taken_for_damage(tmp_path):
    """Nor is the record read for them."""

    def failing():
        yield Message(role="user", content="x")
        raise ValueError("of the caller")

    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        with pytest.raises(ValueError, match="of the caller"):
            memory.add(failing())
        assert memory.admin.verify().ok


def all_one(vector, value):
    vector[:] = value


def first(vector, value):
    vector[0] = value


def longer(vector, value):
    vector *= np.float16(value)


BROKEN = {
    "NaN": (first, np.nan), "infinite": (first, np.inf), "minus infinite": (first, -np.inf), "long": (longer, 60),
    "zero": (all_one, 0), "all NaN": (all_one, np.nan),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_one_vector_that_is_none_changes_no_score_but_its_own(tmp_path, kind):
    """A byte that changed on the disk: that record is found by its words, all others as before."""
    texts = ["the garden needs water", "a cat sleeps", "bread is baked", "garden flowers bloom", "the sea is blue"]
    with Memory(tmp_path / "m", user="ana", embedder="hashing") as memory:
        memory.add([Message(role="user", content=text, id=str(n)) for n, text in enumerate(texts)])
        before = {hit.id: hit.score for hit in memory.search("garden flowers and the sea")}
    with closing(apsw.Connection(str(tmp_path / "m" / "mnemic.db"))) as db:
        ((doc, blob),) = db.execute(
            "SELECT doc, vector FROM vectors WHERE doc = (SELECT doc FROM messages WHERE id = '0')"
        ).fetchall()
        vector = np.frombuffer(blob, "<f2").copy()
        BROKEN[kind][0](vector, BROKEN[kind][1])
        db.execute("UPDATE vectors SET vector = ? WHERE doc = ?", (vector.tobytes(), doc))
    with Memory(tmp_path / "m", user="ana", embedder="hashing") as memory:
        found = {hit.id: hit.score for hit in memory.search("garden flowers and the sea")}
        assert set(found) == set(before)
        assert np.isfinite(list(found.values())).all()
        assert [found[id_] for id_ in "1234"] == pytest.approx([before[id_] for id_ in "1234"], rel=0.05)
        assert memory.search("needs water")[0].id == "0"
        assert memory.admin.verify().findings == (f"an invalid vector: 1 (number {doc})",)
        memory.process()
        assert "removed, to be computed again" in store_of(memory).repair()[0]
        memory.admin.flush()
        assert memory.admin.verify().ok
        assert {hit.id: hit.score for hit in memory.search("garden flowers and the sea")} == pytest.approx(before)
