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
        user: the owner of the memory. Records of other users are never read, scored or counted.
        project: a level between user and session: memories made here are visible here. A name, or ``mnemic.project()``.
        session: the conversation of new messages.
        timezone: zone of naive datetimes: an IANA name or a tzinfo; default UTC.
        embedder: ``None`` for all-MiniLM-L6-v2 on this machine, ``"minilm-int8"`` for the same with weights of one byte;
            ``"multilingual"`` for other languages than English; ``"onnx:OWNER/NAME"`` for another model of the hub;
            ``"provider:model"``; ``"sentence-transformers:NAME"``; ``"hashing"``; a model folder; or an ``Embedder``.
        tokenizer: how tokens are counted; see ``get_memory_context``.
        reranker: reorders the first fifty hits of a search: ``"onnx:OWNER/NAME"``, such as
            ``"onnx:cross-encoder/ms-marco-MiniLM-L6-v2"``, a folder with such a model, or an object such as
            ``CrossEncoderReranker()``; none by default.
        llm: an optional language model that improves extracted knowledge and forgetting by description:
            ``"provider:model"`` as in pydantic-ai, or its model object. Where it fails, rules take over.
        processing: settings of ``process``; see ``Processing``.
        consolidator: settings of ``consolidate``; see ``Consolidator``.
        retention: how long records are kept; see ``RetentionPolicy``.
        secrets: how keys, passwords and other secrets are treated before storage: ``"redact"``, ``"allow"``,
            ``"refuse"``, or a ``SecretPolicy``.
        idle: settings of the handle's ``idle`` trigger; see ``Idle``.
        vectors: the vector index for users with very many records: ``"exact"`` compares all vectors, as ``None`` does
            except in PostgreSQL, which has its own index; ``"chroma"`` keeps Chroma in the folder;
            ``"http://host:port"`` is a Chroma server; ``Chroma(...)`` has settings; a chromadb client, or a
            ``VectorIndex``.
        durability: ``"FULL"`` survives power loss, ``"NORMAL"`` only a killed process.
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
        """Another handle on the same record with another scope; ``None`` removes a level, and unset levels are kept.

        A handle for another user starts without project and session.
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
            messages: ``Message`` values or mappings with the same fields (at least ``role`` and ``content``), or one of
                them, or the text of one. The messages of a chat API go in as its client holds them (OpenAI's chat
                completions and responses, Anthropic, Gemini, Bedrock, Ollama): texts are joined, an image or a file is
                stored as its reference, a message that only hands over a tool's result as one of the tool, and a call of a
                tool without words is ``rejected``.
            session: the conversation of messages without one.
            role: of a text, as are the following: the role of its ``Message``.
            name: the speaker.
            sent_at: when it was said; default now.
            id: an id of your choice; generated by default.
            metadata: any JSON object.
            agent: the agent that the messages belong to; kept in their metadata, and a filter.

        Returns:
            One receipt per message, in order: ``stored``; ``duplicate`` (same id, same content, forgotten or not);
            ``rejected`` (same id, other content; or nothing but white space).

        Raises:
            InvalidInput: a message is not valid; none was stored.
            StoreError: the record cannot be written; batches of 256 before the failing one are stored.

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
                f"{', '.join([*options] or ['role'])} can be given for one text; messages have their own. Nothing was stored."
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
            agent: the agent that they belong to.
            cited: ids of the recalled records that the reply relies on. Each memory among them, or derived from a
                message among them, counts as used once more, besides the use that being found counts as. Unknown ids
                are ignored: they may come from a model.
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

        A statement with the same ``key`` as an earlier one supersedes it, and so does one that ``replaces`` it: the
        receipt says ``superseded``, and the earlier one expires but is kept. Nothing else ends a statement: of two that
        contradict each other both are kept, and recall ranks the later one first.

        Args:
            content: the statement; the same one again at one level is one memory (``duplicate``), until it ends.
            key: the attribute it is a value of, such as ``meetings.time``, up to 200 characters.
            replaces: ids of memories that are no longer true, or of messages that said what is not; see ``correct``.
            type: the kind of knowledge.
            category: one that Mnemic gives, such as ``preference`` or ``architecture_decision``, or a word of your own;
                default one that a rule finds.
            tags: words to filter by; they are searched too.
            metadata: any JSON object.
            importance: 0 to 1; pinned if given.
            source_ids: messages or memories it is derived from; its trust is at most theirs. A search shows a message in its
                place only if the messages say it.
            valid_at: when it became true; default now.
            delete_after: expiry time: later searches do not find it, and ``retire`` and idle work archive it.
            source: its origin, which sets its trust.
            level: ``"session"`` limits it to the handle's session.
            agent: the agent that it belongs to; kept in its metadata, and a filter.
            id: an id of your choice; generated by default.
            description: see ``Description``: ``summary``, ``keywords``, ``related_files`` and others.

        Raises:
            InvalidInput: a value is not valid.
            NotFound: a source, or what it replaces, does not exist.
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
        """Write the next version of a memory: unset fields are kept, ``None`` clears. ``history`` has earlier versions.

        A new ``content`` also renews the summary, keywords and mood.

        Args:
            id: of the memory.
            content: the new statement.
            type: see ``remember``, as for all others.
            category: one word for its kind.
            tags: the complete list.
            metadata: the complete object.
            importance: 0 to 1, pinned; ``None`` computes it again.
            valid_at: since when it is true.
            invalid_at: until when it was true; ``None``: it still is.
            delete_after: expiry time; ``None``: none.
            source: the origin of the new content, if not that of the memory; it limits the trust. Untrusted content
                (below 0.5) cannot replace trusted content: it is rejected.
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

        What was said stays as evidence. Recall leaves the wrong sentence out, or marks a message that says nothing else, and
        ranks it behind the correction; the sentences beside it hold. A remembered statement ends as a whole. The new memory
        keeps key, category, metadata, pinned importance, expiry and tags of what it replaces, but for tags with a word that
        only the wrong statement has. To take the correction back, ``forget`` the new memory, then ``restore`` the replaced
        one; both ids are on the receipt. A second correction of it also replaces the first one.

        Args:
            wrong: the id of a memory or message, or a description; a description means the current record that fits it best
                and says something else than the statement, those that say the same, and those that give another value for
                the same thing. A reply that repeats the wrong value ends with it.
            statement: what is true.
            dry_run: change nothing, and return the receipts that it would have.
            source: the origin of the statement. An untrusted one cannot correct what is trusted.

        Returns:
            The receipt of the new memory, ``superseded`` with the ids of what it replaces; then ``rejected`` ones for
            records that are near the description and were left as they are, each with its text. If nothing is clearly
            about the description, or all that is agrees with the statement, all are ``rejected`` and nothing is stored.

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

        A message that says nothing but what a forgotten memory says goes with it; one that says more is shown without that
        sentence. With ``hard`` they are erased for good with everything derived from them, and no byte is left in the files of
        the memory. Episodes are rewritten from their remaining messages. See ``Erasure``, and ``erase_user`` for all
        records of a user.

        Args:
            description: the subject, in words: "my salary", "everything about Eva but her birthday". Records clearly about
                it are forgotten; replies to them, similar ones, and those that also say something else, are kept and have a
                ``rejected`` receipt; of messages, "everything" hides the sentences about it. The handle's ``llm``, if it
                answers, says which of the nearest are meant.
            ids: the records themselves, such as those of a preview; up to 10,000, as for every list of ids.
            hard: erase them for good, including those forgotten before; by description at most 5.
            dry_run: change nothing, and return the receipts of a description: ``forgotten`` or ``rejected``, each with
                its text.
            reason: kept in the history of forgotten records.

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

    def restore(self, *ids: str) -> Receipts:
        """Bring forgotten records back, and let memories that ended hold again.

        Returns:
            One receipt per id: ``restored``; ``duplicate`` if there is nothing to restore, for a message with the ids of
            what it says that has ended; ``rejected`` while another memory has its key or its text, with the id of that one.
        """
        from mnemic.lifecycle import edits

        return edits.restore(self._runtime, self._scope, ids, self._zone)

    # Knowledge

    def process(self, *, limit: int | None = None, progress: Progress | None = None) -> ProcessReport:
        """Process waiting messages into episodes, and into memories of what was not known before.

        Safe to interrupt and to call again: conversations are processed in steps, each stored whole or not at all. An
        interrupted call leaves the rest waiting for the next.

        Args:
            limit: about the most messages to process, whole episodes at a time, and the most remembered statements to
                enrich and long answers to embed; ``None`` for all that wait when the call begins.
            progress: called with (done, total), of the messages that wait and the long answers to be embedded.

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

        The most important short-term memories that are old enough are clustered with near duplicates. If a cluster is
        important enough, its most important member becomes long-term and absorbs the others, which are archived: they
        stay reachable by id and lineage, and ``undo`` restores everything. Memories that differ in a number, a date, a
        name, a negation or the subject are never merged; they are linked as contradicting only where one denies the
        other. Only one process consolidates at a time; concurrent calls do nothing.

        Args:
            ids: only merge these memories, whatever their age and importance; fewer than two that are current and have
                the same content are left as they are.
            importance_threshold: overrides that of the consolidator.
            similarity_threshold: likewise.
            min_age_hours: likewise.
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
        """Find records relevant to a query.

        Evidence comes first: a memory derived from a message is listed in the ``via`` of that hit, and is a hit itself
        only where its messages are excluded, as with ``kinds=["memory"]``. Current memories rank before those they
        superseded.

        Args:
            query: text in any language the embedder knows, without operators.
            k: most hits, 1 to 10,000; the order does not depend on it.
            recipe: ``conversation``, ``facts``, ``coding``, ``rrf``, ``vector``, or a ``Recipe``.
            recent: the last turns before the query, oldest first. They give context to a short query, such as "and the
                second step?", and count less for a longer one.
            now: time of the question; default the present.
            mood: rank records of a similar mood first: an ``Emotion``, words that show it, a function that returns one at
                each call, or ``"session"`` for that of the user's last turns, at a low weight. Without it, the mood of the
                query breaks ties.
            emotion_weight: weight of the mood relative to the cosine, 0 to 1; 0 turns it off.
            min_evidence: a result graded lower than this is empty; it still carries its grade.
            expand_links: links to follow from the first hits, 0 to 10; linked records are ranked with the rest.
            expand_query: also search for other wordings of the query from the handle's ``llm``, if it answers.
            filters: see ``SearchFilters``: ``kinds``, ``reach``, ``session``, ``since``, ``tags`` and others. They apply
                before any ranking or limit.

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

        Without a query: the start of a new session, with important memories and the latest messages from trusted
        sources. Tokens are counted by the handle's ``tokenizer``: ``None`` is tiktoken's cl100k_base where its table is
        on this machine, else an approximation; a name, ``"approximate"`` or any function are accepted. The other
        arguments are those of ``search``: with ``min_evidence="weak"`` the text is empty when no hit is relevant to the
        query. With ``procedures`` it begins with at most so many that worked for similar requests, in at most a fifth of the
        budget; see ``procedures``.

        Raises:
            InvalidInput: an argument is not valid.
        """
        stored = self._filters(Memory.get_memory_context, filters, SearchFilters.__annotations__)
        criteria = queries.filters_of(self._scope, self._zone, stored, kinds=("message", "memory"))
        budget = validation.whole("max_tokens", max_tokens, 1, queries.MAX_TOKENS)
        checked = None if query is None else queries.query(
            query, k=assembly.hits_for(budget), scope=self._scope, zone=self._zone, filters=stored, recipe=recipe, now=now,
            recent=recent, min_evidence=min_evidence, mood=mood, emotion_weight=emotion_weight,
            relevance_limits=assembly.RELEVANCE_LIMITS,
        )  # fmt: skip
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
        """What agents did for requests like this one: the tools they used, in order, and how that went.

        Requests are found as ``search`` finds messages. What was done for one is what the answers to it note in
        ``metadata["tools_used"]``, as the adapters do: ``[{"name": "book_flight", "outcome": "ok"}]``, with ``"ok"``,
        ``"error"`` or nothing where the outcome is unknown. Anything else there is ignored. No text of a tool is read.

        Args:
            request: what is to be done, in words.
            k: most procedures, 1 to 10,000.
            now: the time from which the age of outcomes counts; default the present, or ``at``.
            min_evidence: a lower grade of the requests found gives nothing, as in ``search``.
            filters: see ``Filters``: they hold for requests and answers, ``role`` (default ``user``) and ``speaker`` for
                requests alone.

        Returns:
            Those that ever worked before the others, each by ``score``; see ``Procedure``. Requests and answers below a
            trust of 0.5 count for nothing.

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
        """Memories in order, not ranked; see ``Filters``."""
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
        """The verbatim messages in order of time; ``limit`` keeps the latest. See ``Filters``."""
        criteria = queries.listing(self._runtime, self._scope, self._zone, Memory.messages, filters, "message")
        most = validation.limit(limit)
        return [*self._runtime.store.list_messages(self._scope.user, criteria, limit=most, newest=most is not None)]

    def episodes(self, *, limit: int | None = None, **filters: Unpack[Filters]) -> builtins.list[Episode]:
        """The episodes in order of their start; ``limit`` keeps the latest. See ``Filters``."""
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
        """Counts of this user's records, pending work, and the size of the store."""
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
