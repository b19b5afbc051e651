"""Lineage for erasure, and its receipts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mnemic.types.literals import Kind
from mnemic.types.records import MemoryRecord
from mnemic.types.results import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageNode:
    """A record in a lineage; ``sources`` are the ids it was derived from."""

    id: str
    kind: Kind
    live: bool
    category: str | None = None
    project: str | None = None
    session: str | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Absorption:
    """A memory that absorbed others in a consolidation.

    ``edges`` are the members whose lineage edge was added by it. ``reworded``: the memory got a new text. ``before`` is the
    memory with its previous text, as the next version, unless it was changed by other means since.
    """

    id: str
    members: tuple[str, ...]
    edges: tuple[str, ...]
    reworded: bool = False
    before: MemoryRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Records with all their descendants, by id, and the consolidations that any of them was part of."""

    nodes: Mapping[str, LineageNode]
    absorptions: tuple[Absorption, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """The purge of the bytes of erased rows.

    ``pending`` says why some may still be on disk (empty: none are); the purge is retried when the record is opened, flushed
    or closed. ``bytes_scanned`` bytes were searched for ``needles`` erased texts and vectors, of which ``found`` were there.
    All are 0 if nothing was searched: a record in RAM has no files, and those of a server are not accessible.
    """

    bytes_scanned: int = 0
    needles: int = 0
    found: int = 0
    pending: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The receipt of an erasure.

    Attributes:
        ids: the erased records: the requested ones and all their descendants.
        missing: requested ids that do not exist.
        remade: episodes and session summaries rewritten from the remaining records, and memories restored to their text
            before a consolidation.
        spared: records that resemble a description and were kept.
        counts: erased rows by table.
        purge: the purge of their bytes.
    """

    ids: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    remade: tuple[str, ...] = ()
    spared: tuple[Receipt, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    purge: Purge = field(default_factory=Purge)

    @property
    def clean(self) -> bool:
        """Whether no bytes are left on disk: the purge is not pending, and its search found nothing."""
        return not self.purge.pending and not self.purge.found
