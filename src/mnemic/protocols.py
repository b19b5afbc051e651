"""What the parts ask of each other, on one page. Anything with these methods fits; nothing need be inherited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from mnemic.types import (
    CatalogDelta,
    Change,
    Event,
    Filters,
    Kind,
    MemoryRecord,
    Message,
    Receipt,
    Stats,
    Stored,
    VerifyReport,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
    Floats: TypeAlias = NDArray[np.float32]

__all__ = ["Embedder", "KeywordIndex", "Reranker", "Store", "TokenCounter", "VectorWork"]

TokenCounter: TypeAlias = Callable[[str], int]
"""Text in, number of tokens out."""

InputKind = Literal["query", "document"]


@runtime_checkable
class Embedder(Protocol):
    """Texts in, unit vectors out."""

    @property
    def id(self) -> str:
        """Names model and variant; stored in the record's header, so it must not change for the same vectors."""
        ...

    @property
    def dimension(self) -> int | None:
        """Length of a vector, or None while the model has not been loaded."""
        ...

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts.

        Args:
            texts: any number of strings, none included.
            kind: whether they are stored (``document``) or asked (``query``); models with prefixes care.

        Returns:
            float32 array of shape (len(texts), dimension) with unit rows.

        Raises:
            EmbedderUnavailable: the model cannot be had; the caller may store the text and embed later.
            EmbedderError: this input cannot be embedded.
        """
        ...


@runtime_checkable
class Reranker(Protocol):
    """A second opinion on the first hits."""

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """How well each text answers the query: float32 of shape (len(texts),), higher is better."""
        ...


class Store(Protocol):
    """The record: every write is a list of changes in one transaction, every question names its user.

    Users are named on the way in and numbered inside; the number comes from ``user``. Records carry a number of their
    own, the *doc*, that grows with time over all kinds and is never used twice. ``mnemic.testing.StoreSuite`` is the full
    statement of what is promised.
    """

    @property
    def location(self) -> str:
        """Where the record is, for people."""
        ...

    def apply(self, user: str, changes: Sequence[Change], *, model: str = "") -> tuple[Receipt, ...]:
        """Apply changes in order, all or nothing; ``model`` names the embedder of the vectors they carry."""
        ...

    @property
    def fence(self) -> str:
        """The word that fences recalled text in prompts, made with the record."""
        ...

    def user(self, name: str) -> int | None:
        """The number of a user, or None when nothing is stored for it."""
        ...

    def last_event(self, user: int) -> int:
        """The newest event that concerns a user."""
        ...

    def catalog(self, user: int, *, after: int, event: int) -> CatalogDelta:
        """What a cache must learn that knows docs up to ``after`` and events up to ``event`` (-1: nothing)."""
        ...

    def postings(self, user: int, term: str) -> list[int]:
        """Docs with a term, ascending, each as often as the term occurs in it."""
        ...

    def matching(self, user: int, filters: Filters) -> list[int]:
        """Docs whose tags and metadata match."""
        ...

    def fetch(self, user: int, docs: Sequence[int]) -> dict[int, Stored]:
        """Records by doc; those that are gone are missing."""
        ...

    def docs_of(self, user: str, ids: Sequence[str], *, kind: Kind | None = None) -> dict[str, int]:
        """The docs of those ids that this user has, of one kind or of any."""
        ...

    def get(self, user: str, id: str) -> Stored:
        """One record by id; raises NotFound."""
        ...

    def list_memories(
        self, user: str, filters: Filters, *, order: str, limit: int | None, offset: int
    ) -> tuple[MemoryRecord, ...]:
        """Memories, ``newest``, ``oldest`` or by ``importance`` first."""
        ...

    def list_messages(self, user: str, filters: Filters, *, limit: int | None, newest: bool) -> tuple[Message, ...]:
        """Messages in the order they were said; with ``newest`` the limit keeps the last ones."""
        ...

    def history(self, user: str, id: str) -> tuple[Event, ...]:
        """The audit trail of one record, oldest first; raises NotFound."""
        ...

    def stats(self, user: str) -> Stats:
        """Counts."""
        ...

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Check every invariant."""
        ...

    @property
    def embedding(self) -> VectorWork:
        """The work on vectors."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class VectorWork(Protocol):
    """Texts that wait for a vector, and the change to another model; rows are (user, doc, text)."""

    def pending(self, limit: int) -> list[tuple[int, int, str]]:
        """Records without a vector, those tried least often first."""
        ...

    def fill(self, rows: Sequence[tuple[int, int, str]], vectors: Vectors, model: str) -> None:
        """Store the vectors of pending records whose text is still the same."""
        ...

    def failed(self, docs: Sequence[int], reason: str) -> None:
        """Note a failed attempt."""
        ...

    def begin(self, model: str) -> int:
        """Start or resume a rebuild; returns how many records still need a vector."""
        ...

    def missing(self, limit: int) -> list[tuple[int, int, str]]:
        """Records that the rebuild has not reached."""
        ...

    def build(self, rows: Sequence[tuple[int, int, str]], vectors: Vectors, model: str) -> None:
        """Store new vectors beside the old ones, of texts that are still the same."""
        ...

    def skip(self, row: tuple[int, int, str], model: str) -> None:
        """A text the new model refuses: it will be pending after the swap."""
        ...

    def swap(self, model: str, dimension: int) -> bool:
        """Put the new in the place of the old; False when records came in meanwhile."""
        ...


class KeywordIndex(Protocol):
    """The words of one user's records; ``columns`` is the catalog's snapshot, rows are its positions."""

    def apply(self, delta: CatalogDelta, columns: Any) -> None:
        """Learn of new and changed records."""
        ...

    def postings(self, columns: Any, term: str) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The rows that contain a term, ascending, and how often each does."""
        ...

    def scores(self, columns: Any, terms: Sequence[str], corpus: NDArray[np.bool_]) -> NDArray[np.float32]:
        """BM25 of every row for the terms, with the statistics of the ``corpus`` rows alone; zero outside them."""
        ...
