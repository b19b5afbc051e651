"""A memory that is gone after the test, a model that answers from a list, and apps that run with it."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from pydantic import PrivateAttr

from mnemic import Idle, Memory


class Scripted(BaseLlm):
    """Gives the next answer of its script; ``seen`` holds the contents of every request."""

    _script: Iterator[Any] = PrivateAttr()
    _seen: list[list[types.Content]] = PrivateAttr(default_factory=list)
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)

    def __init__(self, *answers: str | types.Part | Exception) -> None:
        super().__init__(model="scripted")
        self._script = iter(answers)

    @property
    def seen(self) -> list[list[types.Content]]:
        return self._seen

    @property
    def requests(self) -> list[LlmRequest]:
        return self._requests

    def prompts(self, request: int = -1) -> list[str]:
        """The texts of a request."""
        found = ["".join(part.text or "" for part in content.parts or ()) for content in self._seen[request]]
        return [text for text in found if text]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._seen.append(copy.deepcopy(llm_request.contents))
        self._requests.append(llm_request)
        answer = next(self._script)
        if isinstance(answer, Exception):
            raise answer
        parts = [types.Part(text=answer)] if isinstance(answer, str) else [answer]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def call(tool: str, **arguments: Any) -> types.Part:
    """A call of a tool as a model makes it."""
    return types.Part(function_call=types.FunctionCall(id="c1", name=tool, args=arguments))


class Talk:
    """Runs an agent in sessions, as a program does."""

    def __init__(self, agent: LlmAgent, plugins: Sequence[Any] = (), **services: Any) -> None:
        app = App(name="shop", root_agent=agent, plugins=[*plugins])
        self.sessions = InMemorySessionService()
        self.runner = Runner(app=app, session_service=self.sessions, auto_create_session=True, **services)

    async def say(self, text: str, session: str = "monday", user: str = "ana") -> str:
        """The texts that the user gets."""
        said: list[str] = []
        message = types.UserContent(parts=[types.Part(text=text)])
        async for event in self.runner.run_async(user_id=user, session_id=session, new_message=message):
            said += [part.text for part in (event.content and event.content.parts) or () if part.text]
        return "".join(said)

    async def session(self, name: str = "monday", user: str = "ana") -> Any:
        return await self.sessions.get_session(app_name="shop", user_id=user, session_id=name)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", user="ana", project="shop", embedder="hashing", idle=Idle(idle_seconds=3600)) as opened:
        yield opened


@pytest.fixture
def scripted() -> Callable[..., Scripted]:
    return Scripted


@pytest.fixture
def talk() -> Callable[..., Talk]:
    return Talk


@pytest.fixture
def called() -> Callable[..., types.Part]:
    return call


@pytest.fixture
def said(memory: Memory) -> Callable[..., list[str]]:
    """What is stored, in the order it was said."""

    def contents(user: str = "ana", **filters: str) -> list[str]:
        return [message.content for message in memory.scoped(user=user).messages(**filters)]

    return contents
