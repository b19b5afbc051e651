"""Where the collections are: a folder with one owner, or a server with one feeder."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from mnemic.errors import StoreError
from mnemic.indexes.vector.chroma.client import Client, closed, embedded_client, server_client
from mnemic.indexes.vector.chroma.folder import GenerationFolder
from mnemic.indexes.vector.chroma.settings import Chroma
from mnemic.indexes.vector.chroma.shelf import ChromaShelf
from mnemic.protocols import RecordFeed, Turn
from mnemic.services.owning import FileLock

__all__ = ["FOLDER", "FolderPlace", "Place", "ServerPlace", "discarded"]

FOLDER = "chroma"
"""In the folder of the record."""


class Place(Protocol):
    """Who may write, and the shelf while it is open."""

    own: bool
    """Whether nothing but this process can have it open, so that abandoning it leaves nothing behind."""
    suspect: bool
    """Whether the contents may differ from what was noted, and should be compared with the record."""

    @property
    def held(self) -> bool:
        """Whether this handle still is the one that writes."""
        ...

    def take(self) -> bool:
        """Become the one that writes, if nobody else is; whether this handle is."""
        ...

    def open(self) -> ChromaShelf:
        """The shelf; opened when it is not."""
        ...

    @contextmanager
    def using(self) -> Generator[ChromaShelf | None]:
        """The shelf if it is open; it stays open meanwhile."""
        ...

    def clear_unused(self) -> None:
        """Leave nothing in the files that was never an entry."""
        ...

    def abandon(self) -> None:
        """What is there cannot be used: the next opening begins anew."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class _Gate:
    """Lets users in while something is open, and waits for them before it is closed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._users = 0
        self.shelf: ChromaShelf | None = None

    @contextmanager
    def using(self) -> Generator[ChromaShelf | None]:
        with self._changed:
            shelf = self.shelf
            if shelf is not None:
                self._users += 1
        try:
            yield shelf
        finally:
            if shelf is not None:
                with self._changed:
                    self._users -= 1
                    self._changed.notify_all()

    def shut(self) -> None:
        with self._changed:
            self.shelf = None
            self._changed.wait_for(lambda: not self._users)


class FolderPlace:
    """Chroma inside this process, in a folder beside the record.

    Args:
        root: the folder; made when this process becomes its owner.
        feed: the record.
        settings: limits.
    """

    def __init__(self, root: Path, feed: RecordFeed, settings: Chroma) -> None:
        self._root, self._feed, self._settings = root, feed, settings
        self._folder = GenerationFolder(root)
        self._lock: FileLock | None = None
        self._client: Client | None = None
        self._gate = _Gate()
        self._fresh = False
        self.suspect, self.own = False, True

    @property
    def held(self) -> bool:
        """Whether this handle owns the folder."""
        return self._lock is not None and self._lock.held

    def take(self) -> bool:
        """Own the folder."""
        if self._lock is None:
            with suppress(OSError):
                self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = FileLock(self._root / "owner.lock")
        return self._lock.take()

    def open(self) -> ChromaShelf:
        """Load the generation in use if that is safe, and make a new one if it is not."""
        if self._gate.shelf is not None:
            return self._gate.shelf
        left = self._folder.left()
        sound = left == "sound" or (left == "open" and self._folder.survives_loading())
        path = self._folder.current if sound else self._folder.renewed()
        assert path is not None
        self._folder.opened()
        self._client = embedded_client(path)
        self._gate.shelf = ChromaShelf(self._client, self._feed, self._settings, self._renewed)
        self.suspect, self._fresh = left == "open" and sound, not sound
        return self._gate.shelf

    def _renewed(self) -> Client:
        """A client of a new, empty generation; nothing of the old one stays."""
        shelf = self._gate.shelf
        if self._fresh and self._client is not None:
            self._fresh = False
            return self._client
        self._shut()
        self._client = embedded_client(self._folder.renewed())
        self._gate.shelf, self.suspect = shelf, False
        return self._client

    def _shut(self) -> None:
        self._gate.shut()
        client, self._client = self._client, None
        if client is not None:
            closed(client)

    @contextmanager
    def using(self) -> Generator[ChromaShelf | None]:
        """The shelf if it is open."""
        with self._gate.using() as shelf:
            yield shelf

    def clear_unused(self) -> None:
        """Leave nothing in the files that was never an entry."""
        if self._client is not None:
            self._folder.clear_unused()

    def abandon(self) -> None:
        """Remove what is there."""
        self._shut()
        self._folder.remove()

    def close(self) -> None:
        """Close the client, note what it left, and let somebody else own the folder."""
        if self._lock is None or not self._lock.held:
            return
        opened = self._client is not None
        self._shut()
        if opened:
            with suppress(StoreError):
                self._folder.clear_unused(again=True)
                self._folder.closed()
        self._lock.release()


class ServerPlace:
    """Chroma in a server, or behind a client that is ready. Every process may ask, one of them writes.

    Args:
        turn: who is the one that writes.
        feed: the record.
        settings: the address or the client.
    """

    def __init__(self, turn: Turn, feed: RecordFeed, settings: Chroma) -> None:
        self._turn, self._feed, self._settings = turn, feed, settings
        self.suspect = self.own = False
        self._gate = _Gate()
        self._client: Client | None = None
        self._opening = threading.Lock()

    @property
    def held(self) -> bool:
        """Whether this handle still is the one that writes."""
        return self._turn.held

    def take(self) -> bool:
        """Be the one that writes."""
        return self._turn.take()

    def open(self) -> ChromaShelf:
        """Reach the server."""
        with self._opening:
            if self._gate.shelf is None:
                client: Client | None = self._settings.client
                if client is None:
                    host, port, secure = self._settings.server
                    client = self._client = server_client(host, port, secure=secure)
                self._gate.shelf = ChromaShelf(client, self._feed, self._settings)
            return self._gate.shelf

    @contextmanager
    def using(self) -> Generator[ChromaShelf | None]:
        """The shelf if the server was reached."""
        with self._gate.using() as shelf:
            yield shelf

    def clear_unused(self) -> None:
        """The files are the server's own."""

    def abandon(self) -> None:
        """Reach it anew next time; its collections are made anew by whoever feeds."""
        self._gate.shut()
        client, self._client = self._client, None
        if client is not None:
            closed(client)

    def close(self) -> None:
        """Leave the server, and let somebody else write."""
        self.abandon()
        self._turn.release()


def discarded(record: Path | None) -> bool:
    """Leave nothing of an index beside a record that nobody has open, such as one of earlier days; whether there is none."""
    if record is None or not (record / FOLDER).is_dir():
        return True
    root = record / FOLDER
    folder = GenerationFolder(root)
    lock = FileLock(root / "owner.lock")
    if not lock.take():
        return False
    try:
        folder.remove()
    finally:
        lock.release()
    return True
