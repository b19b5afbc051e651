"""A memory that is gone after the test, and clients of servers over it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from mnemic import Idle, Memory
from mnemic_mcp import command, memory_server
from mnemic_mcp.options import TOKEN, parsed

Call = Callable[..., Any]


class Caller:
    """A client whose calls give the structured answer, or raise what the tool said."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        result = await self.client.call_tool(tool, arguments)
        if result.is_error:
            raise AssertionError(result.content[0].text)
        return result.structured_content

    async def error(self, tool: str, **arguments: Any) -> str:
        """What the tool complains about."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        return result.content[0].text


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", user="ana", embedder="hashing", idle=Idle(idle_seconds=3600)) as opened:
        yield opened


@pytest.fixture
def served() -> Callable[..., AbstractAsyncContextManager[Caller]]:
    """A client of a server in this process."""

    @asynccontextmanager
    async def connect(memory: Memory, profile: str = "default", **options: Any) -> AsyncIterator[Caller]:
        async with Client(memory_server(memory, profile=profile, **options)) as client:
            yield Caller(client)

    return connect


@pytest.fixture
def commanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A conversation with the server that the command makes of its options, in this process: stdio alone is left out."""

    def converse(conversation: Call, *options: str, folder: Path = tmp_path / "memory", cwd: Path = tmp_path) -> None:
        async def serve(server: Any, output: Any) -> None:
            async with Client(server) as client:
                await conversation(Caller(client))

        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            patch.setattr(command, "_serve_stdio", serve)
            patch.setattr(command, "_close_on_signals", lambda memory: None)
            assert command.run(parsed(["--dir", str(folder), *options]), None) == 0

    return converse


@pytest.fixture
def spoken(tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Caller]]:
    """A client of a server in a process of its own, over stdio."""

    @asynccontextmanager
    async def connect(
        *options: str, folder: Path = tmp_path / "memory", cwd: Path | None = None
    ) -> AsyncIterator[Caller]:
        arguments = ["-m", "mnemic_mcp", "--persist-dir", str(folder), "--embedder", "hashing", *options]
        server = StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ}, cwd=cwd)
        async with Client(stdio_client(server)) as client:
            yield Caller(client)

    return connect


@pytest.fixture
def serving() -> Callable[..., AbstractContextManager[str]]:
    """The address of a server over HTTP in a process of its own, which a signal ends with the code 0."""

    @contextmanager
    def connect(folder, *options: str, token: str | None = None, host: str = "127.0.0.1") -> Iterator[str]:
        command = [
            sys.executable,
            "-m",
            "mnemic_mcp",
            "--dir",
            str(folder),
            "--embedder",
            "hashing",
            "--project",
            "off",
        ]
        command += ["--http", f"{host}:0", *options]
        environment = {**os.environ, TOKEN: token or ""}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
            try:
                line = server.stderr.readline()
                found = re.search(r"http://\S+:(\d+)/mcp", line)
                assert found, line + server.stderr.read()
                yield f"http://127.0.0.1:{found[1]}/mcp"
            finally:
                server.send_signal(signal.SIGTERM)
                _, errors = server.communicate(timeout=60)
            assert server.returncode == 0, errors
            assert "Traceback" not in errors

    return connect
