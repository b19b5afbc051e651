"""A memory that is gone after the test, and a model that answers from a list and notes what it was shown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
)

from mnemic import Idle, Memory


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Gives the next answer of its script, streamed or whole; ``seen`` holds the messages of every request."""

    def __init__(self, *answers: str | Content | BaseException) -> None:
        super().__init__()
        self.script = iter(answers)
        self.seen: list[list[Message]] = []
        self.options: list[dict] = []

    async def answer(self, messages: list[Message]) -> str | Content:
        answer = next(self.script)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        self.seen.append([*messages])
        self.options.append(options)
        return self._build_response_stream(self._words(messages)) if stream else self._whole(messages)

    async def _whole(self, messages) -> ChatResponse:
        return ChatResponse(messages=[Message("assistant", [await self.answer(messages)])])

    async def _words(self, messages) -> AsyncIterator[ChatResponseUpdate]:
        answer = await self.answer(messages)
        words = [word + " " for word in answer.split(" ")] if isinstance(answer, str) else [answer]
        for word in words:
            content = Content.from_text(word) if isinstance(word, str) else word
            yield ChatResponseUpdate(role="assistant", contents=[content])

    def shown(self, request: int = -1) -> list[str]:
        """The texts of a request."""
        return [message.text for message in self.seen[request]]

    def results(self) -> list[Content]:
        """What the tools gave the model, in order."""
        return [c for message in self.seen[-1] for c in message.contents if c.type == "function_result"]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", user="ana", embedder="hashing", idle=Idle(idle_seconds=3600)) as opened:
        yield opened


@pytest.fixture
def scripted() -> Callable[..., Scripted]:
    return Scripted


@pytest.fixture
def call() -> Callable[..., Content]:
    """A call of a tool by the model."""

    def made(name: str, id: str = "c1", **arguments: object) -> Content:
        return Content.from_function_call(id, name, arguments=arguments)

    return made


@pytest.fixture
def said(memory: Memory) -> Callable[..., list[str]]:
    """What is stored, in the order it was said."""

    def contents(user: str = "ana", **filters: str) -> list[str]:
        return [message.content for message in memory.scoped(user=user).messages(**filters)]

    return contents
