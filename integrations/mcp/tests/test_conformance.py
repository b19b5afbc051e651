"""The shared suite for tools of memory, on the server, through a client of the protocol."""

from __future__ import annotations

from typing import Any

from mcp import Client

from mnemic import Memory
from mnemic_mcp import memory_server
from mnemic_testing import ToolAnswer, ToolConformance


class TestServer(ToolConformance):
    async def call(self, memory: Memory, tool: str, **arguments: Any) -> ToolAnswer:
        async with Client(memory_server(memory)) as client:
            result = await client.call_tool(tool, arguments)
        return ToolAnswer(result.content[0].text, refused=bool(result.is_error))


class TestOtherNames(TestServer):
    corrects = False

    async def call(self, memory: Memory, tool: str, **arguments: Any) -> ToolAnswer:
        async with Client(memory_server(memory, profile="ooda")) as client:
            result = await client.call_tool("delete" if tool == "forget" else tool, arguments)
        return ToolAnswer(result.content[0].text, refused=bool(result.is_error))
