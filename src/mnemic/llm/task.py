"""A task for a language model, and the base of its answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from mnemic.llm.answers import Schema

A = TypeVar("A", bound="Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The base of validated answers.

    Attributes:
        dropped: number of invalid parts of the model's answer that were left out.
    """

    dropped: int = 0

    @property
    def empty(self) -> bool:
        """Whether nothing was found; an answer that is empty only because parts were dropped is rejected."""
        return False


@dataclass(frozen=True, slots=True)
class Task(Generic[A]):
    """A prompt, and how to validate the answer.

    Attributes:
        stage: name of the task, for usage counts and as the name of the answer.
        instructions: the same for every prompt of a stage.
        prompt: the fenced data.
        schema: the typed answer.
        read: validates the answer; raises LanguageModelError if nothing of it is valid.
    """

    stage: str
    instructions: str
    prompt: str
    schema: type[Schema]
    read: Callable[[Any], A]
