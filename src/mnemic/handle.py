"""What a handle is, whatever it is used for: a place on a runtime, with a session, preferences, and work that keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Never, Self

from mnemic.errors import ConfigurationError
from mnemic.lifecycle import maintenance
from mnemic.protocols import Embedder
from mnemic.recall import validation
from mnemic.runtime import factory
from mnemic.runtime.redaction import discreet
from mnemic.safety.fences import without_recalled
from mnemic.services.call_hints import method_hint
from mnemic.types import ProcessReport, Receipt, Scope, SessionView, Stats, VerifyReport

if TYPE_CHECKING:
    from mnemic.lifecycle.idle import IdleTrigger
    from mnemic.lifecycle.preferences import Preferences
    from mnemic.runtime.runtime import Runtime

__all__ = ["Handle"]


@discreet
class Handle:
    """A user, project and session on a runtime; ``Memory`` is one."""

    _runtime: Runtime
    _scope: Scope
    _zone: tzinfo

    if not TYPE_CHECKING:  # a type checker is to find a wrong name by itself

        def __getattr__(self, name: str) -> Never:
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}.{method_hint(type(self), name)}", name=name, obj=self
            )

    @property
    def scope(self) -> Scope:
        """The user, project and session this handle is bound to."""
        return self._scope

    @property
    def location(self) -> str:
        """What opens the same record again, as the first argument of the constructor.

        The absolute path of its folder; ``":memory:"``, which opens an empty one; or the address of its database with the
        schema, without a password: that comes from PGPASSWORD, ``~/.pgpass`` or whoever opens it.
        """
        place = self._runtime.store.location
        return place if place == factory.IN_MEMORY or factory.is_address(place) else str(Path(place).parent)

    @property
    def idle(self) -> IdleTrigger:
        """What does ``process`` and ``consolidate`` for this user in quiet moments, once it is armed."""
        from mnemic.lifecycle.idle import IdleTrigger

        runtime, zone = self._runtime, self._zone
        owner = Scope(user=self._scope.user)
        return runtime.triggers.of(owner.user, lambda: IdleTrigger(runtime, owner, zone, runtime.settings.idle))

    @property
    def preferences(self) -> Preferences:
        """Exact keys and values: ``memory.preferences["theme"] = "dark"``; earlier values stay in the record."""
        from mnemic.lifecycle.preferences import Preferences

        return Preferences(self._runtime, self._scope, self._zone)

    def retire(self) -> int:
        """Archive what has had its time by ``retention`` and ``delete_after``; returns how many records.

        Idle work does this too. Nothing goes that a live memory was made from.
        """
        from mnemic.lifecycle import retention

        return retention.retire(self._runtime, self._scope, self._runtime.settings.retention)

    @property
    def session(self) -> SessionView:
        """The conversation of this handle as it stands: messages, tools, preferences, and what contexts gave in it."""
        from mnemic.lifecycle import sessions

        return sessions.look(self._runtime, self._scope, self._zone)

    def process(self, *, limit: int | None = None, progress: Callable[[int, int], None] | None = None) -> ProcessReport:
        """Make knowledge of the messages that wait: episodes, and memories of what was not known before.

        Safe to interrupt and to call again: each conversation is taken in steps, and a step is stored whole or not at all.
        What an interrupted call had not reached waits for the next.

        Args:
            limit: at most about how many messages, whole episodes at a time, and how many remembered statements to
                enrich; ``None`` for all that wait when the call begins.
            progress: called with (messages done, messages in all).

        Raises:
            StoreError: the disk or the file refuses; what was done before is stored.
        """
        from mnemic.knowledge import pipeline

        most = None if limit is None else validation.whole("limit", limit, 1, 2**53)
        return pipeline.process(self._runtime, self._scope, self._zone, limit=most, progress=progress)

    def end_session(self) -> Receipt | None:
        """Process the handle's conversation and keep a summary of it for a week; None when nothing was said in it.

        The summary is offered when a new session starts: ``get_memory_context()`` without a query.
        """
        from mnemic.lifecycle import sessions

        self.process()
        return sessions.summarise(self._runtime, self._scope, self._zone)

    def flush(self, *, process: bool = True) -> int:
        """Do the work that is pending: embed what has no vector, and ``process`` what waits; returns how many were done.

        What an index over the vectors has not taken in yet is taken in.
        """
        from mnemic.lifecycle import erasure

        erasure.finish(self._runtime)
        embedded = maintenance.embed_pending(self._runtime)
        done = embedded + self.process().messages if process else embedded
        if self._runtime.index is not None:
            self._runtime.index.drain()
        return done

    def stats(self) -> Stats:
        """Counts of this user's records, the work pending, and the size of the store."""
        found, llm = self._runtime.store.stats(self._scope.user), self._runtime.llm
        return found if llm is None else replace(found, llm=llm.stats())

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Check every invariant of the record and of an index made from it; ``deep`` also reads every page and every text.

        ``deep`` also finds secrets that were stored under another policy, or before there was a rule for them: a finding
        names their kind and the records, never the secret, and nothing is changed. An index that differs from the record is
        told among the findings, and made anew.
        """
        return maintenance.verify(self._runtime, deep=deep)

    def reembed(
        self, embedder: str | Embedder | None = None, *, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Make every vector of the record anew, with another embedder or the handle's own, and use it from then on.

        Searches go on with the old vectors meanwhile; interrupted, it resumes when called again.

        Args:
            embedder: as for the constructor; ``None`` is the handle's own.
            progress: called with (done, total).

        Returns:
            How many vectors were made.
        """
        chosen = factory.embedder_from(embedder) if embedder is not None else self._runtime.indexer.embedder
        return maintenance.reembed(self._runtime, chosen, progress)

    def backup(self, folder: str | Path, *, progress: Callable[[int, int], None] | None = None) -> VerifyReport:
        """Copy the whole record, all its users, into a new folder while it is in use; the copy is verified.

        The folder is a memory: ``Memory(folder)`` opens it. It holds everything the record holds now; what is erased later
        stays in it.

        Args:
            folder: a place where there is nothing yet; readable by its owner alone.
            progress: called with (pages done, pages in all).

        Raises:
            InvalidInput: there is something at that place.
            StoreCorrupt: the copy does not verify; it is not kept.
            StoreError: it cannot be written.
            ConfigurationError: the record is kept by a server, which has tools of its own for this.
        """
        from mnemic.transfer import backup

        return backup.backup(self._runtime, folder, progress)

    def export(self, file: str | Path | IO[str], *, vectors: bool = False) -> dict[str, int]:
        """Write all that this user has, at every level, into a JSONL file that ``import_from`` reads back.

        Args:
            file: a path, or a text file open for writing.
            vectors: take the vectors along, so that reading it in needs no embedder.

        Returns:
            How many of each kind; ``left_out`` counts links between two forgotten memories.

        Raises:
            Conflict: others kept changing the record.
            StoreUnavailable: the file cannot be written.
        """
        from mnemic.transfer import export

        return export.export(self._runtime, self._scope, file, vectors=vectors)

    def import_from(
        self, file: str | Path | IO[str], *, progress: Callable[[int, int], None] | None = None
    ) -> dict[str, int]:
        """Read what ``export`` wrote into a user who has nothing yet: all of it or nothing.

        Raises:
            InvalidInput: the file is damaged or no export, or this user has records.
        """
        from mnemic.transfer import export

        return export.restore_from(self._runtime, self._scope, file, progress=progress)

    def without_recalled(self, text: str) -> str:
        """A text without what contexts of this record put into it; as it is where there is nothing of that.

        What is stored is treated so anyway: this is for what comes back and is shown again, such as the history of a chat.

        Raises:
            InvalidInput: the text is not a string.
        """
        rest = without_recalled(validation.identifier(text), self._runtime.fence)
        return text if rest is None else rest

    def close(self) -> None:
        """Close the record for this handle and all handles made from it. Closing twice is harmless."""
        self._runtime.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, memo: object) -> Self:  # frameworks copy what they are given: the record stays one
        return self.__copy__()

    def __reduce__(self) -> Never:
        raise ConfigurationError(
            f"A {type(self).__name__} cannot be pickled: it holds open files and threads of this process. Open the record "
            f"where it is needed: {type(self).__name__}({self.location!r}, user={self._scope.user!r})."
        )

    def __repr__(self) -> str:
        s = self._scope
        place = "".join(
            f", {name}={value!r}" for name, value in (("project", s.project), ("session", s.session)) if value
        )
        return f"{type(self).__name__}({self.location!r}, user={s.user!r}{place})"
