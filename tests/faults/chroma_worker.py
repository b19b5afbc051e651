"""Writes into a memory with Chroma, consolidates it, or checks it. Arguments: folder, task, name or number of what is asked.

Each id is printed when it is stored. ``check`` reads lines of id, tab and text from its input.
"""

import sys
import time
import warnings

from tests.internals import store_of, updater_of

from mnemic import Chroma, Consolidator, HashingEmbedder, Memory, StoreError
from mnemic.indexes.vector import exact

SETTINGS = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=4, similarity_threshold=0.6)


def opened(folder):
    warnings.simplefilter("ignore")
    vectors = Chroma(exact_below=0)
    embedder = HashingEmbedder(dimension=64)
    return Memory(folder, user="ana", embedder=embedder, consolidator=SETTINGS, durability="NORMAL", vectors=vectors)


def write(memory, name):
    print(memory.add(f"Message {name} is the first")[0].id, flush=True)
    memory.admin.flush(
        process=False
    )  # the owner of the index has loaded it: what follows is indexed while it is written
    for n in range(100_000):
        if n % 3:
            text = f"Message {name}x{n} tells of {'garden river cellar'.split()[n % 3]} {name}y{n}"
            id_ = memory.add(text)[0].id
        else:
            text = f"The box {name}z{n} stands in the cellar of house {n}"
            id_ = memory.remember(text, importance=0.9).id
        print(f"{id_}\t{text}", flush=True)


def consolidate(memory, _):
    memory.admin.flush(process=False)
    print("ready", flush=True)
    while True:
        try:
            memory.consolidate()
        except StoreError as error:  # the other process writes at the same time
            print(f"again: {error}", flush=True)
        time.sleep(0.05)


def check(memory, _):
    """Every text is found through the index, and the index is as the record is."""
    exact.FETCHED, exact.COSTS, exact.ENOUGH = 1, 0, 10
    stored = dict(line.rstrip("\n").split("\t") for line in sys.stdin)
    lost = missing(memory, stored)
    memory.admin.flush(process=False)
    report = memory.admin.verify()
    first = report.findings
    if first:  # told once, and made anew
        memory.admin.flush(process=False)
        report = memory.admin.verify()
    ready = updater_of(memory).index.serves(store_of(memory).embedding.model())
    lost += missing(memory, stored)
    print(f"lost {len(lost)} of {len(stored)} {lost[:3]}, ready {ready}, findings {report.findings}, at first {first}")
    return 0 if not lost and ready and report.ok else 1


def missing(memory, stored):
    """Texts that neither are the best hit nor are told by it: a restatement may stand for them."""
    lost = []
    for id_, text in stored.items():
        hits = memory.search(
            text, k=3, recipe="vector", status=["short_term", "consolidating", "long_term", "archived"]
        )
        if not any(hit.id == id_ or id_ in hit.similar or id_ in hit.via for hit in hits):
            lost.append(text)
    return lost


def hold(memory, _):
    """Says whether it has the index open, and keeps it so until told otherwise."""
    print("reader" if updater_of(memory) is None else "owner", flush=True)
    sys.stdin.readline()
    memory.admin.flush(process=False)
    return 0 if memory.admin.verify().ok else 1


if __name__ == "__main__":
    task = {"write": write, "consolidate": consolidate, "check": check, "hold": hold}[sys.argv[2]]
    with opened(sys.argv[1]) as handle:
        sys.exit(task(handle, sys.argv[3] if len(sys.argv) > 3 else ""))
