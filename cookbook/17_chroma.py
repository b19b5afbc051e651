"""Chroma beside the record: fed by itself, readable by other Chroma tools, never the only copy.

Users with few records are searched exactly, which is faster; exact_below=0 asks Chroma for everybody, to show that it works.

Install: pip install "mnemic[chroma,minilm]"
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from mnemic import Chroma, Consolidator, Memory, Message

TOWNS = ("Lisbon", "Porto", "Braga", "Faro", "Evora")


def main() -> None:
    with TemporaryDirectory() as place:
        folder = Path(place, "memory")
        tiers = Consolidator(min_age_hours=0, buffer_threshold=1)
        with Memory(
            folder, user="ana", embedder="hashing", consolidator=tiers, vectors=Chroma(exact_below=0)
        ) as memory:
            trips = [f"Trip number {n} went from {TOWNS[n % 5]} to {TOWNS[(n + 2) % 5]} by train." for n in range(200)]
            memory.add([Message(role="user", content=trip, id=f"trip-{n}") for n, trip in enumerate(trips)])
            memory.remember("Ana travels by train.", id="habit", importance=0.9, tags=["travel"])

            # What was written is found at once, also before Chroma has it.
            assert memory.search("trip number 77", recipe="vector")[0].id == "trip-77"
            memory.admin.flush(process=False)  # waits until Chroma has everything
            assert memory.search("trip number 77", recipe="vector")[0].id == "trip-77"

            # Promotion moves the stored vector from one collection to the other; nothing is embedded again.
            assert memory.consolidate().memories_promoted == 1
            memory.admin.flush(process=False)
            assert memory.admin.verify().ok  # also: every id, every tier and every vector in Chroma is the record's

        # Other tools read the collections (while no memory has the folder open).
        import chromadb
        from chromadb.config import Settings

        (closed,) = (folder / "chroma").glob("closed-*")
        client = chromadb.PersistentClient(str(closed), settings=Settings(anonymized_telemetry=False))
        collections = {one.name.rpartition("-")[0]: one for one in client.list_collections()}
        print({name: one.count() for name, one in sorted(collections.items())})
        assert collections["short_term_memory"].count() == 200
        found = collections["long_term_memory"].get(include=["documents", "metadatas"])
        assert found["documents"] == ["Ana travels by train."]
        assert found["metadatas"][0]["memory_type"] == "semantic"
        assert json.loads(found["metadatas"][0]["tags"]) == ["travel"]
        client.close()

        # Chroma is derived: files that changed since they were closed are not loaded; the index is built again from the record.
        next(closed.rglob("header.bin")).write_bytes(b"")
        with Memory(folder, user="ana", embedder="hashing", vectors=Chroma(exact_below=0)) as memory:
            assert memory.search("trip number 77", recipe="vector")[0].id == "trip-77"  # exact meanwhile
            memory.admin.flush(process=False)
            assert memory.admin.verify().ok

            # Erasing leaves no byte in Chroma either: its files are removed, and a new index is filled from the record.
            erased = memory.forget(ids=["trip-77"], hard=True)
            print(f"{erased.purge.bytes_scanned:,} bytes searched, {erased.purge.found} traces found")
            assert erased.purge.pending == ""
    print("All as expected.")


if __name__ == "__main__":
    main()
