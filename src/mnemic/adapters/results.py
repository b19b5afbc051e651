"""What is found, as frameworks keep it beside a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mnemic.recall.context import quoted
from mnemic.types import Hit

__all__ = ["hit_metadata"]

_PLAIN = ("score", "kind", "session", "project", "role", "status", "type", "importance", "source", "trust")
_LISTS = ("tags", "message_ids", "similar", "via", "superseded_by")


def hit_metadata(hit: Hit, *, lists: Callable[[tuple[str, ...]], object] = list) -> dict[str, Any]:
    """The metadata of a hit for the documents and nodes of frameworks: the record's own, then what the hit has, by its names.

    Times are ISO 8601, and the speaker is quoted, because prompts show it. What a hit has not is left out.

    Args:
        hit: of a search.
        lists: what is made of its tags and of several ids, such as ``",".join`` for a framework with flat metadata.
    """
    own: dict[str, Any] = {
        **{name: getattr(hit, name) for name in _PLAIN},
        **{name: lists(getattr(hit, name)) for name in _LISTS},
        "speaker": quoted(hit.speaker or ""),
        "sent_at": hit.sent_at and hit.sent_at.isoformat(),
        "valid_at": hit.valid_at and hit.valid_at.isoformat(),
    }
    return {**hit.metadata, **{name: value for name, value in own.items() if value not in (None, "", [])}}
