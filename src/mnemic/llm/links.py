"""Task: relations of memories to similar ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from mnemic.errors import LanguageModelError
from mnemic.llm.answers import DATA_RULE, Items, Number, Schema, Share, fenced, numbered_list
from mnemic.llm.language_model import Task
from mnemic.types import Link, LinkType, MemoryRecord

Pair = tuple[MemoryRecord, Sequence[MemoryRecord]]
"""A memory, and the candidates it may be related to."""

MOST_MEMORIES = 15
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


def task(pairs: Sequence[Pair]) -> Task[tuple[Link, ...]]:
    """Ask how memories are related to their candidates: at most one link for each memory, candidate and type."""
    numbers = _numbers(pairs)
    candidates = [(memory.id, {numbers[other.id]: other.id for other in others}) for memory, others in pairs]
    prompt = _prompt(pairs, numbers)
    return Task("link", INSTRUCTIONS, prompt, Relations, lambda answer: _read(answer, candidates))


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


def _read(answer: Relations, candidates: Sequence[tuple[str, Mapping[int, str]]]) -> tuple[Link, ...]:
    proposals: dict[tuple[str, str, LinkType], Link] = {}
    for edge in answer.links:
        if not 1 <= edge.memory <= len(candidates):
            continue
        source, targets = candidates[edge.memory - 1]
        if target := targets.get(edge.candidate):
            reason = " ".join(edge.reason.split())
            link = Link(source=source, target=target, type=edge.type, strength=edge.strength, reason=reason)
            proposals.setdefault((source, target, edge.type), link)
    if answer.links and not proposals:
        raise LanguageModelError("The language model linked none of the memories to a candidate of theirs.")
    return tuple(proposals.values())
