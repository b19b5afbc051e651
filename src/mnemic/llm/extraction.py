"""Task: extract statements that were not predictable from known ones.

After Nemori (arXiv 2508.03341), in one call: the model writes what it expects from the known statements, then only the
statements beyond that. With predictions of an earlier call, which did not see the messages, it reads those instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from mnemic.errors import LanguageModelError
from mnemic.llm.answers import (
    DATA_RULE,
    Items,
    Name,
    Number,
    Schema,
    Share,
    Text,
    distinct,
    episode_ranges,
    fenced,
    moment,
    numbered_list,
    numbers_supported,
    sources_of,
    supported,
    topic_supported,
    transcript,
)
from mnemic.llm.enrichment import MOST_KEYWORDS, MOST_TAGS
from mnemic.llm.language_model import Task
from mnemic.llm.prediction import titled
from mnemic.text.terms import content_terms
from mnemic.types import MemoryRecord, MemoryType, Message
from mnemic.types.literals import CATEGORIES

EpisodeText = tuple[str, Sequence[Message]]
"""The title of an episode, and its messages."""

ChangeType = Literal["new", "update", "contradiction"]

MOST_KNOWN = 16
MOST_STATEMENTS = 40
FIRST_KNOWN = 101
"""Known statements are numbered from here, so that a message can never be taken for one."""


def _instructions(prediction: str) -> str:
    """The instructions, with what the field ``prediction`` holds."""
    return f"""\
Learn from episodes of a conversation what is not known yet. Which messages an episode has stands below the texts.
1. prediction: {prediction}
2. statements: only what the episodes say beyond that prediction and the known statements. An empty list is a good answer.
Each statement is one fact that will matter in months: about a person, a plan, a decision, a preference, an event, a
fact of work. It stands alone: names instead of "I", "she" or "it", absolute dates instead of relative ones, the
exact numbers. Small talk, moods of the moment and general knowledge are left out. What an assistant suggests, asks
or supposes is not a fact about the user unless the user confirms it.
change: "new", or "update" when it replaces a known statement that was true before, or "contradiction" when it
denies one and both cannot be true. known: the number of that known statement, else null.
messages: the numbers of the messages it rests on, of one episode. type: "semantic" for facts and preferences,
"episodic" for events, "procedural" for how something is done, "emotional" for feelings that last. confidence: 0 to 1,
how plainly it was said. keywords: 3 to 5 words to search for. tags: 2 general subjects. category: one of
{", ".join(CATEGORIES)}, or null.
{DATA_RULE}"""


PREDICTING = _instructions(
    "for each episode, in a sentence, what you would expect it to say, from its title and the known statements\nalone."
)
PREDICTED = _instructions("leave it empty. What was expected of each episode before it was read stands in the data.")

_CONFIRMS = re.compile(
    r"\s*(?:(?:oh|ah|well|hm+|ok(?:ay)?)[,.!]* )?(?:(?:yes|yeah|yep|yup)\b(?! and no\b)|(?:right|exactly|correct|true|indeed|"
    r"absolutely|definitely|of course|that['\u2019]?s (?:right|correct|true|it|me)|i (?:am|do|have|did|was)|"
    r"you['\u2019]?re right|sure(?: am| do)?|agreed|deal|let['\u2019]?s do (?:it|that)|do (?:it|that)|go ahead|sounds good|"
    r"perfect)(?:,? please)?\s*(?:[^\w\s'\u2019]|\Z))",
    re.IGNORECASE,
)
"""How a person confirms what an assistant said: "definitely", but not "definitely not" or "correct me if I'm wrong"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One extracted statement.

    Attributes:
        text: the self-contained statement.
        change: its relation to known statements.
        episode: position of its episode.
        messages: positions in that episode of the supporting messages, from 0, in order; never empty.
        known: position of the known statement that it updates or contradicts; None if new.
        keywords: search terms; empty if the model gave none, and then it is not described.
    """

    text: str
    change: ChangeType
    episode: int
    messages: tuple[int, ...]
    known: int | None
    type: MemoryType
    confidence: float
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    category: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The statements beyond the prediction.

    Attributes:
        unread: positions of episodes whose statements were all invalid.
    """

    statements: tuple[Statement, ...]
    unread: frozenset[int] = frozenset()


class FoundStatement(Schema):
    """One statement."""

    statement: Text
    change: ChangeType = "new"
    known: Number | None = None
    messages: Items[Number] = Field(min_length=1, max_length=20)
    type: MemoryType = "semantic"
    confidence: Share = 0.5
    keywords: Items[Name] = Field(default_factory=list[Name], max_length=MOST_KEYWORDS)
    tags: Items[Name] = Field(default_factory=list[Name], max_length=MOST_TAGS)
    category: str | None = Field(default=None, max_length=40)


class Findings(Schema):
    """Prediction first, then what it missed."""

    prediction: str = Field(default="", max_length=2_000)
    statements: Items[FoundStatement] = Field(max_length=MOST_STATEMENTS)


