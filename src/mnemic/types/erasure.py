"""What erasing looks at, and what it says it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mnemic.types.literals import Kind
from mnemic.types.records import MemoryRecord
from mnemic.types.results import Receipt

__all__ = ["Absorption", "Erasure", "Lineage", "LineageNode", "Purge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageNode:
    """A record among those that are to be erased or were made from them. ``sources`` are the ids it was made from."""

    id: str
    kind: Kind
    live: bool
    category: str | None = None
    project: str | None = None
    session: str | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Absorption:
    """A memory that a consolidation made stand for others.

    ``edges`` are the members that it only became a child of by this. ``reworded`` says that it was given another text then;
    ``before`` is the memory with the text it had, as the version that would follow now, where nobody has changed it since.
    """

    id: str
    members: tuple[str, ...]
    edges: tuple[str, ...]
    reworded: bool = False
    before: MemoryRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Records with all that was made from them, by id, and the consolidations that any of these were part of."""

    nodes: Mapping[str, LineageNode]
    absorptions: tuple[Absorption, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """What became of the bytes of erased rows.

    ``pending`` says why some may still be on disk (empty: none is); it is tried again when the record is opened, flushed or
    closed. ``bytes_scanned`` were searched for ``needles`` texts and vectors of what went; ``found`` of them were there. Both
    are 0 where nothing was searched: in RAM there is no file, and those of a server are its own.
    """

    bytes_scanned: int = 0
    needles: int = 0
    found: int = 0
    pending: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The receipt of erasing: what is gone for good.

    Attributes:
        ids: the records that are gone: those named and all that was made from them.
        missing: ids that were named and do not exist.
        remade: episodes and summaries of sessions that were told again from what is left, and memories that got back the text
            they had before a consolidation reworded them.
        spared: what resembles a description and was kept.
        counts: how many rows went, by table.
        purge: what became of their bytes.
    """

    ids: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    remade: tuple[str, ...] = ()
    spared: tuple[Receipt, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    purge: Purge = field(default_factory=Purge)

    @property
    def clean(self) -> bool:
        """Whether nothing of it is on disk any more: no work is pending, and nothing that was searched for was found."""
        return not self.purge.pending and not self.purge.found
