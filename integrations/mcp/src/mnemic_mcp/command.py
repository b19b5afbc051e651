"""From the options of the command line to a server that runs."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from types import FrameType
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server

from mnemic import CachedEmbedder, Memory, MnemicError, OnnxEmbedder, Project, SecretPolicy, new_session
from mnemic.embedders import BackgroundEmbedder
from mnemic.runtime.config import Config, read_config, record_key
from mnemic.runtime.projects import chosen_project
from mnemic_mcp.options import Options
from mnemic_mcp.server import memory_server

if TYPE_CHECKING:
    from mcp.server import Server

QUERIES_KEPT = 512
FAILED = 2


def run(options: Options, output: TextIOWrapper) -> int:
    """Serve until stdin ends or a signal comes; the exit code of the process."""
    warnings.formatwarning = _one_line
    logging.basicConfig(level=logging.WARNING, format="mnemic-mcp: %(message)s", stream=sys.stderr)
    try:
        return _run(options, output)
    except MnemicError as error:
        sys.stderr.write(f"mnemic-mcp: {SecretPolicy().redacted(str(error))[0]}\n")
        return FAILED


def _run(options: Options, output: TextIOWrapper) -> int:
    here = chosen_project(options.project)
    if options.http is not None:
        from mnemic_mcp import http

        listener = http.listening(options.http)
        serving = partial(http.serve, address=options.http, listener=listener)
    else:
        serving = partial(_serve_stdio, output=output)
    settings = read_config(options.config, options.persist_dir)
    memory, start = _opened(options, settings, here)
    with memory:
        if options.http is None:
            _close_on_signals(memory)
        loading = start()
        server = memory_server(
            memory, profile=options.profile, consolidate=options.consolidate,
            project=here if isinstance(here, Project) else None, recipe=settings.recipe,
        )  # fmt: skip
        anyio.run(serving, server)
    if loading is not None and loading.is_alive():
        os._exit(0)  # onnxruntime aborts a process that ends while it loads a model
    return 0


async def _serve_stdio(server: Server[Any], output: TextIOWrapper) -> None:
    """Serve the client behind stdin, answering on ``output`` instead of stdout, until stdin ends."""
    async with stdio_server(stdout=anyio.wrap_file(output)) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _opened(
    options: Options, settings: Config, here: str | Project | None
) -> tuple[Memory, Callable[[], threading.Thread | None]]:
    """The memory, and what loads its model in the background."""
    given = settings.arguments(
        embedder=options.embedder, llm=options.llm, timezone=options.timezone, session=options.session
    )
    if given.get("session") == "new":
        given["session"] = new_session()
    key = record_key(options.persist_dir)
    opened = partial(Memory, options.persist_dir, user=options.user, project=here, key=key, **given)
    if "embedder" in given:
        return opened(), lambda: None
    background = BackgroundEmbedder(OnnxEmbedder())
    memory = opened(embedder=CachedEmbedder(background, max_items=QUERIES_KEPT, kinds=("query",)))
    return memory, partial(background.start, then=partial(_embed_waiting, memory))


def _embed_waiting(memory: Memory) -> None:
    """Give a vector to what was stored without one."""
    with suppress(MnemicError):  # it stays pending, and quiet moments try again
        memory.admin.flush(process=False)


def _close_on_signals(memory: Memory) -> None:
    """Close the record when the process is told to end. Reading stdin cannot be interrupted, so the process exits at once."""

    def leave() -> None:
        memory.close()
        os._exit(0)

    def close(_signal: int, _frame: FrameType | None) -> None:
        threading.Thread(target=leave, daemon=True).start()  # the main thread may hold what closing needs

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, close)


def _one_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A warning as people read it in the log of a client."""
    del category, filename, lineno, line
    return f"mnemic-mcp: {message}\n"
