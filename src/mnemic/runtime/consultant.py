"""Calls to the optional language model; without an answer the caller falls back to rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from mnemic.errors import LanguageModelError, LanguageModelUnavailable
from mnemic.runtime.runtime import Runtime

if TYPE_CHECKING:
    from mnemic.llm.language_model import Task

A = TypeVar("A")

MAX_THREADS = 8
"""Tasks waiting at a time; how many the model works on at once is its own setting."""
MAX_UNREACHABLE = 3
"""Tasks in a row that may fail because the model is unreachable; after that it is not called again in this run."""


MESSAGES_PER_PROMPT = 60
"""Messages in one prompt, unless a single episode has more."""


def prompt_groups(trusted: Mapping[int, bool], most: int, sizes: Mapping[int, int] | None = None) -> list[list[int]]:
    """The items of each prompt, trusted and untrusted ones apart: a model that reads both together may mix them.

    Args:
        trusted: whether each item is trusted, by its number.
        most: items in one prompt.
        sizes: messages of each, of which a prompt has no more than its share.
    """
    prompts: list[list[int]] = []
    for kind in (True, False):
        group, room = list[int](), 0
        for number in (number for number, is_trusted in trusted.items() if is_trusted is kind):
            size = sizes[number] if sizes else 0
            if not group or size > room or len(group) == most:
                group, room = list[int](), MESSAGES_PER_PROMPT
                prompts.append(group)
            group.append(number)
            room -= size
    return prompts


class Consultant:
    """The language model during one run, with failures counted.

    Attributes:
        failed: tasks, or parts of them, that the rules had to do instead.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._llm, self._secrets, self._warn = runtime.llm, runtime.secrets, runtime.notices.warn
        self._failures_in_a_row = 0
        self._unavailable: LanguageModelUnavailable | None = None
        self.failed = 0

    @property
    def available(self) -> bool:
        """Whether a model is configured."""
        return self._llm is not None

    def ask(self, question: Callable[[], Task[A]]) -> A | None:
        """A valid answer, or None: then the rules decide."""
        return self.ask_all([question])[0]

    def ask_all(self, questions: Sequence[Callable[[], Task[A]]]) -> list[A | None]:
        """Answers to independent tasks, run concurrently as far as the model allows; None for each that failed."""
        if self._llm is None or not questions:
            return [None] * len(questions)
        if len(questions) == 1:
            answers: list[A | None] = [self._ask_one(questions[0])]
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="mnemic-asking") as pool:
                answers = list(pool.map(self._ask_one, questions))
        if self._unavailable is not None:
            self._warn("Without the language model for now, by rule", self._unavailable)
        return answers

    def _ask_one(self, question: Callable[[], Task[Any]]) -> Any:
        assert self._llm is not None
        if self._failures_in_a_row >= MAX_UNREACHABLE:
            self.failed += 1
            return None
        try:
            task = question()
            if self._secrets.action != "allow":  # texts may have been stored under another policy
                task = replace(task, prompt=self._secrets.redacted(task.prompt)[0])
            answer = self._llm.ask(task)
        except LanguageModelUnavailable as error:
            self._failures_in_a_row += 1
            self._unavailable = error
        except LanguageModelError:
            self._failures_in_a_row = 0
        else:
            self._failures_in_a_row = 0
            return answer
        self.failed += 1
        return None
