"""The tools of memory: remember, recall, correct, forget. Whose memory it is, the program decides, never the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crewai.tools import BaseTool
from pydantic import PrivateAttr

from crewai_mnemic.recall import RUN
from mnemic import AsyncMemory, ConfigurationError, Memory, Mood, Scope
from mnemic.adapters import as_async, blocking, bound, checked_memory, schemas, tools


def never_cached(_arguments: object = None, _result: object = None) -> bool:
    """CrewAI answers a repeated call from a cache, unless this says no; what is remembered changes between two calls."""
    return False


class MemoryTool(BaseTool):
    """A tool on the memory of one user. Errors are raised: CrewAI shows them to the model, and the run goes on."""

    _memory: Memory | None = PrivateAttr(default=None)
    _call: schemas.Work | None = PrivateAttr(default=None)

    def _run(self, **arguments: Any) -> str:
        memory, call = self._bound()
        return blocking(memory, lambda memory: call(memory, **arguments))

    async def _arun(self, **arguments: Any) -> str:
        memory, call = self._bound()
        return await call(as_async(memory), **arguments)

    def bind(self, memory: Memory, call: schemas.Work) -> MemoryTool:
        """The tool itself, on a memory.

        Args:
            memory: of the user.
            call: what it does.
        """
        self._memory, self._call = memory, call
        return self

    def _bound(self) -> tuple[Memory, schemas.Work]:
        if self._memory is None or self._call is None:
            raise ConfigurationError(
                f"The tool {self.name} has no memory: CrewAI restored it from a checkpoint, which cannot hold one. Give the "
                "agent the tools of mnemic_tools(memory) again."
            )
        return self._memory, self._call


def mnemic_tools(
    memory: Memory,
    *,
    scope: Scope | Mapping[str, str] | None = None,
    max_results: int = 50,
    mood: Mood = None,
    emotion_weight: float = 0.3,
) -> list[BaseTool]:
    """Tools with which an agent remembers, recalls, corrects and forgets: ``Agent(tools=mnemic_tools(memory))``.

    CrewAI gives a tool nothing of the run it is called in, so make the tools for each user; that costs nothing.

    Args:
        memory: what the tools work on.
        scope: whose memory; names it leaves out are those of ``memory``.
        max_results: most results of one ``recall``, whatever the model asks for.
        mood: what ``recall`` ranks by beside relevance; see ``Memory.search``.
        emotion_weight: of the mood, 0 to 1.

    Returns:
        The four tools, in this order.

    Raises:
        ConfigurationError: ``memory`` is not a ``Memory``, or another argument cannot be used.
        InvalidInput: the scope is not usable.

    Examples:
        >>> [tool.name for tool in mnemic_tools(Memory(":memory:", embedder="hashing"))]
        ['remember', 'recall', 'correct', 'forget']
    """
    handle = bound(checked_memory(memory), scope, None)
    search = tools.Search(max_results=max_results, mood=mood, emotion_weight=emotion_weight)

    async def found(memory: AsyncMemory, **given: Any) -> str:
        run = RUN.get()
        return await search.text(memory, exclude=() if run is None else run.exclude, **given)

    def made(name: str, schema: type[schemas.Arguments], call: schemas.Work) -> BaseTool:
        tool = MemoryTool(name=name, description=schema.about(), args_schema=schema, cache_function=never_cached)
        return tool.bind(handle, call)

    return [made(*tool) for tool in schemas.four(found)]
