"""The text of a record that is embedded and indexed."""

from __future__ import annotations

from mnemic.types import Episode, MemoryRecord, Message

__all__ = ["searchable"]


def searchable(record: Message | Episode | MemoryRecord) -> str:
    """The indexed text of a record.

    A message is ``Name: text`` (on LoCoMo the name adds nine points of dense recall), a memory includes its summary,
    keywords and tags, an episode is its title and story.
    """
    if isinstance(record, Message):
        return f"{record.name}: {record.content}" if record.name else record.content
    if isinstance(record, Episode):
        return f"{record.title}\n{record.content}"
    parts = [record.spoken, record.summary or "", " ".join(record.keywords), " ".join(record.tags)]
    return "\n".join(part for part in parts if part)
