"""The tools of memory: remember, recall, correct, forget. Whose memory it is comes from the run, never from the model."""

from __future__ import annotations

from typing import Any, Literal

from strands.tools.tools import PythonAgentTool
from strands.types.tools import AgentTool, ToolResult, ToolUse

from mnemic import AsyncMemory, Memory, MnemicError, Mood, ScopeSource
from mnemic.adapters import as_async, bound, schemas, thread_of, tools
from strands_mnemic.messages import thread_messages


def mnemic_tools(
    memory: Memory | AsyncMemory,
    *,
    scope: ScopeSource = None,
    mood: Mood = None,
    emotion_weight: float = 0.3,
) -> list[AgentTool]:
    """Tools with which an agent remembers, recalls, corrects and forgets.

    What cannot be done comes back to the model as a result with the status ``error``; memory never ends a run.

    Args:
        memory: what the tools work on; blocking calls run on worker threads.
        scope: whose memory: a value, or a function of the ``invocation_state``; names it leaves out are those of
            ``memory``.
        mood: what ``recall`` ranks by beside relevance; see ``Memory.search``.
        emotion_weight: of the mood, 0 to 1.

    Raises:
        ConfigurationError: ``memory`` is no handle, or another argument cannot be used.

    Examples:
        >>> [tool.tool_name for tool in mnemic_tools(Memory(":memory:", embedder="hashing"))]
        ['remember', 'recall', 'correct', 'forget']
    """
    face, search = as_async(memory), tools.Search(mood=mood, emotion_weight=emotion_weight)

    def made(name: str, schema: type[schemas.Arguments], work: schemas.Work) -> AgentTool:
        async def call(tool_use: ToolUse, /, **invocation_state: Any) -> ToolResult:
            handle = bound(face, scope, invocation_state)
            try:
                given = schema.read(tool_use["input"])
                if name == "recall":
                    shown = getattr(invocation_state.get("agent"), "messages", ())
                    given["thread"] = thread_of(handle, thread_messages(shown))
                return _result(tool_use, "success", await work(handle, **given))
            except MnemicError as error:
                return _result(tool_use, "error", str(error))

        spec: Any = {
            "name": name, "description": schema.about(), "inputSchema": {"json": schema.parameters()}
        }  # fmt: skip
        return PythonAgentTool(name, spec, call)

    return [made(*tool) for tool in schemas.four(search.text)]


def _result(tool_use: ToolUse, status: Literal["success", "error"], text: str) -> ToolResult:
    return {"toolUseId": tool_use["toolUseId"], "status": status, "content": [{"text": text}]}
