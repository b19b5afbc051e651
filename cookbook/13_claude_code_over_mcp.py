"""Claude Code (or another MCP client) with Mnemic: what to configure, and what then happens, played by a client session.

One session decides something, its server ends, and the next session knows it: over stdio, as the agent itself would.

Install: pip install "mnemic[mcp]"
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client, StdioServerParameters, stdio_client

# .mcp.json in the root of the project, or: claude mcp add mnemic -- mnemic-mcp --persist-dir ~/.mnemic --project my-site
SERVER = {
    "mcpServers": {"mnemic": {"command": "mnemic-mcp", "args": ["--persist-dir", "~/.mnemic", "--project", "my-site"]}}
}

# .claude/settings.json: what was known before is shown when a session starts, and nothing is lost when it is compacted.
HOOKS = {
    "hooks": {
        "SessionStart": [{"hooks": [{"type": "command", "command": "mnemic hook session-start --project my-site"}]}],
        "PreCompact": [{"hooks": [{"type": "command", "command": "mnemic hook pre-compact --project my-site"}]}],
    }
}


@asynccontextmanager
async def session(folder: Path) -> AsyncIterator[Client]:
    """A session of a client, which starts the server and ends it; what the server logs goes into a file."""
    arguments = ["-m", "mnemic_mcp", "--persist-dir", str(folder / "memory"), "--project", "my-site"]
    server = StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ})
    with (folder / "server.log").open("a") as log:
        async with Client(stdio_client(server, errlog=log)) as client:
            yield client


async def monday(folder: Path) -> None:
    """Something is decided."""
    async with session(folder) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        print("tools:", ", ".join(tools))
        assert {"remember", "recall", "correct", "forget", "context"} == {*tools}
        decided = {"content": "The site is built with Astro, because its pages must work without JavaScript."}
        assert not (await client.call_tool("remember", decided)).is_error


async def friday(folder: Path) -> None:
    """Another process and an empty conversation know it."""
    async with session(folder) as client:
        start = await client.call_tool("context", {})
        assert "Astro" in start.content[0].text
        found = await client.call_tool("recall", {"query": "Which framework is the site built with?"})
        print("recalled:", found.content[0].text)
        assert "its pages must work without JavaScript" in found.content[0].text


def start_of_a_session(folder: Path) -> None:
    """What the hook hands to the agent, before anything is asked."""
    command = [sys.executable, "-m", "mnemic", "--dir", str(folder / "memory"), "--project", "my-site"]
    event = json.dumps({"hook_event_name": "SessionStart", "source": "startup", "cwd": str(folder)})
    told = subprocess.run(
        [*command, "hook", "session-start"], input=event, capture_output=True, text=True, encoding="utf-8", check=True
    )
    print("the hook:", told.stdout)
    assert "Astro" in told.stdout


def main() -> None:
    print(json.dumps(SERVER, indent=2), json.dumps(HOOKS, indent=2), sep="\n")
    with TemporaryDirectory() as name:
        asyncio.run(monday(Path(name)))
        asyncio.run(friday(Path(name)))
        start_of_a_session(Path(name))
    print("All as expected.")


if __name__ == "__main__":
    main()
