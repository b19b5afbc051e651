"""Chroma as the vector index of a memory."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mnemic.errors import ConfigurationError
from mnemic.indexes.vector.chroma.client import ChromaFailed
from mnemic.indexes.vector.chroma.place import FOLDER, FolderPlace, Place, ServerPlace, discarded
from mnemic.indexes.vector.chroma.settings import Chroma
from mnemic.indexes.vector.chroma.worker import Worker
from mnemic.indexes.vector.following import State
from mnemic.protocols import RecordFeed
from mnemic.services.process import PerProcess

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ChromaIndex"]

FRESH = 1.0
"""Seconds for which a process that only reads believes how far a server's index is."""
FEEDER = f"{FOLDER}/feeder"
"""The turn of the one that feeds a server."""
RETRY = 15.0
"""Seconds after a failure before a process that only reads asks a server again."""


class ChromaIndex:
    """See ``VectorIndex``. Thread-safe; a forked child begins anew.

    Args:
        settings: where Chroma is.
    """

    def __init__(self, settings: Chroma) -> None:
        self._settings = settings
        self._feed: RecordFeed | None = None
        self._made: PerProcess[Worker] | None = None
        self._told = self._closed = False
        self._reading = threading.Lock()
        self._read: State | None = None
        self._read_at = self._not_before = 0.0

    @property
    def exact_below(self) -> int:
        """Up to how many records of a user are searched without the index."""
        return self._settings.exact_below

    def open(self, feed: RecordFeed) -> None:
        """Follow a record; what has to be loaded is loaded by a thread.

        Raises:
            ConfigurationError: the record is in RAM, or on a server and the index has no place of its own.
        """
        make = self._in_folder(feed) if self._settings.embedded else self._on_server(feed)
        self._feed, self._made = feed, PerProcess(make)
        worker = self._made.get()
        feed.listen(self.wake)
        if self._settings.embedded and not worker.owner:
            self._tell(
                f"Another memory has the Chroma index in {feed.folder}; this one searches exactly, and takes it over "
                "when that one is closed. To share an index, run a server: chroma run --path ./chroma-server, and open "
                'each memory with vectors="http://localhost:8000".'
            )

    def _in_folder(self, feed: RecordFeed) -> Callable[[], Worker]:
        if feed.folder is None:
            feed.turn(FEEDER)  # says what is the matter with a record in RAM
            raise ConfigurationError(
                "Chroma inside this process keeps its index in the folder of the record, and a record on a server has none. "
                'Run a Chroma server and give its address, vectors="http://localhost:8000", or a client that is ready; '
                "or leave vectors= out: PostgreSQL has an index of its own."
            )
        folder = feed.folder / FOLDER
        return lambda: Worker(feed, FolderPlace(folder, feed, self._settings))

    def _on_server(self, feed: RecordFeed) -> Callable[[], Worker]:
        feed.turn(FEEDER)  # now, not in a thread, says what is the matter with a record in RAM
        return lambda: Worker(feed, ServerPlace(feed.turn(FEEDER), feed, self._settings))

    def _worker(self) -> Worker | None:
        return None if self._closed or self._made is None else self._made.get()

    def _tell(self, text: str) -> None:
        if not self._told:
            self._told = True
            warnings.warn(text, RuntimeWarning, stacklevel=6)

    def _state(self) -> State | None:
        """How far the index is, if it can be asked."""
        worker = self._worker()
        if worker is None:
            return None
        if worker.trouble is not None:
            self._tell(f"Chroma cannot be used for now, searches are exact without it: {worker.trouble}")
        if worker.owner or self._settings.embedded:
            return worker.state
        return self._of_server(worker.place)

    def _of_server(self, place: Place) -> State | None:
        """The same of a server that another process feeds."""
        with self._reading:
            moment = time.monotonic()
            if moment < self._not_before or moment - self._read_at < FRESH:
                return self._read
            try:
                self._read = place.open().state()
            except ChromaFailed as error:
                self._read, self._not_before = None, moment + RETRY
                place.abandon()
                self._tell(f"Chroma cannot be used for now, searches are exact without it: {error}")
            self._read_at = time.monotonic()
            return self._read

    def serves(self, model: str | None) -> bool:
        """Whether it holds the whole record, in vectors of this model."""
        state = self._state()
        return state is not None and state.filled is None and state.model.name == model

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> list[int] | None:
        """The docs of the nearest entries; None when Chroma cannot say."""
        worker, state = self._worker(), self._state()
        if worker is None or state is None or state.filled is not None or len(query) != state.model.dimension:
            return None
        with worker.place.using() as shelf:
            if shelf is None:
                return None
            try:
                return shelf.nearest(user, query, k)
            except ChromaFailed:
                pass
        if worker.owner:
            worker.doubt()
        else:
            with self._reading:
                self._read, self._not_before = None, time.monotonic() + RETRY
        return None

    def waiting(self, user: int) -> Sequence[int] | None:
        """Docs that changed after the last event that Chroma has taken in."""
        state = self._state()
        if state is None or self._feed is None:
            return None
        found = self._feed.waiting(user, state.mark.sequence)
        if found:
            self.wake()
        return found

    def wake(self) -> None:
        """Something was written."""
        worker = self._worker()
        if worker is not None:
            worker.wake()

    def drain(self, seconds: float | None = None) -> bool:
        """Take in everything now."""
        worker = self._worker()
        if worker is None:
            return False
        done = worker.drain(seconds)
        self._state()
        return done

    def erase(self) -> bool:
        """In our own folder by a new one, without the old; on a server by deleting."""
        worker = self._worker()
        if worker is None or self._feed is None or not worker.erase():
            return False
        return self._settings.embedded or discarded(self._feed.folder)

    def findings(self) -> Sequence[str]:
        """What differs from the record."""
        worker = self._worker()
        if worker is None:
            return ()
        worker.drain(None)
        return worker.findings()

    def close(self) -> None:
        """Let go of everything."""
        self._closed = True
        worker = None if self._made is None else self._made.take()
        if worker is not None:
            worker.close()
