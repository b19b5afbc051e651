"""A process that writes until it is killed: each acknowledged id goes to a side file the moment it is acknowledged."""

import os
import sys
from pathlib import Path

from mnemic import Memory, Message


def main(folder: str, acknowledged: str, name: str, limit: int) -> None:
    with (
        Memory(folder, user="ana", embedder="hashing", durability="NORMAL") as memory,
        Path(acknowledged).open("ab", buffering=0) as side,
    ):
        for n in range(limit):
            id_ = f"{name}-{n}"
            if n % 3:
                memory.add([Message(role="user", content=f"turn {n} of {name}", id=id_)])
            else:
                memory.remember(f"fact {n} of {name}", id=id_)
            os.write(side.fileno(), f"{id_}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
