"""The messages of an episode to a title and a story."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from mnemic.errors import InvalidInput, LanguageModelError
from mnemic.llm.checks import borne_out, founded, shortened, told_by
from mnemic.llm.fencing import DATA_RULE, fenced, spoken
from mnemic.llm.schema import Schema
from mnemic.llm.task import Answer, Task
from mnemic.text.absolute import absolute_dates
from mnemic.types import Message

__all__ = ["MOST_MESSAGES", "Narrative", "prompt", "task"]

MOST_MESSAGES = 100
SHORTEST_TITLE, LONGEST_TITLE = 3, 7
MOST_SENTENCES = 12
LONGEST_STORY = 1_500
SHORTEST_STORY = 20

INSTRUCTIONS = f"""\
Write the record of one episode of a conversation, so that it can be understood years later without the
conversation.
title: 3 to 7 words that name its subject, not "conversation" or "chat".
story: the third person, past tense, 2 to 8 sentences. Keep every name, number, date, place, decision, plan and
reason; say who said or did what. Turn relative dates into absolute ones, counted from the date of the message:
"yesterday" said on Monday 2024-05-06 is 5 May 2024. Leave out greetings. Add nothing that was not said.
{DATA_RULE}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrative(Answer):
    """A title of 3 to 7 words and a story; one of them may be None when only the other kept the rules."""

    title: str | None
    story: str | None


class EpisodeRecord(Schema):
    """The record of an episode."""

    title: str = Field(default="", max_length=100)
    story: str = Field(default="", max_length=LONGEST_STORY * 2)


def task(messages: Sequence[Message]) -> Task[Narrative]:
    """Ask for the title and the story of one episode.

    Raises:
        InvalidInput: there are no messages, or more than 100.
    """
    if not 0 < len(messages) <= MOST_MESSAGES:
        raise InvalidInput(f"{len(messages)} messages cannot be told in one question; give 1 to {MOST_MESSAGES}.")
    told = tuple(messages)
    return Task(
        stage="narrate",
        instructions=INSTRUCTIONS,
        prompt=prompt(told),
        schema=EpisodeRecord,
        read=lambda answer: _read(answer, told),
    )


def prompt(messages: Sequence[Message]) -> str:
    """The messages of the episode."""
    return f"{fenced(conversation=spoken(messages))}\n\nWrite the record of this episode."


def _read(answer: EpisodeRecord, messages: Sequence[Message]) -> Narrative:
    sources = told_by(messages)
    title, story = _title(answer.title, sources), _story(answer.story, messages, sources)
    if title is None and story is None:
        raise LanguageModelError("The language model's title and story break the rules.")
    return Narrative(title=title, story=story, dropped=(title is None) + (story is None))


def _title(text: str, sources: Sequence[str]) -> str | None:
    """The title on one line without quotes and full stop, cut to 7 words; None when it has fewer than 3."""
    words = text.strip(" \n\"'\u201c\u201d*#").rstrip(".").split()[:LONGEST_TITLE]
    while len(words) > SHORTEST_TITLE and words[-1].lower() in _LOOSE_ENDS:
        words.pop()
    title = " ".join(words)
    spaced = len(words) >= SHORTEST_TITLE or (len(words) == 1 and len(title) >= 4 and not title.isascii())
    return title if spaced and founded(title, sources) and borne_out(title, sources) else None


def _story(text: str, messages: Sequence[Message], sources: Sequence[str]) -> str | None:
    """The story in whole sentences and with absolute dates; None when it invents numbers or cannot be dated."""
    story = shortened(text, MOST_SENTENCES, LONGEST_STORY)
    if story is None or len(story) < SHORTEST_STORY or _FIRST_PERSON.search(story):
        return None
    if not founded(story, sources) or not borne_out(story, sources):
        return None
    moments = [message.sent_at for message in messages if message.sent_at is not None]
    if not moments:
        return story
    absolute = absolute_dates(story, moments[0])
    one_day = len({moment.date() for moment in moments}) == 1
    return absolute if one_day or absolute == story else None


_LOOSE_ENDS = frozenset("a an the and or of in on at to for with from by about as".split())
_FIRST_PERSON = re.compile(r"(?:^|[.!?] )(?:I|We|My|Our)\b(?=['\u2019]| [a-z])")
