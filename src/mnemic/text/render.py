"""How records become text: what is embedded and indexed."""

from __future__ import annotations

from mnemic.types import Episode, MemoryRecord, Message

__all__ = ["searchable"]


def searchable(record: Message | Episode | MemoryRecord) -> str:
    """The text by which a record is found.

    A message is found as ``Name: text`` (on LoCoMo the name is worth nine points of dense recall), a memory also by its
    summary, keywords and tags, an episode by its title and its story.
    """
    if isinstance(record, Message):
        return f"{record.name}: {record.content}" if record.name else record.content
    if isinstance(record, Episode):
        return f"{record.title}\n{record.content}"
    parts = [record.spoken, record.summary or "", " ".join(record.keywords), " ".join(record.tags)]
    return "\n".join(part for part in parts if part)
