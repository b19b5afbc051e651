"""Task: relations of memories to similar ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from mnemic.errors import InvalidInput, LanguageModelError
from mnemic.llm.answers import DATA_RULE, Items, Number, Schema, Share, fenced, numbered_list
from mnemic.llm.language_model import Task
from mnemic.types import LinkType, MemoryRecord

Pair = tuple[MemoryRecord, Sequence[MemoryRecord]]
"""A memory, and the candidates it may be related to."""

MOST_MEMORIES = 15
MOST_CANDIDATES = 20
MOST_LINKS = 100
FIRST_CANDIDATE = 101
"""Candidates are numbered from here, each once; one that is also a memory of the prompt keeps that number."""
LONGEST_REASON = 200

INSTRUCTIONS = f"""\
Say how memories are related to candidates; which candidates may go with a memory stands below the texts. Give a link
only where the relation is plain; an empty list is a good answer.
extends: it adds to the candidate. contradicts: both cannot be true at the same time. implements: it carries out
what the candidate decides or asks for. references: it names the candidate's subject. supersedes: it replaces what
the candidate says.
strength: 0 to 1. reason: a few words.
{DATA_RULE}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedLink:
    """A link from a memory to one of its candidates, by positions from 0."""

    memory: int
    candidate: int
    type: LinkType
    strength: float
    reason: str


class Relation(Schema):
    """One edge."""

    memory: Number
    candidate: Number
    type: LinkType
    strength: Share = 0.5
    reason: str = Field(default="", max_length=LONGEST_REASON)


class Relations(Schema):
    """All edges of the memories."""

    links: Items[Relation] = Field(max_length=MOST_LINKS)


def task(pairs: Sequence[Pair]) -> Task[tuple[ProposedLink, ...]]:
    """Ask how memories are related to their candidates: at most one link for each memory, candidate and type.

    Raises:
        InvalidInput: there are no memories or more than 15, or one has no candidates or more than 20.
    """
    if not 0 < len(pairs) <= MOST_MEMORIES or not all(0 < len(others) <= MOST_CANDIDATES for _, others in pairs):
        raise InvalidInput(
            f"{len(pairs)} memories with {[len(others) for _, others in pairs]} candidates cannot be judged in one "
            f"question; give 1 to {MOST_MEMORIES} memories, each with 1 to {MOST_CANDIDATES} candidates."
        )
    numbers = _numbers(pairs)
    positions = [{numbers[other.id]: position for position, other in enumerate(others)} for _, others in pairs]
    prompt = _prompt(pairs, numbers)
    return Task("link", INSTRUCTIONS, prompt, Relations, lambda answer: _read(answer, positions))


def _numbers(pairs: Sequence[Pair]) -> dict[str, int]:
    """The number of each candidate by its id."""
    memories = {memory.id: number for number, (memory, _) in enumerate(pairs, 1)}
    others = dict.fromkeys(other.id for _, others in pairs for other in others if other.id not in memories)
    return {id_: number for number, id_ in enumerate(others, FIRST_CANDIDATE)} | memories


def _prompt(pairs: Sequence[Pair], numbers: Mapping[str, int]) -> str:
    """The memories (numbered from 1), all other candidates (from 101), and the candidates of each memory."""
    texts = {"memories": numbered_list([memory for memory, _ in pairs])}
    candidates = {other.id: other for _, others in pairs for other in others if numbers[other.id] >= FIRST_CANDIDATE}
    if candidates:
        texts["candidates"] = numbered_list([*candidates.values()], FIRST_CANDIDATE)
    lines = [
        f"memory {number}: candidates {', '.join(str(numbers[other.id]) for other in others)}"
        for number, (_, others) in enumerate(pairs, 1)
    ]
    return "\n".join((fenced(**texts), "", *lines, "", "How are the memories related to their candidates?"))


def _read(answer: Relations, positions: Sequence[dict[int, int]]) -> tuple[ProposedLink, ...]:
    proposals: dict[tuple[int, int, LinkType], ProposedLink] = {}
    for link in answer.links:
        position = positions[link.memory - 1].get(link.candidate) if 1 <= link.memory <= len(positions) else None
        if position is not None:
            reason = " ".join(link.reason.split())
            proposed = ProposedLink(
                memory=link.memory - 1, candidate=position, type=link.type, strength=link.strength, reason=reason
            )
            proposals.setdefault((link.memory, position, link.type), proposed)
    if answer.links and not proposals:
        raise LanguageModelError("The language model linked none of the memories to a candidate of theirs.")
    return tuple(proposals.values())
