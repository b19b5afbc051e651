"""Which of some byte strings stand in the files of a folder: in a process of its own.

Opening and closing a file of a record that is in use would release the locks its process holds on it. Arguments: the folder, and
a file of needles, one a line in hexadecimal, each of at least 12 bytes. Says the hexadecimal of each that was found, and where.
Of an encrypted record it searches the pages under the encryption as well, with the key in MNEMIC_TEST_KEY.
"""

import os
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
        if path.name == "mnemic.db" and (key := os.environ.get("MNEMIC_TEST_KEY")):
            data += decrypted(path, key)
        found = {
            needle
            for at in range(len(data) - WINDOW + 1)
            for needle in by_start.get(data[at : at + WINDOW], ())
            if data.startswith(needle, at)
        }
        for needle in found:
            print(needle.hex(), path.name)


def decrypted(path: Path, key: str) -> bytes:
    import apsw

    db = apsw.Connection(str(path))
    db.pragma("key", f"raw:{key}")
    pages = db.serialize("main")
    db.close()
    return pages


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
