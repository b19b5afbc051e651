"""The tools of memory: remember, recall, correct, forget. Whose memory it is comes from the run, never from the model."""

from __future__ import annotations

from typing import Any, cast

from agents import FunctionTool, default_tool_error_function
from agents.tool_context import ToolContext

from mnemic import AsyncMemory, Memory, MnemicError, Mood, ScopeSource
from mnemic.adapters import as_async, bound, schemas, thread_of, tools
from openai_agents_mnemic.items import Item, thread_message


def mnemic_tools(
    memory: Memory | AsyncMemory, *, scope: ScopeSource = None, mood: Mood = None, emotion_weight: float = 0.3
) -> list[FunctionTool]:
    """Tools with which an agent remembers, recalls, corrects and forgets, for ``Agent(tools=...)``.

    Args:
        memory: what the tools work on; blocking calls run on worker threads.
        scope: whose memory: a value, or a function of the ``RunContextWrapper``, such as
            ``lambda ctx: {"user": ctx.context.user_id}``; names it leaves out are those of ``memory``.
        mood: what ``recall`` ranks by beside relevance; see ``Memory.search``.
        emotion_weight: of the mood, 0 to 1.

    Raises:
        ConfigurationError: ``memory`` is no handle, or another argument cannot be used.

    Examples:
        >>> [tool.name for tool in mnemic_tools(Memory(":memory:", embedder="hashing"))]
        ['remember', 'recall', 'correct', 'forget']
    """
    face, search = as_async(memory), tools.Search(mood=mood, emotion_weight=emotion_weight)

    def made(name: str, schema: type[schemas.Arguments], work: schemas.Work) -> FunctionTool:
        async def call(ctx: ToolContext[Any], arguments: str) -> Any:
            try:
                handle, given = bound(face, scope, ctx), schema.read(arguments)
                if name == "recall":
                    given["thread"] = thread_of(handle, map(thread_message, cast("list[Item]", ctx.turn_input)))
                return await work(handle, **given)
            except MnemicError as error:  # an answer that the model can act on; memory never ends a run
                return f"Error: {error}"
            except Exception as error:  # noqa: BLE001 - as the SDK does with its own tools
                return default_tool_error_function(ctx, error)

        return FunctionTool(name, schema.about(), schema.parameters(), call)

    return [made(*tool) for tool in schemas.four(search.text)]  # the SDK would show an object in the notation of Python
