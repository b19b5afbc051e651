"""The tools of memory: remember, recall, correct, forget. Whose memory it is comes from the run, never from the model."""

from __future__ import annotations

from typing import Any

from agent_framework import FunctionInvocationContext, FunctionTool

from agent_framework_mnemic.messages import INPUT, thread_messages
from mnemic import AsyncMemory, Memory, MnemicError, Mood, ScopeSource
from mnemic.adapters import as_async, bound, schemas, thread_of, tools


def mnemic_tools(
    memory: Memory | AsyncMemory,
    *,
    scope: ScopeSource = None,
    mood: Mood = None,
    emotion_weight: float = 0.3,
) -> list[FunctionTool]:
    """Tools with which an agent remembers, recalls, corrects and forgets.

    What cannot be done comes back to the model as a text that begins with ``Error:``; memory never ends a run.

    Args:
        memory: what the tools work on; blocking calls run on worker threads.
        scope: whose memory: a value, or a function of the ``AgentSession``; names it leaves out are those of ``memory``.
        mood: what ``recall`` ranks by beside relevance; see ``Memory.search``.
        emotion_weight: of the mood, 0 to 1.

    Raises:
        ConfigurationError: ``memory`` is no handle, or another argument cannot be used.

    Examples:
        >>> [tool.name for tool in mnemic_tools(Memory(":memory:", embedder="hashing"))]
        ['remember', 'recall', 'correct', 'forget']
    """
    face, search = as_async(memory), tools.Search(mood=mood, emotion_weight=emotion_weight)

    async def recall(memory: AsyncMemory, **given: Any) -> str:
        return await search.text(memory, thread=thread_of(memory, thread_messages(INPUT.get())), **given)

    def made(name: str, schema: type[schemas.Arguments], work: schemas.Work) -> FunctionTool:
        async def call(ctx: FunctionInvocationContext, **given: Any) -> str:
            handle = bound(face, scope, ctx.session)
            try:
                return await work(handle, **given)
            except MnemicError as error:  # raised, it would reach the model without its text
                return f"Error: {error}"

        return FunctionTool(name=name, description=schema.about(), func=call, input_model=schema)

    return [made(*tool) for tool in schemas.four(recall)]
