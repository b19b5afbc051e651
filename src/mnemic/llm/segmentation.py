"""Task: segment messages into episodes, with title and story."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from pydantic import Field

from mnemic.errors import LanguageModelError
from mnemic.llm.answers import DATA_RULE, Items, Name, Number, Schema, fenced, transcript
from mnemic.llm.language_model import Task
from mnemic.llm.narration import LONGEST_STORY, STORY_RULE, TITLE_RULE, Narrative, narrative
from mnemic.types import Message

MOST_MESSAGES = 60
"""Most messages in one prompt; 40 work well."""

INSTRUCTIONS = f"""\
Cut a conversation into episodes: runs of neighbouring messages about one subject. A new episode begins where the
subject, the intent or the activity changes, or after a long pause. Greetings and thanks belong to the episode
beside them; an answer belongs to its question. Most episodes have 4 to 15 messages.
Give the episodes in order, each with the numbers of its first and its last message and its record. Every message
belongs to exactly one episode.
topic: {TITLE_RULE}
story: {STORY_RULE}
{DATA_RULE}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentation:
    """Episodes as positions of messages, from 0; every position is in exactly one.

    ``records`` has one entry per group: None if the story is invalid, or if the group was changed when the answer was
    repaired.
    """

    groups: tuple[tuple[int, ...], ...]
    records: tuple[Narrative | None, ...]


class EpisodeSpan(Schema):
    """One episode."""

    first: Number
    last: Number
    topic: Name
    story: str = Field(default="", max_length=LONGEST_STORY * 2)


class EpisodeSpans(Schema):
    """All episodes of a batch."""

    episodes: Items[EpisodeSpan] = Field(min_length=1, max_length=MOST_MESSAGES)


def task(messages: Sequence[Message]) -> Task[Segmentation]:
    """Ask for the episodes of 1 to 60 neighbouring messages of one session."""
    prompt = f"{fenced(conversation=transcript(messages))}\n\nCut messages 1 to {len(messages)} into episodes."
    return Task("segment", INSTRUCTIONS, prompt, EpisodeSpans, lambda answer: _read(answer, messages))


def _read(answer: EpisodeSpans, messages: Sequence[Message]) -> Segmentation:
    """Repair the spans: later ones win overlaps, and uncovered messages join the one before them."""
    count = len(messages)
    named = {(s.first, s.last): s for s in answer.episodes if 1 <= s.first <= s.last <= count}
    spans = [named[ends] for ends in sorted(named)]
    owners: list[int | None] = [None] * count
    for number, span in enumerate(spans):
        owners[span.first - 1 : span.last] = [number] * (span.last - span.first + 1)
    covered = sum(owner is not None for owner in owners)
    if covered * 2 < count:
        raise LanguageModelError(f"The language model's episodes cover {covered} of {count} messages.")
    current = next(owner for owner in owners if owner is not None)
    owned: list[int] = []
    for owner in owners:
        current = current if owner is None else owner
        owned.append(current)
    groups = [(spans[owner], tuple(places)) for owner, places in groupby(range(count), owned.__getitem__)]
    return Segmentation(
        groups=tuple(places for _, places in groups),
        records=tuple(_record(span, places, messages) for span, places in groups),
    )


def _record(span: EpisodeSpan, group: Sequence[int], messages: Sequence[Message]) -> Narrative | None:
    """The record of a group that equals its span."""
    if not span.story or (span.first - 1, span.last) != (group[0], group[-1] + 1):
        return None
    record = narrative(span.topic, span.story, messages[span.first - 1 : span.last])
    return record if record and record.story else None
