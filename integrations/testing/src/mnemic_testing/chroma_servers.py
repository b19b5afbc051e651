"""A local Chroma server for tests."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mnemic.indexes.vector.chroma.connection import Server
from mnemic.indexes.vector.chroma.index import Chroma

__all__ = ["ChromaServer", "chroma_client", "chroma_server"]

HOST = "127.0.0.1"
SECONDS = 60.0
RUN = "import sys; from chromadb.cli.cli import app; sys.argv[0] = 'chroma'; sys.exit(app())"


class ChromaServer:
    """``chroma run`` on loopback at a free port; can be restarted.

    Args:
        folder: where it keeps its data.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            RuntimeError: it ended, or did not answer within a minute.
        """
        words = ("run", "--path", str(self.folder), "--host", HOST, "--port", str(self.port))
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen([sys.executable, "-c", RUN, *words], stdout=quiet, stderr=quiet)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            with suppress(OSError), socket.create_connection((HOST, self.port), timeout=1):
                return
            time.sleep(0.05)
        self.stop()
        raise RuntimeError("The Chroma server did not start.")

    def stop(self) -> None:
        """Stop the server process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


@contextmanager
def chroma_client(url: str) -> Generator[Any]:
    """A chromadb client of a server, inside the block."""
    server = Server(address=Chroma(url=url).server)
    try:
        yield server.client()
    finally:
        server.close()


@contextmanager
def chroma_server(folder: Path) -> Generator[ChromaServer]:
    """A running server, inside the block."""
    server = ChromaServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
