"""Embedders: classes that turn texts into unit vectors.

Every class here fits the `mnemic.protocols.Embedder` protocol. They are imported on first use, so that importing this
package loads neither numpy nor a model runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.services.lazy import lazy_names

if TYPE_CHECKING:
    from mnemic.embedders.background import BackgroundEmbedder
    from mnemic.embedders.cached import CachedEmbedder
    from mnemic.embedders.hashing import HashingEmbedder
    from mnemic.embedders.onnx import OnnxEmbedder
    from mnemic.embedders.remote import RemoteEmbedder
    from mnemic.embedders.resolve import embedder_from
    from mnemic.embedders.sentence_transformers import SentenceTransformerEmbedder
    from mnemic.vectors import checked

__all__ = [
    "BackgroundEmbedder",
    "CachedEmbedder",
    "HashingEmbedder",
    "OnnxEmbedder",
    "RemoteEmbedder",
    "SentenceTransformerEmbedder",
    "checked",
    "embedder_from",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BackgroundEmbedder": ".background",
        "CachedEmbedder": ".cached",
        "HashingEmbedder": ".hashing",
        "OnnxEmbedder": ".onnx",
        "RemoteEmbedder": ".remote",
        "SentenceTransformerEmbedder": ".sentence_transformers",
        "checked": "mnemic.vectors",
        "embedder_from": ".resolve",
    },
)
