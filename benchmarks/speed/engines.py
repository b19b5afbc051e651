"""What is measured side by side: Mnemic, the plain script that is its floor, and Chroma with and without rank-bm25.

All hold the same rows and vectors and answer with ids, best first. Heavy packages are imported by ``library``, so that
importing and opening can be told apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mnemic.text.terms import STOP_WORDS

if TYPE_CHECKING:
    import numpy as np

    from benchmarks.speed.corpus import Row

__all__ = ["ENGINES", "Engine", "K"]

K = 10
POOL = 100
_WORD = re.compile(r"\w+")


class Engine(Protocol):
    """A store of one user's rows. ``texts`` and ``vectors`` are what an embedder would answer with."""

    def library(self) -> None: ...
    def open(self, folder: Path, texts: Sequence[str], vectors: np.ndarray, *, durable: bool = True) -> None: ...
    def load(self, rows: Sequence[Row], vectors: np.ndarray) -> None: ...
    def add(self, row: Row, vector: np.ndarray) -> None: ...
    def search(self, text: str, vector: np.ndarray) -> list[str]: ...
    def close(self) -> None: ...


class MnemicEngine:
    """Mnemic with its default recipe; the embedder hands out prepared vectors."""

    def library(self) -> None:
        from mnemic import Memory

        self._open = Memory

    def open(self, folder: Path, texts: Sequence[str], vectors: np.ndarray, *, durable: bool = True) -> None:
        from benchmarks.vectors import PreparedEmbedder

        self.embedder = PreparedEmbedder(texts, vectors)
        self.memory = self._open(folder, user="ana", embedder=self.embedder, durability="FULL" if durable else "NORMAL")

    def load(self, rows: Sequence[Row], vectors: np.ndarray) -> None:
        from benchmarks.speed.corpus import to_message

        for start in range(0, len(rows), 2_000):
            self.memory.add([to_message(row) for row in rows[start : start + 2_000]])

    def prepared(self, row: Row) -> Any:
        """What the caller of ``add`` holds already: its message."""
        from benchmarks.speed.corpus import to_message

        return to_message(row)

    def add(self, row: Any, vector: np.ndarray) -> None:
        (receipt,) = self.memory.add([row])
        if receipt.outcome != "stored" or receipt.pending:
            raise RuntimeError(f"a measured add was not stored whole: {receipt}")

    def search(self, text: str, vector: np.ndarray) -> list[str]:
        return [hit.id for hit in self.memory.search(text, k=K)]

    def close(self) -> None:
        self.memory.close()


