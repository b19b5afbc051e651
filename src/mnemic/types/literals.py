"""Literal types and constants."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

Kind = Literal["message", "episode", "memory"]


Status = Literal["short_term", "consolidating", "long_term", "archived", "quarantined"]
"""A ``quarantined`` record is archived, and only ``release`` restores it; it can be listed, but not searched."""

EVERYWHERE: tuple[Status, ...] = ("short_term", "consolidating", "long_term", "archived")
"""Where a record can be found."""


MemoryType = Literal["episodic", "semantic", "procedural", "emotional"]


Reach = Literal["session", "project", "project+global", "user", "auto"]


Outcome = Literal["stored", "duplicate", "superseded", "rejected", "forgotten", "restored", "quarantined"]


Evidence = Literal["strong", "weak", "none"]

Style = Literal["markdown", "xml", "json"]
"""How a prompt is written; by default as plain lines by day."""


LinkType = Literal["extends", "contradicts", "implements", "references", "supersedes"]


Source = Literal["direct_user", "model_inference", "tool_internal", "tool_external", "document"]


ImportFormat = Literal[
    "auto", "chatgpt", "claude", "claude-code", "whatsapp", "telegram", "slack", "transcript", "csv", "messages", "langchain",
    "llama-index", "locomo", "mem0", "langgraph", "memory-graph", "zep", "letta", "chroma", "basic-memory", "mnemic",
]  # fmt: skip
"""The formats of files that can be imported; ``auto`` recognizes the others."""


class Unset(Enum):
    """The type of ``UNSET``: an omitted argument, where ``None`` has another meaning."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET


SESSION_SUMMARY = "session_summary"
"""The category of session summaries."""

CATEGORIES = (
    "preference", "architecture_decision", "code_pattern", "bug_fix", "configuration", "constraint", "entity", "insight",
    "reference", "work", "personal",
)  # fmt: skip
"""The categories that rules and language models give; any other word is one as well."""

UNTRUSTED = 0.5
"""Texts with a lower trust are untrusted: they are found and marked, but supersede nothing."""

TRANSITIONS = ("absorb", "archive", "restore", "undo")
"""Operations of events that archive a record or bring it back."""

KEPT = "kept: "
"""What the reason of a receipt begins with where a description would not take the record."""

PREFERENCE = "preference"
"""The metadata key of preferences."""

ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant",
    "chatbot": "assistant", "system": "system", "developer": "developer", "tool": "tool", "function": "function",
    "customer": "user", "client": "user", "end_user": "user", "visitor": "user", "agent": "assistant", "bot": "assistant",
    "support": "assistant",
}  # fmt: skip
"""The roles, and what other systems call them."""

SILENT_ROLES = ("tool", "function", "system", "developer", "document")
"""Roles of programs and documents: their messages are stored and found, and belong to no episode."""

AGENT = "agent"
"""The metadata key of the agent that a record belongs to."""

TOOLS_USED = "tools_used"
"""The metadata key of an answer for the tools that were used for it: ``name``, and ``outcome`` and ``at`` where known."""
