"""The base of ``Memory``: scope, session, preferences, idle work and maintenance."""

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
from mnemic.runtime.redaction import redact_errors
from mnemic.safety.fences import without_recalled
from mnemic.services.call_hints import method_hint
from mnemic.types import ProcessReport, Receipt, Scope, SessionView, Stats, VerifyReport

if TYPE_CHECKING:
    from mnemic.lifecycle.idle import IdleTrigger
    from mnemic.lifecycle.preferences import Preferences
    from mnemic.runtime.runtime import Runtime

__all__ = ["Handle"]


@redact_errors
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
        """The first constructor argument that opens the same record again.

        The absolute path of its folder; ``":memory:"``, which opens an empty one; or the address of its database with
        the schema, without a password: that comes from PGPASSWORD, ``~/.pgpass`` or the caller.
        """
        place = self._runtime.store.location
        return place if place == factory.IN_MEMORY or factory.is_address(place) else str(Path(place).parent)

    @property
    def idle(self) -> IdleTrigger:
        """The trigger that runs ``process`` and ``consolidate`` for this user when idle, once it is armed."""
        from mnemic.lifecycle.idle import IdleTrigger

        runtime, zone = self._runtime, self._zone
        owner = Scope(user=self._scope.user)
        return runtime.triggers.of(owner.user, lambda: IdleTrigger(runtime, owner, zone, runtime.settings.idle))

    @property
    def preferences(self) -> Preferences:
        """Exact keys and values: ``memory.preferences["theme"] = "dark"``; earlier values are kept as history."""
        from mnemic.lifecycle.preferences import Preferences

        return Preferences(self._runtime, self._scope, self._zone)

    def retire(self) -> int:
        """Archive what expired by ``retention`` and ``delete_after``; returns the number of records.

        Idle work does this too. Messages that a live memory cites are kept.
        """
        from mnemic.lifecycle import retention

        return retention.retire(self._runtime, self._scope, self._runtime.settings.retention)

    @property
    def session(self) -> SessionView:
        """The current conversation of this handle: messages, tools, preferences, and ids that contexts delivered."""
        from mnemic.lifecycle import sessions

        return sessions.session_view(self._runtime, self._scope, self._zone)

    def process(self, *, limit: int | None = None, progress: Callable[[int, int], None] | None = None) -> ProcessReport:
        """Process waiting messages into episodes, and into memories of what was not known before.

        Safe to interrupt and to call again: conversations are processed in steps, each stored whole or not at all. An
        interrupted call leaves the rest waiting for the next.

        Args:
            limit: about the most messages to process, whole episodes at a time, and the most remembered statements to
                enrich; ``None`` for all that wait when the call begins.
            progress: called with (messages done, total messages).

        Raises:
            StoreError: the record cannot be written; earlier steps are stored.
        """
        from mnemic.knowledge import pipeline

        most = None if limit is None else validation.whole("limit", limit, 1, 2**53)
        return pipeline.process(self._runtime, self._scope, self._zone, limit=most, progress=progress)

    def end_session(self) -> Receipt | None:
        """Process the handle's conversation and keep a summary of it for a week; None for an empty conversation.

        ``get_memory_context()`` without a query shows the summary at the start of a new session.
        """
        from mnemic.lifecycle import sessions

        self.process()
        return sessions.summarise(self._runtime, self._scope, self._zone)

    def flush(self, *, process: bool = True) -> int:
        """Finish pending work: embed records without a vector, ``process`` waiting messages, and update the vector
        index.

        Returns the number of records embedded and messages processed.
        """
        from mnemic.lifecycle import erasure

        erasure.finish(self._runtime)
        embedded = maintenance.embed_pending(self._runtime)
        done = embedded + self.process().messages if process else embedded
        if self._runtime.index is not None:
            self._runtime.index.drain()
        return done

    def stats(self) -> Stats:
        """Counts of this user's records, pending work, and the size of the store."""
        found, llm = self._runtime.store.stats(self._scope.user), self._runtime.llm
        return found if llm is None else replace(found, llm=llm.stats())

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Check every invariant of the record and of its vector index; ``deep`` also reads every page and every text.

        ``deep`` also finds secrets that were stored under another policy or an older rule: a finding names their kind
        and the records, never the secret, and nothing is changed. A vector index that differs from the record is
        reported as a finding and rebuilt.
        """
        return maintenance.verify(self._runtime, deep=deep)

    def reembed(
        self, embedder: str | Embedder | None = None, *, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Recompute every vector of the record, with another embedder or the handle's own, and use that from then on.

        Searches use the old vectors meanwhile; an interrupted call resumes when called again.

        Args:
            embedder: as for the constructor; ``None`` for the handle's own.
            progress: called with (done, total).

        Returns:
            The number of vectors made.
        """
        chosen = factory.embedder_from(embedder) if embedder is not None else self._runtime.indexer.embedder
        return maintenance.reembed(self._runtime, chosen, progress)

    def backup(self, folder: str | Path, *, progress: Callable[[int, int], None] | None = None) -> VerifyReport:
        """Copy the whole record, with all its users, into a new folder while it is in use, and verify the copy.

        ``Memory(folder)`` opens it. Records that are erased later stay in the backup.

        Args:
            folder: a path that does not exist yet; only its owner can read it.
            progress: called with (pages done, total pages).

        Raises:
            InvalidInput: the path exists.
            StoreCorrupt: the copy fails verification; it is removed.
            StoreError: the copy cannot be written.
            ConfigurationError: the record is kept by a database server, which has its own backup tools.
        """
        from mnemic.transfer import backup

        return backup.backup(self._runtime, folder, progress)

    def export(self, file: str | Path | IO[str], *, vectors: bool = False) -> dict[str, int]:
        """Write all records of this user, at every level, to a JSONL file that ``import_from`` reads.

        Args:
            file: a path, or a text file open for writing.
            vectors: include the vectors, so that the import needs no embedder.

        Returns:
            Counts by kind; ``left_out`` counts links between two forgotten memories.

        Raises:
            Conflict: others kept changing the record.
            StoreUnavailable: the file cannot be written.
        """
        from mnemic.transfer import export

        return export.export(self._runtime, self._scope, file, vectors=vectors)

    def import_from(
        self, file: str | Path | IO[str], *, progress: Callable[[int, int], None] | None = None
    ) -> dict[str, int]:
        """Import a file of ``export`` into a user without records, all or nothing.

        Raises:
            InvalidInput: the file is damaged or not an export, or this user has records.
        """
        from mnemic.transfer import export

        return export.restore_from(self._runtime, self._scope, file, progress=progress)

    def without_recalled(self, text: str) -> str:
        """A text without the contexts of this memory that were inserted into it; unchanged if it holds none.

        Stored texts are stripped automatically; use this for text that is shown again, such as a chat history.

        Raises:
            InvalidInput: the text is not a string.
        """
        rest = without_recalled(validation.identifier(text), self._runtime.fence)
        return text if rest is None else rest

    def close(self) -> None:
        """Close the record for this handle and all handles made from it. May be called twice."""
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
