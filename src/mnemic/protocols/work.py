"""The sides of a record that single flows work on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mnemic.types import (
    Candidates,
    Emotion,
    Episode,
    Erase,
    EraseUser,
    Event,
    Family,
    Filters,
    Graph,
    Kind,
    LinkType,
    MemoryRecord,
    Message,
    Purge,
    Waiting,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]

__all__ = ["ErasureWork", "KnowledgeWork", "LifecycleWork", "RelationWork", "VectorWork"]


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

    def model(self) -> str | None:
        """Whose vectors the record holds; None while it has none."""
        ...

    def size(self, user: int) -> int:
        """About how many records a user has."""
        ...

    def held(self, user: int, docs: Sequence[int]) -> Sequence[tuple[int, bytes]]:
        """Stored vectors as (doc, float16 bytes); records without one are missing."""
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


class KnowledgeWork(Protocol):
    """What processing and the graph ask of a record; a level is (project, session)."""

    def conversations(self, user: str) -> list[tuple[str | None, str | None, int]]:
        """Project, session and number of the messages that wait to be processed, longest waiting first."""
        ...

    def waiting(self, user: str, level: tuple[str | None, str | None], limit: int) -> list[Waiting]:
        """The first messages of a conversation that wait, in the order they were said."""
        ...

    def vectors(self, user: str, ids: Sequence[str]) -> dict[str, Vectors]:
        """Vectors by id; records without one are missing."""
        ...

    def left(self, user: str, task: str) -> list[str]:
        """Ids of the memories with work of a kind left to do, oldest first."""
        ...

    def unrefined(self, user: str, limit: int) -> list[Episode]:
        """Episodes that the language model has still to tell, oldest first."""
        ...

    def in_slots(self, user: str, slots: Iterable[str]) -> list[str]:
        """Ids of the memories that state something of these slots: until slots are gone."""
        ...

    def with_key(self, user: str, key: str) -> list[str]:
        """Ids of the memories with an exact key that are believed, in the order they were made."""
        ...

    def episodes(self, user: str, filters: Filters, *, limit: int | None, newest: bool) -> list[Episode]:
        """Episodes in the order they began; with ``newest`` the limit keeps the last ones."""
        ...

    def latest(self, user: str, level: tuple[str | None, str | None], limit: int) -> list[Episode]:
        """The last episodes of one conversation that are not archived, the latest first."""
        ...

    def recent(self, user: str, project: str | None, limit: int) -> list[Episode]:
        """The last episodes of a project (None: of no project) in any conversation, the latest first."""
        ...

    def twins(
        self, user: str, project: str | None, spoken: Sequence[str], *, session: str | None = None
    ) -> dict[str, str]:
        """Those of some statements, each with its speaker's name, that are believed at a level, with the id of each."""
        ...

    def messages_of(self, user: str, episode: Episode) -> list[Message]:
        """The messages an episode tells of."""
        ...

    def records(self, user: str, ids: Sequence[str]) -> dict[str, Message | Episode | MemoryRecord]:
        """Records by id, in the order of the ids; those that are missing are left out."""
        ...

    def wording(self, after: int, limit: int) -> list[tuple[int, str, list[Any]]]:
        """The next records of all users as (number, id, what they say), by number.

        Texts and JSON values: those of the record, of its earlier versions, and the reasons of its links and events.
        """
        ...


