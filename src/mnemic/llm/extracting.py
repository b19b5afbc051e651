"""What an episode says that was not to be expected: predict, compare, keep the difference.

After Nemori (arXiv 2508.03341), in one call: the model writes what it expects from what is known, then only the statements
that this did not cover.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from mnemic.errors import InvalidInput
from mnemic.llm.checks import borne_out, founded, told_by
from mnemic.llm.fencing import DATA_RULE, fenced, numbered, spoken
from mnemic.llm.reading import plain
from mnemic.llm.schema import Number, Schema, Share, Text
from mnemic.llm.task import Answer, Task
from mnemic.text.absolute import absolute_dates
from mnemic.types import MemoryRecord, MemoryType, Message

__all__ = ["MOST_KNOWN", "MOST_MESSAGES", "ChangeType", "Extraction", "Statement", "prompt", "task"]

ChangeType = Literal["new", "update", "contradiction"]

MOST_MESSAGES = 100
MOST_KNOWN = 20
MOST_STATEMENTS = 25
FIRST_KNOWN = 101
"""Known statements are numbered from here, so that a message can never be taken for one."""

INSTRUCTIONS = f"""\
Learn from one episode of a conversation what is not known yet.
1. prediction: in one or two sentences, what you would expect this episode to say, from its title and the known
statements alone.
2. statements: only what the episode says beyond that prediction and beyond the known statements. An empty list is a
good answer.
Each statement is one fact that will matter in months: about a person, a plan, a decision, a preference, an event, a
fact of work. It stands alone: names instead of "I", "she" or "it", absolute dates instead of relative ones, the
exact numbers. Small talk, moods of the moment and general knowledge are left out. What an assistant suggests, asks
or supposes is not a fact about the user unless the user confirms it.
change: "new", or "update" when it replaces a known statement that was true before, or "contradiction" when it
denies one and both cannot be true. known: the number of that known statement, else null.
messages: the numbers of the messages it rests on. type: "semantic" for facts and preferences, "episodic" for
events, "procedural" for how something is done, "emotional" for feelings that last. confidence: 0 to 1, how plainly
it was said.
{DATA_RULE}"""

_CONFIRMS = re.compile(
    r"\s*(?:(?:oh|ah|well|hm+|ok(?:ay)?)[,.!]* )?(?:yes|yeah|yep|yup|right|exactly|correct|true|indeed|absolutely|"
    r"definitely|of course|"
    r"that'?s (?:right|correct|true|it|me)|i (?:am|do|have|did|was)\b(?! not)|you'?re right|"
    r"sure(?: am| do)?\b|agreed|deal|let'?s do (?:it|that)|"
    r"do (?:it|that)|go ahead|sounds good|perfect)\b",
    re.IGNORECASE,
)
"""How somebody says that it is as an assistant said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that was not predicted.

    Attributes:
        text: the statement; it stands alone.
        change: what it is to the known.
        messages: positions of the messages it rests on, from 0, in order; never empty.
        known: position of the known statement that it updates or contradicts; None for what is new.
    """

    text: str
    change: ChangeType
    messages: tuple[int, ...]
    known: int | None
    type: MemoryType
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction(Answer):
    """What the model expected, and the statements that this did not cover."""

    prediction: str
    statements: tuple[Statement, ...]

    @property
    def empty(self) -> bool:
        """Whether the prediction covered everything."""
        return not self.statements


class FoundStatement(Schema):
    """One statement."""

    statement: Text
    change: ChangeType = "new"
    known: Number | None = None
    messages: list[Number] = Field(min_length=1, max_length=20)
    type: MemoryType = "semantic"
    confidence: Share = 0.5


class Findings(Schema):
    """Prediction first, then what it missed."""

    prediction: str = Field(default="", max_length=600)
    statements: list[FoundStatement] = Field(max_length=MOST_STATEMENTS)


def task(title: str, messages: Sequence[Message], known: Sequence[MemoryRecord] = ()) -> Task[Extraction]:
    """Ask for what an episode says beyond the known.

    Args:
        title: of the episode.
        messages: its messages, 1 to 100.
        known: what is known about its subject, at most 20.

    Raises:
        InvalidInput: too many messages or known statements, or no messages.
    """
    if not 0 < len(messages) <= MOST_MESSAGES or len(known) > MOST_KNOWN:
        raise InvalidInput(
            f"{len(messages)} messages and {len(known)} known statements do not fit one question; give 1 to "
            f"{MOST_MESSAGES} and at most {MOST_KNOWN}."
        )
    told, held = tuple(messages), tuple(record.content for record in known)
    return Task(
        stage="extract",
        instructions=INSTRUCTIONS,
        prompt=prompt(title, messages, known),
        schema=Findings,
        read=lambda answer: _read(answer, told, held),
    )


def prompt(title: str, messages: Sequence[Message], known: Sequence[MemoryRecord] = ()) -> str:
    """Title, what is known (numbered from 101) and messages (numbered from 1)."""
    parts = {
        "title": " ".join(plain(title).split())[:200],
        "known": numbered(known, FIRST_KNOWN) or "nothing",
        "conversation": spoken(messages),
    }
    return f"{fenced(**parts)}\n\nPredict, then give what the prediction missed."


def _read(answer: Findings, messages: Sequence[Message], known: Sequence[str]) -> Extraction:
    sources = [*told_by(messages), *known]
    held = {_key(text) for text in known}
    distinct: dict[str, Statement] = {}
    for found in answer.statements:
        statement = _statement(found, messages, known, sources)
        if statement is not None:
            distinct.setdefault(_key(statement.text), statement)
    return Extraction(
        prediction=answer.prediction,
        statements=tuple(statement for key, statement in distinct.items() if key not in held),
        dropped=len(answer.statements) - len(distinct),
    )


def _statement(
    found: FoundStatement, messages: Sequence[Message], known: Sequence[str], sources: Sequence[str]
) -> Statement | None:
    """The statement with positions for numbers, or None when it rests on nothing or holds a number from nowhere."""
    cited = tuple(sorted({number - 1 for number in found.messages if 1 <= number <= len(messages)}))
    text = " ".join(found.statement.split())
    rests_on = _vouched(text, cited, messages)
    if not rests_on or not founded(text, sources) or not borne_out(text, sources):
        return None
    position = None if found.known is None else found.known - FIRST_KNOWN
    named = position is not None and 0 <= position < len(known)
    change: ChangeType = found.change if named else "new"
    said = messages[rests_on[-1]].sent_at
    return Statement(
        text=absolute_dates(text, said) if said else text,
        change=change,
        messages=rests_on,
        known=position if named and change != "new" else None,
        type=found.type,
        confidence=found.confidence,
    )


def _vouched(text: str, cited: tuple[int, ...], messages: Sequence[Message]) -> tuple[int, ...]:
    """The messages a statement rests on, with the one in which somebody confirms what an assistant said; nothing when it rests
    on an assistant alone.
    """
    people = [at for at in cited if not _is_agent(messages[at])]
    if any(_CONFIRMS.match(messages[at].content) for at in people):
        return cited
    if people:
        held = [messages[at].content for at in people]
        return cited if borne_out(text, [*held, *(messages[at].name or "" for at in people)], share=0.1) else ()
    for at in cited:
        reply = next((n for n in range(at + 1, len(messages)) if not _is_agent(messages[n])), None)
        if reply is not None and _CONFIRMS.match(messages[reply].content):
            return tuple(sorted({*cited, reply}))
    return ()


def _is_agent(message: Message) -> bool:
    """An assistant, a tool or a system without a personal name."""
    return message.role != "user" and not message.name


def _key(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".")
