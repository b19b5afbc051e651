"""One of several workers on a PostgreSQL record. Arguments: address, name, operations, how many of them before it stops.

Each line of its output is written after the call it speaks of returned: ``stored ID``, ``consolidated ID``. A worker that
stops does so in the middle of a consolidation, says ``in the middle``, and holds still there until it is killed. With
the name ``stop`` it only does that, before the write with the number that follows.
"""

import itertools
import random
import sys

from tests.internals import store_of

from mnemic import Conflict, Consolidator, Memory, Message, NotFound

SETTINGS = Consolidator(min_age_hours=0, buffer_threshold=6, max_batch_size=6, similarity_threshold=0.6)
THINGS = ("bicycle", "piano", "ladder", "kettle", "lantern", "suitcase", "telescope", "umbrella")
WAYS = ("The {0} of house {1} stands in the cellar.", "Note that the {0} of house {1} stands in the cellar.")


def opened(url):
    return Memory(url, user="ana", embedder="hashing", consolidator=SETTINGS, durability="NORMAL")


def operate(memory, name, n, chance):
    """One operation; the line that acknowledges it."""
    kind = chance.random()
    if kind < 0.45:
        text = chance.choice(WAYS).format(
            chance.choice(THINGS), chance.randrange(400)
        )  # the other worker says the same
        return f"stored {memory.remember(text, importance=0.9).id}"
    if kind < 0.75:
        said = Message(role="user", content=f"turn {n} of {name}", id=f"{name}-{n}", session=name)
        return f"stored {memory.add([said])[0].id}"
    if kind < 0.80:
        found = memory.list(limit=20)
        if found:
            memory.update(chance.choice(found).id, tags=[name])
        return "updated"
    if kind < 0.82:
        found = memory.list(limit=20)
        if found:
            memory.forget(ids=[found[-1].id])
        return "forgot"
    if kind < 0.95:
        memory.search(f"where is the {chance.choice(THINGS)}?", k=5)
        return "searched"
    if kind < 0.96:
        memory.process(limit=20)
        return "processed"
    return f"consolidated {memory.consolidate().id or '-'}"


def main(url, name, operations, stop=None):
    chance = random.Random(name)
    with opened(url) as memory:
        for n in range(operations):
            if n == stop:
                work_and_stop(memory, name)
            try:
                line = operate(memory, name, n, chance)
            except (Conflict, NotFound) as error:  # the other worker was there first: nothing was changed
                line = f"refused {type(error).__name__}"
            print(line, flush=True)


def hold_before(memory, write):
    """Hold still before the n-th write from now on."""
    real, count = store_of(memory).apply, 0

    def apply(*arguments, **options):
        nonlocal count
        count += 1
        if count == write:
            print("in the middle", flush=True)
            sys.stdin.read()
        return real(*arguments, **options)

    store_of(memory).apply = apply
    return real


def work_and_stop(memory, name):
    """Give consolidation something to do until it is this worker that does it, and stop before it writes the result."""
    for n in itertools.count():
        for way in (*WAYS, "It is known that the {0} of house {1} stands in the cellar."):
            stored = memory.remember(way.format("spare piano", f"{name}-{n}"), importance=0.9)
            print(f"stored {stored.id}", flush=True)
        real = hold_before(memory, 2)
        memory.consolidate()
        store_of(memory).apply = real


def stop_in_the_middle(url, write):
    """Consolidate, and hold still before the n-th write."""
    with opened(url) as memory:
        hold_before(memory, write)
        memory.consolidate()
        print("ended", flush=True)


if __name__ == "__main__":
    if sys.argv[2] == "stop":
        stop_in_the_middle(sys.argv[1], int(sys.argv[3]))
    else:
        main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
