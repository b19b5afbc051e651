"""A process that says what all others say, round after round: it waits for a line on stdin, says it from every thread, and
answers with the outcomes.

Arguments: folder, threads.
"""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from mnemic import Memory


def main(folder: str, threads: int) -> None:
    """One line in, one line out."""
    together = threading.Barrier(threads)
    with Memory(folder, user="ana", embedder="hashing") as memory, ThreadPoolExecutor(threads) as pool:

        def say(text: str) -> list[str]:
            together.wait()
            try:
                receipt = memory.remember(text)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is told
                return [f"{type(error).__name__}: {error}", ""]
            return [receipt.outcome, receipt.id]

        print("ready", flush=True)
        for line in sys.stdin:
            print(json.dumps(list(pool.map(say, [line.strip()] * threads))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
