"""The one place where tests reach behind a handle: its runtime, its index and store, and the database of the store."""

from typing import Any

from mnemic import AsyncMemory, Memory
from mnemic.runtime.indexer import unwrap_store
from mnemic.stores.sql.store import SqlStore
from mnemic.types import TextVectors

__all__ = [
    "blocking",
    "cached",
    "collections_of",
    "connections_of",
    "database_of",
    "runtime_of",
    "store_of",
    "updater_of",
    "whole",
]


def blocking(memory: Any) -> Memory:
    """The Memory behind an AsyncMemory, or behind what drives one."""
    return memory if isinstance(memory, Memory) else blocking(memory._wrapped)


def runtime_of(memory: Memory | AsyncMemory) -> Any:
    """The runtime that the handles on a record share."""
    return blocking(memory)._runtime


def store_of(memory: Memory | AsyncMemory) -> Any:
    """The store behind its guard."""
    return runtime_of(memory).store


def database_of(owner: Any) -> Any:
    """The database of a store, or of the store of a memory."""
    return unwrap_store(owner if isinstance(owner, SqlStore) else store_of(owner))._db


def connections_of(memory: Memory | AsyncMemory) -> list[Any]:
    """The open connections to a file: that of the writer and those of the readers."""
    database = database_of(memory)
    return [database._writer, *database._readers]


def cached(memory: Memory | AsyncMemory) -> tuple[dict[int, int], int]:
    """How many records of each user are in RAM, the latest asked about last; and how many rows all of it counts for."""
    views = runtime_of(memory).views
    return {user: cache.catalog.size for user, cache in views._caches.items()}, views._rows


def updater_of(memory: Memory | AsyncMemory) -> Any:
    """What keeps the vector index of a record up to date; its ``index`` is the index."""
    return runtime_of(memory).updater


def collections_of(memory: Memory | AsyncMemory) -> Any:
    """The collections of a record in Chroma."""
    return updater_of(memory).index._collections


def whole(rows):
    """The vectors of short texts, which have no passages."""
    return [TextVectors(row, row[:0].reshape(0, len(row))) for row in rows]
