"""The tools of memory: remember, recall, correct, forget. Whose memory it is comes from the run, never from the model."""

from __future__ import annotations

from typing import Any

from google.adk.tools import BaseTool, ToolContext
from google.genai.types import FunctionDeclaration

from adk_mnemic.events import thread_messages
from adk_mnemic.scopes import as_named, caller_of, here
from mnemic import AsyncMemory, Memory, MnemicError, Mood, ScopeSource
from mnemic.adapters import as_async, schemas, thread_of, tools


class _Tool(BaseTool):
    """A tool that tells the model what is wrong; memory never ends a run."""

    def __init__(self, name: str, schema: type[schemas.Arguments], work: schemas.Work) -> None:
        super().__init__(name=name, description=schema.about())
        self._schema, self._work = schema, work

    def _get_declaration(self) -> FunctionDeclaration:
        schema = self._schema.parameters()
        return FunctionDeclaration(name=self.name, description=self.description, parameters_json_schema=schema)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Do the work, or return ``error``."""
        try:
            return await self._work(tool_context, **self._schema.read(args))
        except MnemicError as error:
            return {"error": str(error)}


def mnemic_tools(
    memory: Memory | AsyncMemory, *, scope: ScopeSource = as_named, mood: Mood = None, emotion_weight: float = 0.3
) -> list[BaseTool]:
    """Tools with which an agent remembers, recalls, corrects and forgets, for ``LlmAgent(tools=...)``.

    Args:
        memory: what the tools work on; blocking calls run on worker threads.
        scope: whose memory: a value, or a function of the ``Caller``; names it leaves out are those of ``memory``. By default
            the ``user_id`` is the user and the ``app_name`` the project.
        mood: what ``recall`` ranks by beside relevance; see ``Memory.search``.
        emotion_weight: of the mood, 0 to 1.

    Raises:
        ConfigurationError: ``memory`` is no handle, or another argument cannot be used.

    Examples:
        >>> [tool.name for tool in mnemic_tools(Memory(":memory:", embedder="hashing"))]
        ['remember', 'recall', 'correct', 'forget']
    """
    face, search = as_async(memory), tools.Search(mood=mood, emotion_weight=emotion_weight)

    def made(name: str, schema: type[schemas.Arguments], work: schemas.Work) -> BaseTool:
        async def call(context: ToolContext, **given: Any) -> Any:
            handle = here(face, scope, caller_of(context.session))
            if name == "recall":
                given["thread"] = thread_of(handle, thread_messages(context.session.events))
            return await work(handle, **given)

        return _Tool(name, schema, call)

    return [made(*tool) for tool in schemas.four(search)]
