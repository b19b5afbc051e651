"""The interface between the SQL code and an engine: connections, and a dialect for the differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Durability = Literal["FULL", "NORMAL"]
"""``FULL``: a commit survives power loss; ``NORMAL``: only a killed process."""

CLOSED = "This memory was closed. Open it again: Memory(...)."
CLOSED_DURING = "This memory was closed by another thread during the call. Open it again: Memory(...)."

T = TypeVar("T")


class Cursor(Protocol):
    """The result rows of a statement. ``fetchone`` returns None after the last row."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All remaining rows."""
        ...

    def fetchone(self) -> Any:
        """The next row."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Connection(Protocol):
    """A database connection. As a context manager it is one snapshot: all reads inside see the same state."""

    @property
    def dialect(self) -> Dialect:
        """The dialect of its engine."""
        ...

    def execute(self, statements: str, bindings: Sequence[object] | None = None) -> Cursor:
        """Run a statement with bound values: ``?`` in order, or ``?1`` by number.

        A list is bound as one value to ``IN (SELECT value FROM json_each(?))``.
        """
        ...

    def __enter__(self) -> object: ...
    def __exit__(self, kind: object, error: object, trace: object, /) -> bool | None: ...


class Dialect(Protocol):
    """Differences between engines. Every method runs inside the transaction of the given connection.

    Attributes:
        user_lock: the clause of SELECT that blocks other writers of a user until the transaction ends.
        size: the query for the size of the record in bytes.
    """

    user_lock: str
    size: str

    def next_docs(self, db: Connection, count: int = 1) -> int:
        """Reserve consecutive docs, never used before and higher than all docs of this user; returns the first."""
        ...

    # Full text

    def index(self, db: Connection, user_id: int, doc: int, terms: Sequence[str]) -> None:
        """Add the terms of a record."""

    def unindex(self, db: Connection, doc: int) -> None:
        """Remove a record."""

    def postings(self, db: Connection, user_id: int, term: str) -> list[int]:
        """Docs of a user that contain a term, ascending, each repeated by its term frequency."""
        ...

    # Vectors, in the tables ``vectors`` and ``vectors_next``

    def bind_vector(self, vector: NDArray[np.float32]) -> object:
        """A vector as a bound value, stored as float16: half the bytes, no measurable loss in ranking."""
        ...

    def set_dimension(self, db: Connection, table: str, dimension: int) -> None:
        """Prepare a table for vectors of this dimension."""

    def create_next(self, db: Connection) -> None:
        """Create an empty ``vectors_next`` table for a rebuild."""

    def swap(self, db: Connection) -> None:
        """Replace ``vectors`` by ``vectors_next``, without its empty rows."""

    # Filters on tags and metadata; conditions come with their values

    def filter_columns(self, row: Mapping[str, Any]) -> dict[str, object]:
        """Additional columns of a record that filters use."""
        ...

    def has_tags(self, user_id: int, table: str, tags: Sequence[str]) -> tuple[str, list[object]]:
        """A condition on rows of a table that have at least one of the tags."""
        ...

    def each_tag(self, selected: str) -> str:
        """The rows of a SELECT of ``tags`` as a FROM clause: a row for each tag, with the column ``value``."""
        ...

    def has_metadata(self, user_id: int, table: str, key: str, value: object) -> tuple[str, list[object]]:
        """A condition on rows whose metadata has this value under a key."""
        ...

    def has_key(self, user_id: int, table: str, key: str) -> tuple[str, list[object]]:
        """A condition on rows whose metadata has a key."""
        ...


class Database(Protocol):
    """Connections to one record. ``committed`` is called after every commit of this process."""

    committed: Callable[[], None] | None

    @property
    def name(self) -> str:
        """Its location, for messages."""
        ...

    def read(self) -> AbstractContextManager[Connection]:
        """A connection for reading, used by one thread at a time."""
        ...

    def write(self) -> AbstractContextManager[Connection]:
        """A transaction that excludes all other writers."""
        ...

    def apply(self, work: Callable[[Connection], T]) -> T:
        """Run work in a transaction for one user; ``Dialect.user_lock`` excludes other writers of that user."""
        ...

    def consolidation_lock(self) -> AbstractContextManager[bool]:
        """Try to take the consolidation lock; yields whether it was free. It ends with the block or the process."""
        ...

    def close(self) -> None:
        """Close every connection; later calls raise StoreClosed. Closing twice is harmless."""
