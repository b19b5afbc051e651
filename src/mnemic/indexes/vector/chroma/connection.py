"""Connections to Chroma: to a server, or to a folder that one process has open."""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mnemic.errors import MnemicError, StoreUnavailable

TIMEOUT = 30.0
"""Seconds for one request to a server; chromadb has no limit."""


class ChromaUnavailable(StoreUnavailable):
    """Chroma cannot be used. Internal: searches fall back to exact search."""


@contextmanager
def translated_errors(what: str) -> Generator[None]:
    """Raise every error of Chroma and its files as ``ChromaUnavailable``."""
    try:
        yield
    except (MnemicError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # includes Rust panics, which are not Exceptions
        raise ChromaUnavailable(f"{what} failed: {type(error).__name__}: {str(error)[:200]}") from error


class _Connection:
    """A client that is connected on first use."""

    _client: Any = None

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(ChromaUnavailable), translated_errors("Closing Chroma"):
                for session in _sessions(client):  # chromadb leaves them open
                    session.close()
                client.close()


class Server(_Connection):
    """A Chroma server.

    Args:
        client: a client owned by the caller.
        address: host, port and whether to use TLS, if there is no client.
    """

    def __init__(self, client: Any = None, address: tuple[str, int, bool] | None = None) -> None:
        self._external_client, self._address = client, address

    def client(self) -> Any:
        """The client; connects on first use.

        Raises:
            ChromaUnavailable: the server cannot be reached.
        """
        if self._external_client is None and self._client is None and self._address is not None:
            import chromadb
            import httpx
            from chromadb.config import Settings

            host, port, secure = self._address
            with translated_errors(f"Reaching the Chroma server at {host}:{port}"):
                # Whatever it answers: a client asks a server when it is made, and waits without a limit.
                httpx.get(f"http{'s' if secure else ''}://{host}:{port}/api/v2/heartbeat", timeout=TIMEOUT)
                self._client = chromadb.HttpClient(
                    host, port, ssl=secure, settings=Settings(anonymized_telemetry=False)
                )
                for session in _sessions(self._client):
                    session.timeout = TIMEOUT
        return self._external_client or self._client

    def reset(self) -> None:
        """Disconnect; collections on the server stay."""
        self._disconnect()

    close = reset


class Folder(_Connection):
    """A folder of Chroma, which this process alone has open.

    A damaged index can crash the process that loads it. So a folder is loaded only if it was closed and has not changed since:
    ``close`` names it after the sizes and times of its files. Any other is removed, and rebuilt from the record.

    Args:
        root: the folder for Chroma's own folder and the lock.
    """

    def __init__(self, root: Path) -> None:
        self._root = self._path = root

    def client(self) -> Any:
        """The client of the folder that was closed, else of an empty one.

        Raises:
            ChromaUnavailable: the folder cannot be opened or written.
        """
        if self._client is None:
            import chromadb
            from chromadb.config import Settings

            with translated_errors(f"Opening Chroma in {self._root}"):
                self._path = self._open_folder()
                self._client = chromadb.PersistentClient(str(self._path), Settings(anonymized_telemetry=False))
        return self._client

    def _open_folder(self) -> Path:
        path = self._root / f"open-{secrets.token_hex(6)}"  # chromadb caches clients by path
        for closed in self._root.glob("closed-*"):
            if closed.name == _closed_name(closed):
                closed.rename(path)
        self._remove_all(but=path)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def _remove_all(self, but: Path | None = None) -> None:
        for path in self._root.glob("*"):
            if path.is_dir() and path != but:
                shutil.rmtree(path)

    def reset(self) -> None:
        """Close Chroma and remove its files.

        Raises:
            ChromaUnavailable: a file cannot be removed.
        """
        self._disconnect()
        with translated_errors(f"Removing Chroma's files in {self._root}"):
            self._remove_all()

    def zero_unsaved(self) -> None:
        """Overwrite files of unsaved graphs with zeros.

        Chroma creates these files from uninitialized memory, which may contain erased text; it does not read them before it
        has saved the graph (with an ``index_metadata.pickle``).
        """
        for name in ("data_level0.bin", "length.bin"):
            for path in self._path.rglob(name):
                if not path.with_name("index_metadata.pickle").exists() and path.read_bytes().strip(b"\0"):
                    path.write_bytes(bytes(path.stat().st_size))

    def close(self) -> None:
        """Close Chroma, and name its folder so that it is loaded again.

        Raises:
            ChromaUnavailable: that failed; the folder will be rebuilt.
        """
        if self._client is not None:
            self._disconnect()
            with translated_errors(f"Closing Chroma in {self._root}"):
                self.zero_unsaved()
                self._path.rename(self._root / _closed_name(self._path))


def _closed_name(folder: Path) -> str:
    """The name for a closed folder, with a hash of the sizes and times of its files and the version of chromadb."""
    import chromadb

    files = {path.relative_to(folder).as_posix(): path.stat() for path in folder.rglob("*") if path.is_file()}
    state = (chromadb.__version__, *sorted((name, s.st_size, s.st_mtime_ns) for name, s in files.items()))
    return f"closed-{hashlib.blake2b(repr(state).encode(), digest_size=8).hexdigest()}"


def _sessions(client: Any) -> list[Any]:
    """The HTTP sessions of a client, and of its internal admin client."""
    holders = (client, getattr(client, "_admin_client", None))
    sessions = (getattr(getattr(holder, "_server", None), "_session", None) for holder in holders)
    return [session for session in sessions if session is not None]
