"""What the rooms ask of an engine: a connection to run statements on, and the few things engines do differently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Connection", "Cursor", "Database", "Dialect", "Durability", "FilterDialect", "VectorDialect"]

Durability = Literal["FULL", "NORMAL"]
"""Whether a commit survives power loss, or only a killed process."""

T = TypeVar("T")


class Cursor(Protocol):
    """Rows of a statement. ``fetchone`` is None after the last."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        ...

    def fetchone(self) -> Any:
        """The next row."""
        ...

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Connection(Protocol):
    """A connection as the rooms use it. As a context manager it is one moment: all reads inside see the same record."""

    @property
    def dialect(self) -> Dialect:
        """What its engine does in a way of its own."""
        ...

    def execute(self, statements: str, bindings: Sequence[object] | None = None) -> Cursor:
        """Run a statement with bound values: ``?`` in order, or ``?1`` by number."""
        ...

    def __enter__(self) -> object: ...
    def __exit__(self, kind: object, error: object, trace: object, /) -> bool | None: ...


class VectorDialect(Protocol):
    """How an engine stores vectors, in the tables ``vectors`` and ``vectors_next``."""

    def bind(self, vector: NDArray[np.float32]) -> object:
        """A vector to bind; stored as float16: half the bytes, and no measurable loss in ranking."""
        ...

    def claimed(self, db: Connection, table: str, dimension: int) -> None:
        """From now on a table holds vectors of this dimension."""
        ...

    def start(self, db: Connection) -> None:
        """An empty place to build vectors beside the others."""
        ...

    def replace(self, db: Connection) -> None:
        """Put the vectors that were built beside the others in their place; those that are empty are left out."""
        ...


class FilterDialect(Protocol):
    """How an engine looks up tags and metadata."""

    def columns(self, row: Mapping[str, Any]) -> dict[str, object]:
        """What is written with a record besides its own columns, so that filters find it."""
        ...

    def tagged(self, user: int, table: str, tags: Sequence[str]) -> tuple[str, list[object]]:
        """A condition, with its values, on the rows of a table that have one of some tags."""
        ...

    def noted(self, user: int, table: str, key: str, value: object) -> tuple[str, list[object]]:
        """A condition on the rows of a table whose metadata has a value under a key."""
        ...

    def keyed(self, user: int, table: str, key: str) -> tuple[str, list[object]]:
        """A condition on the rows of a table whose metadata has a key."""
        ...


class Dialect(Protocol):
    """What engines do differently. Every function works inside the transaction of the connection it is given."""

    def many(self, values: Sequence[int] | Sequence[str]) -> object:
        """Values to bind where a statement says ``IN (SELECT value FROM json_each(?))``."""
        ...

    def begin(self, db: Connection, name: str) -> int:
        """The number of a user, made on first sight. Until the transaction ends nobody else writes for that user."""
        ...

    def known(self, db: Connection, name: str) -> int | None:
        """The same for a user who is there already; None, and nothing is written, where there is none."""
        ...

    def next_doc(self, db: Connection) -> int:
        """A number for a new record: never used before, and higher than all that this user has."""
        ...

    def next_docs(self, db: Connection, count: int) -> int:
        """The first of so many numbers in a row that nobody else gets."""
        ...

    def index(self, db: Connection, user: int, doc: int, terms: Sequence[str]) -> None:
        """File the terms of a record."""
        ...

    def unindex(self, db: Connection, doc: int) -> None:
        """Forget the terms of a record."""
        ...

    def postings(self, db: Connection, user: int, term: str) -> list[int]:
        """Docs of a user with a term, ascending, each as often as the term occurs in it."""
        ...

    def size(self, db: Connection) -> int:
        """Bytes of the record."""
        ...

    def damage(self, db: Connection) -> list[str]:
        """What the engine itself finds wrong."""
        ...

    def dangling(self, db: Connection) -> list[str]:
        """Rows that refer to nothing, where the engine does not make that impossible."""
        ...

    @property
    def header(self) -> tuple[str, ...]:
        """What the header of every record holds."""
        ...

    @property
    def never(self) -> dict[str, str]:
        """Statements on full text and vectors that must find nothing, by what it would mean."""
        ...

    @property
    def vectors(self) -> VectorDialect:
        """How vectors are stored."""
        ...

    @property
    def filters(self) -> FilterDialect:
        """How tags and metadata are looked up."""
        ...


class Database(Protocol):
    """Connections to one record."""

    @property
    def name(self) -> str:
        """Where it is, for people."""
        ...

    def read(self) -> AbstractContextManager[Connection]:
        """A connection for reading, used by nobody else meanwhile."""
        ...

    def write(self) -> AbstractContextManager[Connection]:
        """A transaction in which nobody else writes: everything inside is committed together, or nothing is."""
        ...

    def apply(self, work: Callable[[Connection], T]) -> T:
        """A transaction for one user, for whom ``Dialect.begin`` lets nobody else write."""
        ...

    def alone(self) -> AbstractContextManager[bool]:
        """Whether this process is the one that consolidates now; ends with the block, or with the process."""
        ...

    def close(self) -> None:
        """Close every connection; later calls raise StoreClosed. Closing twice is harmless."""
        ...
