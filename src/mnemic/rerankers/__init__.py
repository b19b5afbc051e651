"""Rerankers: slower models that rescore the first hits. Off by default."""

from mnemic.rerankers.cross_encoder import CrossEncoderReranker
from mnemic.rerankers.onnx import OnnxReranker
from mnemic.rerankers.resolve import reranker_from

__all__ = ["CrossEncoderReranker", "OnnxReranker", "reranker_from"]
