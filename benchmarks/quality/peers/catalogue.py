"""Which peers there are, what each installs, and how it is used. Versions are pinned: figures belong to a version."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.speed.weight import PROJECT

__all__ = ["PEERS", "Peer"]


@dataclass(frozen=True, slots=True)
class Peer:
    """One system.

    ``requirements`` is what its own guide says to install, and what its weight is taken from; ``helpers`` are what this
    harness needs beside it and are not counted. ``product`` tells a memory product from a raw engine.
    """

    name: str
    label: str
    requirements: tuple[str, ...]
    setup: str
    helpers: tuple[str, ...] = ("numpy",)
    product: bool = True


_ALL = (
    Peer(
        "mnemic", "Mnemic", (str(PROJECT),),
        "Memory with the default recipe and durability; turns as messages; questions asked with now = the last date",
    ),
    Peer(
        "chroma", "Chroma", ("chromadb==1.5.9",),
        "PersistentClient, cosine HNSW, vectors only", product=False,
    ),
    Peer(
        "rank-bm25", "rank-bm25", ("rank-bm25==0.2.2",),
        "BM25Okapi in memory, lower-case words without stop words, no vectors; rebuilt after adds, built once here",
        product=False,
    ),
    Peer(
        "langgraph", "LangGraph InMemoryStore", ("langgraph==1.2.22",),
        "InMemoryStore with an index on the text; one namespace; numpy present, which its search uses",
    ),
    Peer(
        "llamaindex", "LlamaIndex VectorMemoryBlock",
        ("llama-index-core==0.14.25", "llama-index-vector-stores-chroma==0.6.0"),
        "VectorMemoryBlock on a Chroma vector store; one put for each turn, else turns share a node; "
        "retrieval_context_window=1; the turn id travels in the message",
    ),
    Peer(
        "mem0", "mem0", ("mem0ai==2.2.1",),
        "Memory with infer=False (no LLM), embedded Qdrant kept on disk and SQLite history, threshold 0; without the nlp extra",
    ),
    Peer(
        "mempalace", "MemPalace", ("mempalace==3.11.0",),
        "one drawer for each turn; search_memories, whose order is its hybrid one",
    ),
    Peer(
        "memvara", "Memvara", ("memvara==0.21.0",),
        "turns as episodes; a search for 50, its best setting (its order depends on k), on a current SQLite",
        helpers=("numpy", "pysqlite3-binary==0.5.4.post2"),
    ),
)  # fmt: skip

PEERS = {peer.name: peer for peer in _ALL}
