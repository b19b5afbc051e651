"""Administration of a record: checks, copies, moves, quarantine, the erasure of a user, and what its models say of a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import IO, Literal, Protocol, Unpack, get_args

from mnemic import validation
from mnemic.errors import InvalidInput
from mnemic.knowledge import pipeline
from mnemic.lifecycle import edits, erasure, maintenance
from mnemic.protocols import Embedder, Progress
from mnemic.recall import query as queries
from mnemic.recall import search
from mnemic.runtime import factory
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.settings import Settings
from mnemic.text.markup import without_recalled
from mnemic.text.values import from_micros, local, periods, shown, to_micros
from mnemic.transfer import export, imports, records, sync
from mnemic.types import (
    Emotion,
    Erasure,
    Event,
    Filters,
    GivenContext,
    ImportFormat,
    ImportReport,
    Kind,
    Message,
    Question,
    Receipts,
    Scope,
    StoredVector,
    SyncReport,
    VerifyReport,
)
from mnemic.validation import redact_errors

CountedField = Literal[
    "session", "project", "speaker", "role", "status", "type", "category", "tag", "source", "trust",
]  # fmt: skip
"""The fields by whose values records are counted."""


class HasAdmin(Protocol):
    """An open ``Memory``."""

    @property
    def admin(self) -> Admin:
        """Its administration."""
        ...


@redact_errors
class Admin:
    """Administration of a handle's user and record: ``memory.admin``."""

    def __init__(self, runtime: Runtime, scope: Scope, zone: tzinfo) -> None:
        self._runtime, self._scope, self._zone = runtime, scope, zone

    @property
    def location(self) -> str:
        """The first constructor argument that opens the same record again.

        The absolute path of its folder; ``":memory:"``, which opens an empty one; or the address of its database with
        the schema, without a password: that comes from PGPASSWORD, ``~/.pgpass`` or the caller.
        """
        return factory.location_of(self._runtime)

    @property
    def settings(self) -> Settings:
        """The settings of this handle, as given to the constructor.

        ``processing``, ``consolidator``, ``idle``, ``retention`` and ``timezone``.
        """
        return replace(self._runtime.settings, timezone=self._zone)

    def emotion(self, text: str) -> Emotion:
        """The mood of a text: valence, arousal and confidence.

        It is meant for a few sentences of English. With the default embedder, it
        considers the meaning as well as the words.

        Raises:
            InvalidInput: the text is not a string.
        """
        return search.mood_of(self._runtime, validation.text("text", text))

    def quarantine(
        self,
        ids: Iterable[str] | None = None,
        *,
        source: str | None = None,
        session: str | None = None,
        reason: str = "",
    ) -> Receipts:
        """Exclude records, and everything derived from them, from searches, contexts and consolidation.

        Quarantined records stay reachable by id and in ``list(status=["quarantined"])``; nothing is derived from them,
        and only ``release`` brings them back.

        Args:
            ids: the records.
            source: instead of ids: all records of a source such as ``"tool_external"``,
                or of a tool, by its name.
            session: instead of ids: all records of a conversation. With ``source``, the
                records that match both.
            reason: stored in the history of the records.

        Returns:
            A receipt for each quarantined record.

        Raises:
            InvalidInput: neither ids nor another argument is given, or both are.
            NotFound: there is no such record.
        """
        return edits.quarantine(
            self._runtime, self._scope.user, ids, source=source, session=session, reason=reason, zone=self._zone
        )

    def release(self, ids: Iterable[str]) -> Receipts:
        """Release records from quarantine, with the records derived from them.

        A derived record stays in quarantine while another of its sources is there.

        Returns:
            A receipt with the outcome ``restored`` for each released record.

        Raises:
            NotFound: there is no such record.
        """
        return edits.release(self._runtime, self._scope.user, ids, self._zone)

    def redacted(self, text: str) -> str:
        """A text as it would be stored, with every secret replaced by a mark, if the policy redacts them.

        Use the result to compare a text with stored texts, and to derive names from a
        text: a digest of the original could reveal a short secret.

        Raises:
            InvalidInput: the text is not a string.
        """
        return self._runtime.secrets.redacted(validation.text("text", text))[0]

    def without_recalled(self, text: str) -> str:
        """A text without the contexts of this memory that were inserted into it; unchanged if it holds none.

        Stored texts are stripped automatically; use this for text that is shown again, such as a chat history.

        Raises:
            InvalidInput: the text is not a string.
        """
        rest = without_recalled(validation.text("text", text), self._runtime.fence)
        return text if rest is None else rest

    def without_forgotten(self, messages: Iterable[Message]) -> list[Message]:
        """The messages as recall shows them, with ``[...]`` for forgotten sentences.

        ``Memory.messages`` and ``Memory.get`` return everything that was said. Use this
        before you show messages to others.
        """
        if not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"without_forgotten() takes messages, not {shown(messages)}.")
        given = [*messages]
        told = self._runtime.store.relations.without_forgotten(self._scope.user, given)
        return [left if left.content else whole for left, whole in zip(told, given, strict=True)]

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Check every invariant of the record and of its vector index.

        With ``deep`` (the default), every page and every text is read as well, and
        secrets are found that were stored under another policy or an older rule. Such a
        finding names the kind of secret and the records, never the secret itself.
        Nothing is changed, except that a vector index that differs from the record is
        reported and rebuilt.
        """
        return maintenance.verify(self._runtime, deep=deep)

    def log(
        self,
        *,
        kinds: Sequence[Kind] = ("message", "episode", "memory"),
        operations: Sequence[str] | None = None,
        before: int | None = None,
        limit: int | None = 100,
    ) -> list[Event]:
        """The events of the user's records, at every level, newest first.

        An erasure leaves an event without an id and content.

        Args:
            kinds: of ``message``, ``episode`` and ``memory``.
            operations: only these operations, such as ``remember``, ``supersede``,
                ``promote`` or ``erase``.
            before: only events with a lower ``sequence``. For the next page, pass the
                ``sequence`` of the last event of this one.
            limit: maximum number of events; None for all.

        Raises:
            InvalidInput: an argument is not valid.
        """
        events = self._runtime.store.lifecycle.log(
            self._scope.user,
            kinds=validation.kinds(kinds),
            operations=None if operations is None else validation.words("operations", operations),
            before=2**53 if before is None else validation.whole("before", before, 0, 2**53),
            limit=validation.limit(limit),
        )
        return [*events]

    def counts(
        self,
        by: CountedField,
        *,
        kind: Kind = "memory",
        limit: int | None = None,
        **filters: Unpack[Filters],
    ) -> dict[str | float | None, int]:
        """The number of records per value of a field, the most frequent value first.

        Args:
            by: the field. For a field that the kind does not have, the result is empty:
                messages have no type, category or tags, and memories have no role.
            kind: ``message``, ``episode`` or ``memory``.
            limit: maximum number of values; None for all.
            filters: see ``Filters``.

        Returns:
            The number of records by value; the key None counts the records without a
            value.

        Examples:
            >>> from mnemic import Memory
            >>> memory = Memory(":memory:", user="ana", embedder="hashing")
            >>> _ = memory.add_exchange("I moved to Lisbon.", "How do you like it?")
            >>> memory.admin.counts("role", kind="message")
            {'assistant': 1, 'user': 1}
        """
        field, (of,) = validation.one_of("by", by, get_args(CountedField)), validation.kinds([kind])
        criteria = queries.listing(self._runtime, self._scope, self._zone, Admin.counts, filters, of)
        most = validation.limit(limit)
        return dict(self._runtime.store.statistics.counts(self._scope.user, of, field, criteria, limit=most))

    def histogram(
        self, *, kind: Kind = "message", most: int = 100, **filters: Unpack[Filters]
    ) -> list[tuple[datetime, int]]:
        """How many records were said per period; all periods have the same length.

        Args:
            kind: ``message``, ``episode`` or ``memory``.
            most: maximum number of periods, 1 to 1,000.
            filters: see ``Filters``.

        Returns:
            The beginning of each period, from the first record to the last, with the
            number of records in it. Periods are whole hours, days or weeks in the
            handle's time zone. The last item is the end of the last period, with the
            number 0. The list is empty if there are no records.
        """
        (of,) = validation.kinds([kind])
        criteria = queries.listing(self._runtime, self._scope, self._zone, Admin.histogram, filters, of)
        columns, statistics = validation.whole("most", most, 1, 1_000), self._runtime.store.statistics
        period = statistics.period(self._scope.user, of, criteria)
        if period is None:
            return []
        first, last = (local(from_micros(moment), self._zone) for moment in period)
        bounds = periods(first, last, columns)
        edges = [period[0], *map(to_micros, bounds[1:-1]), period[1] + 1]  # so that no other bound is needed
        counts = statistics.histogram(self._scope.user, of, replace(criteria, since=None, until=None), edges)
        return [*zip(bounds, [*counts, 0], strict=True)]

    def questions(self) -> list[Question]:
        """The latest questions of this user, newest first.

        Empty unless ``RetentionPolicy.questions`` is set. Questions are not exported.
        """
        return self._runtime.store.lifecycle.questions(self._scope.user)

    def contexts(self) -> list[GivenContext]:
        """The latest contexts that were returned for this user, newest first.

        Empty unless ``RetentionPolicy.contexts`` is set. Contexts are not exported.
        """
        return self._runtime.store.lifecycle.contexts(self._scope.user)

    def reembed(self, embedder: str | Embedder | None = None, *, progress: Progress | None = None) -> int:
        """Recompute every vector of the record, for all users, and use the new ones.

        In the meantime, searches use the old vectors. After an interruption, call it
        again: it resumes.

        Args:
            embedder: as for the constructor; ``None`` for the handle's own.
            progress: called with (done, total).

        Returns:
            The number of vectors made.
        """
        chosen = factory.embedder_from(embedder) if embedder is not None else self._runtime.indexer.embedder
        return maintenance.reembed(self._runtime, chosen, validation.callback("progress", progress))

    def vector(self, id: str) -> StoredVector | None:
        """The vector of a record and the model that made it; None while it has none (see ``stats().pending``).

        Raises:
            NotFound: this user has no such record.
        """
        return maintenance.vector_of(self._runtime, self._scope, validation.identifier(id))

    def backup(self, folder: str | Path, *, progress: Progress | None = None) -> VerifyReport:
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
        return records.backup(self._runtime, folder, validation.callback("progress", progress))

    def rekey(self, new_key: str | bytes | None, *, progress: Progress | None = None) -> None:
        """Encrypt a plain record, or change or (``None``) remove the key of another.

        This covers all users of the record. If it is interrupted, the record is intact
        under either the old key or the new one. Backups and exports keep the key that
        they were made with.

        Args:
            new_key: a passphrase, or 32 bytes that are the key itself.
            progress: called with (pages done, total pages).

        Raises:
            ConfigurationError: the key is not valid, or the record or its vector index cannot be encrypted.
            InvalidInput: the record has no key that could be removed.
            StoreUnavailable: another handle or process has the record open, or the folder cannot be written.
        """
        records.rekey(self._runtime, new_key, validation.callback("progress", progress))

    def export(self, file: str | Path | IO[str], *, vectors: bool = False) -> dict[str, int]:
        """Write all records of this user, at every level, to a JSONL file that ``import_from`` reads.

        The export of an encrypted record is encrypted under the same key: an SQLite file with the lines in a table.

        Args:
            file: a path, or a text file open for writing, which gets plain lines.
            vectors: include the vectors, so that the import needs no embedder.

        Returns:
            Counts by kind.

        Raises:
            Conflict: others kept changing the record.
            StoreUnavailable: the file cannot be written.
        """
        return export.export(self._runtime, self._scope, file, vectors=vectors)

    def sync(
        self,
        other: str | Path | HasAdmin,
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        key: str | bytes | None = None,
    ) -> SyncReport:
        """Merge the user's records here and in another place, so that both are equal.

        Afterwards both sides have what either side added. A record that both sides
        changed has the later text, and its history has the texts of both. What either
        side erased is erased on both, together with everything derived from it. Other
        users are not touched. Syncing again changes nothing, and completes a sync that
        was interrupted.

        Args:
            other: a folder, ``postgresql://...``, or an open ``Memory`` of the same user.
            dry_run: report what would change, and change nothing.
            progress: called with (records written, total).
            key: the key of the other folder, if it is encrypted under another key than
                this record.

        Returns:
            What each side took over, and the records that both sides had changed.

        Raises:
            InvalidInput: both are the same record, there is none in the other place, the other handle has another user,
                or neither record has this user.
            ConfigurationError: the other place is not the place of a record.
            WrongKey: the other folder is encrypted under another key, or not at all.
            Conflict: one id names different things, or a record kept changing; each side is whole.
            EmbeddingMismatch: texts must be embedded on a side that has another model: pass an open ``Memory`` with it.
            StoreReadOnly: a record cannot be written.
            StoreError: a record cannot be opened, read or written.

        Examples:
            >>> from mnemic import Memory
            >>> phone, laptop = (Memory(":memory:", user="ana", embedder="hashing") for _ in range(2))
            >>> _ = phone.remember("I moved to Lisbon."), laptop.remember("I like tea.")
            >>> report = phone.admin.sync(laptop)
            >>> [(side.added, side.unchanged) for side in report.sides], len(laptop.list())
            ([(1, 1), (1, 1)], 2)
        """
        user = self._scope.user
        progress = validation.callback("progress", progress)
        if isinstance(other, (str, Path)):
            with sync.beside(self._runtime, other, key) as runtime:
                return sync.sync(self._runtime, runtime, user, dry_run=dry_run, progress=progress)
        if not isinstance(admin := getattr(other, "admin", None), Admin):
            raise InvalidInput(f"Sync with a folder, postgresql://... or an open Memory, not with {shown(other)}.")
        runtime, scope = admin._runtime, admin._scope  # noqa: SLF001 - of this class
        if scope.user != user:
            raise InvalidInput(
                f"The other handle is that of the user {scope.user!r}, this one of {user!r}. Pass one of this user."
            )
        return sync.sync(self._runtime, runtime, user, dry_run=dry_run, progress=progress)

    def import_file(
        self,
        path: str | Path,
        *,
        format: ImportFormat | str = "auto",
        session: str | None = None,
        user_from: str | None = None,
        strict: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
        key: str | bytes | None = None,
    ) -> ImportReport:
        """Import the history or the memories of another product, or an export of Mnemic, into this user's memory.

        Importing a file again stores nothing twice, and goes on where an import was interrupted: a missing message id is
        derived from text, speaker, time and session. Roles, names, times and sessions are those of the file.

        Args:
            path: a file, or the folder or ZIP archive that a product hands out.
            format: ``chatgpt``, ``claude``, ``claude-code``, ``whatsapp``, ``telegram``, ``slack``, ``transcript``, ``csv``,
                ``messages``, ``langchain``, ``llama-index``, ``locomo``, ``mem0``, ``langgraph``, ``memory-graph``, ``zep``,
                ``letta``, ``chroma``, ``basic-memory`` or ``mnemic``; by default it is recognized. Other packages can add
                formats: an entry point of the group ``mnemic.importers`` is a function from a path to messages, and its name
                is the format.
            session: of messages without one; default the handle's, else the name of the file.
            user_from: the field or column that names the user of each record, such as
                ``user_id``. Only the records of this handle's user are imported.
                ``"none"`` imports all of them.
            strict: refuse a file with a damaged part, instead of listing the part in
                the report.
            dry_run: report what would be stored, and store nothing.
            progress: called with (done, total).
            key: of an encrypted export, if it is another one than that of this record.

        Raises:
            InvalidInput: the file cannot be read, its format is unknown, it holds records of several users and no
                ``user_from`` is given, or it is an export and this user has records.
            StoreError: the record cannot be written; what was stored before stays.

        Examples:
            >>> from mnemic import Memory
            >>> import json, pathlib, tempfile
            >>> chat = pathlib.Path(tempfile.mkdtemp(), "chat.json")
            >>> _ = chat.write_text(json.dumps([{"role": "user", "content": "I moved to Lisbon."}]))
            >>> report = Memory(":memory:", user="ana", embedder="hashing").admin.import_file(chat)
            >>> report.format, report.stored
            ('messages', 1)
        """
        return imports.import_file(
            self._runtime, self._scope, path, self._zone, format=format, session=session, user_from=user_from,
            strict=strict, dry_run=dry_run, progress=validation.callback("progress", progress), key=key,
        )  # fmt: skip

    def import_from(
        self,
        file: str | Path | IO[str],
        *,
        progress: Progress | None = None,
        key: str | bytes | None = None,
    ) -> dict[str, int]:
        """Import a file of ``export`` into a user without records, all or nothing.

        Args:
            file: a path, or a text file open for reading.
            progress: called with (done, total) while texts are embedded.
            key: of an encrypted export, if it is another one than that of this record.

        Raises:
            WrongKey: the file is encrypted under another key.
            InvalidInput: the file is damaged or not an export, or this user has records.
        """
        called = validation.callback("progress", progress)
        return export.restore_from(self._runtime, self._scope, file, progress=called, key=key)

    def retire(self) -> int:
        """Archive records that have expired, by ``retention`` or ``delete_after``.

        Idle work does this, too. Messages that a live memory was derived from are kept.

        Returns:
            The number of archived records.
        """
        return maintenance.retire(self._runtime, self._scope, self._runtime.settings.retention)

    def erase_user(self) -> Erasure:
        """Permanently erase all records of the user, at every level, and the name.

        No trace is left in the files of the memory. Backups and exports are not
        touched. Handles of this user can still be used; their memory is empty.
        """
        return erasure.erase_user(self._runtime, self._scope)

    def erased(self, ids: Iterable[str]) -> dict[str, datetime]:
        """When records were permanently erased, alone or together with their user.

        A program that keeps copies of messages can check here before it stores them
        again.

        Args:
            ids: the records to check.

        Returns:
            The time of the last erasure of each id that has one.

        Raises:
            InvalidInput: an id is no string.
        """
        times = self._runtime.store.synced.erased(self._scope.user, [validation.text("An id", id_) for id_ in ids])
        return {id_: from_micros(moment) for id_, moment in times.items()}

    def flush(self, *, process: bool = True) -> int:
        """Finish pending work.

        Embeds records without a vector, calls ``process`` for waiting messages (unless
        ``process=False``), and updates the vector index.

        Returns:
            The number of embedded records plus the number of processed messages.
        """
        erasure.finish(self._runtime)
        embedded = maintenance.embed_pending(self._runtime)
        done = embedded
        if process:
            done += pipeline.process(self._runtime, self._scope, self._zone).messages
        if self._runtime.updater is not None:
            self._runtime.updater.drain()
        return done
