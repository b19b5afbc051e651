"""Processes a folder and ends without a word, as a killed process does, before one of its writes is stored.

Arguments: folder, number of the write (0: never), the file whose appearance starts the work ("-": at once), and "apart" to
leave similar episodes unmerged.
"""

import os
import sys
import time
from pathlib import Path

from tests.internals import store_of

from mnemic import Memory, Processing


def main(folder: str, last: int, starter: str, merging: str) -> None:
    settings = Processing(enable_episode_merging=merging != "apart")
    memory = Memory(folder, user="ana", embedder="hashing", durability="NORMAL", processing=settings)
    store = store_of(memory)
    real, count = store.apply, 0

    def apply(*arguments, **options):
        nonlocal count
        count += 1
        if count == last:
            os._exit(9)
        return real(*arguments, **options)

    store.apply = apply
    deadline = time.monotonic() + 60
    while starter != "-" and not Path(starter).exists() and time.monotonic() < deadline:
        pass
    report = memory.process()
    memory.close()
    print(report.messages, report.waiting)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
