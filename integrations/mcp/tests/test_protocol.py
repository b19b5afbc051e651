"""The protocol itself, spoken by the SDK's client session over stdio and over HTTP."""

from __future__ import annotations

import json
import os
import sys
from contextlib import asynccontextmanager

import anyio
import pytest
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


@asynccontextmanager
async def over_stdio(folder):
    arguments = ["-m", "mnemic_mcp", "--dir", str(folder), "--embedder", "hashing", "--project", "off"]
    server = StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ})
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        yield session


@asynccontextmanager
async def over_http(address):
    async with streamable_http_client(address) as streams, ClientSession(*streams[:2]) as session:
        yield session


@pytest.fixture(params=["stdio", "http"])
def connect(request, serving, tmp_path):
    """A session with a server in a process of its own."""
    if request.param == "stdio":
        yield lambda: over_stdio(tmp_path)
    else:
        with serving(tmp_path) as address:
            yield lambda: over_http(address)


async def test_a_session_from_its_first_message_to_its_last(connect):
    async with connect() as session:
        hello = await session.initialize()
        assert (hello.server_info.name, "Long-term memory" in hello.instructions) == ("mnemic", True)
        assert (hello.capabilities.tools is None, hello.capabilities.logging) == (False, None)
        await session.send_ping()
        names = [tool.name for tool in (await session.list_tools()).tools]
        assert names == ["remember", "recall", "correct", "forget", "context"]
        kept = (await session.call_tool("remember", {"content": "Ana lives in Lisbon."})).structured_content
        recalled = await session.call_tool("recall", {"query": "Where does Ana live?"})
        assert json.loads(recalled.content[0].text) == recalled.structured_content
        assert [hit["id"] for hit in recalled.structured_content["found"]] == [kept["id"]]

        assert {str(one.uri) for one in (await session.list_resources()).resources} == {
            "memory://stats",
            "memory://recent",
        }
        assert len((await session.list_resource_templates()).resource_templates) == 1
        whole = await session.read_resource(f"memory://records/{kept['id']}")
        assert json.loads(whole.contents[0].text)["content"] == "Ana lives in Lisbon."
        assert [prompt.name for prompt in (await session.list_prompts()).prompts] == ["session_start"]
        assert "Lisbon" in (await session.get_prompt("session_start")).messages[0].content.text

        for wrong in (session.get_prompt("nothing"), session.read_resource("memory://records/nobody")):
            with pytest.raises(MCPError) as refused:
                await wrong
            assert refused.value.error.code == -32602
        for tool, arguments in (("nothing", {}), ("recall", {"limit": 0}), ("forget", {})):
            refusal = await session.call_tool(tool, arguments)
            assert (refusal.is_error, "://" in refusal.content[0].text) == (True, False)
        assert not (await session.call_tool("forget", {"ids": kept["id"]})).is_error


async def test_a_cancelled_call_leaves_the_server_well(connect):
    async with connect() as session:
        await session.initialize()
        for number in range(5):
            with anyio.move_on_after(0.001 * number):
                await session.call_tool("remember", {"content": f"Service {number} listens on port {9000 + number}."})
        await session.send_ping()
        assert not (await session.call_tool("remember", {"content": "Ana lives in Lisbon."})).is_error
        found = await session.call_tool("recall", {"query": "Where does Ana live?"})
        assert "Lisbon" in found.content[0].text
