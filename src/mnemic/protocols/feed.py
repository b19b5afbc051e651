"""The feed of a record for a derived index: an initial full read, then changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from mnemic.types import Stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Mark(NamedTuple):
    """The position of a reader: number and time (microseconds since 1970) of an event. (0, 0) is before the first."""

    sequence: int
    at: int


class Model(NamedTuple):
    """The embedder of the stored vectors, and their dimension."""

    name: str
    dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One record for an index.

    ``tier`` is its tier; an archived record keeps the tier it had.
    """

    doc: int
    user: int
    tier: Literal["short_term", "long_term"]
    stored: Stored
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Records in one snapshot, and the model of their vectors.

    ``without_vector`` are the requested docs that have no vector yet, ``gone`` those that were erased.
    """

    model: Model | None
    entries: Sequence[Entry] = ()
    without_vector: Sequence[int] = ()
    gone: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The distinct docs of some events, and the last of these events.

    ``reembedded``: one of the events is a reembed of the whole record, possibly by a model of the same name.
    """

    until: Mark
    docs: Sequence[int] = ()
    reembedded: bool = False


class Lock(Protocol):
    """A lock held by one handle at a time; it ends with its process or its connection."""

    @property
    def held(self) -> bool:
        """Whether this handle holds the lock."""
        ...

    def acquire(self) -> bool:
        """Acquire the lock if it is free; returns whether this handle holds it."""
        ...

    def release(self) -> None:
        """Release the lock, if this handle holds it."""
        ...


class RecordFeed(Protocol):
    """The record as an outbox.

    Every change writes an event in its transaction, and events become visible in the order of their numbers: a reader at a
    mark has missed nothing before it. Reading an event twice is harmless.
    """

    @property
    def name(self) -> str:
        """The unique, constant name of the record."""
        ...

    @property
    def folder(self) -> Path | None:
        """The folder of the record, for files of the index; None in RAM and on a server."""
        ...

    def lock(self, what: str) -> Lock:
        """A named lock on this record, exclusive among all handles on all machines."""
        ...

    def model(self) -> Model | None:
        """The embedder of the stored vectors; None without vectors."""
        ...

    def last(self) -> Mark:
        """The newest event of all users."""
        ...

    def holds(self, mark: Mark) -> bool:
        """Whether this mark belongs to this record: it does not after an older copy was restored."""
        ...

    def changes(self, after: int, limit: int) -> Changed:
        """The docs of the next events, at most ``limit``."""
        ...

    def docs(self, after: int, limit: int) -> Sequence[int]:
        """The next docs with a vector, ascending."""
        ...

    def entries(self, docs: Sequence[int]) -> Entries:
        """These records, in one snapshot."""
        ...

    def gone(self, after: int) -> Sequence[int]:
        """The docs of events after a number that no longer exist: they were erased."""
        ...

    def waiting(self, user: int, after: int) -> Sequence[int]:
        """The docs of a user's events after a number that have a vector."""
        ...

    def sizes(self) -> dict[int, int]:
        """The number of vectors by user."""
        ...

    def listen(self, heard: Callable[[], None]) -> None:
        """Call a function after each commit of this process; it must return at once."""
        ...