def task(
    episodes: Sequence[EpisodeText], known: Sequence[MemoryRecord] = (), predictions: Sequence[str] = ()
) -> Task[Extraction]:
    """Ask for statements beyond the known ones.

    Args:
        episodes: 1 to 12 titles with messages, 1 to 100 messages together.
        known: known statements on their subjects, at most 16.
        predictions: what was expected of each episode, by a call that did not see its messages.
    """
    message_groups, known_texts = [messages for _, messages in episodes], [record.content for record in known]
    dated = [f"{moment(record.said_at or record.valid_at or record.created_at)}: {record.content}" for record in known]
    prompt = _prompt(episodes, dated, predictions)
    instructions = PREDICTED if any(predictions) else PREDICTING
    return Task("extract", instructions, prompt, Findings, lambda answer: _read(answer, message_groups, known_texts))


def _prompt(episodes: Sequence[EpisodeText], known: Sequence[str], predictions: Sequence[str]) -> str:
    """Titles, known statements (numbered from 101), predictions, messages (numbered from 1), and the ranges of the
    episodes.
    """
    parts = {
        "titles": titled([title[:200] for title, _ in episodes]),
        "known": numbered_list(known, FIRST_KNOWN) or "nothing",
        **({"predictions": titled(predictions)} if any(predictions) else {}),
        "conversation": transcript([message for _, messages in episodes for message in messages]),
    }
    ask = f"{'Give' if any(predictions) else 'Predict, then give'} what the prediction missed."
    which = episode_ranges([messages for _, messages in episodes])
    return f"{fenced(**parts)}\n\n{which}\n\n{ask}"


def _read(answer: Findings, episodes: Sequence[Sequence[Message]], known_texts: Sequence[str]) -> Extraction:
    sources = [[*sources_of(messages), *known_texts] for messages in episodes]
    known_keys = {_key(text) for text in known_texts}
    owners = [(episode, position) for episode, messages in enumerate(episodes) for position in range(len(messages))]
    statements: dict[str, Statement] = {}
    refused: set[int] = set()
    read: set[int] = set()
    for finding in answer.statements:
        cited = sorted({owners[number - 1] for number in finding.messages if 1 <= number <= len(owners)})
        if not cited:
            continue
        episode = cited[0][0]
        cites = tuple(position for owner, position in cited if owner == episode)
        statement = _statement(finding, episode, cites, episodes[episode], len(known_texts), sources[episode])
        (refused if statement is None else read).add(episode)
        if statement is not None:
            statements.setdefault(_key(statement.text), statement)
    if answer.statements and not statements:
        raise LanguageModelError("None of the language model's statements keeps the rules.")
    return Extraction(
        statements=tuple(statement for key, statement in statements.items() if key not in known_keys),
        unread=frozenset(refused - read),
    )


def _statement(
    finding: FoundStatement, episode: int, cited: tuple[int, ...], messages: Sequence[Message], most_known: int,
    sources: Sequence[str],
) -> Statement | None:  # fmt: skip
    """The validated statement, or None without support or with an invented number."""
    text = " ".join(finding.statement.split())
    support = _supporting_messages(text, cited, messages)
    if not support or not supported(text, sources):
        return None
    position = None if finding.known is None else finding.known - FIRST_KNOWN
    is_known = position is not None and 0 <= position < most_known
    change: ChangeType = finding.change if is_known else "new"
    category = (finding.category or "").lower()
    return Statement(
        text=text,
        change=change,
        episode=episode,
        messages=support,
        known=position if is_known and change != "new" else None,
        type=finding.type,
        confidence=finding.confidence,
        keywords=distinct((word for word in finding.keywords if numbers_supported(word, [text])), MOST_KEYWORDS),
        tags=distinct((tag.lower().lstrip("#") for tag in finding.tags), MOST_TAGS),
        category=category if category in CATEGORIES else None,
    )


def _supporting_messages(text: str, cited: tuple[int, ...], messages: Sequence[Message]) -> tuple[int, ...]:
    """The messages that support a statement, including a person's confirmation of an assistant; empty if only an
    assistant said it.
    """
    people = [i for i in cited if not _is_agent(messages[i])]
    if any(_CONFIRMS.match(messages[i].content) for i in people):
        return cited
    if people:
        speakers = {*content_terms(" ".join(messages[i].name or "" for i in people))}
        about = " ".join(term for term in content_terms(text) if term not in speakers) or text
        return cited if topic_supported(about, [messages[i].content for i in people], share=0.1) else ()
    for i in cited:
        reply = next((n for n in range(i + 1, len(messages)) if not _is_agent(messages[n])), None)
        if reply is not None and _CONFIRMS.match(messages[reply].content):
            return tuple(sorted({*cited, reply}))
    return ()


def _is_agent(message: Message) -> bool:
    """An assistant, a tool or a system without a personal name."""
    return message.role != "user" and not message.name


def _key(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".")
