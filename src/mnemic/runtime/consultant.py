"""Asking the language model, where there is one; what it cannot answer is done by rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from mnemic.errors import LanguageModelError, LanguageModelUnavailable
from mnemic.runtime.runtime import Runtime

if TYPE_CHECKING:
    from mnemic.llm.task import Answer, Task
    from mnemic.safety.secrets import SecretPolicy

    A = TypeVar("A", bound=Answer)

__all__ = ["Consultant", "together"]

THREADS = 8
"""Questions waited for at a time; how many of them are under way is the model's own setting."""
PATIENCE = 3
"""Questions in a row that a model may leave unanswered because it cannot be reached; then it is left alone for this run."""


QUESTION = 60
"""Messages of one question that read well, unless one episode alone has more."""


def together(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Places of neighbouring episodes that are asked about in one question.

    Args:
        sizes: messages of each episode.
        most: episodes of one question.
    """
    parts: list[list[int]] = []
    left = 0
    for place, size in enumerate(sizes):
        if not parts or size > left or len(parts[-1]) == most:
            parts.append([])
            left = QUESTION
        parts[-1].append(place)
        left -= size
    return parts


def _without_secrets(task: Task[A], policy: SecretPolicy) -> Task[A]:
    """The task without what was stored under another policy."""
    return task if policy.action == "allow" else replace(task, prompt=policy.redacted(task.prompt)[0])


class Consultant:
    """The language model during one run of a flow.

    Attributes:
        failed: how many questions, or parts that the answer to one lacked, were left to the rules.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._llm, self._secrets, self._warn = runtime.llm, runtime.secrets, runtime.notices.warn
        self._unreached = 0
        self._missing: LanguageModelUnavailable | None = None
        self.failed = 0

    @property
    def there(self) -> bool:
        """Whether there is a model to ask."""
        return self._llm is not None

    def ask(self, question: Callable[[], Task[A]]) -> A | None:
        """An answer that keeps every rule of its task, or None: then the rules decide."""
        return self.ask_all([question])[0]

    def ask_all(self, questions: Sequence[Callable[[], Task[A]]]) -> list[A | None]:
        """The answers to questions that do not depend on each other, asked together as far as the model allows."""
        if self._llm is None or not questions:
            return [None] * len(questions)
        if len(questions) == 1:
            answers: list[A | None] = [self._asked(questions[0])]
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(THREADS, thread_name_prefix="mnemic-asking") as pool:
                answers = list(pool.map(self._asked, questions))
        if self._missing is not None:
            self._warn("Without the language model for now, by rule", self._missing)
        return answers

    def _asked(self, question: Callable[[], Task[Any]]) -> Any:
        assert self._llm is not None
        if self._unreached >= PATIENCE:
            self.failed += 1
            return None
        try:
            answer = self._llm.ask(_without_secrets(question(), self._secrets))
        except LanguageModelUnavailable as error:
            self._unreached += 1
            self._missing = error
        except LanguageModelError:
            self._unreached = 0
        else:
            self._unreached = 0
            return answer
        self.failed += 1
        return None