class ScriptEngine:
    """What one would write without a library: one SQLite transaction an add (row, FTS5, float16 vector), a float32 matrix
    in RAM, and reciprocal rank fusion of the best 100 of both searches. The floor.
    """

    def library(self) -> None:
        import apsw
        import numpy as np

        self._apsw, self._np = apsw, np

    def open(self, folder: Path, texts: Sequence[str], vectors: np.ndarray, *, durable: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.db = self._apsw.Connection(str(folder / "script.db"))
        self.db.pragma("journal_mode", "WAL")
        self.db.pragma("synchronous", "FULL" if durable else "NORMAL")
        if not self.db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall():
            self.db.execute(
                "CREATE TABLE messages(doc INTEGER PRIMARY KEY, id TEXT UNIQUE, session TEXT, speaker TEXT, text TEXT,"
                " sent_at TEXT, vector BLOB);"
                'CREATE VIRTUAL TABLE words USING fts5(text, content="", tokenize="porter unicode61")'
            )
        self._read_vectors(vectors.shape[1])

    def _read_vectors(self, dimension: int) -> None:
        np = self._np
        blobs = [blob for (blob,) in self.db.execute("SELECT vector FROM messages ORDER BY doc")]
        self.count = len(blobs)
        self.matrix = np.zeros((len(blobs) + 20_000, dimension), np.float32)
        if blobs:
            self.matrix[: len(blobs)] = np.frombuffer(b"".join(blobs), np.float16).reshape(len(blobs), dimension)

    def _insert(self, row: Row, vector: np.ndarray) -> None:
        doc = self.count + 1
        values = (doc, row.id, row.session, row.speaker, row.text, row.sent_at, vector.astype("<f2").tobytes())
        self.db.execute("INSERT INTO messages VALUES(?, ?, ?, ?, ?, ?, ?)", values)
        self.db.execute("INSERT INTO words(rowid, text) VALUES(?, ?)", (doc, f"{row.speaker}: {row.text}"))
        if doc > len(self.matrix):
            self.matrix = self._np.concatenate([self.matrix, self._np.zeros_like(self.matrix)])
        self.matrix[self.count] = vector
        self.count = doc

    def load(self, rows: Sequence[Row], vectors: np.ndarray) -> None:
        with self.db:
            for row, vector in zip(rows, vectors, strict=True):
                self._insert(row, vector)

    def prepared(self, row: Row) -> Any:
        return row

    def add(self, row: Any, vector: np.ndarray) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        self._insert(row, vector)
        self.db.execute("COMMIT")

    def search(self, text: str, vector: np.ndarray) -> list[str]:
        np = self._np
        words = " OR ".join(f'"{word}"' for word in content_words(text))
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        by_word = [doc for (doc,) in self.db.execute(sql, (words, POOL))]
        cosines = self.matrix[: self.count] @ vector
        best = np.argpartition(-cosines, min(POOL, self.count - 1))[:POOL]
        by_meaning = (best[np.argsort(-cosines[best])] + 1).tolist()
        docs = fused(by_word, by_meaning)
        sql = (
            "SELECT doc, id, session, speaker, text, sent_at FROM messages WHERE doc IN ("
            + ",".join(map(str, docs))
            + ")"
        )
        found = {row[0]: row[1:] for row in self.db.execute(sql)}
        return [found[doc][0] for doc in docs]

    def close(self) -> None:
        self.db.close()


class ChromaEngine:
    """Chroma's persistent client, dense search only, as most agent memories use it."""

    def library(self) -> None:
        import chromadb
        import numpy as np

        self._chroma, self._np = chromadb, np

    def open(self, folder: Path, texts: Sequence[str], vectors: np.ndarray, *, durable: bool = True) -> None:
        settings = self._chroma.Settings(anonymized_telemetry=False)
        self.client = self._chroma.PersistentClient(str(folder), settings=settings)
        self.collection = self.client.get_or_create_collection(
            "messages", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def load(self, rows: Sequence[Row], vectors: np.ndarray) -> None:
        for start in range(0, len(rows), 1_000):
            self._put(rows[start : start + 1_000], vectors[start : start + 1_000])

    def _put(self, rows: Sequence[Row], vectors: np.ndarray) -> None:
        self.collection.add(
            ids=[row.id for row in rows],
            embeddings=vectors,
            documents=[row.text for row in rows],
            metadatas=[{"session": row.session, "speaker": row.speaker, "sent_at": row.sent_at} for row in rows],
        )

    def prepared(self, row: Row) -> Any:
        return row

    def add(self, row: Any, vector: np.ndarray) -> None:
        self._put([row], vector[None])

    def search(self, text: str, vector: np.ndarray) -> list[str]:
        return self._nearest(vector, K)

    def _nearest(self, vector: np.ndarray, k: int) -> list[str]:
        return self.collection.query(query_embeddings=vector[None], n_results=k, include=["documents", "metadatas"])[
            "ids"
        ][0]

    def close(self) -> None:
        self.client.close()


class ChromaBm25Engine(ChromaEngine):
    """Chroma with rank-bm25 beside it in RAM: the usual way to make it hybrid. Its keyword index is not durable."""

    def library(self) -> None:
        super().library()
        from rank_bm25 import BM25Okapi

        self._bm25 = BM25Okapi

    def load(self, rows: Sequence[Row], vectors: np.ndarray) -> None:
        super().load(rows, vectors)
        self.ids = [row.id for row in rows]
        self.index = self._bm25([_WORD.findall(f"{row.speaker}: {row.text}".lower()) for row in rows])

    def search(self, text: str, vector: np.ndarray) -> list[str]:
        np = self._np
        scores = self.index.get_scores(content_words(text))
        best = np.argpartition(-scores, min(POOL, len(scores) - 1))[:POOL]
        by_word = [self.ids[i] for i in best[np.argsort(-scores[best])]]
        return fused(by_word, self._nearest(vector, POOL))


def content_words(text: str) -> list[str]:
    """The words to look for, stop words left out unless there is nothing else."""
    words = _WORD.findall(text.lower())
    return [word for word in words if word not in STOP_WORDS] or words


def fused(*rankings: Sequence[Any]) -> list[Any]:
    """The ten best by reciprocal rank fusion, k = 60."""
    totals: dict[Any, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, start=1):
            totals[name] = totals.get(name, 0.0) + 1.0 / (60 + rank)
    return sorted(totals, key=totals.__getitem__, reverse=True)[:K]


ENGINES: dict[str, type[Any]] = {
    "mnemic": MnemicEngine,
    "script": ScriptEngine,
    "chroma": ChromaEngine,
    "chroma+bm25": ChromaBm25Engine,
}
