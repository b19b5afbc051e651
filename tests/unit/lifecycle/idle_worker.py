"""A process with an idle trigger. Arguments: what it does, the folder, and the file whose appearance starts it."""

import sys
import threading
import time
from pathlib import Path

from tests.internals import store_of

from mnemic import Consolidator, Idle, Memory


def main(what: str, folder: str, starter: str) -> None:
    settings = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=100)
    memory = Memory(
        folder,
        user="ana",
        embedder="hashing",
        consolidator=settings,
        idle=Idle(idle_seconds=0.001),
        durability="NORMAL",
    )
    if what == "armed":
        memory.idle.arm(seconds=1000.0)
        print("done")
    elif what == "working":
        memory.add(
            [{"role": "user", "content": f"Box {n} holds {n * n} things.", "session": str(n)} for n in range(400)]
        )
        store, working = store_of(memory), threading.Event()
        real = store.apply

        def apply(*arguments, **options):
            working.set()
            return real(*arguments, **options)

        store.apply = apply
        memory.idle.arm()
        assert working.wait(30)
        print("done")
    else:
        print("ready", flush=True)
        deadline = time.monotonic() + 60
        while not Path(starter).exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        print(memory.consolidate().memories_promoted)
        memory.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
