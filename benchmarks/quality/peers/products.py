"""The memory products, each used as its own guide says, with the best setting we found for ranking turns."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.quality.peers.protocol import Known, Turn
from benchmarks.quality.peers.raw import ChromaPeer, Engine, RankBm25Peer

__all__ = ["ENGINES"]

DEEPEST = 50


class MnemicPeer(Engine):
    """Mnemic with what it does by default."""

    def library(self) -> None:
        import mnemic

        self._mnemic = mnemic

    def open(self, folder: Path, known: Known, now: str) -> None:
        class Prepared:
            id = "prepared"
            dimension = known.dimension

            def embed(self, texts: Sequence[str], *, kind: str = "document") -> Any:
                return known.matrix(texts)

        self._now = datetime.fromisoformat(now)
        # vectors are of the text as it is
        self._memory = self._mnemic.Memory(folder, embedder=Prepared(), secrets="allow")

    def add(self, turns: Sequence[Turn]) -> None:
        of = self._mnemic.Message
        messages = [
            of(
                role=t.role, name=t.speaker or None, content=t.text, id=t.id, session=t.session,
                sent_at=datetime.fromisoformat(t.sent_at),
            )
            for t in turns
        ]  # fmt: skip
        receipts = self._memory.add(messages)
        if any(r.outcome != "stored" or r.pending for r in receipts):
            raise RuntimeError("a turn was not stored whole")

    def search(self, text: str, k: int) -> list[list[str]]:
        return [list(hit.message_ids) for hit in self._memory.search(text, k=k, now=self._now)]

    def close(self) -> None:
        self._memory.close()


class LangGraphPeer(Engine):
    """LangGraph's InMemoryStore with an index."""

    persistent = False

    def library(self) -> None:
        from langgraph.store.memory import InMemoryStore

        self._new = InMemoryStore

    def open(self, folder: Path, known: Known, now: str) -> None:
        def embed(texts: Sequence[str]) -> list[list[float]]:
            return [known.of(text).tolist() for text in texts]

        self._store = self._new(index={"dims": known.dimension, "embed": embed, "fields": ["text"]})

    def add(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            value = {"text": turn.rendered, "session": turn.session, "sent_at": turn.sent_at}
            self._store.put(("turns",), turn.id, value)

    def search(self, text: str, k: int) -> list[list[str]]:
        return [[item.key] for item in self._store.search(("turns",), query=text, limit=k)]


class LlamaIndexPeer(Engine):
    """VectorMemoryBlock on Chroma.

    The block wraps each turn in a tag before it embeds and stores it, and answers with one text. The tag is taken off again
    for the vector, and a postprocessor reads the order of the nodes before they are joined.
    """

    def library(self) -> None:
        import chromadb
        from llama_index.core.base.llms.types import ChatMessage
        from llama_index.core.embeddings import BaseEmbedding
        from llama_index.core.memory import VectorMemoryBlock
        from llama_index.core.postprocessor.types import BaseNodePostprocessor
        from llama_index.vector_stores.chroma import ChromaVectorStore

        self._chroma, self._message, self._block = chromadb, ChatMessage, VectorMemoryBlock
        self._embedding, self._post, self._vectors = BaseEmbedding, BaseNodePostprocessor, ChromaVectorStore

    def open(self, folder: Path, known: Known, now: str) -> None:
        self._client = self._chroma.PersistentClient(
            str(folder), settings=self._chroma.Settings(anonymized_telemetry=False)
        )
        store = self._vectors(chroma_collection=self._client.get_or_create_collection("turns"))
        self._seen: list[str] = []
        self._loop = asyncio.new_event_loop()
        self.block = self._block(
            vector_store=store, embed_model=_llama_embedding(self._embedding, known), retrieval_context_window=1,
            node_postprocessors=[_llama_reader(self._post, self._seen)],
        )  # fmt: skip

    def add(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            message = self._message(role="user", content=f"{turn.id}\n{turn.rendered}")
            self._loop.run_until_complete(self.block.aput([message]))

    def search(self, text: str, k: int) -> list[list[str]]:
        self._seen.clear()
        self.block.similarity_top_k = k
        self._loop.run_until_complete(self.block.aget([self._message(role="user", content=text)]))
        return [[_llama_inner(content)[0]] for content in self._seen]

    def close(self) -> None:
        self._loop.close()
        self._client.close()


_TAG = re.compile(r"<message role='\w+'>(.*)</message>", re.DOTALL)


def _llama_inner(stored: str) -> tuple[str, str]:
    """The id and the turn in a text as the block stores it."""
    found = _TAG.fullmatch(stored)
    name, _, rendered = (found[1] if found else stored).partition("\n")
    return (name, rendered) if found else ("", stored)


def _llama_embedding(base: Any, known: Known) -> Any:
    class Prepared(base):
        def _get_text_embedding(self, text: str) -> list[float]:
            return known.of(_llama_inner(text)[1]).tolist()

        def _get_query_embedding(self, query: str) -> list[float]:
            return known.of(query).tolist()

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    return Prepared(model_name="prepared")


def _llama_reader(base: Any, seen: list[str]) -> Any:
    class Reader(base):
        def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
            seen.extend(node.node.text for node in nodes)
            return nodes

    return Reader()


class Mem0Peer(Engine):
    """mem0 without its LLM."""

    def library(self) -> None:
        from mem0 import Memory

        self._new = Memory

    def open(self, folder: Path, known: Known, now: str) -> None:
        class Prepared:
            config = None

            def embed(self, text: str, memory_action: str | None = None) -> list[float]:
                return known.of(text).tolist()

            def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
                return known.matrix(texts).tolist()

        folder.mkdir(parents=True, exist_ok=True)
        qdrant = {"path": str(folder / "qdrant"), "embedding_model_dims": known.dimension, "on_disk": True}
        self._memory = self._new.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": {"collection_name": "turns", **qdrant}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = Prepared()

    def add(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            self._memory.add(
                [{"role": turn.role, "content": turn.rendered}], user_id="ana", infer=False,
                metadata={"turn": turn.id, "session": turn.session, "sent_at": turn.sent_at},
            )  # fmt: skip

    def search(self, text: str, k: int) -> list[list[str]]:
        found = self._memory.search(text, top_k=k, filters={"user_id": "ana"}, threshold=0.0)
        return [[hit["metadata"]["turn"]] for hit in found["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()


class MemPalacePeer(Engine):
    """MemPalace: a drawer for each turn, a source file for each session."""

    def library(self) -> None:
        from mempalace import embedding, miner, palace, searcher

        self._embedding, self._miner, self._palace, self._searcher = embedding, miner, palace, searcher

    def open(self, folder: Path, known: Known, now: str) -> None:
        from chromadb import EmbeddingFunction

        class Prepared(EmbeddingFunction):
            def __init__(self) -> None:
                self.unused = None

            def __call__(self, input: Any) -> Any:
                return [known.of(text) for text in input]

            @staticmethod
            def name() -> str:
                return "default"

        prepared = Prepared()
        self._embedding.get_embedding_function = lambda *_, **__: prepared
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = str(folder)
        self._drawers: Any = None

    def add(self, turns: Sequence[Turn]) -> None:
        self._drawers = self._drawers or self._palace.get_collection(self._folder, create=True)
        describe = self._miner._build_drawer_metadata
        self._drawers.upsert(
            documents=[turn.rendered for turn in turns], ids=[turn.id for turn in turns],
            metadatas=[
                describe("talk", "turns", turn.session, at, "benchmark", turn.rendered, None, content_date=turn.sent_at[:10])
                for at, turn in enumerate(turns)
            ],
        )  # fmt: skip

    def search(self, text: str, k: int) -> list[list[str]]:
        found = self._searcher.search_memories(text, self._folder, n_results=k)
        if "error" in found:
            raise RuntimeError(str(found["error"]))
        return [[hit["drawer_id"]] for hit in found["results"]]


class MemvaraPeer(Engine):
    """Memvara: turns as episodes of a transcript, no claims taken from them."""

    def library(self) -> None:
        import sqlite3

        if sqlite3.sqlite_version_info < (3, 51):
            import pysqlite3

            sys.modules["sqlite3"] = pysqlite3
        import memvara

        self._memvara = memvara

    def open(self, folder: Path, known: Known, now: str) -> None:
        class Prepared:
            dim = known.dimension
            name = "prepared"

            def encode(self, texts: Sequence[str]) -> Any:
                return known.matrix(texts)

        folder.mkdir(parents=True, exist_ok=True)
        self._memory = self._memvara.Memvara(
            str(folder / "memory.db"), user="ana", embedder=Prepared(), llm=self._memvara.NullLLM(),
            read_max_episodes=DEEPEST,
        )  # fmt: skip

    def add(self, turns: Sequence[Turn]) -> None:
        scope = self._memory._scope()
        self._memory.add(
            [
                self._memvara.Episode(
                    t.rendered, scope=scope, role="system", ts=datetime.fromisoformat(t.sent_at),
                    meta={"turn": t.id, "session": t.session},
                )
                for t in turns
            ]
        )  # fmt: skip

    def search(self, text: str, k: int) -> list[list[str]]:
        found = self._memory.search(text, k=k, include_episodes=True)
        return [[hit.episode.meta["turn"]] for hit in found]

    def close(self) -> None:
        self._memory.close()


ENGINES: dict[str, type[Engine]] = {
    "mnemic": MnemicPeer, "chroma": ChromaPeer, "rank-bm25": RankBm25Peer, "langgraph": LangGraphPeer,
    "llamaindex": LlamaIndexPeer, "mem0": Mem0Peer, "mempalace": MemPalacePeer, "memvara": MemvaraPeer,
}  # fmt: skip
