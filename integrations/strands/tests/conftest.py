"""A memory that is gone after the test, and a model that answers from a list and notes what it was shown."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from strands.models import Model
from strands.types.content import ContentBlock, Message

from mnemic import Idle, Memory


class Scripted(Model):
    """Gives the next answer of its script, as a stream; ``seen`` holds the messages of every request."""

    def __init__(self, *answers: str | ContentBlock | list[ContentBlock] | BaseException) -> None:
        self.script = iter(answers)
        self.seen: list[list[Message]] = []
        self.tools: list[dict[str, Any]] = []

    def update_config(self, **config: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    async def structured_output(self, *args: Any, **kwargs: Any):
        raise NotImplementedError
        yield

    async def answer(self, messages: list[Message]) -> str | ContentBlock | list[ContentBlock]:
        answer = next(self.script)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs: Any) -> AsyncIterator[Any]:
        self.seen.append(copy.deepcopy(messages))
        self.tools.append({spec["name"]: spec["inputSchema"]["json"] for spec in tool_specs or ()})
        answer = await self.answer(messages)
        blocks = [{"text": answer}] if isinstance(answer, str) else answer if isinstance(answer, list) else [answer]
        yield {"messageStart": {"role": "assistant"}}
        for block in blocks:
            if "toolUse" in block:
                use = block["toolUse"]
                start = {"toolUse": {"name": use["name"], "toolUseId": use["toolUseId"]}}
                yield {"contentBlockStart": {"start": start}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": use["input"]}}}}
            elif "reasoning" in block:
                yield {"contentBlockDelta": {"delta": {"reasoningContent": {"text": block["reasoning"]}}}}
            else:
                for word in block["text"].split(" "):
                    yield {"contentBlockDelta": {"delta": {"text": word + " "}}}
            yield {"contentBlockStop": {}}
        called = any("toolUse" in block for block in blocks)
        yield {"messageStop": {"stopReason": "tool_use" if called else "end_turn"}}

    def shown(self, request: int = -1) -> list[str]:
        """The texts of a request, a text for each message."""
        return ["".join(block.get("text", "") for block in message["content"]) for message in self.seen[request]]

    def results(self) -> list[Any]:
        """What the tools gave the model, in order."""
        return [block["toolResult"] for m in self.seen[-1] for block in m["content"] if "toolResult" in block]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", user="ana", embedder="hashing", idle=Idle(idle_seconds=3600)) as opened:
        yield opened


@pytest.fixture
def scripted() -> Callable[..., Scripted]:
    return Scripted


@pytest.fixture
def call() -> Callable[..., ContentBlock]:
    """A call of a tool by the model."""

    def made(name: str, id: str = "c1", **arguments: object) -> ContentBlock:
        return {"toolUse": {"name": name, "toolUseId": id, "input": json.dumps(arguments)}}

    return made


@pytest.fixture
def said(memory: Memory) -> Callable[..., list[str]]:
    """What is stored, in the order it was said."""

    def contents(user: str = "ana", **filters: str) -> list[str]:
        return [message.content.strip() for message in memory.scoped(user=user).messages(**filters)]

    return contents
