"""The record in one SQLite file: rows, full text and vectors, written in one transaction."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from mnemic import errors
from mnemic.stores.sqlite import applying, checking, reading, reporting
from mnemic.stores.sqlite.connection import Connection
from mnemic.stores.sqlite.database import Database, Durability
from mnemic.stores.sqlite.embedding import Embedding
from mnemic.stores.sqlite.knowledge import Knowledge
from mnemic.stores.sqlite.lifecycle import Lifecycle
from mnemic.stores.sqlite.migrations import MIGRATIONS
from mnemic.stores.sqlite.relations import Relations
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

__all__ = ["SqliteStore"]

FILE_NAME = "mnemic.db"


def _readable(folder: str | Path) -> Path:
    """The path as this system can read it."""
    path = Path(folder)
    try:
        path = path.expanduser()
        os.fsencode(path)
        path.stat()
    except OSError:  # not there yet, or not ours: told when it is opened
        return path
    except (ValueError, RuntimeError, UnicodeEncodeError) as error:
        raise errors.ConfigurationError(f"{str(folder)!r:.80} cannot be a folder here: {error}.") from error
    return path


def _prepare(folder: Path) -> Path:
    """Make the folder private and invisible to git, and say where the file is."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists() and not (folder / FILE_NAME).exists():
            ignore.write_text("*\n")
    except FileExistsError as error:
        raise errors.StoreUnavailable(
            f"{folder} is a file; the memory needs a folder of its own. Give another path."
        ) from error
    except (PermissionError, OSError) as error:
        if not os.path.isfile(folder / FILE_NAME):  # noqa: PTH113 - Path.is_file raises for names that are too long
            raise errors.StoreUnavailable(f"The folder {folder} cannot be made or written: {error}.") from error
    return folder / FILE_NAME


def _located(db: Connection, user: str, id: str) -> tuple[int, int]:
    """The number of a user and the doc of one of its ids."""
    number = reading.user_number(db, user)
    doc = None if number is None else reading.find(db, number, id)
    if number is None or doc is None:
        raise errors.NotFound(f"This user has no record with the id {id!r}.")
    return number, doc


