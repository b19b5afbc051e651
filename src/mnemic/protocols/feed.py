"""What a derived index reads of the record: everything once, and from then on what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from mnemic.types import Stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Changed", "Entries", "Entry", "Mark", "Model", "RecordFeed", "Turn"]


class Mark(NamedTuple):
    """An event by its number and its moment (microseconds since 1970): how far a reader is. (0, 0) is before the first."""

    sequence: int
    at: int


class Model(NamedTuple):
    """The embedder whose vectors the record holds, and the length of a vector."""

    name: str
    dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One record as an index takes it in.

    ``tier`` is where it lives; what is archived stays in the tier it had.
    """

    doc: int
    user: int
    tier: Literal["short_term", "long_term"]
    stored: Stored
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Records as they are at one moment, and the model of their vectors.

    ``bare`` are the docs of those asked for that have no vector at present, ``gone`` those that no longer exist: erased.
    """

    model: Model | None
    entries: Sequence[Entry] = ()
    bare: Sequence[int] = ()
    gone: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The docs that some events speak of, each once, and the last of these events.

    ``anew`` where every vector of the record was made anew among them, also by a model of the same name.
    """

    until: Mark
    docs: Sequence[int] = ()
    anew: bool = False


class Turn(Protocol):
    """The right to do something that one handle does at a time; it ends with its process or its connection."""

    @property
    def held(self) -> bool:
        """Whether this handle has it."""
        ...

    def take(self) -> bool:
        """Take it if nobody has it; whether this handle has it now."""
        ...

    def release(self) -> None:
        """Let go of it, if this handle has it."""
        ...


class RecordFeed(Protocol):
    """The record as an outbox.

    Every change writes an event in its own transaction, and events are seen in the order of their numbers: a reader that
    took in everything up to a mark has missed nothing before it. Reading again what was read changes nothing.
    """

    @property
    def name(self) -> str:
        """A word that no other record has, made once."""
        ...

    @property
    def folder(self) -> Path | None:
        """Where the record is, for files that belong beside it; None in RAM and on a server."""
        ...

    def turn(self, what: str) -> Turn:
        """A right of this record by its name: one of all who open the record has it, on whatever machine."""
        ...

    def model(self) -> Model | None:
        """Whose vectors the record holds; None while it has none."""
        ...

    def last(self) -> Mark:
        """The newest event of all users."""
        ...

    def holds(self, mark: Mark) -> bool:
        """Whether this mark can be one of this record: it cannot after an older copy was put in its place."""
        ...

    def changes(self, after: int, limit: int) -> Changed:
        """What the next events (at most ``limit``) speak of."""
        ...

    def docs(self, after: int, limit: int) -> Sequence[int]:
        """The next docs that have a vector, ascending."""
        ...

    def entries(self, docs: Sequence[int]) -> Entries:
        """Those records, at one moment."""
        ...

    def gone(self, after: int) -> Sequence[int]:
        """The docs that events after a number speak of and that no longer exist: they were erased."""
        ...

    def waiting(self, user: int, after: int) -> Sequence[int]:
        """The docs of a user that events after a number speak of, those of them that have a vector."""
        ...

    def sizes(self) -> dict[int, int]:
        """How many vectors each user has."""
        ...

    def listen(self, heard: Callable[[], None]) -> None:
        """Call this after each commit of this process; it must return at once."""
        ...
