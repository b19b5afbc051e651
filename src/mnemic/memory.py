"""Memory: the synchronous face. Each method says what it promises and hands over to a flow."""

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
from mnemic.runtime.redaction import discreet, named, policy_from
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


@discreet
class Memory(Handle):
    """Long-term memory in one folder.

    A handle is bound to one user (a hard wall), and optionally to a project and a session. It is safe to share between
    threads, and several processes may open the same folder. A handle may be carried over a fork: parent and child open
    connections of their own after it.

    Args:
        location: a folder, made when missing; ``postgresql://user:password@host/database``, with ``?schema=`` other than
            ``mnemic`` where you like; or ``":memory:"`` for a record that is gone when closed.
        user: whose memory this is. Nothing of another user is ever read, scored or counted.
        project: a level between user and session: what is remembered here is seen here. A name, or ``mnemic.project()``.
        session: the conversation that new messages belong to.
        timezone: zone of naive datetimes: an IANA name or a tzinfo; default UTC.
        embedder: ``None`` for all-MiniLM-L6-v2 on this machine; ``"onnx:OWNER/NAME"`` for another model of the hub;
            ``"hashing"``; ``"provider:model"``; a model folder; or any object with ``embed``.
        tokenizer: how tokens are counted; see ``get_memory_context``.
        reranker: reads the first fifty hits of a search again and reorders them: ``"onnx:OWNER/NAME"``, such as
            ``"onnx:cross-encoder/ms-marco-MiniLM-L6-v2"``, a folder with such a model, or an object such as
            ``CrossEncoderReranker()``; none by default.
        llm: a language model that makes knowledge better: ``"provider:model"`` as pydantic-ai names it, or its model
            object. Nothing needs one; where it fails, the rules take over.
        processing: how messages are made into knowledge; see ``Processing``.
        consolidator: how short-term memories become long-term ones; see ``Consolidator``.
        retention: how long things are kept; see ``RetentionPolicy``.
        secrets: what is done with keys, passwords and the like before anything is stored: ``"redact"``, ``"allow"``,
            ``"refuse"``, or a ``SecretPolicy``.
        idle: how long is quiet for the handle's ``idle`` trigger, which works when it is armed; see ``Idle``.
        vectors: what is asked which vectors are near, for users who have very many: ``"exact"`` compares them all, as
            ``None`` does except in PostgreSQL, which has an index of its own; ``"chroma"`` keeps Chroma in the folder;
            ``"http://host:port"`` asks a Chroma server; ``Chroma(...)`` has settings; a chromadb client, or an object that
            fits ``VectorIndex``.
        durability: ``"FULL"`` survives power loss, ``"NORMAL"`` a killed process only.

    Raises:
        ConfigurationError: an argument is not understood.
        InvalidInput: a name is not usable.
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
        self._scope = named(policy, scopes.scope(user, project_id(project), session))
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
        """Another handle on the same record; what is not given stays as it is here, and ``None`` leaves it out.

        A new user starts without project and session.
        """
        here = self._scope
        same = user is UNSET or user == here.user
        project = (here.project if same else None) if project is UNSET else project_id(project)
        session = (here.session if same else None) if session is UNSET else session
        other = Memory.__new__(Memory)
        other._runtime, other._zone = self._runtime, self._zone  # noqa: SLF001 - our own class
        scope = scopes.scope(here.user if user is UNSET else user, project, session)
        other._scope = named(self._runtime.secrets, scope)  # noqa: SLF001 - our own class
        return other

    def _named(self, session: str | None) -> str | None:
        """A session under the name it is kept by."""
        return self._runtime.secrets.name(session) if isinstance(session, str) else session

    # Writing

    def add(self, messages: Iterable[Message | Mapping[str, Any]], *, session: str | None = None) -> Receipts:
        """Store messages, verbatim. When this returns they are on disk and can be found.

        Args:
            messages: ``Message`` values or mappings with the same fields (``role`` and ``content`` at least). Content may
                come in parts, as chat APIs have it: texts are joined, an image or a file is told by its reference.
            session: the conversation of those that name none themselves.

        Returns:
            One receipt per message, in order: ``stored``; ``duplicate`` (same id, same content); ``rejected`` (same id,
            other content; or nothing but white space).

        Raises:
            InvalidInput: one of them cannot be used; then none of them was stored.
            StoreError: the disk or the file refuses; batches of 256 before the failing one are stored.
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
        """Store what the user said and what the assistant answered; see ``add``."""
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

        A statement under the same ``key`` as an earlier one takes its place: the receipt says ``superseded``, and the earlier
        one ends but is kept. So does one that plainly gives another value of the same thing ("The API runs on port 9000" after
        "... on port 8080"). In doubt both stay.

        Args:
            content: the statement; the same one twice at one level is one memory (``duplicate``).
            key: what it is a value of, such as ``meetings.time``, up to 200 characters.
            type: what kind of knowledge it is.
            category: a free word, such as ``preference`` or ``architecture_decision``.
            tags: words to filter by; they are searched too.
            metadata: any JSON object.
            importance: 0 to 1; given, it is pinned.
            source_ids: messages or memories it was made from; it is never trusted more than they are.
            valid_at: since when it is true in the world; default: now.
            delete_after: its lifetime: from then on it is found no more, and ``retire`` and idle work archive it.
            source: where it comes from.
            level: ``"session"`` keeps it to the handle's session.
            id: a name of your own; minted when left out.

        Raises:
            InvalidInput: a value cannot be used.
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
        """Write the next version of a memory; what is not given stays, ``None`` clears. Earlier versions: see ``history``.

        With a new ``content``, what was made of the earlier words (summary, keywords, its mood) is made again.

        Args:
            id: of the memory.
            content: what it says from now on.
            type: see ``remember``, as for all others.
            category: one word for its kind.
            tags: the whole list.
            metadata: the whole of it.
            importance: 0 to 1, pinned from then on; ``None`` lets it be computed again.
            valid_at: from when it is true.
            invalid_at: until when; ``None``: it holds.
            delete_after: its lifetime; ``None``: none.
            source: whose words the new content is, where it is not the memory's own source any more; it is believed no more
                than that source is. What is not trusted (below 0.5) cannot take the place of what is: it is rejected.

        Raises:
            NotFound: no such record.
            InvalidInput: it is a message (evidence is never rewritten), or a value cannot be used.
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
        """Take records out of every search and listing. They stay reachable by id, and ``restore`` brings them back.

        With ``hard`` nothing brings them back: they are erased with everything that was made from them, and no byte is left
        in the files of the memory. Episodes are told again from what stays. See ``Erasure``, and ``erase_user`` for all that
        a user has.

        Args:
            description: what to forget, in words: "my salary", "everything about Eva". What clearly bears on it goes, by its
                words or by meaning; what resembles it, or says something else as well, stays and has a ``rejected`` receipt.
            ids: the records themselves, such as those of a preview.
            hard: erase them for good, also those that were forgotten before; by description 5 at most.
            dry_run: change nothing, and return the receipts that a description would have: ``forgotten`` for what it takes,
                ``rejected`` for what stays, each with its text.
            reason: kept in their history; what is erased has none.

        Raises:
            InvalidInput: neither or both are given, ``dry_run`` comes with ids, or the description says nothing in particular.
            TooManyHits: ``hard``, and the description takes more than 5 records; nothing was erased.
            Conflict: others kept making something of what is to be erased; nothing was.
        """
        if (description is None) == (ids is None):
            raise InvalidInput("forget() takes a description or ids=, one of them.")
        if not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
            raise InvalidInput("reason must be a string.")
        if ids is not None and dry_run:
            raise InvalidInput("dry_run shows what a description takes; ids take what they name.")
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
        """Erase everything that the handle's user has, at every level, and the user's name: nothing brings it back.

        No byte is left in the files of the memory. Backups and exports are files of their own. Handles of this user stay
        usable: what they store from now on begins anew.
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
        """Take records, and all that was made from them at any remove, out of every search, context and promotion.

        What is in quarantine stays reachable by id and in ``list(status=["quarantined"])``; nothing new is made from it, and
        only ``release`` brings it back.

        Args:
            ids: the records.
            source: instead: everything from one source, a word such as ``"tool_external"`` or the name of a tool.
            session: instead: everything of one conversation; with ``source`` what is of both.
            reason: kept in their history.

        Returns:
            A receipt for each record that went.

        Raises:
            InvalidInput: nothing is named, or ids and something else.
            NotFound: there is no such record.
        """
        from mnemic.lifecycle import quarantine

        return quarantine.quarantine(self._runtime, self._scope, ids, source, self._named(session), reason)

    def release(self, ids: Iterable[str]) -> Receipts:
        """Bring quarantined records back with what was made from them, unless something else in quarantine had a part in it.

        Returns:
            A receipt for each record that came back.

        Raises:
            NotFound: there is no such record.
        """
        from mnemic.lifecycle import quarantine

        return quarantine.release(self._runtime, self._scope, ids)

    def link(self, source: str, target: str, type: LinkType, *, strength: float = 1.0, reason: str = "") -> Receipt:
        """Link one memory to another; the same link again takes the new strength and reason.

        ``supersedes`` also ends the time of the target: it is no longer believed.

        Args:
            source: id of the memory the link begins at.
            target: id of the memory it leads to.
            type: ``extends``, ``contradicts``, ``implements``, ``references`` or ``supersedes``.
            strength: 0 to 1.
            reason: why, in a few words.

        Raises:
            NotFound: one of them does not exist.
            InvalidInput: one of them is no memory, both are the same, or a value cannot be used.
        """
        from mnemic.lifecycle import links

        return links.link(self._runtime, self._scope, source, target, type, strength, reason)

    def unlink(self, source: str, target: str, type: LinkType | None = None) -> Receipt:
        """Remove the links from one memory to another, of one type or of all.

        Raises:
            NotFound: one of them does not exist.
        """
        from mnemic.lifecycle import links

        return links.unlink(self._runtime, self._scope, source, target, type)

    # Knowledge

    def should_consolidate(self) -> ConsolidationAdvice:
        """Whether consolidation has enough to do: the short-term tier is full, and something in it is old and important."""
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
        """One cycle of consolidation: what matters becomes long-term, what says the same is kept once.

        The most important short-term memories that are old enough each gather what says the same. Where such a group is
        important enough, its most important member becomes long-term and stands for the others, which are archived: they stay
        reachable by id and lineage, and ``undo`` brings everything back. What differs in a number, a date, a name, a
        negation or in whom it tells of is never merged; it is linked as contradicting only where one denies the other. One
        process of several consolidates, the others do nothing.

        Args:
            importance_threshold: instead of the consolidator's, for this call.
            similarity_threshold: likewise.
            min_age_hours: likewise.
            dry_run: only say what would be done.

        Raises:
            ConfigurationError: a setting lies outside its range.
            Conflict: the user's memories changed meanwhile, three times over; nothing was stored.
        """
        from mnemic.lifecycle import consolidation

        given = {
            "importance_threshold": importance_threshold, "similarity_threshold": similarity_threshold,
            "min_age_hours": min_age_hours,
        }  # fmt: skip
        settings = replace(self._runtime.settings.consolidator, **{k: v for k, v in given.items() if v is not None})
        return consolidation.consolidate(self._runtime, self._scope, settings, dry_run=dry_run)

    def undo(self, consolidation_id: str) -> Receipt:
        """Take back what a consolidation promoted, archived and linked.

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
        """The episodes in the order they began; ``limit`` keeps the latest."""
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
        """The memories within so many links of one, and the links among them, at most 500 memories.

        Args:
            id: where to begin.
            depth: how many links to follow, 0 to 10, in either direction; circles are harmless.
            types: links of these types only.

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
        """Find what bears on a query. Filters apply before any ranking or limit.

        The evidence comes first: a memory made from a message is named by it (``via``) and is a hit of its own where its
        messages are left out, as with ``kinds=["memory"]``. What holds now comes before what it replaced.

        Args:
            query: text in any language the embedder knows; operators have no meaning in it.
            k: at most how many hits, 1 to 10,000; the order does not depend on it.
            reach: how far to look from the handle's place: ``session``, ``project``, ``project+global``, ``user``, or
                ``auto`` (narrow first, wider until there are k).
            kinds: of ``message``, ``memory`` and ``episode``, those that may be hits.
            types: types of memory; leaves messages out.
            tags: at least one of these; leaves messages out.
            metadata: every key must equal its value.
            status: default: everything that is not archived.
            since: said at this time or later.
            until: said before this time.
            at: what was true then, by what was said until then; default: what is true now.
            known_at: what was believed then, whatever came to be known later.
            include_expired: also memories that are no longer true or no longer believed.
            session: messages of this conversation only.
            role: messages of this role only.
            exclude: ids to leave out, such as those of messages the prompt shows already.
            now: the moment the question is asked; default the present.
            recipe: ``conversation``, ``facts``, ``coding``, ``rrf``, ``vector``, or a ``Recipe``.
            quality: whether importance, recency, tier and level break ties.
            expand_links: how many links to follow from the first hits, 0 to 10; what they lead to is ranked with the rest.
            expand_query: ask the handle's ``llm`` for other wordings of the query and search for these as well; without one,
                or when it fails, nothing is added.
            recent: the last turns before the query, oldest first. They say what a short query is about, such as "and the
                second step?"; the more a query says itself, the less they count.
            mood: rank what feels like this first: an ``Emotion`` (see ``emotion``), a function that gives one at each call,
                or ``"session"`` for that of the user's last turns, at a low weight. A mood in the query's words breaks ties.
            emotion_weight: what the mood counts beside a cosine, 0 to 1; 0 leaves it out.
            min_similarity: lowest cosine with the query, -1 to 1.
            min_evidence: a result graded lower than this is empty; it still carries its grade.
            min_trust: lowest trust of a hit, 0 to 1; 0.5 leaves out what no one vouches for.
            untrusted_share: the part of the hits that one untrusted source may have, such as a tool or a document, 0 to 1:
                of ten hits three.

        Raises:
            InvalidInput: an argument cannot be used.
            EmbeddingMismatch: the record holds vectors of another model.
        """
        filters = validation.filters(
            self._scope, self._zone, kinds=kinds, reach=reach, types=types, tags=tags, metadata=metadata, status=status,
            since=since, until=until, in_session=self._named(session), role=role, at=at, known_at=known_at,
            expired=include_expired, exclude=exclude, min_trust=min_trust,
        )  # fmt: skip
        asked = validation.query(
            query, k=k, filters=filters, zone=self._zone, recipe=recipe, now=now, quality=quality,
            min_similarity=min_similarity, min_evidence=min_evidence, expand_links=expand_links,
            expand_query=expand_query, recent=recent, mood=mood, emotion_weight=emotion_weight,
            untrusted_share=untrusted_share,
        )  # fmt: skip
        return search.search(self._runtime, self._scope, asked)

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
        """What is found for a query, as text for a prompt that fits a budget.

        Without a query: what a new session should know, important memories and the latest messages, of what
        is trusted. Tokens are counted
        by the handle's ``tokenizer``: ``None`` is tiktoken's cl100k_base where its table is on this machine, else a
        stated approximation; a name, ``"approximate"`` or any function are accepted. The other arguments are those of
        ``search``: with ``min_evidence="weak"`` the text stays empty when nothing found bears on the query.

        Raises:
            InvalidInput: an argument cannot be used.
        """
        filters = validation.filters(
            self._scope, self._zone, kinds=kinds, reach=reach, types=types, tags=tags, metadata=metadata, since=since,
            until=until, at=at, known_at=known_at, in_session=self._named(session), exclude=exclude,
            min_trust=min_trust,
        )  # fmt: skip
        budget = validation.whole("max_tokens", max_tokens, 1, validation.MAX_TOKENS)
        asked = None
        if query is not None:
            k = assembly.hits_for(budget)
            asked = validation.query(
                query, k=k, filters=filters, zone=self._zone, recipe=recipe, now=now, recent=recent,
                min_evidence=min_evidence, mood=mood, emotion_weight=emotion_weight,
            )  # fmt: skip
        return assembly.recall(self._runtime, self._scope, asked, filters=filters, max_tokens=budget)

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
        """Memories in order, not ranked. ``since`` and ``until`` are about when they were made; see ``search`` for the rest."""
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
        """The verbatim messages in the order they were said; ``limit`` keeps the latest."""
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
        """What happened to a record, oldest first, with the content each version had.

        Raises:
            NotFound: this user has no such record.
        """
        return [*self._runtime.store.history(self._scope.user, validation.identifier(id))]

    def log(
        self, *, kinds: Sequence[Kind] = ("message", "episode", "memory"), limit: int | None = 100
    ) -> builtins.list[Event]:
        """What happened to all of the user's records of some kinds, at every level, the newest first.

        Args:
            kinds: of ``message``, ``episode`` and ``memory``.
            limit: the newest so many; None for all.

        Raises:
            InvalidInput: an argument cannot be used.
        """
        most = None if limit is None else validation.whole("limit", limit, 0, 2**53)
        log = self._runtime.store.lifecycle.log
        return [*log(self._scope.user, kinds=validation.kinds(kinds), limit=most)]

    def redacted(self, text: str) -> str:
        """A text as it would be stored: with a mark in the place of every secret; as it is where they are allowed.

        Compare texts in these words with what was stored, and make names of them: a digest of a short secret gives it away.

        Raises:
            InvalidInput: the text is not a string.
        """
        return self._runtime.secrets.redacted(validation.identifier(text))[0]

    def emotion(self, text: str) -> Emotion:
        """The mood that a text speaks of or speaks in: valence and arousal, and how sure that is.

        Made for English, and for a sentence or a few. With the default embedder it reads the meaning as well as the words.

        Raises:
            InvalidInput: the text is not a string.
        """
        from mnemic.recall import mood

        embedder = self._runtime.indexer.embedder
        said = validation.identifier(text)
        return mood.felt([said], self._runtime.indexer.documents([said], embedder), embedder.id)[0]
