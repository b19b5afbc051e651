"""The vector index for the argument ``vectors`` of a handle."""

from __future__ import annotations

from mnemic.errors import ConfigurationError
from mnemic.indexes.vector.chroma import Chroma, ChromaIndex
from mnemic.protocols import VectorIndex


def index_from(vectors: object) -> VectorIndex | None:
    """The index named by ``vectors``; None for exact search.

    Raises:
        ConfigurationError: ``vectors`` is not a vector index.
        MissingExtra: an optional package is not installed.
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
    missing = "" if isinstance(vectors, str) else _missing_methods(vectors)
    raise ConfigurationError(
        f'vectors={vectors!r:.60} is not a vector index. Use "exact", "chroma", the address of a Chroma server '
        f'("http://host:port"), Chroma(...), a chromadb client, or an object with the methods of VectorIndex{missing}.'
    )


def _missing_methods(vectors: object) -> str:
    names = [name for name in dir(VectorIndex) if not name.startswith("_")]
    missing = [name for name in names if not hasattr(vectors, name)]
    return f" (it lacks {', '.join(missing)})" if 0 < len(missing) < len(names) else ""
