"""A memory that is gone after the test, and a model that answers from a list and notes what it was shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from pydantic_ai import models
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from mnemic import Idle, Memory


@pytest.fixture(autouse=True)
def no_model_requests() -> Iterator[None]:
    """No test here asks a real model; set for these tests alone, because others do."""
    with models.override_allow_model_requests(False):
        yield


class Scripted(FunctionModel):
    """Gives the next answer of its script, streamed or whole; ``seen`` holds the messages of every request."""

    def __init__(self, *answers: str | ToolCallPart | Exception) -> None:
        self.script = iter(answers)
        self.seen: list[list[ModelMessage]] = []
        self.tools: list[dict[str, dict]] = []
        super().__init__(self._answer, stream_function=self._stream)

    def _next(self, messages: list[ModelMessage], info: AgentInfo) -> str | ToolCallPart:
        self.seen.append(messages)
        self.tools.append({tool.name: tool.parameters_json_schema for tool in info.function_tools})
        answer = next(self.script)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answer = self._next(messages, info)
        return ModelResponse([TextPart(answer) if isinstance(answer, str) else answer])

    async def _stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        answer = self._next(messages, info)
        if isinstance(answer, str):
            for word in answer.split(" "):
                yield word + " "
        else:
            yield {0: DeltaToolCall(name=answer.tool_name, json_args=answer.args_as_json_str(), tool_call_id="c1")}

    def instructions(self, request: int = -1) -> str:
        last = [m for m in self.seen[request] if isinstance(m, ModelRequest)][-1]
        return last.instructions or ""

    def prompts(self, request: int = -1) -> list[str]:
        return [
            str(part.content)
            for message in self.seen[request]
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, UserPromptPart)
        ]


@pytest.fixture(autouse=True)
def loop_of_run_sync() -> Iterator[None]:
    """``run_sync`` makes an event loop for its thread and leaves it open; here it finds one, which is closed."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", user="ana", embedder="hashing", idle=Idle(idle_seconds=3600)) as opened:
        yield opened


@pytest.fixture
def scripted() -> Callable[..., Scripted]:
    return Scripted


@pytest.fixture
def said(memory: Memory) -> Callable[..., list[str]]:
    """What is stored, in the order it was said."""

    def contents(user: str = "ana", **filters: str) -> list[str]:
        return [message.content for message in memory.scoped(user=user).messages(**filters)]

    return contents
