"""Task: decide what to do with two similar memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from mnemic.errors import LanguageModelError
from mnemic.llm.answers import DATA_RULE, Number, Schema, fenced, lost_values, moment, numbered_list, numbers_supported
from mnemic.llm.language_model import Task
from mnemic.types import MemoryRecord

LONGEST_CONTENT = 1_000

Action = Literal["merge", "supersede", "keep_both"]

INSTRUCTIONS = f"""\
Two memories resemble each other. Decide what to do with them.
merge: they state the same fact, perhaps with different details. Give content: one statement with every name,
number, date and address of both.
supersede: they give different values of the same thing at different times. Give kept: the number of the one that
holds now.
keep_both: they are different facts, or both may be true. When in doubt, keep both.
{DATA_RULE}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDecision:
    """What to do with the pair.

    Attributes:
        kept: the position, 0 or 1, of the memory that holds now.
        content: the merged text.
    """

    action: Action
    kept: int = 0
    content: str = ""


class Decision(Schema):
    """The decision; the fields of the other decisions are null."""

    decision: Action
    content: str | None = Field(default=None, max_length=LONGEST_CONTENT)
    kept: Number | None = None
    reason: str = Field(default="", max_length=200)


def task(first: MemoryRecord, second: MemoryRecord) -> Task[PairDecision]:
    """Ask what to do with two memories: both with the time since which each is true, numbered 1 and 2."""
    lines = [f"{moment(m.valid_at or m.created_at)}: {m.content}" for m in (first, second)]
    prompt = f"{fenced(memories=numbered_list(lines))}\n\nDecide."
    return Task("decide", INSTRUCTIONS, prompt, Decision, lambda answer: _read(answer, (first.content, second.content)))


def _read(answer: Decision, pair: tuple[str, str]) -> PairDecision:
    if answer.decision == "keep_both":
        return PairDecision(action="keep_both")
    if answer.decision == "supersede":
        if answer.kept not in (1, 2):
            raise LanguageModelError(f"The language model decided on memory {answer.kept} of 2.")
        return PairDecision(action="supersede", kept=answer.kept - 1)
    content = " ".join((answer.content or "").split())
    lost = lost_values(content, pair)
    if lost or not content or not numbers_supported(content, pair):
        why = f"it lost {len(lost)} values" if lost else "it is empty or holds a number of neither memory"
        raise LanguageModelError(f"The language model's merge of two memories was refused: {why}.")
    return PairDecision(action="merge", content=content)
