"""Memory: the synchronous API."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Never, Self, Unpack, cast, overload

from mnemic import ingest, paths, validation
from mnemic.errors import ConfigurationError, InvalidInput
from mnemic.ingest import is_one_message
from mnemic.protocols import Embedder, Progress, Reranker, TokenCounter, VectorIndex
from mnemic.recall import query as queries
from mnemic.recall import search
from mnemic.recall.context import assembly
from mnemic.recall.procedures import procedures_for
from mnemic.runtime import factory
from mnemic.runtime.projects import Project, project_id
from mnemic.secrets.policy import policy_from, redact_scope
from mnemic.text.values import now as clock
from mnemic.text.values import shown
from mnemic.types import (
    UNSET,
    ConsolidationAdvice,
    ConsolidationReport,
    Description,
    Episode,
    Erasure,
    Event,
    Evidence,
    Filters,
    MemoryContext,
    MemoryRecord,
    MemoryType,
    Message,
    Mood,
    Procedure,
    ProcessReport,
    Query,
    Receipt,
    Receipts,
    Scope,
    SearchFilters,
    SearchResult,
    Source,
    Stats,
    Unset,
)
from mnemic.validation import MethodHints, check_names, redact_errors

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from mnemic.admin import Admin
    from mnemic.indexes.vector.chroma.index import Chroma
    from mnemic.lifecycle.idle import IdleTrigger
    from mnemic.lifecycle.links import Links
    from mnemic.lifecycle.preferences import Preferences
    from mnemic.lifecycle.sessions import Sessions
    from mnemic.llm import LanguageModel
    from mnemic.recall.recipes import Recipe
    from mnemic.runtime.runtime import Runtime
    from mnemic.runtime.settings import Consolidator, Idle, Processing, RetentionPolicy
    from mnemic.secrets.policy import SecretAction, SecretPolicy
    from mnemic.stores.sql.connection import Durability


@redact_errors
class Memory(MethodHints):
    """Long-term memory in one folder.

    A handle is bound to one user, strictly isolated from others, and optionally to a project and a session. It is
    thread-safe, and several processes may open the same folder. After a fork, parent and child open their own
    connections.

    Args:
        location: a folder, created if missing; ``postgresql://user:password@host/database``, with ``?schema=`` for
            another schema than ``mnemic``; or ``":memory:"`` for a record that is gone when closed. ``None`` is
            ``$MNEMIC_DIR``, else ``./memory``, as for the command ``mnemic``.
        user: the owner of the memory. Records of other users are never read, scored or
            counted.
        project: an optional level between user and session: by default, memories made
            in a project are visible only there. A name, or the result of
            ``mnemic.project()``.
        session: the conversation that new messages belong to.
        timezone: the time zone of naive datetimes, as an IANA name or a tzinfo.
            Default: UTC.
        embedder: ``None`` for all-MiniLM-L6-v2 on this machine, ``"minilm-int8"`` for the same with weights of one byte;
            ``"multilingual"`` for other languages than English; ``"onnx:OWNER/NAME"`` for another model of the hub;
            ``"provider:model"``; ``"sentence-transformers:NAME"``; ``"hashing"``; a model folder; or an ``Embedder``.
        tokenizer: how tokens are counted; see ``get_memory_context``.
        reranker: reorders the first 50 hits of a search. Either ``"onnx:OWNER/NAME"``,
            such as ``"onnx:cross-encoder/ms-marco-MiniLM-L6-v2"``; a folder that
            contains such a model; or an object such as ``CrossEncoderReranker()``.
            Default: none.
        llm: an optional language model that improves extracted knowledge and forgetting by description:
            ``"provider:model"`` as in pydantic-ai, or a pydantic-ai model object. If it
            fails, Mnemic falls back to rules.
        processing: settings of ``process``; see ``Processing``.
        consolidator: settings of ``consolidate``; see ``Consolidator``.
        retention: how long records are kept; see ``RetentionPolicy``.
        secrets: how keys, passwords and other secrets are treated before storage: ``"redact"``, ``"allow"``,
            ``"refuse"``, or a ``SecretPolicy``.
        idle: settings of the handle's ``idle`` trigger; see ``Idle``.
        vectors: the vector index, for users with very many records. ``"exact"``
            compares all vectors. ``None`` does the same, except in PostgreSQL, which
            uses its own index. ``"chroma"`` keeps a Chroma index in the folder;
            ``"http://host:port"`` uses a Chroma server. Also accepted: ``Chroma(...)``
            for more settings, a chromadb client, or a ``VectorIndex``.
        durability: ``"FULL"`` survives a power failure, ``"NORMAL"`` only a killed
            process.
        key: encrypts the folder, with its backups and exports: a passphrase, or 32 bytes that are the key itself. Needs the
            extra ``encrypted``; ``None`` for a plain folder.

    Raises:
        ConfigurationError: an argument is not valid.
        InvalidInput: a name cannot be used.
        WrongKey: the folder is encrypted under another key, or not at all.
        StoreError: the folder cannot be opened, is damaged, or was written by a newer version.

    Examples:
        >>> from mnemic import Memory
        >>> memory = Memory(":memory:", user="ana", embedder="hashing")
        >>> _ = memory.add_exchange("I moved to Lisbon.", "How do you like it?")
        >>> memory.search("Lisbon")[0].text
        'I moved to Lisbon.'
    """

    _runtime: Runtime
    _scope: Scope
    _zone: tzinfo

    def __init__(
        self,
        location: str | Path | None = None,
        *,
        user: str = "default",
        project: str | Project | None = None,
        session: str | None = None,
        timezone: str | tzinfo | None = None,
        embedder: str | Embedder | None = None,
        tokenizer: str | TokenCounter | None = None,
        reranker: str | PathLike[str] | Reranker | None = None,
        llm: str | Model | LanguageModel | None = None,
        processing: Processing | None = None,
        consolidator: Consolidator | None = None,
        idle: Idle | None = None,
        retention: RetentionPolicy | None = None,
        secrets: SecretPolicy | SecretAction = "redact",
        vectors: str | Chroma | VectorIndex | object = None,
        durability: Durability = "FULL",
        key: str | bytes | None = None,
    ) -> None:
        policy = policy_from(secrets)
        self._scope = redact_scope(policy, validation.scope(user, project_id(project), session))
        self._zone = factory.time_zone(timezone)
        self._runtime = factory.open_runtime(
            paths.memory_dir() if location is None else location, embedder=embedder, tokenizer=tokenizer,
            reranker=reranker, llm=llm, processing=processing, consolidator=consolidator, idle=idle,
            retention=retention, secrets=policy, vectors=vectors, durability=durability, key=key,
        )  # fmt: skip

    def scoped(
        self,
        *,
        user: str | Unset = UNSET,
        project: str | Project | Unset | None = UNSET,
        session: str | Unset | None = UNSET,
    ) -> Memory:
        """A handle on the same record with a different scope.

        Levels that you leave out are kept; ``None`` removes one. A handle for another
        user starts without a project and a session.
        """
        here = self._scope
        same = user is UNSET or user == here.user
        project = (here.project if same else None) if project is UNSET else project_id(project)
        session = (here.session if same else None) if session is UNSET else session
        other = Memory.__new__(Memory)
        other._runtime, other._zone = self._runtime, self._zone  # noqa: SLF001 - our own class
        scope = validation.scope(here.user if user is UNSET else user, project, session)
        other._scope = redact_scope(self._runtime.secrets, scope)  # noqa: SLF001 - our own class
        return other

    @property
    def scope(self) -> Scope:
        """The user, project and session this handle is bound to."""
        return self._scope

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

    @property
    def links(self) -> Links:
        """Links between memories: ``add``, ``remove``, ``graph``."""
        from mnemic.lifecycle.links import Links

        return Links(self._runtime, self._scope, self._zone)

    @property
    def sessions(self) -> Sessions:
        """The conversation of this handle: ``current``, ``end`` and ``summarize``."""
        from mnemic.lifecycle.sessions import Sessions

        return Sessions(self._runtime, self._scope, self._zone)

    @property
    def admin(self) -> Admin:
        """Administration of the record: checks, copies, moves, quarantine, and the erasure of the user; see ``Admin``."""
        from mnemic.admin import Admin

        return Admin(self._runtime, self._scope, self._zone)

    def _filters(
        self, method: Callable[..., Any], given: Filters | SearchFilters, names: Collection[str]
    ) -> Mapping[str, Any]:
        """Filters with the session and the categories as they are stored.

        Raises:
            UnknownArgument: a name is no filter of the method.
            InvalidInput: no memory has the category.
        """
        check_names(method, given, names)
        return queries.as_stored(self._runtime, self._scope, given)

    # Writing

    def add(
        self,
        messages: str | Message | Mapping[str, Any] | Iterable[Message | Mapping[str, Any]],
        *,
        session: str | None = None,
        role: str = "user",
        name: str | None = None,
        sent_at: datetime | None = None,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        agent: str | None = None,
    ) -> Receipts:
        """Store messages verbatim. When this returns, they are on disk and searchable.

        Args:
            messages: one text, one message, or several messages. A message is a
                ``Message`` or a mapping with the same fields (at least ``role`` and
                ``content``). Messages of a chat API can be passed in as its client
                returns them (OpenAI chat completions and responses, Anthropic, Gemini,
                Bedrock, Ollama): the parts of a text are joined; an image or a file is
                stored as a reference; a message that only carries a tool's result is
                stored with the role ``tool``; and a tool call without text is
                ``rejected``.
            session: the conversation of messages that do not name one.
            role: the role of a single text. This and the next four apply only if
                ``messages`` is one text.
            name: the speaker.
            sent_at: when it was said. Default: now.
            id: an id of your choice. Default: a new one.
            metadata: any JSON object.
            agent: the agent that the messages belong to. It is stored in their metadata
                and can be filtered by.

        Returns:
            One receipt per message, in order: ``stored``; ``duplicate`` (same id and
            same content, even if it was forgotten); or ``rejected`` (same id but
            different content, or only white space).

        Raises:
            InvalidInput: a message is not valid; none was stored.
            StoreError: the record cannot be written. Messages are written in batches of
                256: those before the failing batch are stored.

        Examples:
            >>> from mnemic import Memory
            >>> memory = Memory(":memory:", embedder="hashing")
            >>> memory.add("I moved to Lisbon.", name="Ana")[0].outcome
            'stored'
        """
        fields = {"name": name, "sent_at": sent_at, "id": id, "metadata": metadata}
        options: dict[str, Any] = {key: value for key, value in fields.items() if value is not None}
        if isinstance(messages, str):
            messages = Message(role=role, content=messages, **options)
        elif options or role != "user":
            raise InvalidInput(
                f"{', '.join([*options] or ['role'])} can only be given with a single text; set it in each message "
                "instead. Nothing was stored."
            )
        several = cast("Iterable[Message]", [messages] if is_one_message(messages) else messages)
        return self._add(several, session, agent)

    def add_exchange(
        self,
        user: str,
        assistant: str,
        *,
        sent_at: datetime | None = None,
        session: str | None = None,
        agent: str | None = None,
        cited: Iterable[str] = (),
    ) -> Receipts:
        """Store a user message and the assistant's reply; see ``add``.

        Args:
            user: what the user said.
            assistant: the reply.
            sent_at: when it was said; default now.
            session: the conversation.
            agent: the agent that the messages belong to.
            cited: ids of the recalled records that the reply relies on. Each memory
                among them, or derived from a message among them, counts as used once
                more, in addition to the use that being found counts as. Unknown ids are
                ignored, because they may come from a model.
        """
        pair = (("user", user), ("assistant", assistant))
        named = validation.words("cited", cited)
        receipts = self._add([Message(role=role, content=text, sent_at=sent_at) for role, text in pair], session, agent)
        ingest.cite(self._runtime, self._scope, named)
        return receipts

    def _add(self, messages: Iterable[Message], session: str | None, agent: str | None) -> Receipts:
        receipts = ingest.add(self._runtime, self._scope, messages, session, self._zone, agent=agent)
        if (threshold := self._runtime.settings.processing.batch_threshold) is not None:
            self.idle.stored(self._scope, len(receipts), threshold)
        return receipts

    def remember(
        self,
        content: str,
        *,
        key: str | None = None,
        replaces: str | Sequence[str] = (),
        type: MemoryType = "semantic",
        category: str | None = None,
        tags: str | Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        source_ids: str | Sequence[str] = (),
        valid_at: datetime | None = None,
        delete_after: datetime | None = None,
        source: Source = "direct_user",
        level: Literal["session"] | None = None,
        agent: str | None = None,
        id: str | None = None,
        **description: Unpack[Description],
    ) -> Receipt:
        """Store one statement as a memory, at the level of the handle's project, else of the user.

        A statement supersedes an earlier one if both have the same ``key``, or if it
        names the earlier one in ``replaces``. The receipt then says ``superseded``, and
        the earlier statement expires but is kept. Nothing else ends a statement: if two
        contradict each other, both are kept and recall ranks the later one first.

        Args:
            content: the statement. As long as it is current, storing the same statement
                again at the same level gives ``duplicate``.
            key: the attribute whose value it states, such as ``meetings.time``; at most
                200 characters.
            replaces: ids of memories that are no longer true, or of messages that said
                something wrong; see ``correct``.
            type: the kind of knowledge.
            category: one of Mnemic's own, such as ``preference`` or
                ``architecture_decision``, or a word of your choice. Default: chosen by
                rules.
            tags: words to filter by; they are also searched.
            metadata: any JSON object.
            importance: 0 to 1. If given, it is pinned: it no longer changes with use
                and age.
            source_ids: messages or memories that it is derived from. Its trust is at
                most theirs. A search shows one of the messages in its place only if the
                messages say the same.
            valid_at: when it became true. Default: now.
            delete_after: when it expires. Later searches do not find it, and ``retire``
                and idle work archive it.
            source: its origin, which determines its trust.
            level: ``"session"`` limits it to the handle's session.
            agent: the agent that it belongs to. It is stored in the metadata and can be
                filtered by.
            id: an id of your choice; generated by default.
            description: see ``Description``: ``summary``, ``keywords``, ``related_files`` and others.

        Raises:
            InvalidInput: a value is not valid.
            NotFound: a source or a replaced record does not exist.
        """
        options = {
            "key": key, "replaces": [replaces] if isinstance(replaces, str) else replaces, "type": type,
            "category": category, "tags": tags, "metadata": metadata, "importance": importance,
            "source_ids": source_ids, "valid_at": valid_at, "delete_after": delete_after,
            "source": source, "level": level, "agent": agent, "id": id, "description": description,
        }  # fmt: skip
        check_names(Memory.remember, description, Description.__annotations__)
        from mnemic.knowledge import remember
        from mnemic.lifecycle import revision

        receipt = remember.remember(self._runtime, self._scope, content, options, self._zone)
        if receipt.outcome == "superseded":
            revision.update_superseded(self._runtime, self._scope, receipt.id, self._zone)
        return receipt

    def update(
        self,
        id: str,
        *,
        content: str | Unset = UNSET,
        type: MemoryType | Unset = UNSET,
        category: str | Unset | None = UNSET,
        tags: str | Sequence[str] | Unset | None = UNSET,
        metadata: Mapping[str, Any] | Unset | None = UNSET,
        importance: float | Unset | None = UNSET,
        valid_at: datetime | Unset | None = UNSET,
        invalid_at: datetime | Unset | None = UNSET,
        delete_after: datetime | Unset | None = UNSET,
        source: Source | Unset = UNSET,
        **description: Unpack[Description],
    ) -> Receipt:
        """Write the next version of a memory.

        Fields that you leave out are kept; ``None`` clears one. ``history`` returns the
        earlier versions. A new ``content`` also updates the summary, keywords and mood.

        Args:
            id: of the memory.
            content: the new statement.
            type: the kind of knowledge; see ``remember``.
            category: one word for its kind.
            tags: the complete list; it replaces the earlier one.
            metadata: the complete object; it replaces the earlier one.
            importance: 0 to 1, pinned; ``None`` computes it again.
            valid_at: when it became true.
            invalid_at: when it stopped being true; ``None`` if it is still true.
            delete_after: when it expires; ``None`` for never.
            source: the origin of the new content, if it differs from that of the
                memory. It limits the trust: untrusted content (below 0.5) cannot
                replace trusted content and is rejected.
            description: see ``Description``.

        Raises:
            NotFound: no such record.
            InvalidInput: it is a message (evidence is never rewritten), or a value is not valid.
        """
        values = {
            "content": content, "type": type, "category": category, "tags": tags, "metadata": metadata,
            "importance": importance, "valid_at": valid_at, "invalid_at": invalid_at,
            "delete_after": delete_after, "source": source, **description,
        }  # fmt: skip
        check_names(Memory.update, description, Description.__annotations__)
        from mnemic.lifecycle import edits

        return edits.update(self._runtime, self._scope, id, values, self._zone)

    def correct(self, wrong: str, statement: str, *, dry_run: bool = False, source: Source = "direct_user") -> Receipts:
        """Replace what is wrong with a new statement: ``memory.correct("my dentist", "My dentist is Dr. Bianchi.")``.

        What was said is kept as evidence. Recall leaves out the wrong sentence, or
        marks a message that says nothing else, and ranks it after the correction; the
        other sentences of a message remain valid. A remembered statement ends as a
        whole. The new memory takes over the key, category, metadata, pinned importance,
        expiry and tags of what it replaces, except for tags with a word that occurs
        only in the wrong statement. To take a correction back, ``forget`` the new
        memory, then ``restore`` the replaced one; the receipt has both ids. A second
        correction also replaces the first.

        Args:
            wrong: the id of a memory or message, or a description of it. A description
                selects the current record that fits it best and differs from the
                statement, the records that say the same as that one, and those that
                give another value for the same thing. A reply that repeats the wrong
                value ends with it.
            statement: what is true.
            dry_run: change nothing, and return the receipts that the call would have
                produced.
            source: the origin of the statement. An untrusted source cannot correct a
                trusted record.

        Returns:
            First the receipt of the new memory: ``superseded``, with the ids of the
            records that it replaces. Then a ``rejected`` receipt, with the text, for
            each record that resembles the description but was left unchanged. If no
            record clearly matches the description, or every match already agrees with
            the statement, all receipts are ``rejected`` and nothing is stored.

        Raises:
            InvalidInput: an argument is not valid.
        """
        from mnemic.lifecycle import corrections

        correction = corrections.correction(self._runtime, self._scope, wrong, statement)
        if dry_run or not correction.ids:
            return correction.receipts()
        from mnemic.knowledge import remember
        from mnemic.lifecycle import revision

        receipt = remember.correct(
            self._runtime, self._scope, statement, correction.ids, self._zone,
            matter=correction.matter, held=correction.principal, source=source,
        )  # fmt: skip
        revision.update_superseded(self._runtime, self._scope, receipt.id, self._zone)
        return correction.receipts(receipt)

    @overload
    def forget(
        self, description: str | None = None, *, ids: Iterable[str] | None = None, hard: Literal[False] = False,
        dry_run: bool = False, reason: str = "",
    ) -> Receipts: ...  # fmt: skip
    @overload
    def forget(
        self, description: str | None = None, *, ids: Iterable[str] | None = None, hard: Literal[True],
        dry_run: Literal[False] = False, reason: str = "",
    ) -> Erasure: ...  # fmt: skip
    @overload
    def forget(
        self, description: str | None = None, *, ids: Iterable[str] | None = None, hard: bool = False,
        dry_run: Literal[True], reason: str = "",
    ) -> Receipts: ...  # fmt: skip
    def forget(
        self, description: str | None = None, *, ids: Iterable[str] | None = None, hard: bool = False,
        dry_run: bool = False, reason: str = "",
    ) -> Receipts | Erasure:  # fmt: skip
        """Remove records from searches and listings. They stay reachable by id, and ``restore`` brings them back.

        If a message says only what a forgotten memory says, it is forgotten too; if it
        says more, it is shown without that sentence. With ``hard``, the records and
        everything derived from them are erased permanently, and no trace is left in the
        files of the memory. Episodes are rewritten from their remaining messages. See
        ``Erasure``. To erase all records of a user, use ``admin.erase_user``.

        Args:
            description: the subject in words, such as "my salary" or "everything about
                Eva but her birthday". Records that are clearly about it are forgotten.
                Replies to them, similar records, and records that also say something
                else are kept and get a ``rejected`` receipt. With "everything", the
                sentences about the subject are hidden in messages that also say
                something else. If the handle has an ``llm`` and it answers, it decides
                which of the closest records are meant.
            ids: the records themselves, for example those of a preview; at most 10,000,
                as for every list of ids.
            hard: erase the records permanently, including those forgotten before. With
                a description, at most 5.
            dry_run: change nothing, and return a receipt with the text of each record:
                ``forgotten`` if the description matches it, ``rejected`` if it would be
                kept.
            reason: stored in the history of the forgotten records.

        Raises:
            InvalidInput: neither or both are given, ``dry_run`` comes with ids, the description is too vague or only asks to
                keep something, or (``hard``) a message that is not named says the same and more; nothing was erased.
            TooManyHits: ``hard``, and the description matches more than 5 records; nothing was erased.
            Conflict: other writers kept deriving records from them; nothing was erased.
        """
        if (description is None) == (ids is None):
            raise InvalidInput("forget() takes a description or ids=, one of them.")
        if not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
            raise InvalidInput("reason must be a string.")
        if ids is not None and dry_run:
            raise InvalidInput("dry_run previews a description; ids= already names the records.")
        from mnemic.lifecycle import edits, forgetting

        if dry_run:
            return forgetting.previewed(self._runtime, self._scope, description, archived=hard)
        if hard:
            return self._erase(description, ids)
        if ids is not None:
            return edits.archive(self._runtime, self._scope, ids, reason, self._zone)
        return forgetting.forget_described(self._runtime, self._scope, description, self._zone, reason)

    def _erase(self, description: str | None, ids: Iterable[str] | None) -> Erasure:
        from mnemic.lifecycle import erasure, forgetting

        if ids is not None:
            return erasure.erase(self._runtime, self._scope, validation.words("ids", ids), self._zone)
        selection = forgetting.to_erase(self._runtime, self._scope, description)
        named = [receipt.id for receipt in selection.clear]
        return erasure.erase(self._runtime, self._scope, named, self._zone, spared=selection.spared)

    def restore(self, ids: str | Iterable[str]) -> Receipts:
        """Bring back forgotten records, and make memories that ended current again.

        Args:
            ids: an id, or several: ``memory.restore(memory.forget("...").ids)``.

        Returns:
            One receipt per id: ``restored``; ``duplicate`` if there is nothing to
            restore (for a message, the reason lists the memories derived from it that
            have ended); or ``rejected`` if another memory has the same key or text (the
            reason has its id).
        """
        from mnemic.lifecycle import edits

        return edits.restore(self._runtime, self._scope, ids, self._zone)

    # Knowledge

    def process(self, *, limit: int | None = None, progress: Progress | None = None) -> ProcessReport:
        """Turn waiting messages into episodes, and new facts in them into memories.

        The call can safely be interrupted and repeated: conversations are processed in
        steps, each of which is stored completely or not at all. The next call continues
        where an interrupted one stopped.

        Args:
            limit: approximately the maximum number of messages to process (episodes are
                never split), and the maximum number of remembered statements to enrich
                and of long answers to embed. ``None``: everything that is waiting when
                the call begins.
            progress: called with (done, total), counting messages and long answers.

        Raises:
            StoreError: the record cannot be written; earlier steps are stored.
        """
        from mnemic.knowledge import pipeline

        most = None if limit is None else validation.whole("limit", limit, 1, 2**53)
        callback = validation.callback("progress", progress)
        return pipeline.process(self._runtime, self._scope, self._zone, limit=most, progress=callback)

    def should_consolidate(self) -> ConsolidationAdvice:
        """Whether consolidation is due: there are enough short-term memories, and some are old and important enough."""
        from mnemic.lifecycle import consolidation

        return consolidation.advise(self._runtime, self._scope, self._runtime.settings.consolidator)

    def consolidate(
        self,
        *,
        ids: Iterable[str] | None = None,
        importance_threshold: float | None = None,
        similarity_threshold: float | None = None,
        min_age_hours: float | None = None,
        dry_run: bool = False,
    ) -> ConsolidationReport:
        """Run one consolidation cycle: promote important memories to long-term and merge duplicates.

        The most important short-term memories that are old enough are clustered with
        their near duplicates. If a cluster is important enough, its most important
        member becomes long-term and absorbs the others. These are archived: they can
        still be read by id and lineage, and ``undo`` restores everything. Memories that
        differ in a number, a date, a name, a negation or the subject are never merged;
        they are linked as contradicting only if one denies the other. Only one process
        consolidates at a time; concurrent calls do nothing.

        Args:
            ids: merge only these memories, regardless of their age and importance.
                Nothing is merged unless at least two of them are current and say the
                same.
            importance_threshold: overrides the setting of ``Consolidator``.
            similarity_threshold: overrides the setting of ``Consolidator``.
            min_age_hours: overrides the setting of ``Consolidator``.
            dry_run: report without changing anything.

        Raises:
            ConfigurationError: a setting lies outside its range.
            NotFound: this user has no memory with one of the ids.
            Conflict: other writers changed the memories during three attempts; nothing was stored.
        """
        from mnemic.lifecycle import consolidation

        named = None if ids is None else validation.words("ids", ids)
        overrides = {
            "importance_threshold": importance_threshold, "similarity_threshold": similarity_threshold,
            "min_age_hours": min_age_hours,
        }  # fmt: skip
        defaults = {} if named is None else {"importance_threshold": 0.0, "min_age_hours": 0.0}
        settings = replace(
            self._runtime.settings.consolidator, **(defaults | {k: v for k, v in overrides.items() if v is not None})
        )
        return consolidation.consolidate(self._runtime, self._scope, settings, ids=named, dry_run=dry_run)

    def undo(self, consolidation_id: str) -> Receipt:
        """Revert a consolidation: its promotions, archived records and links.

        Raises:
            NotFound: this user has no such consolidation.
        """
        from mnemic.lifecycle import consolidation

        return consolidation.undo(self._runtime, self._scope, validation.identifier(consolidation_id))

    # Reading

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        recipe: str | Recipe = "conversation",
        recent: Sequence[str] = (),
        now: datetime | None = None,
        mood: Mood = None,
        emotion_weight: float = 0.3,
        min_evidence: Evidence = "none",
        expand_links: int = 0,
        expand_query: bool = False,
        **filters: Unpack[SearchFilters],
    ) -> SearchResult:
        """Find records that are relevant to a query.

        Messages take precedence over memories: a memory that was derived from a message
        is listed in the ``via`` of that hit. It is a hit of its own only if its
        messages are excluded, for example by ``kinds=["memory"]``. Current memories
        rank before those that they superseded.

        Args:
            query: text in any language that the embedder knows. It has no operators.
            k: maximum number of hits, 1 to 10,000. The order does not depend on it.
            recipe: ``conversation``, ``facts``, ``coding``, ``rrf``, ``vector``, or a ``Recipe``.
            recent: the last turns before the query, oldest first. They give context to a short query, such as "and the
                second step?", and count less for a longer one.
            now: the time of the question. Default: the present.
            mood: rank records of a similar mood first. An ``Emotion``; text that shows
                the mood; a function that returns one of these at each call; or
                ``"session"`` for the mood of the user's last turns, at a low weight.
                Without it, the mood of the query breaks ties.
            emotion_weight: weight of the mood relative to the cosine, 0 to 1; 0 turns
                it off.
            min_evidence: if the result has a lower grade than this, it is empty. It
                still carries its grade.
            expand_links: how many links to follow from the first hits, 0 to 10. Linked
                records are ranked together with the others.
            expand_query: also search for other wordings of the query, if the handle has
                an ``llm`` and it answers.
            filters: ``kinds``, ``reach``, ``session``, ``since``, ``tags`` and others;
                see ``SearchFilters``. They apply before any ranking or limit.

        Raises:
            InvalidInput: an argument is not valid.
            EmbeddingMismatch: the record holds vectors of another model.
        """
        checked = queries.query(
            query, k=k, scope=self._scope, zone=self._zone, recipe=recipe, now=now, min_evidence=min_evidence,
            expand_links=expand_links, expand_query=expand_query, recent=recent, mood=mood, emotion_weight=emotion_weight,
            filters=self._filters(Memory.search, filters, SearchFilters.__annotations__),
        )  # fmt: skip
        result = search.search(self._runtime, self._scope, checked)
        self._keep(checked)
        return result

    def get_memory_context(
        self,
        query: str | None = None,
        *,
        max_tokens: int = 2000,
        recipe: str | Recipe = "conversation",
        recent: Sequence[str] = (),
        now: datetime | None = None,
        mood: Mood = None,
        emotion_weight: float = 0.3,
        min_evidence: Evidence = "none",
        procedures: int = 0,
        **filters: Unpack[SearchFilters],
    ) -> MemoryContext:
        """Search results as text for a prompt, within a token budget.

        Without a query, the text is for the start of a new session: important memories,
        and the latest messages from trusted sources. The filters still apply;
        ``recipe``, ``recent``, ``now``, ``mood``, ``emotion_weight``, ``min_evidence``,
        ``procedures``, ``min_relevance`` and ``min_similarity`` are checked, but have no
        effect.

        The handle's ``tokenizer`` counts the tokens. By default this is tiktoken's
        cl100k_base if its table is on this machine, else an approximation; the name of
        another table, ``"approximate"`` and any function from a text to a number are
        accepted, too.

        The other arguments are those of ``search``. With ``min_evidence="weak"``, the
        text is empty if no hit is relevant to the query. With ``procedures``, it begins
        with at most that many procedures that worked for similar requests, in at most a
        fifth of the budget; see ``Memory.procedures``.

        Raises:
            InvalidInput: an argument is not valid.
            EmbeddingMismatch: the record holds vectors of another model.
        """
        stored = self._filters(Memory.get_memory_context, filters, SearchFilters.__annotations__)
        criteria = queries.filters_of(self._scope, self._zone, stored, kinds=("message", "memory"))
        budget = validation.whole("max_tokens", max_tokens, 1, queries.MAX_TOKENS)
        valid = queries.query(
            "-" if query is None else query, k=assembly.hits_for(budget), scope=self._scope, zone=self._zone,
            filters=stored, recipe=recipe, now=now,
            recent=recent, min_evidence=min_evidence, mood=mood, emotion_weight=emotion_weight,
            relevance_limits=assembly.RELEVANCE_LIMITS,
        )  # fmt: skip
        checked = None if query is None else valid
        asked_at = clock()
        most = validation.whole("procedures", procedures, 0, queries.MAX_HITS)
        ranked = procedures_for(self._runtime, self._scope, replace(checked, k=most)) if checked and most else ()
        successful = [procedure for procedure in ranked if procedure.successes]
        context = assembly.build_context(
            self._runtime, self._scope, checked, filters=criteria, max_tokens=budget, procedures=successful
        )
        if checked is not None:
            self._keep(checked)
            if self._runtime.settings.retention.contexts:
                from mnemic.lifecycle import maintenance

                plain = not (any(stored.values()) or recent or mood or now or successful) and recipe == "conversation"
                maintenance.keep_context(
                    self._runtime, self._scope, checked, context, asked_at=asked_at, max_tokens=budget, plain=plain
                )
        return context

    def procedures(
        self,
        request: str,
        *,
        k: int = 3,
        now: datetime | None = None,
        min_evidence: Evidence = "none",
        **filters: Unpack[Filters],
    ) -> builtins.list[Procedure]:
        """What agents did for similar requests: their tools, in order, and the outcome.

        Requests are found in the same way as ``search`` finds messages. The tools are
        read from ``metadata["tools_used"]`` of the answers, which the adapters fill in:
        ``[{"name": "book_flight", "outcome": "ok"}]``. The outcome is ``"ok"`` or
        ``"error"``; leave it out if it is unknown. Anything else there is ignored. The
        output of the tools is not read.

        Args:
            request: what is to be done, in words.
            k: maximum number of procedures, 1 to 10,000.
            now: the time that the age of outcomes is measured from. Default: ``at`` if
                it is given, else the present.
            min_evidence: as in ``search``: if the requests found have a lower grade,
                the result is empty.
            filters: see ``Filters``. They apply to requests and answers; ``role``
                (default ``user``) and ``speaker`` apply only to requests.

        Returns:
            Procedures that have worked at least once come before the others; both
            groups are sorted by ``score``. See ``Procedure``. Requests and answers with
            a trust below 0.5 are ignored.

        Raises:
            InvalidInput: an argument is not valid.
            EmbeddingMismatch: the record holds vectors of another model.

        Examples:
            >>> from mnemic import Memory, Message
            >>> memory = Memory(":memory:", embedder="hashing", session="trip")
            >>> used = {"tools_used": [{"name": "search_flights", "outcome": "ok"}, {"name": "book_flight", "outcome": "ok"}]}
            >>> _ = memory.add([
            ...     Message(role="user", content="Book a flight to Rome."),
            ...     Message(role="assistant", content="Booked.", metadata=used),
            ... ])
            >>> memory.procedures("Book a flight to Oslo.")[0].steps
            ('search_flights', 'book_flight')
        """
        query = queries.query(
            request, k=k, scope=self._scope, zone=self._zone, recipe="facts", now=now, min_evidence=min_evidence,
            filters=self._filters(Memory.procedures, filters, Filters.__annotations__),
        )  # fmt: skip
        return procedures_for(self._runtime, self._scope, query)

    def _keep(self, query: Query) -> None:
        if self._runtime.settings.retention.questions:
            from mnemic.lifecycle import maintenance

            maintenance.keep_question(self._runtime, self._scope, query)

    def list(
        self,
        *,
        order: Literal["newest", "oldest", "importance"] = "newest",
        limit: int | None = 100,
        offset: int = 0,
        **filters: Unpack[Filters],
    ) -> builtins.list[MemoryRecord]:
        """Memories in order, without ranking; at most 100 by default.

        Args:
            order: ``newest`` or ``oldest`` first, or by ``importance``.
            limit: maximum number of memories; ``None`` for all.
            offset: how many to skip.
            filters: see ``Filters``. ``role`` is a filter of messages and matches no
                memory.

        Raises:
            InvalidInput: an argument is not valid.
        """
        criteria = queries.listing(self._runtime, self._scope, self._zone, Memory.list, filters, "memory")
        if order not in ("newest", "oldest", "importance"):
            raise InvalidInput(f'order must be "newest", "oldest" or "importance", not {shown(order)}.')
        skip = validation.whole("offset", offset, 0, 2**53)
        most = validation.limit(limit)
        if order == "importance":
            count = sys.maxsize if most is None else most
            return assembly.most_important(self._runtime, self._scope, criteria, count, skip=skip)
        self._runtime.uses.settle(self._scope.user)
        return [*self._runtime.store.list_memories(self._scope.user, criteria, order=order, limit=most, offset=skip)]

    def messages(self, *, limit: int | None = None, **filters: Unpack[Filters]) -> builtins.list[Message]:
        """The verbatim messages, oldest first; see ``Filters``.

        With ``limit``, the latest messages, still oldest first.
        """
        criteria = queries.listing(self._runtime, self._scope, self._zone, Memory.messages, filters, "message")
        most = validation.limit(limit)
        return [*self._runtime.store.list_messages(self._scope.user, criteria, limit=most, newest=most is not None)]

    def episodes(self, *, limit: int | None = None, **filters: Unpack[Filters]) -> builtins.list[Episode]:
        """The episodes in order of their start, oldest first; see ``Filters``.

        With ``limit``, the latest episodes, still oldest first.
        """
        criteria = queries.listing(self._runtime, self._scope, self._zone, Memory.episodes, filters, "episode")
        most = validation.limit(limit)
        return self._runtime.store.knowledge.episodes(self._scope.user, criteria, limit=most, newest=most is not None)

    def get(self, id: str) -> Message | Episode | MemoryRecord:
        """One record by id, forgotten or not.

        Raises:
            NotFound: this user has no such record.
        """
        self._runtime.uses.settle(self._scope.user)
        return self._runtime.store.get(self._scope.user, validation.identifier(id)).value

    def history(self, id: str) -> builtins.list[Event]:
        """The events of a record, oldest first, with the content of each version.

        Raises:
            NotFound: this user has no such record.
        """
        return [*self._runtime.store.history(self._scope.user, validation.identifier(id))]

    def stats(self) -> Stats:
        """Counts of the user's records and pending work, and the whole store's size."""
        stats, llm = self._runtime.store.statistics.stats(self._scope.user), self._runtime.llm
        return stats if llm is None else replace(stats, llm=llm.stats())

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
            f"where it is needed: {type(self).__name__}({factory.location_of(self._runtime)!r}, user={self._scope.user!r})."
        )

    def __repr__(self) -> str:
        s = self._scope
        level = "".join(
            f", {name}={value!r}" for name, value in (("project", s.project), ("session", s.session)) if value
        )
        return f"{type(self).__name__}({factory.location_of(self._runtime)!r}, user={s.user!r}{level})"
