"""The tools of memory: remember, recall, correct, forget. Whose memory it is comes from the run, never from the model."""

from __future__ import annotations

from typing import Any

from pydantic_ai import FunctionToolset, RunContext, Tool, ToolFailed

from mnemic import AsyncMemory, Memory, MnemicError, Mood, ScopeSource
from mnemic.adapters import as_async, bound, schemas, thread_of, tools
from pydantic_ai_mnemic.messages import thread_messages


def mnemic_toolset(
    memory: Memory | AsyncMemory,
    *,
    scope: ScopeSource = None,
    mood: Mood = None,
    emotion_weight: float = 0.3,
    id: str | None = "mnemic",
) -> FunctionToolset[Any]:
    """Tools with which an agent remembers, recalls, corrects and forgets.

    Args:
        memory: what the tools work on; blocking calls run on worker threads.
        scope: whose memory: a value, or a function of the ``RunContext``; names it leaves out are those of ``memory``.
        mood: what ``recall`` ranks by beside relevance; see ``Memory.search``.
        emotion_weight: of the mood, 0 to 1.
        id: of the toolset, which durable execution asks for.

    Raises:
        ConfigurationError: ``memory`` is no handle, or another argument cannot be used.

    Examples:
        >>> toolset = mnemic_toolset(Memory(":memory:", embedder="hashing"))
        >>> sorted(toolset.tools)
        ['correct', 'forget', 'recall', 'remember']
    """
    face, search = as_async(memory), tools.Search(mood=mood, emotion_weight=emotion_weight)

    def made(name: str, schema: type[schemas.Arguments], work: schemas.Work) -> Tool[Any]:
        async def call(ctx: RunContext[Any], **arguments: Any) -> Any:
            handle = bound(face, scope, ctx)
            try:
                given = schema.read(arguments)
                if name == "recall":
                    given["thread"] = thread_of(handle, thread_messages(ctx.messages))
                return await work(handle, **given)
            except MnemicError as error:  # an answer that the model can act on; memory never ends a run
                raise ToolFailed(str(error)) from error

        return Tool[Any].from_schema(call, name, schema.about(), schema.parameters(), takes_ctx=True)

    return FunctionToolset([made(*tool) for tool in schemas.four(search)], id=id)
