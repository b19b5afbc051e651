"""Opens a Chroma folder and touches all of it, in a process that may die of it. Run as a file: ``probe.py FOLDER PATHS``."""

from __future__ import annotations

import json
import sys
from typing import Any

PAGE = 500
SAMPLE = 20


def main(folder: str) -> None:
    """Read every entry of every collection, and search with some of them; any error ends the process."""
    import chromadb
    from chromadb.config import Settings

    client: Any = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
    for collection in client.list_collections():
        offset = 0
        while ids := collection.get(limit=PAGE, offset=offset, include=["metadatas", "documents"])["ids"]:
            vectors = collection.get(ids=ids, include=["embeddings"])["embeddings"]
            if len(vectors) != len(ids):
                raise SystemExit(f"{len(ids)} entries, {len(vectors)} vectors")
            collection.query(query_embeddings=vectors[:: PAGE // SAMPLE], n_results=50, include=["distances"])
            offset += len(ids)
        if offset != collection.count():
            raise SystemExit(f"{collection.count()} entries, {offset} found")
    client.close()


if __name__ == "__main__":
    sys.path[:] = json.loads(sys.argv[2])
    main(sys.argv[1])