class SqliteStore:
    """A record in a folder. Safe for several threads and several processes at once.

    Args:
        folder: where the file lives; made when missing, readable by its owner alone. ``None`` keeps everything in RAM.
        durability: ``FULL`` survives power loss; ``NORMAL`` survives a killed process only, several times faster.
    """

    def __init__(self, folder: str | Path | None, *, durability: Durability = "FULL") -> None:
        path = None if folder is None else _prepare(_readable(folder))
        self._db = Database(path, durability=durability)
        self.location = self._db.name
        self._folder = None if path is None else path.parent

    def apply(self, user: str, changes: Sequence[Change], *, model: str = "") -> tuple[Receipt, ...]:
        """Apply changes in one transaction; ``model`` names the embedder of the vectors they carry.

        Raises:
            NotFound: a change names a record this user does not have.
            EmbeddingMismatch: the record holds vectors of another model.
            StoreError: the disk or the file refuses. In every case nothing was written.
        """
        with self._db.write() as db:
            return applying.apply(db, user, changes, model)

    @property
    def fence(self) -> str:
        """The word that fences recalled text in prompts: random, made with the record, the same ever after."""
        with self._db.read() as db:
            return str(reading.header(db)["fence"])

    def user(self, name: str) -> int | None:
        """The number of a user, or None when nothing is stored for it."""
        with self._db.read() as db:
            return reading.user_number(db, name)

    def last_event(self, user: int) -> int:
        """The newest event that concerns a user: a cache with this number is up to date."""
        with self._db.read() as db:
            return reading.last_event(db, user)

    def catalog(self, user: int, *, after: int, event: int) -> CatalogDelta:
        """What a cache must learn that knows docs up to ``after`` and events up to ``event`` (-1: nothing at all)."""
        with self._db.read() as db, db:  # one snapshot for all of it
            last, touched, reembedded = reading.last_event(db, user), [], False
            if event >= 0:
                last, docs, reembedded = reading.changed(db, user, event)
                touched = [doc for doc in docs if doc <= after]
            header = reading.header(db)
            return CatalogDelta(
                event=last,
                rows=reading.catalog(db, user, after=after, docs=touched),
                beliefs=reading.beliefs(db, user, after=after, docs=touched),
                vectors=reading.vectors(db, user, after=-1 if reembedded else after, docs=touched),
                touched=touched,
                model=header.get("model"),
                dimension=header.get("dimension"),
                reembedded=reembedded,
            )

    def postings(self, user: int, term: str) -> list[int]:
        """Docs of a user with a term, ascending, each as often as the term occurs in it."""
        with self._db.read() as db:
            return reading.postings(db, user, term)

    def matching(self, user: int, filters: Filters) -> list[int]:
        """Docs whose tags and metadata match the filters."""
        with self._db.read() as db:
            return reading.matching(db, user, filters)

    def fetch(self, user: int, docs: Sequence[int]) -> dict[int, Stored]:
        """The records behind docs, by doc; docs that are gone are missing."""
        with self._db.read() as db:
            return reading.fetch(db, user, docs)

    def docs_of(self, user: str, ids: Sequence[str], *, kind: Kind | None = None) -> dict[str, int]:
        """The docs of those ids that this user has, of one kind or of any."""
        with self._db.read() as db:
            number = reading.user_number(db, user)
            return {} if number is None else reading.docs_of(db, number, ids, kind)

    def get(self, user: str, id: str) -> Stored:
        """One record by id, archived or not.

        Raises:
            NotFound: this user has no such record.
        """
        with self._db.read() as db, db:
            number, doc = _located(db, user, id)
            return reading.fetch(db, number, [doc])[doc]

    def list_memories(
        self, user: str, filters: Filters, *, order: str, limit: int | None, offset: int
    ) -> tuple[MemoryRecord, ...]:
        """Memories of a user in order."""
        with self._db.read() as db, db:
            number = reading.user_number(db, user)
            found = (
                []
                if number is None
                else reading.list_memories(db, number, filters, order=order, limit=limit, offset=offset)
            )
            return tuple(found)

    def list_messages(self, user: str, filters: Filters, *, limit: int | None, newest: bool) -> tuple[Message, ...]:
        """Messages of a user in the order they were said."""
        with self._db.read() as db:
            number = reading.user_number(db, user)
            found = [] if number is None else reading.list_messages(db, number, filters, limit=limit, newest=newest)
            return tuple(found)

    def history(self, user: str, id: str) -> tuple[Event, ...]:
        """The audit trail of one record.

        Raises:
            NotFound: this user has no such record.
        """
        with self._db.read() as db, db:
            number, doc = _located(db, user, id)
            return tuple(reading.events(db, number, doc))

    def stats(self, user: str) -> Stats:
        """Counts of a user's records and of the work still pending."""
        with self._db.read() as db, db:
            return reporting.stats(db, user, self.location, len(MIGRATIONS))

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Check every invariant of the record."""
        with self._db.read() as db, db:
            return checking.verify(db, deep=deep)

    @property
    def embedding(self) -> Embedding:
        """The side of the record that holds vectors: what is missing, what is being rebuilt."""
        return Embedding(self._db)

    @property
    def knowledge(self) -> Knowledge:
        """The side of the record that holds what was made of the messages, and which of them wait."""
        return Knowledge(self._db)

    @property
    def relations(self) -> Relations:
        """The side of the record that holds links, lineage, and what replaced what."""
        return Relations(self._db)

    @property
    def lifecycle(self) -> Lifecycle:
        """The side of the record that consolidation works on."""
        return Lifecycle(self._db, self._folder)

    def close(self) -> None:
        """Close every connection."""
        self._db.close()