class RelationWork(Protocol):
    """How records of a user stand to each other."""

    def stories(self, user: str, docs: Sequence[int]) -> dict[int, Episode]:
        """Episodes by doc."""
        ...

    def replaced_by(self, user: str, ids: Sequence[str]) -> dict[str, list[MemoryRecord]]:
        """What memories took the place of, by their id."""
        ...

    def emotions(self, user: int, docs: Sequence[int]) -> dict[int, Emotion]:
        """What messages and memories feel like, by doc; those nobody has judged yet are missing."""
        ...

    def with_key(self, user: str, key: str, filters: Filters) -> list[MemoryRecord]:
        """The memories whose metadata has a key."""
        ...

    def made_of(self, user: str, ids: Sequence[str]) -> dict[str, list[str]]:
        """The lasting live memories made of messages, by the id of the message."""
        ...

    def told_by(self, user: str, ids: Sequence[str]) -> list[int]:
        """Docs of the episodes that tell of messages, archived ones too, ascending."""
        ...

    def stored_after(self, user: int, moment: int) -> list[int]:
        """Docs of the messages that were stored after a moment."""
        ...

    def ids(self, user: int, docs: Sequence[int]) -> dict[int, str]:
        """The ids of memories and episodes, by doc."""
        ...

    def links(self, user: int, docs: Sequence[int]) -> list[tuple[int, int, float]]:
        """The links that begin or end at memories, as (source doc, target doc, strength)."""
        ...

    def edges(self, user: int, docs: Sequence[int]) -> list[tuple[int, int, str, float, int]]:
        """The same as (source doc, target doc, type, strength, last use of either end or the making of the link)."""
        ...

    def graph(self, user: str, id: str, *, depth: int, types: Sequence[LinkType], most: int) -> Graph:
        """The memories within so many links of one, and the links among them."""
        ...


class LifecycleWork(Protocol):
    """What consolidation asks of a record."""

    def candidates(self, user: str, before: int) -> Candidates:
        """The live memories made until a moment (microseconds since 1970), ascending by doc."""
        ...

    def reworded(self, user: str, consolidation: str) -> list[MemoryRecord]:
        """Memories that a consolidation gave another text, as they were, as the versions that would follow now."""
        ...

    def quarantined(self, user: str) -> list[str]:
        """Ids of the records in quarantine, in the order they were stored."""
        ...

    def tiers(self, user: str) -> dict[str, int]:
        """How many memories that are believed are in each tier."""
        ...

    def last_consolidation(self, user: str) -> str | None:
        """The id of the newest consolidation that was not taken back."""
        ...

    def log(self, user: str, *, kinds: Sequence[Kind], limit: int | None) -> tuple[Event, ...]:
        """The audit trail of all records of some kinds, the newest first."""
        ...

    def overdue(self, user: str, now: int) -> list[str]:
        """Ids of the memories whose lifetime is over."""
        ...

    def uncited(self, user: str, before: int) -> list[str]:
        """Ids of the messages said before a moment that no live memory was made from, oldest first."""
        ...

    def beyond(self, user: str, limit: int, now: int) -> list[str]:
        """Ids of the short-term memories that are too many, least important first; what others cite stays.

        Only what holds now counts and goes.
        """
        ...

    def recover(self) -> None:
        """Put back what an interrupted consolidation left on the workbench, unless one is at it right now."""
        ...

    def release(self) -> None:
        """Put back what an interrupted consolidation left on the workbench."""
        ...

    def alone(self) -> AbstractContextManager[bool]:
        """Whether this process is the one that consolidates now, for as long as the block lasts."""
        ...


class ErasureWork(Protocol):
    """What erasing asks of a record: the rows go in one transaction, their bytes in a second step that can be repeated."""

    def family(self, user: str, ids: Sequence[str]) -> Family:
        """Records of a user with all that was made from them, at any remove; ids that do not exist are left out."""
        ...

    def erase(self, user: str, change: Erase | EraseUser, *, model: str = "") -> dict[str, int]:
        """Apply the change in one transaction that also notes that the bytes have to follow; rows removed, by table."""
        ...

    def unfinished(self) -> bool:
        """Whether bytes of erased rows may still be on disk."""
        ...

    def purge(self, needles: Sequence[bytes] = (), *, patience: float = 3.0) -> Purge:
        """Remove the bytes of erased rows, and search for some of them; does not raise where it has to wait.

        Args:
            needles: texts and vectors that must be found nowhere.
            patience: seconds to wait for readers that still see the state before.
        """
        ...
