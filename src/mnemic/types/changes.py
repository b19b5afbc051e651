"""Writes as data. Applying the same list twice changes nothing the second time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from mnemic.types.literals import LinkType
from mnemic.types.records import Emotion, Episode, Link, MemoryRecord, Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "AddEpisode",
    "AddMemory",
    "AddMessage",
    "Archive",
    "Change",
    "Consolidate",
    "DropLink",
    "Erase",
    "EraseUser",
    "Indexing",
    "MarkConsolidating",
    "MarkProcessed",
    "Promotion",
    "PutLink",
    "Quarantine",
    "Release",
    "Restore",
    "Revise",
    "SetEmotions",
    "Supersede",
    "Touch",
    "Undo",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexing:
    """How a record is found: terms, length in content terms, traits (bits), periods it tells of, vector if there is one."""

    terms: tuple[str, ...]
    length: int
    traits: int
    told: tuple[tuple[int, int], ...] = ()
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMessage:
    """Store one message under its id, unless that id is taken."""

    message: Message
    project: str | None
    indexing: Indexing


@dataclass(frozen=True, slots=True, kw_only=True)
class AddEpisode:
    """Store an episode, or its next version, and file its messages under it.

    Refused as a whole when one of the messages belongs to an episode that is not among ``record.source_ids``. ``refine``
    leaves it pending to be told again by the language model.
    """

    record: Episode
    indexing: Indexing
    refine: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMemory:
    """Store one memory, unless the same content is live at the same level. ``enrich`` leaves that work pending."""

    record: MemoryRecord
    indexing: Indexing
    enrich: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkProcessed:
    """Messages that are processed and belong to no episode."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """Replace a memory by its next version, if ``record.version - 1`` is still the current one.

    ``left`` leaves its enrichment pending: a part of it could not be done yet, or its words are new. Without ``weighs``
    nothing is said about its importance: it stays what it is now, because consolidation may have weighed the memory since
    it was read.
    """

    record: MemoryRecord
    indexing: Indexing
    operation: Literal["update", "enrich"] = "update"
    left: bool = False
    weighs: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersede:
    """End a memory's time: it is no longer believed from now on and was true until ``at``.

    ``by`` names the memory that takes its place and is linked to it; ``at=None`` leaves open until when it was true.
    """

    id: str
    by: str | None
    at: datetime | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutLink:
    """Link two memories of one user; the same link again takes the new strength and reason."""

    link: Link


@dataclass(frozen=True, slots=True, kw_only=True)
class DropLink:
    """Remove the links from one memory to another, of one type or of all."""

    source: str
    target: str
    type: LinkType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """Take a record out of every search; it stays reachable by id and can be restored."""

    id: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Bring an archived record back to the status it had."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Take records, and all that was made from them at any remove, out of every search until they are released."""

    ids: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Bring quarantined records back with what was made from them, unless something else in quarantine had a part in it."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A memory that becomes long-term and stands for others from then on. ``content`` replaces its text, if given."""

    id: str
    importance: float
    absorbed: tuple[str, ...] = ()
    revised: Revise | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidate:
    """The outcome of one cycle: all of it or nothing.

    Refused as a whole when one of the memories was archived, replaced or changed meanwhile. ``weighed`` is the importance of
    every seed as it was recomputed.
    """

    id: str
    promotions: tuple[Promotion, ...]
    contradictions: tuple[Link, ...]
    weighed: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkConsolidating:
    """Mark memories as being worked on, or with ``done`` as no longer."""

    ids: tuple[str, ...]
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """Take back a consolidation: who was promoted, archived and linked is as it was before."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetEmotions:
    """What messages feel like, by id."""

    emotions: Mapping[str, Emotion]


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """Count uses of records, by doc, at a moment (microseconds since 1970)."""

    uses: Mapping[int, int]
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    """Remove records for good, with every row that speaks of them.

    Refused as a whole when something was made from one of them meanwhile that is not named here.

    Attributes:
        ids: every record that goes, what was made from others of them included.
        remade: the next versions of episodes that told of them, from what is left.
        restored: memories that consolidation had reworded after them, as they were before.
    """

    ids: tuple[str, ...]
    remade: tuple[AddEpisode, ...] = ()
    restored: tuple[Revise, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseUser:
    """Remove everything of the user for good, the name included."""


Change: TypeAlias = (
    AddMessage
    | AddEpisode
    | AddMemory
    | MarkProcessed
    | Revise
    | Supersede
    | PutLink
    | DropLink
    | Archive
    | Restore
    | Consolidate
    | MarkConsolidating
    | Undo
    | Touch
    | SetEmotions
    | Quarantine
    | Release
    | Erase
    | EraseUser
)
"""A write as data. Applying the same list twice changes nothing the second time."""
