"""Changes of a record as values. Applying a list of changes is idempotent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from mnemic.types.literals import LinkType
from mnemic.types.records import Emotion, Episode, GivenContext, Link, MemoryRecord, Message, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexing:
    """Index data of a record: terms, length in content terms, traits (bits), mentioned periods, and its vector if any.

    ``passages`` are the vectors of those of a long text, shape (n, d). ``model`` is the embedder that made the vectors.
    """

    terms: tuple[str, ...]
    length: int
    traits: int
    periods: tuple[tuple[int, int], ...] = ()
    vector: NDArray[np.float32] | None = None
    passages: NDArray[np.float32] | None = None
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMessage:
    """Store one message under its id, unless that id is taken."""

    message: Message
    project: str | None
    indexing: Indexing


@dataclass(frozen=True, slots=True, kw_only=True)
class AddEpisode:
    """Store an episode or its next version, and assign its messages to it.

    Rejected as a whole if a message belongs to an episode that is not among ``record.source_ids``, or if one was forgotten
    after the event ``since``, or something that it says ended. ``refine`` adds the pending task for the language model.
    """

    record: Episode
    indexing: Indexing
    refine: bool = False
    since: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMemory:
    """Store one memory, unless the same content is live at the same level. ``enrich`` adds that pending task.

    With ``settle`` one value of its key holds at a time: the earlier ones end, or it ends where a later one begins. It also
    takes the place of the same statement without a key, or from an untrusted source.
    """

    record: MemoryRecord
    indexing: Indexing
    enrich: bool = False
    settle: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkProcessed:
    """Mark messages as processed without an episode."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """Replace a memory by its next version, if ``record.version - 1`` is still the current one.

    ``left`` leaves its enrichment pending: it is incomplete, or the text is new. ``said`` is what the messages of the
    memory say, if the new text says something else: it is stored with it, ended and linked.
    """

    record: MemoryRecord
    indexing: Indexing
    operation: Literal["update", "enrich"] = "update"
    left: bool = False
    said: AddMemory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersede:
    """Expire a memory now; it was valid until ``at``.

    ``by`` is the memory that supersedes it, and is linked to it; ``at=None`` leaves the end of its validity unknown.
    ``with_successors``: those that took its place before end too.
    """

    id: str
    by: str | None
    at: datetime | None
    reason: str = ""
    with_successors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PutLink:
    """Link two memories of one user; an existing link gets the new strength and reason."""

    link: Link


@dataclass(frozen=True, slots=True, kw_only=True)
class DropLink:
    """Remove the links from one memory to another, of one type or of all."""

    source: str
    target: str
    type: LinkType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """Remove a record from search; it stays reachable by id and can be restored.

    With ``everywhere``, recall leaves the sentences of a memory out of the messages that it was taken from as well.
    """

    id: str
    reason: str = ""
    everywhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Restore an archived record to its previous status."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Remove records and all their descendants from search until they are released."""

    ids: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Release quarantined records and their descendants, except those with another source in quarantine."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A memory that becomes long-term and absorbs others. ``revised`` is its next version, if its text changes."""

    id: str
    absorbed: tuple[str, ...] = ()
    revised: Revise | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidate:
    """The outcome of one consolidation, applied as a whole.

    Rejected if one of the memories was archived, replaced or changed in the meantime. ``judged`` are the ids of
    all seeds: those that were not promoted wait until they are used.
    """

    id: str
    promotions: tuple[Promotion, ...]
    contradictions: tuple[Link, ...]
    judged: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkConsolidating:
    """Move short-term memories to the status ``consolidating``."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """Undo a consolidation: tiers, archived members and links are restored."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetEmotions:
    """Store the emotions of messages, by id."""

    emotions: Mapping[str, Emotion]


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """Add to the access counts of records, by doc, at a time (microseconds since 1970)."""

    uses: Mapping[int, int]
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepQuestions:
    """Add questions that were asked, each once, and keep only the ``most`` last ones of the user."""

    asked: tuple[Question, ...]
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepContexts:
    """Add contexts that were given, and keep only the ``most`` last ones of the user."""

    given: tuple[GivenContext, ...]
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    """Erase records with all rows that refer to them.

    Rejected as a whole if a record was derived from them in the meantime that is not named here.

    Attributes:
        ids: all records to erase, including descendants.
        remade: next versions of their episodes, from the remaining messages.
        restored: memories that a consolidation had rewritten with their content, with the previous text.
    """

    ids: tuple[str, ...]
    remade: tuple[AddEpisode, ...] = ()
    restored: tuple[Revise, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseUser:
    """Erase a user with everything, including the name."""


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
    | KeepQuestions
    | KeepContexts
    | SetEmotions
    | Quarantine
    | Release
)
"""A change of a record. Erasure is no such change: it also deletes the history of what it erases."""
