"""A memory that is gone after the test, and a model that answers from a list and notes what it was shown."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

os.environ.update(  # before CrewAI is imported: tests report nothing, ask nothing, and leave nothing in the user's folders
    CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", CREWAI_TESTING="true",
    CREWAI_DISABLE_VERSION_CHECK="true", CREWAI_STORAGE_DIR=tempfile.mkdtemp(prefix="mnemic-crewai-"),
)  # fmt: skip

import pytest
from crewai import Agent, Crew, Task
from crewai.hooks import clear_before_llm_call_hooks
from crewai.llms.base_llm import BaseLLM
from pydantic import PrivateAttr

from mnemic import Idle, Memory


class Scripted(BaseLLM):
    """Gives the next answer of its script: a text, a call of a tool as a pair of name and arguments, or an exception."""

    calls_tools: bool = True
    _script: Iterator[Any] = PrivateAttr()
    _prompts: list[list[dict[str, Any]]] = PrivateAttr(default_factory=list)
    _schemas: list[list[dict[str, Any]]] = PrivateAttr(default_factory=list)

    @classmethod
    def of(cls, *script: Any, **options: Any) -> Scripted:
        model = cls(model="scripted", **options)
        model._script = iter(script)
        return model

    def call(self, messages: Any, tools: Any = None, **_: Any) -> Any:
        self._prompts.append([dict(message) for message in messages])
        self._schemas.append(tools or [])
        answer = next(self._script)
        if callable(answer):
            answer = answer()
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, tuple):
            name, arguments = answer
            function = {"name": name, "arguments": json.dumps(arguments)}
            return [{"id": f"call{len(self._prompts)}", "type": "function", "function": function}]
        return answer

    async def acall(self, messages: Any, tools: Any = None, **given: Any) -> Any:
        return self.call(messages, tools, **given)

    def supports_function_calling(self) -> bool:
        return self.calls_tools

    def get_input_tokens_count(self, *_: Any, **__: Any) -> int:
        return 1

    def asked(self, request: int = -1) -> str:
        """The last text in the user's role that it was shown."""
        return [str(message["content"]) for message in self._prompts[request] if message["role"] == "user"][-1]

    @property
    def results(self) -> list[str]:
        """The results of tools in its last prompt."""
        return [str(message["content"]) for message in self._prompts[-1] if message["role"] == "tool"]


def an_agent(model: Scripted, tools: Any = (), **options: Any) -> Agent:
    return Agent(role="Helper", goal="Help.", backstory="You help.", llm=model, tools=[*tools], **options)


def a_crew(model: Scripted, tools: Any = (), description: str = "{question}", **options: Any) -> Crew:
    agent = an_agent(model, tools)
    return Crew(
        agents=[agent],
        tasks=[Task(description=description, expected_output="A sentence.", agent=agent, **options)],
    )


@pytest.fixture(autouse=True)
def no_hooks_are_left() -> Iterator[None]:
    yield
    clear_before_llm_call_hooks()


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", user="ana", embedder="hashing", idle=Idle(idle_seconds=3600)) as opened:
        yield opened


@pytest.fixture
def scripted() -> Callable[..., Scripted]:
    return Scripted.of


@pytest.fixture
def agent_of() -> Callable[..., Agent]:
    return an_agent


@pytest.fixture
def crew_of() -> Callable[..., Crew]:
    return a_crew
