"""Rerankers: slower models that rescore the first hits. Off by default."""

from __future__ import annotations

from os import PathLike
from typing import cast

from mnemic.errors import ConfigurationError
from mnemic.onnx.folder import is_folder, is_hub_name
from mnemic.protocols import Reranker
from mnemic.rerankers.cross_encoder import CrossEncoderReranker
from mnemic.rerankers.onnx import OnnxReranker

__all__ = ["CrossEncoderReranker", "OnnxReranker", "reranker_from"]


def reranker_from(spec: object) -> Reranker | None:
    """Create the reranker for a specification. Nothing is loaded here.

    Args:
        spec: None for none, a folder, ``"onnx:OWNER/NAME"`` or ``"onnx:OWNER/NAME@REVISION"``, or an object with
            ``scores`` (returned unchanged).

    Raises:
        ConfigurationError: `spec` is anything else.
    """
    if isinstance(spec, (str, PathLike)):
        source = cast("str | PathLike[str]", spec)
        name = source.removeprefix("onnx:") if isinstance(source, str) else source
        if is_folder(name) or (name != source and is_hub_name(name)):
            return OnnxReranker(name)
    elif spec is None or (isinstance(spec, Reranker) and not isinstance(spec, type)):
        return spec
    raise ConfigurationError(
        f'reranker={spec!r:.80} is not a reranker. Pass "onnx:OWNER/NAME" (such as '
        '"onnx:cross-encoder/ms-marco-MiniLM-L6-v2"), a folder with model.onnx and tokenizer.json, or an object with a '
        "method scores(query, texts)."
    )
