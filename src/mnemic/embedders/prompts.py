"""Prompts (prefixes) of models that distinguish queries and documents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from mnemic.errors import ConfigurationError

__all__ = ["Prompts", "checked_prompts", "default_prompts", "model_prompts"]

Prompts: TypeAlias = Mapping[str, str]
"""Prompts by kind, ``query`` and ``document``; a missing kind has none."""

NAMES = {"query": ("query", "search_query"), "document": ("document", "passage", "corpus", "search_document")}
"""Names of the two kinds in model files; the first one present is used."""

_BGE = {"query": "Represent this sentence for searching relevant passages: "}
_USUAL: tuple[tuple[re.Pattern[str], Prompts], ...] = (
    (re.compile(r"(^|[/_-])e5-(?!.*(instruct|mistral))"), {"query": "query: ", "document": "passage: "}),
    (re.compile(r"bge-(small|base|large)-en"), _BGE),
    (re.compile(r"mxbai-embed|arctic-embed-(xs|s|m|l)$"), _BGE),
    (re.compile(r"nomic-embed-text"), {"query": "search_query: ", "document": "search_document: "}),
)
"""Prompts by model name, from the model cards, for models whose files contain none."""


def checked_prompts(prompts: Prompts | None) -> Prompts:
    """Validate prompts given by the caller.

    Raises:
        ConfigurationError: there are other kinds than ``query`` and ``document``.
    """
    known = dict(prompts or {})
    if not set(known) <= set(NAMES):
        raise ConfigurationError(f"prompts={known!r} names more than 'query' and 'document'. Give some of these two.")
    return known


def model_prompts(config: Mapping[str, Any]) -> Prompts:
    """The prompts in the content of ``config_sentence_transformers.json``; empty if there are none."""
    given = config.get("prompts")
    prompts = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    found = {kind: next((prompts[name] for name in names if prompts.get(name)), None) for kind, names in NAMES.items()}
    return {kind: prompt for kind, prompt in found.items() if isinstance(prompt, str)}


def default_prompts(*names: str) -> Prompts:
    """The known prompts of a model by one of its names; empty for other models."""
    none: Prompts = {}
    return next((prompts for name in names for pattern, prompts in _USUAL if pattern.search(name.lower())), none)
