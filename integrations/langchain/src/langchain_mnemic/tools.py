"""Tools with which a model remembers, recalls, corrects and forgets, for a user it cannot choose."""

# No annotations as strings here: older versions of langchain-core read them from the functions below.

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, cast

from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, ToolException
from pydantic import ValidationError, model_validator

from langchain_mnemic.messages import thread_message
from mnemic import AsyncMemory, InvalidInput, Memory, Mood, NotFound, ScopeSource
from mnemic.adapters import Handle, Thread, blocking, bound, checked_memory, schemas, thread_of
from mnemic.adapters.tools import Search

Runtime = Annotated[ToolRuntime[Any, Any] | None, InjectedToolArg()]


def _beside_runtime(schema: type[schemas.Arguments]) -> type[schemas.Arguments]:
    """The arguments beside the runtime, which is injected and no field: no model may see it."""

    class Given(schema):
        @model_validator(mode="before")
        @classmethod
        def _without_runtime(cls, given: dict[str, Any]) -> dict[str, Any]:
            return {name: value for name, value in given.items() if name != "runtime"}

    return Given


def _here(memory: Handle, scope: ScopeSource, runtime: ToolRuntime[Any, Any] | None) -> Handle:
    if callable(scope) and runtime is None:
        raise InvalidInput(
            "The scope of this tool is a function of the runtime, and there is none: call it from an agent, or give a value."
        )
    return bound(memory, scope, runtime)


def _thread(memory: Memory | AsyncMemory, runtime: ToolRuntime[Any, Any] | None) -> Thread:
    """The messages of the agent that calls a tool; none where there is no agent, or its state has none."""
    state: object = runtime and runtime.state
    held = cast("Mapping[str, object]", state).get("messages") if isinstance(state, Mapping) else None
    messages = cast("list[BaseMessage]", held or ())
    return thread_of(memory, [thread_message(one, store_tools=False) for one in messages])


@contextmanager
def _readable() -> Generator[None]:
    """Errors that a model can correct become answers of the tool; all others are raised for the program."""
    try:
        yield
    except (InvalidInput, NotFound) as error:
        raise ToolException(str(error)) from error


def mnemic_tools(
    memory: Memory,
    *,
    scope: ScopeSource = None,
    max_results: int = 50,
    mood: Mood = None,
    emotion_weight: float = 0.3,
) -> list[BaseTool]:
    """The tools ``remember``, ``recall``, ``correct`` and ``forget``, for ``create_agent(tools=...)`` or any other agent.

    Whose memory it is, the program decides: the runtime is injected, and nothing of it is in the schema a model sees. What a
    model remembers is marked as its inference; ``forget`` archives, and ``memory.restore`` brings back.

    Args:
        memory: what the tools work on.
        scope: whose memory: a value, or a function of the ``ToolRuntime`` such as
            ``lambda runtime: {"user": runtime.context.user_id}``.
        max_results: most results of one ``recall``, whatever the model asks for.
        mood: what ``recall`` ranks by beside relevance; see ``Memory.search``.
        emotion_weight: of the mood, 0 to 1.

    Returns:
        The four tools, in this order. Arguments that cannot be used come back to the model as an error it can read;
        failures of the store and an unusable scope are raised.

    Raises:
        ConfigurationError: ``memory`` is not a ``Memory``, or another argument cannot be used.
    """
    search = Search(max_results=max_results, mood=mood, emotion_weight=emotion_weight)
    face = AsyncMemory.over(checked_memory(memory))

    async def found(memory: AsyncMemory, query: str, limit: int = 8, **given: Any) -> Any:
        answer = await search(memory, query, limit, **given)
        return json.dumps(answer, ensure_ascii=False), answer["results"]

    def made(name: str, schema: type[schemas.Arguments], call: schemas.Work) -> BaseTool:
        def run(runtime: Runtime = None, **arguments: Any) -> Any:
            handle = _here(memory, scope, runtime)
            arguments |= {"thread": _thread(handle, runtime)} if call is found else {}
            with _readable():
                return blocking(handle, lambda memory: call(memory, **arguments))

        async def arun(runtime: Runtime = None, **arguments: Any) -> Any:
            handle = _here(face, scope, runtime)
            arguments |= {"thread": _thread(handle, runtime)} if call is found else {}
            with _readable():
                return await call(handle, **arguments)

        def wrong(error: Any) -> str:  # that of the old pydantic is another one
            return schema.complaint(error) if isinstance(error, ValidationError) else "Wrong arguments."

        return StructuredTool.from_function(
            run, arun, name=name, description=schema.about(), args_schema=_beside_runtime(schema),
            response_format="content_and_artifact" if name == "recall" else "content",
            handle_tool_error=True, handle_validation_error=wrong,
        )  # fmt: skip

    return [made(*tool) for tool in schemas.four(found)]
