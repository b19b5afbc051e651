"""Chroma as the vector index of a memory, in a server or in the folder of the record."""

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

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Chroma", "ChromaIndex", "discarded"]

FOLDER = "chroma"
"""In the folder of the record."""
OWNER, FEEDER = f"{FOLDER}/{LOCK.removesuffix('.lock')}", f"{FOLDER}/feeder"
"""The right to have the folder open; the right to write into a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chroma:
    """Chroma as the vector index of a memory: ``Memory(folder, vectors=Chroma(...))``.

    Attributes:
        url: a Chroma server, such as ``"http://localhost:8000"``; ``None`` keeps the index in the folder of the memory.
        client: a chromadb client that is ready, such as ``chromadb.CloudClient(...)``, in the place of a server.
        exact_below: users with at most so many records are searched exactly, without Chroma, which is faster up to some 50,000;
            0 asks Chroma from the first record on.
        batch: at most so many records are sent at once, 1 to 5,000.
        most_results: at most so many results are asked for, 10 or more.

    Raises:
        ConfigurationError: a value cannot be used.
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
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise ConfigurationError(f"{name} must be a whole number from {least} to {most:,}, not {value!r:.40}.")

    @property
    def embedded(self) -> bool:
        """Whether the index lives in the folder of the memory."""
        return self.url is None and self.client is None

    @property
    def server(self) -> tuple[str, int, bool]:
        """Host, port and whether it speaks TLS."""
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
            f'{url!r:.60} is not the address of a Chroma server. Use "http://host:port" or "https://host".'
        )
    if parts.username or parts.password or parts.query or parts.path not in ("", "/"):
        raise ConfigurationError(
            "The address of a Chroma server is only its host and port. For keys, tenants and paths give a client that is "
            "ready: vectors=chromadb.HttpClient(...)."
        )
    return parts


def _check_client(client: object) -> None:
    if not all(callable(getattr(client, name, None)) for name in ("heartbeat", "create_collection", "get_collection")):
        raise ConfigurationError(f"client must be a chromadb client, not {type(client).__name__}.")
    if inspect.iscoroutinefunction(getattr(client, "heartbeat", None)):
        raise ConfigurationError("An asynchronous chromadb client cannot be used: give a chromadb.HttpClient.")


class ChromaIndex:
    """See ``VectorIndex``. Thread-safe; a forked child has an outbox of its own.

    Args:
        settings: where Chroma is.
    """

    def __init__(self, settings: Chroma) -> None:
        self._settings = settings
        self._feed: RecordFeed | None = None
        self._outboxes: PerProcess[Outbox] | None = None
        self._warned = self._closed = False

    @property
    def exact_below(self) -> int:
        """Up to how many records of a user are searched without the index."""
        return self._settings.exact_below

    def open(self, feed: RecordFeed) -> None:
        """Follow a record; what has to be loaded is loaded by a thread.

        Raises:
            ConfigurationError: the record is in RAM, or on a server and the index has no place of its own.
        """
        embedded = self._settings.embedded
        feed.turn(OWNER if embedded else FEEDER)  # refuses a record in RAM
        if embedded and feed.folder is None:
            raise ConfigurationError(
                "Chroma inside this process keeps its index in the folder of the record, and a record on a server has none. "
                'Run a Chroma server and give its address, vectors="http://localhost:8000", or a client that is ready; '
                "or leave vectors= out: PostgreSQL has an index of its own."
            )
        self._feed, self._outboxes = feed, PerProcess(lambda: self._new_outbox(feed))
        outbox = self._outboxes.get()
        feed.listen(self.wake)
        if embedded and not outbox.owner:
            self._warn(
                f"Another memory has the Chroma index in {feed.folder}; this one searches exactly, and takes it over "
                "when that one is closed. To share an index, run a server: chroma run --path ./chroma-server, and open "
                'each memory with vectors="http://localhost:8000".'
            )

    def _new_outbox(self, feed: RecordFeed) -> Outbox:
        settings = self._settings
        if settings.embedded:
            assert feed.folder is not None
            return Outbox(feed, Folder(feed.folder / FOLDER), feed.turn(OWNER), settings.batch)
        place = Server(settings.client, settings.server if settings.client is None else None)
        return Outbox(feed, place, feed.turn(FEEDER), settings.batch)

    def _outbox(self) -> Outbox | None:
        return None if self._closed or self._outboxes is None else self._outboxes.get()

    def _warn(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(text, RuntimeWarning, stacklevel=6)

    def _collections(self) -> Collections | None:
        """What can be asked now."""
        outbox = self._outbox()
        if outbox is None:
            return None
        collections, trouble = outbox.collections, outbox.trouble
        if collections is None and trouble is not None:
            self._warn(f"Chroma cannot be used for now, searches are exact without it: {trouble}")
        return collections if collections is not None and collections.complete else None

    def serves(self, model: str | None) -> bool:
        """Whether it holds the whole record, in vectors of this model."""
        collections = self._collections()
        return collections is not None and collections.position.model.name == model

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> list[int] | None:
        """The docs of the nearest entries; None when Chroma cannot say."""
        outbox, collections = self._outbox(), self._collections()
        if outbox is None or collections is None or len(query) != collections.position.model.dimension:
            return None
        try:
            return collections.nearest(user, query, k, self._settings.most_results)
        except ChromaUnavailable as error:
            outbox.doubt(collections, error)
            return None

    def waiting(self, user: int) -> Sequence[int] | None:
        """Docs that changed after the last event that Chroma has."""
        collections = self._collections()
        if collections is None or self._feed is None:
            return None
        found = self._feed.waiting(user, collections.position.mark.sequence)
        if found:
            self.wake()
        return found

    def wake(self) -> None:
        """Something was written."""
        outbox = self._outbox()
        if outbox is not None:
            outbox.wake()

    def drain(self, seconds: float | None = None) -> bool:
        """Send everything to Chroma now."""
        outbox = self._outbox()
        return outbox is not None and outbox.drain(seconds)

    def erase(self) -> bool:
        """In a folder by removing it as a whole, to be filled again; on a server by deleting."""
        outbox = self._outbox()
        if outbox is None or self._feed is None or not outbox.erase():
            return False
        return self._settings.embedded or discarded(self._feed.folder)

    def findings(self) -> Sequence[str]:
        """What differs from the record."""
        outbox = self._outbox()
        if outbox is None:
            return ()
        outbox.drain()
        return outbox.findings()

    def close(self) -> None:
        """Let go of everything."""
        self._closed = True
        outbox = None if self._outboxes is None else self._outboxes.take()
        if outbox is not None:
            outbox.close()


def discarded(record: Path | None) -> bool:
    """Remove the index beside a record that nobody has open, left by an earlier handle; whether there is none any more."""
    if record is None or not (record / FOLDER).is_dir():
        return True
    lock = FileLock(record / FOLDER / LOCK)
    if not lock.take():
        return False
    try:
        Folder(record / FOLDER).reset()
    finally:
        lock.release()
    return True
