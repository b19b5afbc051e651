"""A memory that is gone after the test, and a Claude that answers from a list over a transport without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from inspect import isawaitable
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic

from anthropic_memory_mnemic import AsyncMnemicMemoryTool, MnemicMemoryTool
from mnemic import Idle, Memory


class Claude:
    """Gives the next answer of its script: a text, or the input of a call of the memory tool; ``requests`` holds the bodies."""

    def __init__(self, *script: str | dict[str, Any]) -> None:
        self._script = iter(script)
        self.requests: list[dict[str, Any]] = []
        self._transport = httpx2.MockTransport(self._answer)

    def client(self) -> Anthropic:
        return Anthropic(
            api_key="none", base_url="http://claude.test", http_client=httpx2.Client(transport=self._transport)
        )

    def async_client(self) -> AsyncAnthropic:
        client = httpx2.AsyncClient(transport=self._transport)
        return AsyncAnthropic(api_key="none", base_url="http://claude.test", http_client=client)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        said = next(self._script)
        text: dict[str, Any] = {"type": "text", "text": said}
        call: dict[str, Any] = {"type": "tool_use", "id": f"c{len(self.requests)}", "name": "memory", "input": said}
        answer = {
            "id": "msg", "type": "message", "role": "assistant", "model": "claude", "stop_sequence": None,
            "content": [text if isinstance(said, str) else call],
            "stop_reason": "end_turn" if isinstance(said, str) else "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        return httpx2.Response(200, json=answer)

    @property
    def results(self) -> list[dict[str, Any]]:
        """The results of tools that it was shown."""
        messages = [
            message for request in self.requests for message in request["messages"]
        ]  # the last ones alone, or all
        blocks = [block for message in messages if message["role"] == "user" for block in message["content"]]
        found = [block for block in blocks if isinstance(block, dict) and block["type"] == "tool_result"]
        return [*{block["tool_use_id"]: block for block in found}.values()]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", user="ana", embedder="hashing", idle=Idle(idle_seconds=3600)) as opened:
        yield opened


@pytest.fixture
def scripted() -> type[Claude]:
    return Claude


@pytest.fixture(params=[MnemicMemoryTool, AsyncMnemicMemoryTool])
def run(request: pytest.FixtureRequest, memory: Memory) -> Callable[..., Any]:
    """A command of the tool, of either kind, on a memory."""

    async def done(command: str, path: str = "", *, over: Memory = memory, options: Any = None, **given: Any) -> Any:
        tool = request.param(over, **(options or {}))
        result = tool.call({"command": command, "path": path, **given})
        return await result if isawaitable(result) else result

    return done
