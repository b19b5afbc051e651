"""Chroma as the vector index of a memory, on a server or in the folder of the record."""

from __future__ import annotations

import atexit
import inspect
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mnemic.errors import ConfigurationError, MissingExtra
from mnemic.indexes.vector.chroma.collections import Collections, create_collections, differences, open_collections
from mnemic.indexes.vector.chroma.connection import ChromaUnavailable, Folder, Server, translated_errors
from mnemic.protocols import Lock, RecordFeed
from mnemic.services.processes import FileLock, PerProcess, process_lock, renew_in_child
from mnemic.validation import option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = "chroma"
"""The folder of the index in the folder of the record."""
OWNER, FEEDER = f"{FOLDER}/owner", f"{FOLDER}/feeder"
"""Lock names: to open the folder; to write to a server."""
CLOSING = 10.0
"""Seconds that ``close`` waits for a page under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chroma:
    """Chroma as the vector index of a memory: ``Memory(folder, vectors=Chroma(...))``.

    Attributes:
        url: a Chroma server, such as ``"http://localhost:8000"``; ``None`` keeps the index in the folder of the memory.
        client: a chromadb client, such as ``chromadb.CloudClient(...)``, instead of a URL.
        exact_below: users with at most this many records are searched exactly, without Chroma, which is faster up to some
            50,000; 0 uses Chroma from the first record on.
        batch: the maximum number of records per request, 1 to 5,000.
        most_results: the maximum number of results per query, 10 or more.

    Raises:
        ConfigurationError: a value is invalid.
        MissingExtra: chromadb is not installed.
    """

    url: str | None = None
    client: Any = field(default=None, repr=False)
    exact_below: int = 0
    batch: int = 500
    most_results: int = 100_000

    def __post_init__(self) -> None:
        if find_spec("chromadb") is None:
            raise MissingExtra("Chroma as the vector index", "chroma")
        if self.url is not None and self.client is not None:
            raise ConfigurationError("Chroma takes url= or client=, not both.")
        if self.url is not None:
            _address(self.url)
        if self.client is not None:
            _check_client(self.client)
        for name, least, most in (("exact_below", 0, 2**53), ("batch", 1, 5_000), ("most_results", 10, 2**31)):
            option(name, getattr(self, name), least, most)

    @property
    def embedded(self) -> bool:
        """Whether the index is in the folder of the memory."""
        return self.url is None and self.client is None

    @property
    def server(self) -> tuple[str, int, bool]:
        """Host, port and whether to use TLS."""
        return _address(self.url)


def _address(url: object) -> tuple[str, int, bool]:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ConfigurationError(
            f'{url!r:.60} is not the URL of a Chroma server. Use "http://host:port" or "https://host".'
        )
    if parts.username or parts.password or parts.query or parts.path not in ("", "/"):
        raise ConfigurationError(
            "The URL of a Chroma server has only host and port. For keys, tenants and paths pass a client: "
            "vectors=chromadb.HttpClient(...)."
        )
    secure = parts.scheme == "https"
    return parts.hostname, port or (443 if secure else 8000), secure


def _check_client(client: object) -> None:
    if not all(callable(getattr(client, name, None)) for name in ("heartbeat", "create_collection", "get_collection")):
        raise ConfigurationError(f"client must be a chromadb client, not {type(client).__name__}.")
    if inspect.iscoroutinefunction(getattr(client, "heartbeat", None)):
        raise ConfigurationError("An asynchronous chromadb client cannot be used: pass a chromadb.HttpClient.")


class ChromaIndex:
    """See ``VectorIndex``. Thread-safe; a forked child has a connection of its own.

    Delivery is at least once, and idempotent. The position is stored after the contents: a process killed in between sends
    the same page again.

    Args:
        settings: the settings of Chroma.
    """

    _feed: RecordFeed
    _ownership: Lock

    def __init__(self, settings: Chroma) -> None:
        self._settings = settings
        self._connections = PerProcess(self._connection)
        self._lock = process_lock()
        self._collections: Collections | None = None
        self._trouble: str | None = None
        self._failed = self._warned = self._closed = False
        renew_in_child(self, ChromaIndex._renew)

    def _renew(self) -> None:
        self._collections = None

    @property
    def exact_below(self) -> int:
        """Users with at most this many records are searched without the index."""
        return self._settings.exact_below

    def open(self, feed: RecordFeed) -> None:
        """Follow a record.

        Raises:
            ConfigurationError: the record is in RAM, or on a server while the index needs a folder.
            ChromaUnavailable: another process has the folder open.
        """
        embedded = self._settings.embedded
        lock = feed.lock(OWNER if embedded else FEEDER)  # raises for a record in RAM
        if embedded and feed.folder is None:
            raise ConfigurationError(
                "Embedded Chroma keeps its index in the folder of the record, and a record on a server has none. "
                'Run a Chroma server and pass its URL, vectors="http://localhost:8000", or a client; or leave vectors= out: '
                "PostgreSQL has its own index."
            )
        if not lock.acquire() and embedded:
            raise ChromaUnavailable(
                f"Another process uses the Chroma index in {feed.folder}; this one searches exactly. To share an index, run a "
                'server: chroma run --path ./chroma-server, and open each memory with vectors="http://localhost:8000".'
            )
        self._feed, self._ownership = feed, lock
        atexit.register(self.close)

    def _connection(self) -> Server | Folder:
        if self._settings.embedded:
            assert self._feed.folder is not None
            return Folder(self._feed.folder / FOLDER)
        client = self._settings.client
        return Server(client, self._settings.server if client is None else None)

    # Search

    def _complete_collections(self) -> Collections | None:
        """The collections, if they can be searched now."""
        collections, trouble = self._collections, self._trouble
        if collections is None:
            self._feed.wake()  # a forked child connects when it is searched
            if trouble is not None and not self._warned:
                self._warned = True
                text = f"Chroma is unavailable, searches are exact until it returns: {trouble}"
                warnings.warn(text, RuntimeWarning, stacklevel=5)
        return collections if collections is not None and collections.complete else None

    def serves(self, model: str | None) -> bool:
        """Whether it holds the whole record, with vectors of this model."""
        collections = self._complete_collections()
        return collections is not None and collections.position.model.name == model

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> list[int] | None:
        """The docs of the nearest entries, and those that changed after them; None if Chroma is unavailable."""
        collections = self._complete_collections()
        if collections is None or len(query) != collections.position.model.dimension:
            return None
        try:
            docs = collections.nearest(user, query, k, self._settings.most_results)
            return [*docs, *self._feed.waiting(user, collections.position)]
        except ChromaUnavailable as error:
            if collections is self._collections:  # not those of a client closed in the meantime
                self._collections, self._failed, self._trouble = None, True, str(error)
            return None

    # Updates

    def catch_up(self) -> bool:
        """Send the next page of changes to Chroma, if this handle writes the index; returns whether there may be more.

        Raises:
            StoreError: Chroma or the record is unavailable.
        """
        with self._exclusive():
            more = self._step()
            self._trouble = self._trouble if more else None
            return more

    @contextmanager
    def _exclusive(self) -> Generator[None]:
        """One thread at a time. After an error, a folder is removed and filled again, and a server is connected again."""
        with self._lock:
            try:
                with translated_errors("Updating Chroma"):
                    yield
            except ChromaUnavailable as error:
                self._trouble = str(error)
                with suppress(ChromaUnavailable):
                    self._reset()
                raise

    def _reset(self) -> None:
        self._collections, self._failed = None, False  # first, so that no search uses a closed client
        self._connections.get().reset()

    def _step(self) -> bool:
        if self._failed:
            self._reset()
        was_owner = self._ownership.held
        if self._closed or (self._settings.embedded and not was_owner):
            return False
        if self._collections is None and self._feed.start() is None:
            return False
        writes = self._ownership.acquire()  # on a server, the next handle takes over from one that ended
        if not was_owner or self._collections is None:
            self._collections = open_collections(self._connections.get().client(), self._feed)
        return writes and self._advance()

    def _advance(self) -> bool:
        collections, connection = self._collections, self._connections.get()
        page = None if collections is None else self._feed.page(collections.position, self._settings.batch)
        if collections is None or page is None or (page.erased and self._settings.embedded):
            return self._begin()  # a deletion would leave the bytes in the files
        if page.position == collections.position:
            return False
        written = collections.write(self._feed, page)
        if isinstance(connection, Folder):
            connection.zero_unsaved()
        self._collections = written
        return True

    def _begin(self) -> bool:
        """Create empty collections, to be filled from the first record; False without vectors."""
        self._reset()
        position = self._feed.start()
        if position is None:
            return False
        self._collections = create_collections(self._connections.get().client(), self._feed, position)
        return True

    def erase(self) -> bool:
        """Erase: a folder is removed and filled again; on a server entries are deleted."""
        with self._exclusive():
            if not self._ownership.held:  # the owner does it
                return False
            if self._settings.embedded:
                self._reset()
                return True
            while self._step():
                if self._complete_collections() is None:  # its change comes after all records
                    self._begin()
                    break
        return discard(self._feed.folder)

    def findings(self) -> Sequence[str]:
        """Differences from the record; if there are any, the collections are filled again."""
        with self._exclusive():
            collections = self._collections
            if collections is None or not collections.complete or not self._ownership.held:
                return []
            findings = differences(self._feed, collections)
            if findings:
                self._begin()
            return findings

    def close(self) -> None:
        """Close the connection and release the lock."""
        atexit.unregister(self.close)
        if not self._lock.acquire(timeout=CLOSING):  # a server does not answer
            return
        try:
            self._closed, self._collections = True, None
            connection = self._connections.pop()
            if connection is not None:
                with suppress(ChromaUnavailable):
                    connection.close()
            self._ownership.release()
        finally:
            self._lock.release()


def discard(record: Path | None) -> bool:
    """Remove an unused embedded index of a record, unless another process has it open; returns whether none is left."""
    if record is None or not (record / FOLDER).is_dir():
        return True
    lock = FileLock(record / f"{OWNER}.lock")
    if not lock.acquire():
        return False
    try:
        Folder(record / FOLDER).reset()
    finally:
        lock.release()
    return True
