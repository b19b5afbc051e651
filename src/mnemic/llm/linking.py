"""How a memory is related to others that resemble it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from mnemic.errors import InvalidInput
from mnemic.llm.fencing import DATA_RULE, fenced, numbered
from mnemic.llm.schema import Number, Schema, Share
from mnemic.llm.task import Answer, Task
from mnemic.types import LinkType, MemoryRecord

__all__ = ["MOST_CANDIDATES", "ProposedLink", "ProposedLinks", "prompt", "task"]

MOST_CANDIDATES = 20
LONGEST_REASON = 200

INSTRUCTIONS = f"""\
Say how one memory is related to candidates. Give a link only where the relation is plain; an empty list is a good
answer.
extends: it adds to the candidate. contradicts: both cannot be true at the same time. implements: it carries out
what the candidate decides or asks for. references: it names the candidate's subject. supersedes: it replaces what
the candidate says.
strength: 0 to 1. reason: a few words.
{DATA_RULE}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedLink:
    """An edge from the memory to a candidate, named by its position from 0."""

    candidate: int
    type: LinkType
    strength: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedLinks(Answer):
    """The edges, at most one per candidate and type."""

    links: tuple[ProposedLink, ...]

    @property
    def empty(self) -> bool:
        """Whether there is no edge."""
        return not self.links


class Relation(Schema):
    """One edge."""

    candidate: Number
    type: LinkType
    strength: Share = 0.5
    reason: str = Field(default="", max_length=LONGEST_REASON)


class Relations(Schema):
    """All edges of a memory."""

    links: list[Relation] = Field(max_length=MOST_CANDIDATES)


def task(memory: MemoryRecord, candidates: Sequence[MemoryRecord]) -> Task[ProposedLinks]:
    """Ask how a memory is related to candidates.

    Raises:
        InvalidInput: there are no candidates, or more than 20.
    """
    if not 0 < len(candidates) <= MOST_CANDIDATES:
        raise InvalidInput(
            f"{len(candidates)} candidates cannot be judged in one question; give 1 to {MOST_CANDIDATES}."
        )
    count = len(candidates)
    return Task(
        stage="link",
        instructions=INSTRUCTIONS,
        prompt=prompt(memory, candidates),
        schema=Relations,
        read=lambda answer: _read(answer, count),
    )


def prompt(memory: MemoryRecord, candidates: Sequence[MemoryRecord]) -> str:
    """The memory, and the candidates numbered from 1."""
    return (
        f"{fenced(memory=numbered([memory], 0), candidates=numbered(candidates))}\n\nHow is memory 0 related to them?"
    )


def _read(answer: Relations, count: int) -> ProposedLinks:
    found: dict[tuple[int, LinkType], ProposedLink] = {}
    for link in answer.links:
        if 1 <= link.candidate <= count:
            reason = " ".join(link.reason.split())
            proposed = ProposedLink(candidate=link.candidate - 1, type=link.type, strength=link.strength, reason=reason)
            found.setdefault((link.candidate, link.type), proposed)
    return ProposedLinks(links=tuple(found.values()), dropped=len(answer.links) - len(found))
