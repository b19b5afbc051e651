"""Task: summary, context, keywords, tags, type, category, importance and related entities of memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from mnemic.llm.answers import (
    DATA_RULE,
    Items,
    Name,
    Number,
    Schema,
    Share,
    Text,
    by_number,
    distinct,
    fenced,
    numbered_list,
    numbers_supported,
    shortened,
    supported,
)
from mnemic.llm.language_model import Task
from mnemic.types import MemoryRecord
from mnemic.types.literals import CATEGORIES

MOST_MEMORIES = 20
MOST_KEYWORDS, MOST_TAGS, MOST_RELATED = 5, 3, 8
LONGEST_SUMMARY, LONGEST_CONTEXT = 300, 160

INSTRUCTIONS = f"""\
Describe memories so that they can be found and judged. For each, by its number:
summary: one or two short sentences. context: in a few of its words, for what or when it matters. keywords: 3 to 5
words or short phrases that someone would search for. tags: 2 or 3 general subjects in lower case.
category: one of {", ".join(CATEGORIES)}, or null. importance: 0 to 1, how much it will matter in months: 0.2 a
passing detail, 0.5 a useful fact, 0.9 a decision or a lasting trait. confidence: 0 to 1, how certain the memory
itself is. files: paths of files it names. entities: people, organizations, places and products it names.
{DATA_RULE}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrichment:
    """The description of one memory; empty values mean none."""

    summary: str | None
    context: str | None
    keywords: tuple[str, ...]
    tags: tuple[str, ...]
    category: str | None
    importance: float
    confidence: float
    related_files: tuple[str, ...]
    related_entities: tuple[str, ...]


class Description(Schema):
    """One memory described."""

    memory: Number
    summary: str = Field(default="", max_length=LONGEST_SUMMARY * 2)
    context: str = Field(default="", max_length=LONGEST_CONTEXT * 2)
    keywords: Items[Name] = Field(default_factory=list[Name], max_length=8)
    tags: Items[Name] = Field(default_factory=list[Name], max_length=6)
    category: str | None = Field(default=None, max_length=40)
    importance: Share = 0.5
    confidence: Share = 0.5
    files: Items[Text] = Field(default_factory=list[Text], max_length=MOST_RELATED)
    entities: Items[Name] = Field(default_factory=list[Name], max_length=MOST_RELATED)


class Descriptions(Schema):
    """All memories of a batch."""

    memories: Items[Description] = Field(min_length=1, max_length=MOST_MEMORIES)


def task(memories: Sequence[MemoryRecord | str]) -> Task[tuple[Enrichment | None, ...]]:
    """Ask for the descriptions of at most 20 memories, or of their texts, in order; None for one without a valid answer."""
    texts = tuple(memory if isinstance(memory, str) else memory.content for memory in memories)
    prompt = f"{fenced(memories=numbered_list(texts))}\n\nDescribe memories 1 to {len(texts)}."
    return Task("enrich", INSTRUCTIONS, prompt, Descriptions, lambda answer: _read(answer, texts))


def _read(answer: Descriptions, texts: Sequence[str]) -> tuple[Enrichment | None, ...]:
    known = [described for described in answer.memories if 1 <= described.memory <= len(texts)]
    enrichments = ((described.memory, _enrichment(described, texts[described.memory - 1])) for described in known)
    return by_number(enrichments, len(texts), "The language model described none of the memories it was given.")


def _enrichment(described: Description, text: str) -> Enrichment | None:
    """The description without unsupported values; None when only defaults are left."""
    summary = shortened(described.summary, 2, LONGEST_SUMMARY)
    summary = summary if summary and supported(summary, [text]) else None
    keywords = distinct((word for word in described.keywords if numbers_supported(word, [text])), MOST_KEYWORDS)
    if summary is None and not keywords:
        return None
    context = shortened(described.context, 1, LONGEST_CONTEXT)
    lowered = text.casefold()
    category = (described.category or "").lower()
    return Enrichment(
        summary=summary,
        context=context if context and supported(context, [text]) else None,
        keywords=keywords,
        tags=distinct((tag.lower().lstrip("#") for tag in described.tags), MOST_TAGS),
        category=category if category in CATEGORIES else None,
        importance=described.importance,
        confidence=described.confidence,
        related_files=distinct((file for file in described.files if file in text), MOST_RELATED),
        related_entities=distinct((name for name in described.entities if name.casefold() in lowered), MOST_RELATED),
    )
