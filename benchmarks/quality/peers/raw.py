"""The raw engines: what one builds on without a memory product. And what every engine looks like to its child process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.quality.peers.protocol import Known, Turn

__all__ = ["ChromaPeer", "Engine", "RankBm25Peer"]

_WORD = re.compile(r"\w+")


class Engine:
    """One peer. Its package is imported by ``library``, so that importing and opening can be told apart.

    ``persistent`` says whether a store can be opened again; one that cannot is filled again by a new process.
    """

    persistent: ClassVar[bool] = True

    def library(self) -> None:
        """Import what is needed."""
        raise TypeError(f"{type(self).__name__} does not say what it imports")

    def open(self, folder: Path, known: Known, now: str) -> None:
        """Open or make a store in a folder; ``known`` answers for the embedder, ``now`` is when questions are asked."""
        raise TypeError(f"{type(self).__name__} cannot be opened")

    def add(self, turns: Sequence[Turn]) -> None:
        """Store the turns of one session."""
        raise TypeError(f"{type(self).__name__} cannot add")

    def ready(self) -> None:
        """What has to happen after the last add before a search; nothing for most."""

    def search(self, text: str, k: int) -> list[list[str]]:
        """The best k hits, best first: for each the ids of the turns it stands for."""
        raise TypeError(f"{type(self).__name__} cannot search")

    def close(self) -> None:
        """Let go of files."""


class ChromaPeer(Engine):
    """Chroma's persistent client, vectors only."""

    def library(self) -> None:
        import chromadb

        self._chroma = chromadb

    def open(self, folder: Path, known: Known, now: str) -> None:
        self._known = known
        self._client = self._chroma.PersistentClient(
            str(folder), settings=self._chroma.Settings(anonymized_telemetry=False)
        )
        self._collection = self._client.get_or_create_collection(
            "turns", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, turns: Sequence[Turn]) -> None:
        texts = [turn.rendered for turn in turns]
        self._collection.add(
            ids=[turn.id for turn in turns], embeddings=self._known.matrix(texts), documents=texts,
            metadatas=[{"session": t.session, "speaker": t.speaker, "sent_at": t.sent_at} for t in turns],
        )  # fmt: skip

    def search(self, text: str, k: int) -> list[list[str]]:
        found = self._collection.query(
            query_embeddings=self._known.matrix([text]), n_results=k, include=["documents", "metadatas", "distances"]
        )
        return [[i] for i in found["ids"][0]]

    def close(self) -> None:
        self._client.close()


class RankBm25Peer(Engine):
    """BM25Okapi over all turns, in memory. Stop words, from the parent, are left out of questions."""

    persistent = False

    def library(self) -> None:
        from rank_bm25 import BM25Okapi

        self._bm25 = BM25Okapi

    def open(self, folder: Path, known: Known, now: str) -> None:
        self._ids: list[str] = []
        self._words: list[list[str]] = []
        self._stop = frozenset((folder.parent / "stop_words.txt").read_text(encoding="utf-8").split())

    def add(self, turns: Sequence[Turn]) -> None:
        self._ids += [turn.id for turn in turns]
        self._words += [_WORD.findall(turn.rendered.lower()) for turn in turns]

    def ready(self) -> None:
        self._index = self._bm25(self._words)

    def search(self, text: str, k: int) -> list[list[str]]:
        words = _WORD.findall(text.lower())
        scores: Any = self._index.get_scores([word for word in words if word not in self._stop] or words)
        return [[self._ids[i]] for i in (-scores).argsort(kind="stable")[:k]]
