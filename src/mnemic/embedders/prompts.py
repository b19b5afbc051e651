"""What some models want to read before a text: which of both it is, a question or what is to be found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from mnemic.errors import ConfigurationError

__all__ = ["Prompts", "known_prompts", "own_prompts", "usual_prompts"]

Prompts: TypeAlias = Mapping[str, str]
"""By kind, ``query`` and ``document``; a kind that is missing has none."""

NAMES = {"query": ("query", "search_query"), "document": ("document", "passage", "corpus", "search_document")}
"""What models call the two, the first that is there counts."""

_SEARCHING = {"query": "Represent this sentence for searching relevant passages: "}
_USUAL: tuple[tuple[re.Pattern[str], Prompts], ...] = (
    (re.compile(r"(^|[/_-])e5-(?!.*(instruct|mistral))"), {"query": "query: ", "document": "passage: "}),
    (re.compile(r"bge-(small|base|large)-en"), _SEARCHING),
    (re.compile(r"mxbai-embed|arctic-embed-(xs|s|m|l)$"), _SEARCHING),
    (re.compile(r"nomic-embed-text"), {"query": "search_query: ", "document": "search_document: "}),
)
"""Of models that do not bring their prompts along, by their names; the model cards say so."""


def known_prompts(prompts: Prompts | None) -> Prompts:
    """Prompts that were given.

    Raises:
        ConfigurationError: they name something else than ``query`` and ``document``.
    """
    known = dict(prompts or {})
    if not set(known) <= set(NAMES):
        raise ConfigurationError(f"prompts={known!r} names more than 'query' and 'document'. Give some of these two.")
    return known


def own_prompts(config: Mapping[str, Any]) -> Prompts:
    """Those of a model, from its ``config_sentence_transformers.json`` or what was read of it; nothing where all are empty."""
    given = config.get("prompts")
    told = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    found = {kind: next((told[name] for name in names if told.get(name)), None) for kind, names in NAMES.items()}
    return {kind: prompt for kind, prompt in found.items() if isinstance(prompt, str)}


def usual_prompts(*names: str) -> Prompts:
    """Those of a model that is known by one of its names; nothing for others."""
    none: Prompts = {}
    return next((prompts for name in names for pattern, prompts in _USUAL if pattern.search(name.lower())), none)
