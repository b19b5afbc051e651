"""Messages to episodes: which runs of messages belong to one subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from mnemic.errors import InvalidInput, LanguageModelError
from mnemic.llm.fencing import DATA_RULE, fenced, spoken
from mnemic.llm.schema import Name, Number, Schema
from mnemic.llm.task import Answer, Task
from mnemic.types import Message

__all__ = ["MOST_MESSAGES", "Segmentation", "prompt", "task"]

MOST_MESSAGES = 60
"""Of one question; about 40 at a time read well."""

INSTRUCTIONS = f"""\
Cut a conversation into episodes: runs of neighbouring messages about one subject. A new episode begins where the
subject, the intent or the activity changes, or after a long pause. Greetings and thanks belong to the episode
beside them; an answer belongs to its question. Most episodes have 4 to 15 messages.
Give the episodes in order, each with its topic in a few words and the numbers of its first and its last message.
Every message belongs to exactly one episode.
{DATA_RULE}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentation(Answer):
    """Episodes as positions in the messages that were given, from 0; every position is in exactly one of them.

    ``topics`` has one entry per group; empty where the repair of an answer left none.
    """

    groups: tuple[tuple[int, ...], ...]
    topics: tuple[str, ...]


class EpisodeSpan(Schema):
    """One episode."""

    topic: Name
    first: Number
    last: Number


class EpisodeSpans(Schema):
    """All episodes of a batch."""

    episodes: list[EpisodeSpan] = Field(min_length=1, max_length=MOST_MESSAGES)


def task(messages: Sequence[Message]) -> Task[Segmentation]:
    """Ask for the episodes of neighbouring messages of one session.

    Raises:
        InvalidInput: there are none, or more than 60.
    """
    if not 0 < len(messages) <= MOST_MESSAGES:
        raise InvalidInput(f"{len(messages)} messages cannot be cut in one question; give 1 to {MOST_MESSAGES}.")
    count = len(messages)
    return Task(
        stage="segment",
        instructions=INSTRUCTIONS,
        prompt=prompt(messages),
        schema=EpisodeSpans,
        read=lambda answer: _read(answer, count),
    )


def prompt(messages: Sequence[Message]) -> str:
    """The messages, numbered from 1."""
    return f"{fenced(conversation=spoken(messages))}\n\nCut messages 1 to {len(messages)} into episodes."


def _read(answer: EpisodeSpans, count: int) -> Segmentation:
    """Spans that exist; where they overlap the later one counts, and what none covers goes with the message before it."""
    spans = sorted({(s.first, s.last): s.topic for s in answer.episodes if 1 <= s.first <= s.last <= count}.items())
    owners: list[int | None] = [None] * count
    for number, ((first, last), _) in enumerate(spans):
        owners[first - 1 : last] = [number] * (last - first + 1)
    covered = sum(owner is not None for owner in owners)
    if covered * 2 < count:
        raise LanguageModelError(f"The language model's episodes cover {covered} of {count} messages.")
    current = next(owner for owner in owners if owner is not None)
    groups: list[list[int]] = []
    topics: list[str] = []
    before: int | None = None
    for position, owner in enumerate(owners):
        current = current if owner is None else owner
        if current != before:
            groups.append([])
            topics.append(spans[current][1])
        groups[-1].append(position)
        before = current
    used = len({(first, last) for (first, last), _ in spans})
    return Segmentation(
        groups=tuple(map(tuple, groups)),
        topics=tuple(topics),
        dropped=len(answer.episodes) - used + count - covered,
    )
