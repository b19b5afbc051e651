"""A process with many threads that write: each acknowledged id goes to a side file the moment it is acknowledged.

Arguments: folder, side file, name of the process, threads, writes of each. Ends with 3 when the record was told to be locked
or anything else went wrong; what it was goes to stderr.
"""

import os
import sys
import threading
from pathlib import Path

from mnemic import Memory, Message


def main(folder: str, acknowledged: str, name: str, threads: int, writes: int) -> int:
    """Write; 0 when every write was acknowledged."""
    wrong: list[str] = []
    together = threading.Barrier(threads)
    with Memory(folder, user="ana", embedder="hashing") as memory, Path(acknowledged).open("ab", buffering=0) as side:

        def work(thread: int) -> None:
            together.wait()
            for n in range(writes):
                id_ = f"{name}-{thread}-{n}"
                try:
                    if n % 4:
                        receipt = memory.remember(f"fact {n} of thread {thread} of {name}", id=id_)
                    else:
                        receipt = memory.add([Message(role="user", content=f"turn {n} of {thread} {name}", id=id_)])[0]
                except Exception as error:  # noqa: BLE001 - whatever it is, it is told
                    wrong.append(f"{type(error).__name__}: {error}")
                    return
                if receipt.outcome in ("stored", "superseded"):
                    os.write(side.fileno(), f"{receipt.id}\n".encode())
                else:
                    wrong.append(repr(receipt))

        workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    sys.stderr.write("\n".join(wrong[:20]))
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
