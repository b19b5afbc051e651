"""Task: title and story of episodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from mnemic.llm.answers import (
    DATA_RULE,
    Items,
    Number,
    Schema,
    by_number,
    episode_ranges,
    fenced,
    shortened,
    sources_of,
    supported,
    transcript,
)
from mnemic.llm.language_model import Task
from mnemic.text.dates import relative_periods
from mnemic.types import Message

MOST_MESSAGES = 100
MOST_EPISODES = 12
SHORTEST_TITLE, LONGEST_TITLE = 3, 7
MOST_SENTENCES = 12
LONGEST_STORY = 1_500
SHORTEST_STORY = 20

TITLE_RULE = """\
3 to 7 words that name its subject, not "conversation" or "chat"."""
STORY_RULE = """\
the third person, past tense, 2 to 8 sentences. Keep every name, number, date, place, decision, plan and
reason; say who said or did what. Turn relative dates into absolute ones, counted from the date of the message:
"yesterday" said on Monday 2024-05-06 is 5 May 2024. Leave out greetings. Add nothing that was not said."""
INSTRUCTIONS = f"""\
Write a record of each episode of a conversation, so that it can be understood years later without the conversation.
Which messages an episode has stands below the texts; its record tells of those alone.
title: {TITLE_RULE}
story: {STORY_RULE}
{DATA_RULE}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrative:
    """A title of 3 to 7 words and a story; an invalid one is None."""

    title: str | None
    story: str | None


class EpisodeRecord(Schema):
    """The record of an episode."""

    episode: Number
    title: str = Field(default="", max_length=100)
    story: str = Field(default="", max_length=LONGEST_STORY * 2)


class EpisodeRecords(Schema):
    """All episodes of a question."""

    episodes: Items[EpisodeRecord] = Field(min_length=1, max_length=MOST_EPISODES)


def task(episodes: Sequence[Sequence[Message]]) -> Task[tuple[Narrative | None, ...]]:
    """Ask for the titles and the stories of episodes, in order; None for one without a valid answer."""
    texts = fenced(conversation=transcript([message for messages in episodes for message in messages]))
    prompt = f"{texts}\n\n{episode_ranges(episodes)}\n\nWrite the record of each episode."
    return Task("narrate", INSTRUCTIONS, prompt, EpisodeRecords, lambda answer: _read(answer, episodes))


def _read(answer: EpisodeRecords, episodes: Sequence[Sequence[Message]]) -> tuple[Narrative | None, ...]:
    known = [record for record in answer.episodes if 1 <= record.episode <= len(episodes)]
    narratives = ((r.episode, narrative(r.title, r.story, episodes[r.episode - 1])) for r in known)
    return by_number(narratives, len(episodes), "The language model's titles and stories break the rules.")


def narrative(title: str, story: str, messages: Sequence[Message]) -> Narrative | None:
    """The valid parts of an episode's record; None when nothing is valid."""
    sources = sources_of(messages)
    result = Narrative(title=_title(title, sources), story=_story(story, messages, sources))
    return None if result.title is None and result.story is None else result


def _title(text: str, sources: Sequence[str]) -> str | None:
    """The title on one line without quotes and full stop, cut to 7 words; None when it has fewer than 3."""
    words = text.strip(" \n\"'\u201c\u201d*#").rstrip(".").split()[:LONGEST_TITLE]
    while len(words) > SHORTEST_TITLE and words[-1].lower() in _TRAILING_WORDS:
        words.pop()
    title = " ".join(words)
    spaced = len(words) >= SHORTEST_TITLE or (len(words) == 1 and len(title) >= 4 and not title.isascii())
    return title if spaced and supported(title, sources) else None


def _story(text: str, messages: Sequence[Message], sources: Sequence[str]) -> str | None:
    """The story in whole sentences; None if it invents numbers or has ambiguous relative dates."""
    story = shortened(text, MOST_SENTENCES, LONGEST_STORY)
    if story is None or len(story) < SHORTEST_STORY or _FIRST_PERSON.search(story) or not supported(story, sources):
        return None
    days = {message.sent_at.toordinal() for message in messages if message.sent_at is not None}
    return None if len(days) > 1 and relative_periods(story, min(days)) else story


_TRAILING_WORDS = frozenset("a an the and or of in on at to for with from by about as".split())
_FIRST_PERSON = re.compile(r"(?:^|[.!?] )(?:I|We|My|Our)\b(?=['\u2019]| [a-z])")
