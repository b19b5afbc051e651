"""A LangGraph store in a file of its own, with vectors and words to search by."""

from __future__ import annotations

from langchain_mnemic.store.embedding import MnemicIndex
from langchain_mnemic.store.store import MnemicStore

__all__ = ["MnemicIndex", "MnemicStore"]
