"""The words of fixed meaning."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

__all__ = [
    "SESSION_SUMMARY",
    "UNSET",
    "UNTRUSTED",
    "Evidence",
    "Kind",
    "LinkType",
    "MemoryType",
    "Outcome",
    "Reach",
    "Source",
    "Status",
    "Unset",
]

Kind = Literal["message", "episode", "memory"]


Status = Literal["short_term", "consolidating", "long_term", "archived", "quarantined"]
"""``quarantined`` is an archived record that ``release`` alone brings back; it can be listed, not searched."""


MemoryType = Literal["episodic", "semantic", "procedural", "emotional"]


Reach = Literal["session", "project", "project+global", "user", "auto"]


Outcome = Literal["stored", "duplicate", "superseded", "rejected", "forgotten", "restored", "quarantined"]


Evidence = Literal["strong", "weak", "none"]


LinkType = Literal["extends", "contradicts", "implements", "references", "supersedes"]


Source = Literal["direct_user", "model_inference", "tool_internal", "tool_external", "document"]


class Unset(Enum):
    """The type of ``UNSET``: an argument that was not given, where ``None`` has a meaning of its own."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET


SESSION_SUMMARY = "session_summary"
"""The category of memories that sum up a session."""

UNTRUSTED = 0.5
"""Trust below which a text is not believed: it is found and shown as what it is, and decides nothing."""

PREFERENCE = "preference"
"""Where the key of a preference stands in its metadata."""
