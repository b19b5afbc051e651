"""Which of some byte strings stand in the files of a folder: in a process of its own.

Opening and closing a file of a record that is in use would release the locks its process holds on it. Arguments: the folder, and
a file of needles, one a line in hexadecimal, each of at least 12 bytes. Says the hexadecimal of each that was found, and where.
"""

import sys
from pathlib import Path

WINDOW = 12


def main(folder: str, needles: str) -> None:
    by_start: dict[bytes, list[bytes]] = {}
    for line in Path(needles).read_text().split():
        needle = bytes.fromhex(line)
        assert len(needle) >= WINDOW
        by_start.setdefault(needle[:WINDOW], []).append(needle)
    for path in sorted(Path(folder).rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        found = {
            needle
            for at in range(len(data) - WINDOW + 1)
            for needle in by_start.get(data[at : at + WINDOW], ())
            if data.startswith(needle, at)
        }
        for needle in found:
            print(needle.hex(), path.name)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
