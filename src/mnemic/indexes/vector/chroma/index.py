"""Chroma as the vector index of a memory, on a server or in the folder of the record."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from mnemic.errors import ConfigurationError, MissingExtra
from mnemic.indexes.vector.chroma.collections import LOCK, ChromaUnavailable, Collections, Folder, Server
from mnemic.indexes.vector.chroma.outbox import Outbox
from mnemic.protocols import RecordFeed
from mnemic.services.processes import FileLock, PerProcess
from mnemic.validation import option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = "chroma"
"""The folder of the index in the folder of the record."""
OWNER, FEEDER = f"{FOLDER}/{LOCK.removesuffix('.lock')}", f"{FOLDER}/feeder"
"""Lock names: to open the folder; to write to a server."""


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
            _parts(self.url)
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
        parts = _parts(self.url or "")
        secure = parts.scheme == "https"
        return parts.hostname or "", parts.port or (443 if secure else 8000), secure


def _parts(url: object) -> SplitResult:
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        usable = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, usable = None, False
    if parts is None or not usable:
        raise ConfigurationError(
            f'{url!r:.60} is not the URL of a Chroma server. Use "http://host:port" or "https://host".'
        )
    if parts.username or parts.password or parts.query or parts.path not in ("", "/"):
        raise ConfigurationError(
            "The URL of a Chroma server has only host and port. For keys, tenants and paths pass a client: "
            "vectors=chromadb.HttpClient(...)."
        )
    return parts


def _check_client(client: object) -> None:
    if not all(callable(getattr(client, name, None)) for name in ("heartbeat", "create_collection", "get_collection")):
        raise ConfigurationError(f"client must be a chromadb client, not {type(client).__name__}.")
    if inspect.iscoroutinefunction(getattr(client, "heartbeat", None)):
        raise ConfigurationError("An asynchronous chromadb client cannot be used: pass a chromadb.HttpClient.")


class ChromaIndex:
    """See ``VectorIndex``. Thread-safe; a forked child opens its own outbox.

    Args:
        settings: the settings of Chroma.
    """

    def __init__(self, settings: Chroma) -> None:
        self._settings = settings
        self._feed: RecordFeed | None = None
        self._outboxes: PerProcess[Outbox] | None = None
        self._warned = self._closed = False

    @property
    def exact_below(self) -> int:
        """Users with at most this many records are searched without the index."""
        return self._settings.exact_below

    def open(self, feed: RecordFeed) -> None:
        """Follow a record; a thread loads the index.

        Raises:
            ConfigurationError: the record is in RAM, or on a server while the index needs a folder.
        """
        embedded = self._settings.embedded
        feed.lock(OWNER if embedded else FEEDER)  # raises for a record in RAM
        if embedded and feed.folder is None:
            raise ConfigurationError(
                "Embedded Chroma keeps its index in the folder of the record, and a record on a server has none. "
                'Run a Chroma server and pass its URL, vectors="http://localhost:8000", or a client; or leave vectors= out: '
                "PostgreSQL has its own index."
            )
        self._feed, self._outboxes = feed, PerProcess(lambda: self._new_outbox(feed))
        outbox = self._outboxes.get()
        feed.listen(self.wake)
        if embedded and not outbox.owner:
            self._warn(
                f"Another process uses the Chroma index in {feed.folder}; this one searches exactly, and takes the index over "
                "when the other closes it. To share an index, run a server: chroma run --path ./chroma-server, and open "
                'each memory with vectors="http://localhost:8000".'
            )

    def _new_outbox(self, feed: RecordFeed) -> Outbox:
        settings = self._settings
        if settings.embedded:
            assert feed.folder is not None
            return Outbox(feed, Folder(feed.folder / FOLDER), feed.lock(OWNER), settings.batch)
        place = Server(settings.client, settings.server if settings.client is None else None)
        return Outbox(feed, place, feed.lock(FEEDER), settings.batch)

    def _outbox(self) -> Outbox | None:
        return None if self._closed or self._outboxes is None else self._outboxes.get()

    def _warn(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(text, RuntimeWarning, stacklevel=6)

    def _collections(self) -> Collections | None:
        """The collections, if they can be searched now."""
        outbox = self._outbox()
        if outbox is None:
            return None
        collections, trouble = outbox.collections, outbox.trouble
        if collections is None and trouble is not None:
            self._warn(f"Chroma is unavailable, searches are exact until it returns: {trouble}")
        return collections if collections is not None and collections.complete else None

    def serves(self, model: str | None) -> bool:
        """Whether it holds the whole record, with vectors of this model."""
        collections = self._collections()
        return collections is not None and collections.position.model.name == model

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> list[int] | None:
        """The docs of the nearest entries; None if Chroma is unavailable."""
        outbox, collections = self._outbox(), self._collections()
        if outbox is None or collections is None or len(query) != collections.position.model.dimension:
            return None
        try:
            return collections.nearest(user, query, k, self._settings.most_results)
        except ChromaUnavailable as error:
            outbox.report_failure(collections, error)
            return None

    def waiting(self, user: int) -> Sequence[int] | None:
        """Docs that changed after the last event applied to Chroma."""
        collections = self._collections()
        if collections is None or self._feed is None:
            return None
        found = self._feed.waiting(user, collections.position.mark.sequence)
        if found:
            self.wake()
        return found

    def wake(self) -> None:
        """Notify the outbox of a write."""
        outbox = self._outbox()
        if outbox is not None:
            outbox.wake()

    def drain(self, seconds: float | None = None) -> bool:
        """Send all pending changes to Chroma now."""
        outbox = self._outbox()
        return outbox is not None and outbox.drain(seconds)

    def erase(self) -> bool:
        """Erase: a folder is removed and filled again; on a server entries are deleted."""
        outbox = self._outbox()
        if outbox is None or self._feed is None or not outbox.erase():
            return False
        return self._settings.embedded or discard(self._feed.folder)

    def findings(self) -> Sequence[str]:
        """Differences from the record."""
        outbox = self._outbox()
        if outbox is None:
            return ()
        outbox.drain()
        return outbox.findings()

    def close(self) -> None:
        """Close the outbox."""
        self._closed = True
        outbox = None if self._outboxes is None else self._outboxes.pop()
        if outbox is not None:
            outbox.close()


def discard(record: Path | None) -> bool:
    """Remove an unused embedded index of a record, unless another process has it open; returns whether none is left."""
    if record is None or not (record / FOLDER).is_dir():
        return True
    lock = FileLock(record / FOLDER / LOCK)
    if not lock.acquire():
        return False
    try:
        Folder(record / FOLDER).reset()
    finally:
        lock.release()
    return True
