"""What is found, as frameworks keep it beside a text."""

from __future__ import annotations

from typing import Any

from mnemic.recall.context import quoted
from mnemic.types import Hit

__all__ = ["hit_metadata"]

_PLAIN = (
    "score", "kind", "session", "project", "role", "status", "type", "importance", "source", "trust", "tags", "message_ids",
    "similar", "via", "superseded_by",
)  # fmt: skip


def hit_metadata(hit: Hit) -> dict[str, Any]:
    """The metadata of a hit for the documents and nodes of frameworks: the record's own, then what the hit has, by its names.

    Times are ISO 8601, tuples are lists, and the speaker is quoted, because prompts show it. What a hit has not is left out.
    """
    own: dict[str, Any] = {
        **{name: getattr(hit, name) for name in _PLAIN},
        "speaker": quoted(hit.speaker or ""),
        "sent_at": hit.sent_at and hit.sent_at.isoformat(),
        "valid_at": hit.valid_at and hit.valid_at.isoformat(),
    }
    given = {name: [*value] if isinstance(value, tuple) else value for name, value in own.items()}
    return {**hit.metadata, **{name: value for name, value in given.items() if value not in (None, "", [])}}
