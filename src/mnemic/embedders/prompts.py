"""Prompts (prefixes) of models that distinguish queries and documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from mnemic.errors import ConfigurationError

Prompts: TypeAlias = Mapping[str, str]
"""Prompts by kind, ``query`` and ``document``; a missing kind has none."""

NAMES = {"query": ("query", "search_query"), "document": ("document", "passage", "corpus", "search_document")}
"""Names of the two kinds in model files; the first one present is used."""


def checked_prompts(prompts: Prompts | None) -> Prompts:
    """Validate prompts given by the caller.

    Raises:
        ConfigurationError: there are other kinds than ``query`` and ``document``.
    """
    checked = dict(prompts or {})
    if not set(checked) <= set(NAMES):
        raise ConfigurationError(
            f"prompts={checked!r} names another kind than 'query' and 'document'. Use one of these, or both."
        )
    return checked


def model_prompts(config: Mapping[str, Any]) -> Prompts:
    """The prompts in the content of ``config_sentence_transformers.json``; empty if there are none."""
    section = config.get("prompts")
    prompts = cast("dict[str, object]", section) if isinstance(section, dict) else {}
    by_kind = {kind: next((p for name in names if (p := prompts.get(name))), None) for kind, names in NAMES.items()}
    return {kind: prompt for kind, prompt in by_kind.items() if isinstance(prompt, str)}


def default_prompts(*names: str) -> Prompts:
    """The prompts of a model by one of its names, from the model cards; empty for other models.

    For models whose files contain none.
    """
    none: Prompts = {}
    return next((prompts for name in names if (prompts := _usual_prompts(name.lower()))), none)


def _usual_prompts(name: str) -> Prompts:
    if "-e5-" in f"-{name.replace('/', '-').replace('_', '-')}" and "instruct" not in name and "mistral" not in name:
        return {"query": "query: ", "document": "passage: "}
    bge = ("bge-small-en", "bge-base-en", "bge-large-en", "mxbai-embed")
    arctic = ("arctic-embed-xs", "arctic-embed-s", "arctic-embed-m", "arctic-embed-l")
    if any(part in name for part in bge) or name.endswith(arctic):
        return {"query": "Represent this sentence for searching relevant passages: "}
    if "nomic-embed-text" in name:
        return {"query": "search_query: ", "document": "search_document: "}
    return {}
