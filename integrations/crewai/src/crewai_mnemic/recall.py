"""MnemicRecall: the agents of a run are shown what is known before they answer."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Unpack, cast

from crewai.hooks import LLMCallHookContext, get_before_llm_call_hooks, register_before_llm_call_hook

from mnemic import Memory, Scope
from mnemic.adapters import Recall, RecallOptions, bound, checked_memory, recall_failures_logged, run_of

PROMPT = "Current Task: "
ENDS = ("\n\nProvide your complete response:", "\n\nBegin! This is VERY important to you")
"""What CrewAI writes around the text of a kickoff, with tools that are called as text or without any."""
RECALLED = "<memory "
"""How recalled text begins."""


@dataclass(frozen=True, slots=True)
class _Run:
    memory: Memory
    recall: Recall
    exclude: tuple[str, ...]


RUN: ContextVar[_Run | None] = ContextVar("crewai_mnemic_run", default=None)
"""The run of this thread or task: CrewAI has one list of hooks for all runs, and copies the context into its threads."""


class MnemicRecall:
    """What is known about a user, for the agents of a run.

    Each agent that begins a task of the run, or a kickoff of its own, is shown once what bears on it: fenced as data, at the
    head of the user's message. Recalled text is not stored. A recall that fails is logged, and the agent answers without it.

    CrewAI gives an agent the hooks that are there when it first runs: make this object before that.

    Args:
        memory: where to recall from.
        idle: process and consolidate in idle periods after runs.
        **recall: what is recalled, and how it is ranked; see ``mnemic.adapters.RecallOptions``.

    Raises:
        ConfigurationError: an argument is not understood.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        idle: bool = True,
        **recall: Unpack[RecallOptions],
    ) -> None:
        self._memory, self._idle = checked_memory(memory), idle
        self._recall = Recall(**recall)
        if _show not in get_before_llm_call_hooks():
            register_before_llm_call_hook(_show)

    @contextmanager
    def run(self, scope: Scope | Mapping[str, str] | None = None, *, exclude: Sequence[str] = ()) -> Generator[None]:
        """The run of one user: every kickoff within it recalls, and no idle work is done until it ends.

        It is that of this thread or task alone: others may serve other users with the same crew at the same time.

        Args:
            scope: whose memory; names it leaves out are those of the handle.
            exclude: ids of what the agents are shown anyway, such as that of the user's words, stored before the run. The tool
                ``recall`` leaves them out as well.

        Raises:
            InvalidInput: the scope is not usable.
        """
        handle = bound(self._memory, scope, None)
        before = RUN.set(_Run(handle, self._recall, tuple(exclude)))
        try:
            with run_of(handle, idle=self._idle):
                yield
        finally:
            RUN.reset(before)


def _show(context: LLMCallHookContext) -> None:
    """Show the recalled text at the head of the user's last message, in the first request of an agent."""
    run = RUN.get()
    if run is None or context.executor is None or context.iterations:
        return
    messages: Sequence[Mapping[str, object]] = context.messages
    asked = [at for at, message in enumerate(messages) if message["role"] == "user"]
    if not asked:
        return
    text = _text(messages[asked[-1]])
    if text.startswith(RECALLED):  # a request that is repeated
        return
    question = context.task.description if context.task else _said(text)
    before = [message for message in messages[: asked[-1]] if message["role"] in ("user", "assistant")]
    recent = [*filter(None, map(_text, before))]
    with recall_failures_logged():
        if found := run.recall.blocking_text(run.memory, question, recent=recent, exclude=run.exclude):
            message = context.messages[asked[-1]]
            content = message["content"]
            message["content"] = [_part(found), *content] if isinstance(content, list) else f"{found}\n\n{content}"


def _said(text: str) -> str:
    """What the program said in a kickoff."""
    said = text.strip().removeprefix(PROMPT)
    for end in ENDS:
        said = said.partition(end)[0]
    return said


def _part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _text(message: Mapping[str, object]) -> str:
    """The text of a message; of one with images or files that of its parts."""
    content = message.get("content")
    parts = cast("list[dict[str, Any]]", content) if isinstance(content, list) else [_part(str(content or ""))]
    return "\n".join(part["text"] for part in parts if "text" in part)
