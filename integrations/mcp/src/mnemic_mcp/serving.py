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

import anyio

from mnemic import CachedEmbedder, Memory, MnemicError, OnnxEmbedder, Project, project
from mnemic_mcp.options import Options
from mnemic_mcp.server import memory_server
from mnemic_mcp.warming import WarmingEmbedder

__all__ = ["serve"]

QUERIES_KEPT = 512
WRONG = 2


def _project(name: str) -> str | Project | None:
    """The project that the command line means."""
    if name == "off":
        return None
    here = project()
    if name == "auto":
        return here if here.marker else None
    return here if name == here.id else name


def _opened(options: Options, place: str | Project | None) -> tuple[Memory, Callable[[], object] | None]:
    """The memory, and what loads its model in the background."""
    opened = partial(Memory, options.persist_dir, user=options.user, project=place, timezone=options.timezone)
    if options.embedder is not None:
        return opened(embedder=options.embedder), None
    warming = WarmingEmbedder(OnnxEmbedder())
    cached = CachedEmbedder(warming, max_items=QUERIES_KEPT, kinds=("query",))
    memory = opened(embedder=cached)
    return memory, partial(warming.warm, then=partial(_embed_waiting, memory))


def _embed_waiting(memory: Memory) -> None:
    """Give a vector to what was stored without one."""
    with suppress(MnemicError):  # it stays pending, and quiet moments try again
        memory.admin.flush(process=False)


def _close_on_signals(memory: Memory) -> None:
    """Close the record when the process is told to end. Reading stdin cannot be interrupted, so that it ends hard."""

    def leave() -> None:
        memory.close()
        os._exit(0)

    def told(_signal: int, _frame: FrameType | None) -> None:
        threading.Thread(target=leave, daemon=True).start()  # the main thread may hold what closing needs

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, told)


def _one_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A warning as people read it in the log of a client."""
    del category, filename, lineno, line
    return f"mnemic-mcp: {message}\n"


def serve(options: Options, wire: TextIOWrapper) -> int:
    """Serve until stdin ends; the exit code of the process."""
    warnings.formatwarning = _one_line
    logging.basicConfig(level=logging.WARNING, format="mnemic-mcp: %(message)s", stream=sys.stderr)
    try:
        place = _project(options.project)
        memory, warm = _opened(options, place)
    except MnemicError as error:
        sys.stderr.write(f"mnemic-mcp: {error}\n")
        return WRONG
    with memory:
        _close_on_signals(memory)
        server = memory_server(
            memory, profile=options.profile, consolidate=options.consolidate, on_start=warm,
            project=place if isinstance(place, Project) else None,
        )  # fmt: skip
        anyio.run(server.serve, wire)
    return 0
