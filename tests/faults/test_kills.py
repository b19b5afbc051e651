"""kill -9 of everything at once: four writers, one that processes and consolidates, and a reader, on one folder.

Every text that was acknowledged is there, in its last version, and what was forgotten stays forgotten.
"""

import itertools
import json
import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from functools import partial

import pytest
from tests.battery import count, note

from mnemic import Conflict, Consolidator, Memory, Message, NotFound

from .failpoints import code_of, forked

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
TRIALS = count(5, 1_000)
WRITERS, ACKS = 4, 100
IN_ONE_FOLDER = 5
SETTINGS = Consolidator(
    min_age_hours=0, buffer_threshold=1, max_batch_size=8, similarity_threshold=0.6, importance_threshold=0.05
)


def opened(folder):
    return Memory(folder, user="ana", embedder="hashing", consolidator=SETTINGS, durability="NORMAL")


def deeds(name):
    """What a writer does, in this order: the call, and the texts that ids have from then on; None for what is forgotten."""
    for n in itertools.count():
        id_, fact = f"{name}-{n}", f"fact {n} of {name}"
        if n % 4 == 0:
            yield "add", {which: f"turn {n} of {name}: {which}" for which in (id_, f"{id_}-b")}
        elif n % 4 < 3:
            yield "remember", {id_: fact}
        else:
            yield "update", {f"{name}-{n - 1}": f"fact {n - 1} of {name}, once more"}
            if n > 8:
                yield "update", {f"{name}-{n - 5}": f"fact {n - 5} of {name}, for the second time"}
                yield "forget", {f"{name}-{n - 6}": None, f"{name}-{n - 7}-b": None}


def done(memory, name, deed, texts):
    """One deed; what it acknowledged. What is refused, because another process was at it, changes nothing."""
    if deed == "add":
        receipts = memory.add([Message(role="user", content=text, id=id_, session=name) for id_, text in texts.items()])
    elif deed == "forget":
        receipts = memory.forget(ids=list(texts), reason=name)
    else:
        ((id_, text),) = texts.items()
        receipts = [memory.remember(text, id=id_) if deed == "remember" else memory.update(id_, content=text)]
    stored = {receipt.id for receipt in receipts if receipt.changed}
    return {id_: text for id_, text in texts.items() if id_ in stored}


def write(folder, side, name):
    """Works until it is killed; each deed is acknowledged in a side file after the call returned."""
    with opened(folder) as memory, side.open("ab", buffering=0) as acknowledged:
        for deed, texts in deeds(name):
            line = json.dumps([deed, done(memory, name, deed, texts)])
            os.write(acknowledged.fileno(), f"{line}\n".encode())


def tidy(folder, side, _name):
    with opened(folder) as memory:
        processed = consolidated = False
        while True:
            report = memory.process(limit=6)  # it goes on as long as others write
            processed |= bool(report.messages and report.enriched)
            with suppress(Conflict):  # a memory was forgotten meanwhile: nothing was changed
                consolidated |= bool(memory.consolidate().id)
            if processed and consolidated:
                side.write_text("both")


def read(folder, side, _name):
    with opened(folder) as memory:
        while True:
            for hit in memory.search("what is the fact of w1?", k=5):
                assert hit.text
            assert all(record.content for record in memory.list(limit=20))
            side.write_text("read")


def acknowledged(side):
    """Whole lines only: a line cut by the kill was not acknowledged."""
    return [json.loads(line) for line in side.read_text().split("\n")[:-1]] if side.exists() else []


def promises(written):
    """What all writers were told that it is stored, one by one."""
    return [line for side in written for line in acknowledged(side) if line[1]]


def promised(side, name):
    """The texts that each id may have: the last acknowledged one, or that of the deed the kill came into."""
    lines = acknowledged(side)
    held = {}
    for _, texts in lines:
        held |= {id_: {text} for id_, text in texts.items()}
    _, begun = next(itertools.islice(deeds(name), len(lines), None))
    for id_, text in begun.items():
        if id_ in held:
            held[id_].add(text)
    return held


def trial(folder, sides, number, chance):
    """Start all, wait until all are at work and there is enough to lose, kill all; what was acknowledged, and what must be."""
    names = [f"t{number}w{n}" for n in range(WRITERS)]
    written = [sides / name for name in names]
    beside = [sides / f"{number}-tidy", sides / f"{number}-read"]
    children = [forked(partial(write, folder, side, name)) for side, name in zip(written, names, strict=True)]
    children += [forked(partial(work, folder, side, "")) for work, side in zip((tidy, read), beside, strict=True)]
    deadline = time.monotonic() + 120
    enough = ACKS + chance.randrange(60)
    try:
        while len(promises(written)) < enough or not all(side.exists() for side in beside):
            assert time.monotonic() < deadline, "too few acknowledged writes to prove anything"
            for child in children:
                assert os.waitpid(child, os.WNOHANG) == (0, 0), "a process ended by itself"
            time.sleep(chance.random() / 100)
    finally:
        chance.shuffle(children)
        for child in children:
            os.kill(child, signal.SIGKILL)
        ends = [code_of(child) for child in children]
    assert ends == [-signal.SIGKILL] * len(children)
    held = [promised(side, name) for side, name in zip(written, names, strict=True)]
    return promises(written), {id_: texts for each in held for id_, texts in each.items()}


def text_of(memory, id_, live):
    """What a record says; None for one that its writer has taken back, and that no list shows."""
    try:
        content = memory.get(id_).content
    except NotFound:
        return "nothing"
    writer = id_.partition("-")[0]
    forgotten = any(e.operation == "archive" and e.detail.get("reason") == writer for e in memory.history(id_))
    return None if forgotten and id_ not in live else content


def lost(folder, held):
    """The ids that do not say what was acknowledged."""
    with opened(folder) as memory:
        report = memory.admin.verify()
        assert report.ok, report.findings
        assert "consolidating" not in memory.stats().memories
        live = {record.id for record in (*memory.messages(reach="user"), *memory.list(reach="user", limit=None))}
        found = {id_: text_of(memory, id_, live) for id_ in held}
    return [(id_, text, held[id_]) for id_, text in found.items() if text not in held[id_]]


def test_no_acknowledged_write_is_lost(tmp_path):
    chance, held, seen = random.Random(11), {}, Counter()
    for number in range(TRIALS):
        folder = tmp_path / f"memory{number // IN_ONE_FOLDER}"
        if number % IN_ONE_FOLDER == 0:
            held = {}
        lines, found = trial(folder, tmp_path, number, chance)
        assert len(lines) >= ACKS
        for deed, texts in lines:
            seen[deed] += len(texts)
        held |= found
        assert lost(folder, held) == []
    assert seen["add"] + seen["remember"] >= TRIALS * ACKS / 2
    assert min(seen["update"], seen["forget"]) >= TRIALS * ACKS / 20
    note("kill -9 with four writers", kills=TRIALS * (WRITERS + 2), acknowledged=seen.total(), **seen, lost=0)
