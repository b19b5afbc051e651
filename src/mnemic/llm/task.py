"""A task for a language model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from mnemic.llm.answers import Schema

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Task(Generic[A]):
    """A prompt, and how to validate the answer.

    Attributes:
        stage: name of the task, for usage counts and as the name of the answer.
        instructions: the same for every prompt of a stage.
        prompt: the fenced data.
        schema: the typed answer.
        read: validates the answer, without its invalid parts; raises LanguageModelError if nothing is left of it.
    """

    stage: str
    instructions: str
    prompt: str
    schema: type[Schema]
    read: Callable[[Any], A]
