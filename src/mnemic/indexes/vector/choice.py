"""From the argument ``vectors`` of a handle to its index."""

from __future__ import annotations

from mnemic.errors import ConfigurationError
from mnemic.indexes.vector.chroma import Chroma, ChromaIndex, discarded
from mnemic.protocols import VectorIndex

__all__ = ["discarded", "index_from"]

_PROMISED = ("open", "serves", "nearest", "waiting", "wake", "drain", "erase", "findings", "close")


def index_from(vectors: object) -> VectorIndex | None:
    """The index that ``vectors`` names; None for exact search.

    Raises:
        ConfigurationError: it names none.
        MissingExtra: it needs a package that is not installed.
    """
    if vectors is None or vectors == "exact":
        return None
    if isinstance(vectors, str):
        if vectors == "chroma":
            return ChromaIndex(Chroma())
        if vectors.startswith(("http://", "https://")):
            return ChromaIndex(Chroma(url=vectors))
    elif isinstance(vectors, Chroma):
        return ChromaIndex(vectors)
    elif isinstance(vectors, VectorIndex):
        return vectors
    elif callable(getattr(vectors, "get_or_create_collection", None)):
        return ChromaIndex(Chroma(client=vectors))
    missing = "" if isinstance(vectors, str) else _lacking(vectors)
    raise ConfigurationError(
        f'vectors={vectors!r:.60} is not a vector index. Use "exact", "chroma", the address of a Chroma server '
        f'("http://host:port"), Chroma(...), a chromadb client, or an object that fits VectorIndex{missing}.'
    )


def _lacking(vectors: object) -> str:
    lacking = [name for name in _PROMISED if not callable(getattr(vectors, name, None))]
    return f" (it lacks {', '.join(lacking)})" if 0 < len(lacking) < len(_PROMISED) else ""
