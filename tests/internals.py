"""The one place where tests reach behind a handle: its runtime, its store, and the database of the store."""

from typing import Any

from mnemic import AsyncMemory, Memory
from mnemic.runtime.redaction import unwrap_store

__all__ = ["blocking", "database_of", "runtime_of", "store_of"]


def blocking(memory: Any) -> Memory:
    """The Memory behind an AsyncMemory, or behind what drives one."""
    return memory if isinstance(memory, Memory) else blocking(memory._wrapped)


def runtime_of(memory: Memory | AsyncMemory) -> Any:
    """The runtime that the handles on a record share."""
    return blocking(memory)._runtime


def store_of(memory: Memory | AsyncMemory) -> Any:
    """The store behind its guard."""
    return runtime_of(memory).store


def database_of(memory: Memory | AsyncMemory) -> Any:
    """The database of the store."""
    return unwrap_store(store_of(memory))._db
