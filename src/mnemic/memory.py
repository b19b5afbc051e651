"""Memory: the synchronous API."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from mnemic.errors import InvalidInput
from mnemic.handle import Handle
from mnemic.ingest import add, fields
from mnemic.protocols import Embedder, Reranker, TokenCounter, VectorIndex
from mnemic.recall import search, validation
from mnemic.recall.context import assembly
from mnemic.runtime import factory, scopes
from mnemic.runtime.projects import Project, project_id
from mnemic.runtime.redaction import policy_from, redact_errors, redact_scope
from mnemic.text.display import shown
from mnemic.types import (
    UNSET,
    ConsolidationAdvice,
    ConsolidationReport,
    Emotion,
    Episode,
    Erasure,
    Event,
    Evidence,
    Graph,
    Kind,
    LinkType,
    MemoryContext,
    MemoryRecord,
    MemoryType,
    Message,
    Mood,
    Reach,
    Receipt,
    Receipts,
    SearchResult,
    Source,
    Status,
    Unset,
)

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from mnemic.indexes.vector.chroma import Chroma
    from mnemic.llm import LanguageModel
    from mnemic.recall import Recipe
    from mnemic.runtime.runtime import Runtime
    from mnemic.runtime.settings import Consolidator, Idle, Processing, RetentionPolicy
    from mnemic.safety.secrets import SecretAction, SecretPolicy
    from mnemic.stores.sql.connection import Durability

__all__ = ["Memory"]


@redact_errors
class Memory(Handle):
    """Long-term memory in one folder.

    A handle is bound to one user, strictly isolated from others, and optionally to a project and a session. It is
    thread-safe, and several processes may open the same folder. After a fork, parent and child open their own
    connections.

    Args:
        location: a folder, created if missing; ``postgresql://user:password@host/database``, with ``?schema=`` for
            another schema than ``mnemic``; or ``":memory:"`` for a record that is gone when closed.
        user: the owner of the memory. Records of other users are never read, scored or counted.
        project: a level between user and session: memories made here are visible here. A name, or ``mnemic.project()``.
        session: the conversation of new messages.
        timezone: zone of naive datetimes: an IANA name or a tzinfo; default UTC.
        embedder: ``None`` for all-MiniLM-L6-v2 on this machine; ``"onnx:OWNER/NAME"`` for another model of the hub;
            ``"hashing"``; ``"provider:model"``; a model folder; or any object with ``embed``.
        tokenizer: how tokens are counted; see ``get_memory_context``.
        reranker: reorders the first fifty hits of a search: ``"onnx:OWNER/NAME"``, such as
            ``"onnx:cross-encoder/ms-marco-MiniLM-L6-v2"``, a folder with such a model, or an object such as
            ``CrossEncoderReranker()``; none by default.
        llm: an optional language model that improves extracted knowledge: ``"provider:model"`` as in pydantic-ai, or
            its model object. Where it fails, rules take over.
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

    Raises:
        ConfigurationError: an argument is not valid.
        InvalidInput: a name cannot be used.
        StoreError: the folder cannot be opened, is damaged, or was written by a newer version.

    Example:
        >>> from mnemic import Memory
        >>> memory = Memory(":memory:", user="ana", embedder="hashing")
        >>> _ = memory.add_exchange("I moved to Lisbon.", "How do you like it?")
        >>> memory.search("Lisbon")[0].text
        'I moved to Lisbon.'
    """

    def __init__(
        self,
        location: str | Path = "./memory",
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
    ) -> None:
        policy = policy_from(secrets)
        self._scope = redact_scope(policy, scopes.scope(user, project_id(project), session))
        self._zone = factory.time_zone(timezone)
        self._runtime: Runtime = factory.open_runtime(
            location, embedder=embedder, tokenizer=tokenizer, reranker=reranker, llm=llm, processing=processing,
            consolidator=consolidator, idle=idle, retention=retention, secrets=policy,
            vectors=vectors, durability=durability,
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
        scope = scopes.scope(here.user if user is UNSET else user, project, session)
        other._scope = redact_scope(self._runtime.secrets, scope)  # noqa: SLF001 - our own class
        return other

    def _named(self, session: str | None) -> str | None:
        """The stored name of a session."""
        return self._runtime.secrets.name(session) if isinstance(session, str) else session

    # Writing

    def add(self, messages: Iterable[Message | Mapping[str, Any]], *, session: str | None = None) -> Receipts:
        """Store messages verbatim. When this returns, they are on disk and searchable.

        Args:
            messages: ``Message`` values or mappings with the same fields (at least ``role`` and ``content``). Content
                may be a list of parts as in chat APIs: texts are joined, an image or a file is stored as its reference.
            session: the conversation of messages without one.

        Returns:
            One receipt per message, in order: ``stored``; ``duplicate`` (same id, same content); ``rejected`` (same id,
            other content; or nothing but white space).

        Raises:
            InvalidInput: a message is not valid; none was stored.
            StoreError: the record cannot be written; batches of 256 before the failing one are stored.
        """
        receipts = add.add(self._runtime, self._scope, messages, session, self._zone)
        threshold = self._runtime.settings.processing.batch_threshold
        if threshold is not None:
            self.idle.stored(self._scope, len(receipts), threshold)
        return receipts

    def add_message(
        self,
        content: str,
        *,
        role: str = "user",
        name: str | None = None,
        sent_at: datetime | None = None,
        id: str | None = None,
        session: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Store one message; see ``add``."""
        given: Mapping[str, Any] = {} if metadata is None else metadata
        message = Message(role=role, content=content, name=name, sent_at=sent_at, id=id, metadata=given)
        return self.add([message], session=session)[0]

    def add_exchange(
        self, user: str, assistant: str, *, sent_at: datetime | None = None, session: str | None = None
    ) -> Receipts:
        """Store a user message and the assistant's reply; see ``add``."""
        turns = (("user", user), ("assistant", assistant))
        return self.add([Message(role=role, content=text, sent_at=sent_at) for role, text in turns], session=session)

    def remember(
        self,
        content: str,
        *,
        key: str | None = None,
        type: MemoryType = "semantic",
        category: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        source_ids: Sequence[str] = (),
        valid_at: datetime | None = None,
        delete_after: datetime | None = None,
        source: Source = "direct_user",
        level: Literal["session"] | None = None,
        id: str | None = None,
    ) -> Receipt:
        """Store one statement as a memory, at the level of the handle's project, else of the user.

        A statement with the same ``key`` as an earlier one supersedes it: the receipt says ``superseded``, and the
        earlier one expires but is kept. So does one that plainly gives another value of the same attribute ("The API
        runs on port 9000" after "... on port 8080"). In doubt both are kept.

        Args:
            content: the statement; the same one twice at one level is one memory (``duplicate``).
            key: the attribute it is a value of, such as ``meetings.time``, up to 200 characters.
            type: the kind of knowledge.
            category: a free word, such as ``preference`` or ``architecture_decision``.
            tags: words to filter by; they are searched too.
            metadata: any JSON object.
            importance: 0 to 1; pinned if given.
            source_ids: messages or memories it is derived from; its trust is at most theirs.
            valid_at: when it became true; default now.
            delete_after: expiry time: later searches do not find it, and ``retire`` and idle work archive it.
            source: its origin, which sets its trust.
            level: ``"session"`` limits it to the handle's session.
            id: an id of your choice; generated by default.

        Raises:
            InvalidInput: a value is not valid.
            NotFound: a source does not exist.
        """
        options = {
            "key": key, "type": type, "category": category, "tags": tags, "metadata": metadata, "importance": importance,
            "source_ids": source_ids, "valid_at": valid_at, "delete_after": delete_after,
            "source": source, "level": level, "id": id,
        }  # fmt: skip
        from mnemic.knowledge import remember

        return remember.remember(self._runtime, self._scope, content, options, self._zone)

    def update(
        self,
        id: str,
        *,
        content: str | Unset = UNSET,
        type: MemoryType | Unset = UNSET,
        category: str | Unset | None = UNSET,
        tags: Sequence[str] | Unset | None = UNSET,
        metadata: Mapping[str, Any] | Unset | None = UNSET,
        importance: float | Unset | None = UNSET,
        valid_at: datetime | Unset | None = UNSET,
        invalid_at: datetime | Unset | None = UNSET,
        delete_after: datetime | Unset | None = UNSET,
        source: Source | Unset = UNSET,
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

        Raises:
            NotFound: no such record.
            InvalidInput: it is a message (evidence is never rewritten), or a value is not valid.
        """
        values = {
            "content": content, "type": type, "category": category, "tags": tags, "metadata": metadata,
            "importance": importance, "valid_at": valid_at, "invalid_at": invalid_at,
            "delete_after": delete_after, "source": source,
        }  # fmt: skip
        from mnemic.lifecycle import edits

        return edits.update(self._runtime, self._scope, id, values, self._zone)

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

        With ``hard`` they are erased for good with everything derived from them, and no byte is left in the files of
        the memory. Episodes are rewritten from their remaining messages. See ``Erasure``, and ``erase_user`` for all
        records of a user.

        Args:
            description: the subject, in words: "my salary", "everything about Eva". Records clearly about it are
                forgotten; similar ones, and those that also say something else, are kept and have a ``rejected``
                receipt.
            ids: the records themselves, such as those of a preview.
            hard: erase them for good, including those forgotten before; by description at most 5.
            dry_run: change nothing, and return the receipts of a description: ``forgotten`` or ``rejected``, each with
                its text.
            reason: kept in the history of forgotten records.

        Raises:
            InvalidInput: neither or both are given, ``dry_run`` comes with ids, or the description is too vague.
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
            return forgetting.previewed(self._runtime, self._scope, description, self._zone, archived=hard)
        if hard:
            return self._erase(description, ids)
        if ids is not None:
            return edits.archive(self._runtime, self._scope, ids, reason, self._zone)
        return forgetting.forget_described(self._runtime, self._scope, description, self._zone, reason)

    def _erase(self, description: str | None, ids: Iterable[str] | None) -> Erasure:
        from mnemic.lifecycle import erasure, forgetting

        if ids is not None:
            return erasure.erase(self._runtime, self._scope, fields.words("ids", ids), self._zone)
        meant = forgetting.to_erase(self._runtime, self._scope, description, self._zone)
        named = [receipt.id for receipt in meant.clear]
        return erasure.erase(self._runtime, self._scope, named, self._zone, spared=meant.spared)

    def erase_user(self) -> Erasure:
        """Erase all records of the handle's user, at every level, and the user's name, for good.

        No byte is left in the files of the memory; backups and exports are not touched. Handles of this user stay
        usable and start with an empty memory.
        """
        from mnemic.lifecycle import erasure

        return erasure.erase_user(self._runtime, self._scope)

    def restore(self, *ids: str) -> Receipts:
        """Bring forgotten records back."""
        from mnemic.lifecycle import edits

        return edits.restore(self._runtime, self._scope, ids, self._zone)

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
            source: instead, all records of a source such as ``"tool_external"``, or of a tool by its name.
            session: instead, all records of a conversation; with ``source``, those of both.
            reason: kept in their history.

        Returns:
            A receipt for each quarantined record.

        Raises:
            InvalidInput: no argument is given, or ids with another one.
            NotFound: there is no such record.
        """
        from mnemic.lifecycle import quarantine

        return quarantine.quarantine(self._runtime, self._scope, ids, source, self._named(session), reason)

    def release(self, ids: Iterable[str]) -> Receipts:
        """Release quarantined records and those derived from them, unless another source of these is still in
        quarantine.

        Returns:
            A receipt for each released record.

        Raises:
            NotFound: there is no such record.
        """
        from mnemic.lifecycle import quarantine

        return quarantine.release(self._runtime, self._scope, ids)

    def link(self, source: str, target: str, type: LinkType, *, strength: float = 1.0, reason: str = "") -> Receipt:
        """Link one memory to another; repeating a link updates its strength and reason.

        ``supersedes`` also expires the target: it is no longer believed.

        Args:
            source: id of the memory the link starts from.
            target: id of the memory it points to.
            type: ``extends``, ``contradicts``, ``implements``, ``references`` or ``supersedes``.
            strength: 0 to 1.
            reason: why, in a few words.

        Raises:
            NotFound: one of them does not exist.
            InvalidInput: one of them is not a memory, both are the same, or a value is not valid.
        """
        from mnemic.lifecycle import links

        return links.link(self._runtime, self._scope, source, target, type, strength, reason)

    def unlink(self, source: str, target: str, type: LinkType | None = None) -> Receipt:
        """Remove the links from one memory to another, of one type or all.

        Raises:
            NotFound: one of the memories does not exist.
        """
        from mnemic.lifecycle import links

        return links.unlink(self._runtime, self._scope, source, target, type)

    # Knowledge

    def should_consolidate(self) -> ConsolidationAdvice:
        """Whether consolidation is due: there are enough short-term memories, and some are old and important enough."""
        from mnemic.lifecycle import consolidation

        return consolidation.advise(self._runtime, self._scope, self._runtime.settings.consolidator)

    def consolidate(
        self,
        *,
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
            importance_threshold: overrides that of the consolidator.
            similarity_threshold: likewise.
            min_age_hours: likewise.
            dry_run: report without changing anything.

        Raises:
            ConfigurationError: a setting lies outside its range.
            Conflict: other writers changed the memories during three attempts; nothing was stored.
        """
        from mnemic.lifecycle import consolidation

        given = {
            "importance_threshold": importance_threshold, "similarity_threshold": similarity_threshold,
            "min_age_hours": min_age_hours,
        }  # fmt: skip
        settings = replace(self._runtime.settings.consolidator, **{k: v for k, v in given.items() if v is not None})
        return consolidation.consolidate(self._runtime, self._scope, settings, dry_run=dry_run)

    def undo(self, consolidation_id: str) -> Receipt:
        """Revert a consolidation: its promotions, archived records and links.

        Raises:
            NotFound: this user has no such consolidation.
        """
        from mnemic.lifecycle import consolidation

        return consolidation.undo(self._runtime, self._scope, validation.identifier(consolidation_id))

    def episodes(
        self,
        *,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        reach: Reach = "project+global",
        limit: int | None = None,
    ) -> builtins.list[Episode]:
        """The episodes in order of their start; ``limit`` keeps the latest."""
        filters = validation.filters(
            self._scope,
            self._zone,
            kinds=("episode",),
            reach=reach,
            since=since,
            until=until,
            in_session=self._named(session),
        )
        most = None if limit is None else validation.whole("limit", limit, 0, 2**53)
        knowledge = self._runtime.store.knowledge
        return knowledge.episodes(self._scope.user, filters, limit=most, newest=most is not None)

    def graph(self, id: str, *, depth: int = 2, types: Sequence[LinkType] | None = None) -> Graph:
        """The memories within ``depth`` links of one, at most 500, and the links among them.

        Args:
            id: the memory to start from.
            depth: links to follow, 0 to 10, in either direction.
            types: only links of these types.

        Raises:
            NotFound: no such memory.
        """
        from mnemic.lifecycle import links

        return links.graph(self._runtime, self._scope, validation.identifier(id), depth, types)

    # Reading

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        reach: Reach = "project+global",
        kinds: Sequence[Kind] = ("message", "memory"),
        types: Sequence[MemoryType] | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        status: Sequence[Status] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        at: datetime | None = None,
        known_at: datetime | None = None,
        include_expired: bool = False,
        session: str | None = None,
        role: str | None = None,
        exclude: Sequence[str] = (),
        now: datetime | None = None,
        recipe: str | Recipe = "conversation",
        quality: bool = True,
        expand_links: int = 0,
        expand_query: bool = False,
        recent: Sequence[str] = (),
        mood: Mood = None,
        emotion_weight: float = 0.3,
        min_similarity: float | None = None,
        min_evidence: Evidence = "none",
        min_trust: float | None = None,
        untrusted_share: float = 0.3,
    ) -> SearchResult:
        """Find records relevant to a query. Filters apply before any ranking or limit.

        Evidence comes first: a memory derived from a message is listed in the ``via`` of that hit, and is a hit itself
        only where its messages are excluded, as with ``kinds=["memory"]``. Current memories rank before those they
        superseded.

        Args:
            query: text in any language the embedder knows, without operators.
            k: most hits, 1 to 10,000; the order does not depend on it.
            reach: levels to search: ``session``, ``project``, ``project+global``, ``user``, or ``auto`` (narrow first,
                wider until there are k).
            kinds: of ``message``, ``memory`` and ``episode``, those that may be hits.
            types: types of memory; excludes messages.
            tags: at least one of these; excludes messages.
            metadata: every key must equal its value.
            status: default: all but archived records.
            since: said at this time or later.
            until: said before this time.
            at: what was true then, by what was said until then; default: what is true now.
            known_at: what was believed then, whatever became known later.
            include_expired: also memories that are no longer true or no longer believed.
            session: messages of this conversation only.
            role: messages of this role only.
            exclude: ids to leave out, such as those of messages already in the prompt.
            now: time of the question; default the present.
            recipe: ``conversation``, ``facts``, ``coding``, ``rrf``, ``vector``, or a ``Recipe``.
            quality: whether importance, recency, tier and level break ties.
            expand_links: links to follow from the first hits, 0 to 10; linked records are ranked with the rest.
            expand_query: also search for other wordings of the query from the handle's ``llm``, if it answers.
            recent: the last turns before the query, oldest first. They give context to a short query, such as "and the
                second step?", and count less for a longer one.
            mood: rank records of a similar mood first: an ``Emotion`` (see ``emotion``), a function that returns one at each
                call, or ``"session"`` for that of the user's last turns, at a low weight. Without it, the mood of the query
                breaks ties.
            emotion_weight: weight of the mood relative to the cosine, 0 to 1; 0 turns it off.
            min_similarity: lowest cosine with the query, -1 to 1.
            min_evidence: a result graded lower than this is empty; it still carries its grade.
            min_trust: lowest trust of a hit, 0 to 1; 0.5 excludes untrusted sources.
            untrusted_share: largest share of the hits from one untrusted source, such as a tool or a document, 0 to 1;
                the default allows three of ten.

        Raises:
            InvalidInput: an argument is not valid.
            EmbeddingMismatch: the record holds vectors of another model.
        """
        filters = validation.filters(
            self._scope, self._zone, kinds=kinds, reach=reach, types=types, tags=tags, metadata=metadata, status=status,
            since=since, until=until, in_session=self._named(session), role=role, at=at, known_at=known_at,
            expired=include_expired, exclude=exclude, min_trust=min_trust,
        )  # fmt: skip
        checked = validation.query(
            query, k=k, filters=filters, zone=self._zone, recipe=recipe, now=now, quality=quality,
            min_similarity=min_similarity, min_evidence=min_evidence, expand_links=expand_links,
            expand_query=expand_query, recent=recent, mood=mood, emotion_weight=emotion_weight,
            untrusted_share=untrusted_share,
        )  # fmt: skip
        return search.search(self._runtime, self._scope, checked)

    def get_memory_context(
        self,
        query: str | None = None,
        *,
        max_tokens: int = 2000,
        reach: Reach = "project+global",
        kinds: Sequence[Kind] = ("message", "memory"),
        types: Sequence[MemoryType] | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        at: datetime | None = None,
        known_at: datetime | None = None,
        session: str | None = None,
        exclude: Sequence[str] = (),
        min_trust: float | None = None,
        now: datetime | None = None,
        recipe: str | Recipe = "conversation",
        recent: Sequence[str] = (),
        mood: Mood = None,
        emotion_weight: float = 0.3,
        min_evidence: Evidence = "none",
    ) -> MemoryContext:
        """Search results as text for a prompt, within a token budget.

        Without a query: the start of a new session, with important memories and the latest messages from trusted
        sources. Tokens are counted by the handle's ``tokenizer``: ``None`` is tiktoken's cl100k_base where its table is
        on this machine, else an approximation; a name, ``"approximate"`` or any function are accepted. The other
        arguments are those of ``search``: with ``min_evidence="weak"`` the text is empty when no hit is relevant to the
        query.

        Raises:
            InvalidInput: an argument is not valid.
        """
        filters = validation.filters(
            self._scope, self._zone, kinds=kinds, reach=reach, types=types, tags=tags, metadata=metadata, since=since,
            until=until, at=at, known_at=known_at, in_session=self._named(session), exclude=exclude,
            min_trust=min_trust,
        )  # fmt: skip
        budget = validation.whole("max_tokens", max_tokens, 1, validation.MAX_TOKENS)
        checked = None
        if query is not None:
            k = assembly.hits_for(budget)
            checked = validation.query(
                query, k=k, filters=filters, zone=self._zone, recipe=recipe, now=now, recent=recent,
                min_evidence=min_evidence, mood=mood, emotion_weight=emotion_weight,
            )  # fmt: skip
        return assembly.build_context(self._runtime, self._scope, checked, filters=filters, max_tokens=budget)

    def list(
        self,
        *,
        order: Literal["newest", "oldest", "importance"] = "newest",
        limit: int | None = 100,
        offset: int = 0,
        reach: Reach = "project+global",
        types: Sequence[MemoryType] | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        status: Sequence[Status] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        at: datetime | None = None,
        known_at: datetime | None = None,
        include_expired: bool = False,
        min_trust: float | None = None,
    ) -> builtins.list[MemoryRecord]:
        """Memories in order, not ranked. ``since`` and ``until`` refer to their creation; see ``search`` for the
        rest.
        """
        filters = validation.filters(
            self._scope, self._zone, kinds=("memory",), reach=reach, types=types, tags=tags, metadata=metadata,
            status=status, since=since, until=until, at=at, known_at=known_at, expired=include_expired,
            min_trust=min_trust, searched=False,
        )  # fmt: skip
        if order not in ("newest", "oldest", "importance"):
            raise InvalidInput(f'order must be "newest", "oldest" or "importance", not {shown(order)}.')
        most = None if limit is None else validation.whole("limit", limit, 0, 2**53)
        skip = validation.whole("offset", offset, 0, 2**53)
        return [*self._runtime.store.list_memories(self._scope.user, filters, order=order, limit=most, offset=skip)]

    def messages(
        self,
        *,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        role: str | None = None,
        reach: Reach = "project+global",
        limit: int | None = None,
    ) -> builtins.list[Message]:
        """The verbatim messages in order of time; ``limit`` keeps the latest."""
        filters = validation.filters(
            self._scope,
            self._zone,
            kinds=("message",),
            reach=reach,
            since=since,
            until=until,
            in_session=self._named(session),
            role=role,
        )
        most = None if limit is None else validation.whole("limit", limit, 0, 2**53)
        return [*self._runtime.store.list_messages(self._scope.user, filters, limit=most, newest=most is not None)]

    def get(self, id: str) -> Message | Episode | MemoryRecord:
        """One record by id, forgotten or not.

        Raises:
            NotFound: this user has no such record.
        """
        return self._runtime.store.get(self._scope.user, validation.identifier(id)).value

    def history(self, id: str) -> builtins.list[Event]:
        """The events of a record, oldest first, with the content of each version.

        Raises:
            NotFound: this user has no such record.
        """
        return [*self._runtime.store.history(self._scope.user, validation.identifier(id))]

    def log(
        self, *, kinds: Sequence[Kind] = ("message", "episode", "memory"), limit: int | None = 100
    ) -> builtins.list[Event]:
        """The events of all of the user's records of some kinds, at every level, newest first.

        Args:
            kinds: of ``message``, ``episode`` and ``memory``.
            limit: most events; None for all.

        Raises:
            InvalidInput: an argument is not valid.
        """
        most = None if limit is None else validation.whole("limit", limit, 0, 2**53)
        log = self._runtime.store.lifecycle.log
        return [*log(self._scope.user, kinds=validation.kinds(kinds), limit=most)]

    def redacted(self, text: str) -> str:
        """A text as it would be stored, with every secret replaced by a mark, if the policy redacts them.

        Compare this with stored texts, and derive names from it: a digest of a short secret would reveal it.

        Raises:
            InvalidInput: the text is not a string.
        """
        return self._runtime.secrets.redacted(validation.identifier(text))[0]

    def emotion(self, text: str) -> Emotion:
        """The mood of a text: valence, arousal and confidence.

        Made for a few sentences of English. With the default embedder it uses the meaning as well as the words.

        Raises:
            InvalidInput: the text is not a string.
        """
        from mnemic.recall import mood

        embedder = self._runtime.indexer.embedder
        said = validation.identifier(text)
        return mood.emotions_of([said], self._runtime.indexer.documents([said], embedder), embedder.id)[0]
