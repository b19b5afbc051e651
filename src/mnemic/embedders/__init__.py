"""Embedders: classes that turn texts into unit vectors.

Every class here fits the `mnemic.protocols.Embedder` protocol. They are imported on first use, so that importing this
package loads neither numpy nor a model runtime.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemic.embedders.cached import CachedEmbedder
    from mnemic.embedders.checks import checked
    from mnemic.embedders.hashing import HashingEmbedder
    from mnemic.embedders.onnx import OnnxEmbedder
    from mnemic.embedders.remote import RemoteEmbedder
    from mnemic.embedders.resolve import embedder_from
    from mnemic.embedders.sentence_transformers import SentenceTransformerEmbedder

__all__ = [
    "CachedEmbedder",
    "HashingEmbedder",
    "OnnxEmbedder",
    "RemoteEmbedder",
    "SentenceTransformerEmbedder",
    "checked",
    "embedder_from",
]

_HOMES = {
    "CachedEmbedder": "cached",
    "HashingEmbedder": "hashing",
    "OnnxEmbedder": "onnx",
    "RemoteEmbedder": "remote",
    "SentenceTransformerEmbedder": "sentence_transformers",
    "checked": "checks",
    "embedder_from": "resolve",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
