"""Consolidates a folder and ends without a word before a write, or says each write so that it can be killed between two.

Arguments: folder, number of the write before which it ends (0: never), and "hold" to hold the lock and wait.
"""

import os
import sys

from tests.internals import store_of

from mnemic import Consolidator, Memory


def main(folder: str, last: int, hold: str = "") -> None:
    settings = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=4, similarity_threshold=0.6)
    memory = Memory(folder, user="ana", embedder="hashing", consolidator=settings, durability="NORMAL")
    store = store_of(memory)
    if hold:
        with store.lifecycle.exclusive() as alone:
            print("held" if alone else "refused", flush=True)
            sys.stdin.read()
        return
    real, count = store.apply, 0

    def apply(*arguments, **options):
        nonlocal count
        count += 1
        if count == last:
            os._exit(9)
        print(count, flush=True)
        return real(*arguments, **options)

    store.apply = apply
    while memory.should_consolidate().should_consolidate:
        memory.consolidate()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
