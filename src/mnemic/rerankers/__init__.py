"""Rerankers: a slower, closer look at the first hits. Off unless a handle is given one."""

from mnemic.rerankers.cross_encoder import CrossEncoderReranker
from mnemic.rerankers.onnx import OnnxReranker
from mnemic.rerankers.resolve import reranker_from

__all__ = ["CrossEncoderReranker", "OnnxReranker", "reranker_from"]
