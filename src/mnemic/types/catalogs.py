"""A user's records as a cache takes them in: by columns, because there are many."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CatalogDelta", "CatalogRows", "CatalogVectors", "Coded"]


@dataclass(frozen=True, slots=True)
class Coded:
    """A column in which few words come again and again.

    Attributes:
        words: the distinct ones.
        codes: (n,) for each row the place of its word among them.
    """

    words: Sequence[str | None]
    codes: NDArray[np.int32]

    def __iter__(self) -> Any:
        return map(self.words.__getitem__, self.codes.tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRows:
    """n records, ascending by ``doc``.

    Attributes:
        doc: (n,) numbers of the records.
        kind, status, session, project, label, speaker: words; the label is the role of a message, else the type.
        time: (n,) when it was said, in microseconds since 1970.
        moment: (n,) when it was so in the world, likewise; ``offset``: (n,) its offset from UTC in minutes.
        length: (n,) content terms. ``importance``: (n,) 0 to 1. ``traits``: (n,) bits of ``text.cues``.
        told: the periods a text speaks of, as JSON, for the docs that speak of any.
    """

    doc: NDArray[np.int64]
    kind: Coded
    status: Coded
    session: Coded
    project: Coded
    time: NDArray[np.int64]
    label: Coded
    speaker: Coded
    length: NDArray[np.float32]
    importance: NDArray[np.float32]
    traits: NDArray[np.int32]
    moment: NDArray[np.int64]
    offset: NDArray[np.int64]
    told: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.doc)


@dataclass(frozen=True, slots=True)
class CatalogVectors:
    """The vectors of n records: ``doc`` (n,), ascending, and ``values`` (n, dimension). Whoever takes them may keep them."""

    doc: NDArray[np.int64]
    values: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.doc)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogDelta:
    """What a cache of one user's records must learn to be up to date with event number ``event``.

    ``rows`` and ``vectors`` are those of new and touched docs; None where there are none. A touched doc not among the rows
    is gone. ``beliefs`` are (doc, true from, true until or None, no longer believed since or None, known since, docs it was
    made from, doc that replaced it or None, since when it is true where that was given) of memories. ``kept`` are docs
    whose text, and so terms and vector, is as it was: their vectors are left out. None kept is always right, and slower.
    """

    event: int
    rows: CatalogRows | None = None
    vectors: CatalogVectors | None = None
    beliefs: Sequence[tuple[Any, ...]] = ()
    touched: Sequence[int] = ()
    kept: Collection[int] = ()
    model: str | None = None
    dimension: int | None = None
    reembedded: bool = False
