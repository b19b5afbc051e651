"""Task: decide what to do with two similar memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from mnemic.errors import LanguageModelError
from mnemic.llm.checks import lost_values, numbers_supported
from mnemic.llm.fences import DATA_RULE, fenced, moment, numbered_list
from mnemic.llm.schema import Number, Schema
from mnemic.llm.task import Answer, Task
from mnemic.types import MemoryRecord

__all__ = ["KeepBoth", "Merge", "PairDecision", "Replace", "prompt", "task"]

LONGEST_CONTENT = 1_000

INSTRUCTIONS = f"""\
Two memories resemble each other. Decide what to do with them.
merge: they state the same fact, perhaps with different details. Give content: one statement with every name,
number, date and address of both. Give into: the number of the one that is better kept.
supersede: they give different values of the same thing at different times. Give kept: the number of the one that
holds now.
keep_both: they are different facts, or both may be true. When in doubt, keep both.
{DATA_RULE}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One fact, stated by `content`; `into` is the position (0 or 1) of the memory that keeps it."""

    into: int
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """`kept` is current and supersedes `superseded`; positions 0 or 1."""

    kept: int
    superseded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepBoth:
    """Two facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDecision(Answer):
    """What to do with the pair, and why."""

    action: Merge | Replace | KeepBoth
    reason: str


class Decision(Schema):
    """The decision; the fields of the other decisions are null."""

    decision: Literal["merge", "supersede", "keep_both"]
    into: Number | None = None
    content: str | None = Field(default=None, max_length=LONGEST_CONTENT)
    kept: Number | None = None
    reason: str = Field(default="", max_length=200)


def task(first: MemoryRecord, second: MemoryRecord) -> Task[PairDecision]:
    """Ask what to do with two memories."""
    pair = (first.content, second.content)
    return Task(
        stage="decide",
        instructions=INSTRUCTIONS,
        prompt=prompt(first, second),
        schema=Decision,
        read=lambda answer: _read(answer, pair),
    )


def prompt(first: MemoryRecord, second: MemoryRecord) -> str:
    """Both memories with the time since which each is true, numbered 1 and 2."""
    lines = [f"{moment(m.valid_at or m.created_at)}: {m.content}" for m in (first, second)]
    return f"{fenced(memories=numbered_list(lines))}\n\nDecide."


def _read(answer: Decision, pair: tuple[str, str]) -> PairDecision:
    reason = " ".join(answer.reason.split())
    if answer.decision == "keep_both":
        return PairDecision(action=KeepBoth(), reason=reason)
    chosen = answer.into if answer.decision == "merge" else answer.kept
    if chosen not in (1, 2):
        raise LanguageModelError(f"The language model decided on memory {chosen} of 2.")
    if answer.decision == "supersede":
        return PairDecision(action=Replace(kept=chosen - 1, superseded=2 - chosen), reason=reason)
    content = " ".join((answer.content or "").split())
    lost = lost_values(content, pair)
    if lost or not content or not numbers_supported(content, pair):
        why = f"it lost {len(lost)} values" if lost else "it is empty or holds a number of neither memory"
        raise LanguageModelError(f"The language model's merge of two memories was refused: {why}.")
    return PairDecision(action=Merge(into=chosen - 1, content=content), reason=reason)
