"""A user's records as columns, for caches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Coded:
    """A dictionary-encoded column.

    Attributes:
        words: the distinct values.
        codes: (n,) the index of the value of each row.
    """

    words: Sequence[str | None]
    codes: NDArray[np.int32]

    def __iter__(self) -> Any:
        return map(self.words.__getitem__, self.codes.tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRows:
    """n records, ascending by ``doc``.

    Attributes:
        doc: (n,) docs.
        kind, status, session, project, label, speaker: encoded columns; the label is the role of a message, else the type.
        time: (n,) when it was said, in microseconds since 1970.
        moment: (n,) start of validity, likewise; ``offset``: (n,) its offset from UTC in minutes.
        length: (n,) content terms. ``traits``: (n,) bits of ``text.cues``.
        salience, boost, last_use: (n,) the parts of the importance; .5, 0 and for ever of what is no memory.
        stored_periods: the periods that a text mentions, as JSON, by doc.
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
    traits: NDArray[np.int32]
    salience: NDArray[np.float32]
    boost: NDArray[np.float32]
    last_use: NDArray[np.int64]
    moment: NDArray[np.int64]
    offset: NDArray[np.int64]
    stored_periods: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.doc)


@dataclass(frozen=True, slots=True)
class CatalogVectors:
    """The vectors of n records: ``doc`` (n,), ascending, and ``values`` (n, dimension); owned by the receiver."""

    doc: NDArray[np.int64]
    values: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.doc)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogDelta:
    """The changes that bring a cache of one user's records to event number ``event``, and to the
    uses recorded until ``moment`` (microseconds since 1970).

    ``rows`` and ``vectors`` are those of new and touched docs; None if there are none. A touched doc without a row was erased.
    ``validity`` are (doc, valid from, valid until or None, expired at or None, created at, JSON list of source docs, successor
    doc or None, given ``valid_at`` or None) of memories. ``kept`` are docs with an unchanged text, and so unchanged terms and
    vector: their vectors are left out. An empty ``kept`` is always correct, but slower.
    """

    event: int
    moment: int = 0
    rows: CatalogRows | None = None
    vectors: CatalogVectors | None = None
    validity: Sequence[tuple[Any, ...]] = ()
    touched: Sequence[int] = ()
    kept: Collection[int] = ()
    model: str | None = None
    dimension: int | None = None
    reembedded: bool = False
