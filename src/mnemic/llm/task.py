"""One question to a language model, as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from mnemic.llm.schema import Schema

__all__ = ["Answer", "Task"]

A = TypeVar("A", bound="Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The base of what tasks give back.

    Attributes:
        dropped: how many parts of the model's answer broke a rule and were left out.
    """

    dropped: int = 0

    @property
    def empty(self) -> bool:
        """Whether nothing was found. An answer that became empty because parts of it were left out is refused."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[A]):
    """What to ask, and how to read the answer.

    Attributes:
        stage: the name of the task: the unit of counting, and the name the model sees for its answer.
        instructions: what to do, the same for every question of a stage.
        prompt: the data to do it with, between fences.
        schema: the typed answer as the model is asked for it.
        read: the answer as a plain value; raises LanguageModelError when nothing of it can be used.
    """

    stage: str
    instructions: str
    prompt: str
    schema: type[Schema]
    read: Callable[[Any], A]
