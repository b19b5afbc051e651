"""Memory: the synchronous face. Each method says what it promises and hands over to a flow."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal

from mnemic import scopes
from mnemic.errors import InvalidInput
from mnemic.flows import asking, contexts, knowing, maintaining, opening, recalling, writing
from mnemic.protocols import Embedder, Reranker, TokenCounter
from mnemic.types import (
    ConsolidationAdvice,
    ConsolidationReport,
    Emotion,
    Episode,
    Event,
    Evidence,
    Graph,
    Kind,
    LinkType,
    MemoryContext,
    MemoryRecord,
    MemoryType,
    Message,
    ProcessReport,
    Reach,
    Receipt,
    Receipts,
    Scope,
    SearchResult,
    SessionView,
    Source,
    Stats,
    Status,
    VerifyReport,
)

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from mnemic.flows.engine import Engine
    from mnemic.flows.idle import Idle, IdleTrigger
    from mnemic.flows.preferences import Preferences
    from mnemic.flows.retaining import RetentionPolicy
    from mnemic.flows.settings import Consolidator, Processing
    from mnemic.llm import LanguageModel
    from mnemic.retrieval import Recipe
    from mnemic.stores.sqlite.database import Durability

__all__ = ["Memory"]


class Memory:
    """Long-term memory in one folder.

    A handle is bound to one user (a hard wall), and optionally to a project and a session. It is safe to share between
    threads; several processes may open the same folder; a forked child opens connections of its own.

    Args:
        location: a folder, made when missing, or ``":memory:"`` for a record that is gone when closed.
        user: whose memory this is. Nothing of another user is ever read, scored or counted.
        project: a level between user and session: what is remembered here is seen here.
        session: the conversation that new messages belong to.
        timezone: zone of naive datetimes: an IANA name or a tzinfo; default UTC.
        embedder: ``None`` for all-MiniLM-L6-v2 on this machine; ``"hashing"``; ``"provider:model"``; a model folder; or
            any object with ``embed``.
        tokenizer: how tokens are counted; see ``get_memory_context``.
        reranker: reads the first fifty hits of a search again and reorders them, such as ``CrossEncoderReranker()``; none
            by default.
        llm: a language model that makes knowledge better: ``"provider:model"`` as pydantic-ai names it, or its model
            object. Nothing needs one; where it fails, the rules take over.
        processing: how messages are made into knowledge; see ``Processing``.
        consolidator: how short-term memories become long-term ones; see ``Consolidator``.
        retention: how long things are kept; see ``RetentionPolicy``.
        idle: how long is quiet for the handle's ``idle`` trigger, which works when it is armed; see ``Idle``.
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
        project: str | None = None,
        session: str | None = None,
        timezone: str | tzinfo | None = None,
        embedder: str | Embedder | None = None,
        tokenizer: str | TokenCounter | None = None,
        reranker: Reranker | None = None,
        llm: str | Model | LanguageModel | None = None,
        processing: Processing | None = None,
        consolidator: Consolidator | None = None,
        idle: Idle | None = None,
        retention: RetentionPolicy | None = None,
        durability: Durability = "FULL",
    ) -> None:
        self._scope = scopes.scope(user, project, session)
        self._zone = opening.time_zone(timezone)
        self._engine: Engine = opening.open_engine(
            location, embedder=embedder, tokenizer=tokenizer, reranker=reranker, llm=llm, processing=processing,
            consolidator=consolidator, idle=idle, retention=retention,
            durability=durability,
        )  # fmt: skip

    @property
    def scope(self) -> Scope:
        """The user, project and session this handle is bound to."""
        return self._scope

    @property
    def idle(self) -> IdleTrigger:
        """What does ``process`` and ``consolidate`` for this user in quiet moments, once it is armed."""
        from mnemic.flows.idle import IdleTrigger

        engine, zone = self._engine, self._zone
        owner = Scope(user=self._scope.user)
        return engine.trigger(owner.user, lambda: IdleTrigger(engine, owner, zone, engine.idle))

    def scoped(self, *, user: str | None = None, project: str | None = None, session: str | None = None) -> Memory:
        """Another handle on the same record; what is not given stays as it is here.

        A new user starts without project and session.
        """
        here = self._scope
        same = user is None or user == here.user
        other = Memory.__new__(Memory)
        other._engine, other._zone = self._engine, self._zone  # noqa: SLF001 - our own class
        other._scope = scopes.scope(  # noqa: SLF001 - our own class
            here.user if user is None else user,
            project if project is not None or not same else here.project,
            session if session is not None or not same else here.session,
        )
        return other

    # Writing

    def add(self, messages: Iterable[Message | Mapping[str, Any]], *, session: str | None = None) -> Receipts:
        """Store messages, verbatim. When this returns they are on disk and can be found.

        Args:
            messages: ``Message`` values or mappings with the same fields (``role`` and ``content`` at least).
            session: the conversation of those that name none themselves.

        Returns:
            One receipt per message, in order: ``stored``; ``duplicate`` (same id, same content); ``rejected`` (same id,
            other content; or nothing but white space).

        Raises:
            InvalidInput: one of them cannot be used; then none of them was stored.
            StoreError: the disk or the file refuses; batches of 256 before the failing one are stored.
        """
        receipts = writing.add(self._engine, self._scope, messages, session, self._zone)
        threshold = self._engine.settings.batch_threshold
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
        message = Message(role=role, content=content, name=name, sent_at=sent_at, id=id, metadata=metadata or {})
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
        type: MemoryType = "semantic",
        category: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        source_ids: Sequence[str] = (),
        valid_at: datetime | None = None,
        source: Source = "direct_user",
        level: Literal["session"] | None = None,
        id: str | None = None,
    ) -> Receipt:
        """Store one statement as a memory, at the level of the handle's project, else of the user.

        A statement that gives another value for something already remembered ("The API runs on port 9000" after "... on
        port 8080") takes its place: the receipt says ``superseded``, and the earlier one ends but is kept.

        Args:
            content: the statement; the same one twice at one level is one memory (``duplicate``).
            type: what kind of knowledge it is.
            category: a free word, such as ``preference`` or ``architecture_decision``.
            tags: words to filter by; they are searched too.
            metadata: any JSON object.
            importance: 0 to 1; given, it is pinned.
            source_ids: messages or memories it was made from; it is never trusted more than they are.
            valid_at: since when it is true in the world; default: now.
            source: where it comes from.
            level: ``"session"`` keeps it to the handle's session.
            id: a name of your own; minted when left out.

        Raises:
            InvalidInput: a value cannot be used.
            NotFound: a source does not exist.
        """
        options = {
            "type": type, "category": category, "tags": tags, "metadata": metadata, "importance": importance,
            "source_ids": source_ids, "valid_at": valid_at, "source": source, "level": level, "id": id,
        }  # fmt: skip
        return writing.remember(self._engine, self._scope, content, options, self._zone)

    def update(
        self,
        id: str,
        *,
        content: str | None = None,
        type: MemoryType | None = None,
        category: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        valid_at: datetime | None = None,
        invalid_at: datetime | None = None,
    ) -> Receipt:
        """Write the next version of a memory; what is not given stays. Earlier versions are kept: see ``history``.

        Raises:
            NotFound: no such record.
            InvalidInput: it is a message (evidence is never rewritten), or a value cannot be used.
        """
        values = {
            "content": content, "type": type, "category": category, "tags": tags, "metadata": metadata,
            "importance": importance, "valid_at": valid_at, "invalid_at": invalid_at,
        }  # fmt: skip
        return writing.update(self._engine, self._scope, id, values, self._zone)

    def forget(self, description: str | None = None, *, ids: Iterable[str] | None = None, reason: str = "") -> Receipts:
        """Take records out of every search and listing. They stay reachable by id, and ``restore`` brings them back.

        Args:
            description: what to forget, in words: "my schedule preferences". Only what clearly is meant goes; what resembles
                it is told in a ``rejected`` receipt and stays.
            ids: the records themselves.
            reason: kept in their history.

        Raises:
            InvalidInput: neither or both are given, or the description says nothing in particular.
        """
        if (description is None) == (ids is None):
            raise InvalidInput("forget() takes a description or ids=, one of them.")
        if ids is not None:
            return writing.archive(self._engine, self._scope, ids, reason)
        from mnemic.flows import forgetting

        return forgetting.forget_described(self._engine, self._scope, description, self._zone, reason)

    def restore(self, *ids: str) -> Receipts:
        """Bring forgotten records back."""
        return writing.restore(self._engine, self._scope, ids)

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
        return knowing.link(self._engine, self._scope, source, target, type, strength, reason)

    def unlink(self, source: str, target: str, type: LinkType | None = None) -> Receipt:
        """Remove the links from one memory to another, of one type or of all.

        Raises:
            NotFound: one of them does not exist.
        """
        return knowing.unlink(self._engine, self._scope, source, target, type)

    @property
    def preferences(self) -> Preferences:
        """Exact keys and values: ``memory.preferences["theme"] = "dark"``; earlier values stay in the record."""
        from mnemic.flows.preferences import Preferences

        return Preferences(self._engine, self._scope, self._zone)

    def retire(self) -> int:
        """Archive what has had its time by ``retention`` and ``delete_after``; returns how many records.

        Idle work does this too. Nothing goes that a live memory was made from.
        """
        from mnemic.flows import retaining

        return retaining.retire(self._engine, self._scope, self._engine.retention)

    # Sessions

    @property
    def session(self) -> SessionView:
        """The conversation of this handle as it stands: its messages, and how often each tool answered."""
        from mnemic.flows import sessions

        return sessions.look(self._engine, self._scope)

    def end_session(self) -> Receipt | None:
        """Process the handle's conversation and keep a summary of it for a week; None when nothing was said in it.

        The summary is offered when a new session starts: ``get_memory_context()`` without a query.
        """
        from mnemic.flows import sessions

        self.process()
        return sessions.summarise(self._engine, self._scope, self._zone)

    # Knowledge

    def process(self, *, limit: int | None = None, progress: Callable[[int, int], None] | None = None) -> ProcessReport:
        """Make knowledge of the messages that wait: episodes, and memories of what was not known before.

        Safe to interrupt and to call again: each conversation is taken in steps, and a step is stored whole or not at all.
        What an interrupted call had not reached waits for the next.

        Args:
            limit: at most about how many messages, whole episodes at a time; ``None`` for all.
            progress: called with (messages done, messages in all).

        Raises:
            StoreError: the disk or the file refuses; what was done before is stored.
        """
        from mnemic.flows import processing

        most = None if limit is None else asking.whole("limit", limit, 1, 2**53)
        return processing.process(self._engine, self._scope, self._zone, limit=most, progress=progress)

    def should_consolidate(self) -> ConsolidationAdvice:
        """Whether consolidation has enough to do: the short-term tier is full, and something in it is old and important."""
        from mnemic.flows import consolidating

        return consolidating.advise(self._engine, self._scope, self._engine.consolidator)

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
        reachable by id and lineage, and ``undo`` brings everything back. What differs in a number, a date, a name or a
        negation is never merged; it is linked as contradicting. One process of several consolidates, the others do nothing.

        Args:
            importance_threshold: instead of the consolidator's, for this call.
            similarity_threshold: likewise.
            min_age_hours: likewise.
            dry_run: only say what would be done.

        Raises:
            ConfigurationError: a setting lies outside its range.
            Conflict: the user's memories changed meanwhile; nothing was stored.
        """
        from mnemic.flows import consolidating

        given = {
            "importance_threshold": importance_threshold, "similarity_threshold": similarity_threshold,
            "min_age_hours": min_age_hours,
        }  # fmt: skip
        settings = replace(self._engine.consolidator, **{k: v for k, v in given.items() if v is not None})
        return consolidating.consolidate(self._engine, self._scope, settings, dry_run=dry_run)

    def undo(self, consolidation_id: str) -> Receipt:
        """Take back what a consolidation promoted, archived and linked.

        Raises:
            NotFound: this user has no such consolidation.
        """
        from mnemic.flows import consolidating

        return consolidating.undo(self._engine, self._scope, asking.identifier(consolidation_id))

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
        filters = asking.filters(
            self._scope, self._zone, kinds=("episode",), reach=reach, since=since, until=until, in_session=session
        )
        most = None if limit is None else asking.whole("limit", limit, 0, 2**53)
        knowledge = self._engine.store.knowledge
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
        return knowing.graph(self._engine, self._scope, asking.identifier(id), depth, types)

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
        mood: Emotion | None = None,
        emotion_weight: float = 0.3,
        min_similarity: float | None = None,
        min_evidence: Evidence = "none",
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
            mood: rank what feels like this first; see ``emotion``. A query that has a mood of its own breaks ties by it.
            emotion_weight: what the mood counts beside a cosine, 0 to 1; 0 leaves it out.
            min_similarity: lowest cosine with the query, -1 to 1.
            min_evidence: a result graded lower than this is empty; it still carries its grade.

        Raises:
            InvalidInput: an argument cannot be used.
            EmbeddingMismatch: the record holds vectors of another model.
        """
        filters = asking.filters(
            self._scope, self._zone, kinds=kinds, reach=reach, types=types, tags=tags, metadata=metadata, status=status,
            since=since, until=until, in_session=session, role=role, at=at, known_at=known_at, expired=include_expired,
            exclude=exclude,
        )  # fmt: skip
        asked = asking.query(
            query, k=k, filters=filters, zone=self._zone, recipe=recipe, now=now, quality=quality,
            min_similarity=min_similarity, min_evidence=min_evidence, expand_links=expand_links,
            expand_query=expand_query, mood=mood, emotion_weight=emotion_weight,
        )  # fmt: skip
        return recalling.search(self._engine, self._scope, asked)

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
        now: datetime | None = None,
        recipe: str | Recipe = "conversation",
    ) -> MemoryContext:
        """What is found for a query, as text for a prompt that fits a budget.

        Without a query: what a new session should know, important memories and the latest messages. Tokens are counted
        by the handle's ``tokenizer``: ``None`` is tiktoken's cl100k_base where its table is on this machine, else a
        stated approximation; a name, ``"approximate"`` or any function are accepted. The other arguments are those of
        ``search``.

        Raises:
            InvalidInput: an argument cannot be used.
        """
        filters = asking.filters(
            self._scope, self._zone, kinds=kinds, reach=reach, types=types, tags=tags, metadata=metadata, since=since,
            until=until, at=at, known_at=known_at, in_session=session, exclude=exclude,
        )  # fmt: skip
        budget = asking.whole("max_tokens", max_tokens, 1, 10_000_000)
        asked = None
        if query is not None:
            k = max(20, min(400, budget // 8))
            asked = asking.query(query, k=k, filters=filters, zone=self._zone, recipe=recipe, now=now)
        return contexts.recall(self._engine, self._scope, asked, filters=filters, max_tokens=budget)

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
    ) -> builtins.list[MemoryRecord]:
        """Memories in order, not ranked. ``since`` and ``until`` are about when they were made; see ``search`` for the rest."""
        filters = asking.filters(
            self._scope, self._zone, kinds=("memory",), reach=reach, types=types, tags=tags, metadata=metadata,
            status=status, since=since, until=until, at=at, known_at=known_at, expired=include_expired,
        )  # fmt: skip
        if order not in ("newest", "oldest", "importance"):
            raise InvalidInput(f'order must be "newest", "oldest" or "importance", not {order!r:.40}.')
        most = None if limit is None else asking.whole("limit", limit, 0, 2**53)
        skip = asking.whole("offset", offset, 0, 2**53)
        return [*self._engine.store.list_memories(self._scope.user, filters, order=order, limit=most, offset=skip)]

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
        filters = asking.filters(
            self._scope,
            self._zone,
            kinds=("message",),
            reach=reach,
            since=since,
            until=until,
            in_session=session,
            role=role,
        )
        most = None if limit is None else asking.whole("limit", limit, 0, 2**53)
        return [*self._engine.store.list_messages(self._scope.user, filters, limit=most, newest=most is not None)]

    def get(self, id: str) -> Message | Episode | MemoryRecord:
        """One record by id, forgotten or not.

        Raises:
            NotFound: this user has no such record.
        """
        return self._engine.store.get(self._scope.user, asking.identifier(id)).value

    def history(self, id: str) -> builtins.list[Event]:
        """What happened to a record, oldest first, with the content each version had.

        Raises:
            NotFound: this user has no such record.
        """
        return [*self._engine.store.history(self._scope.user, asking.identifier(id))]

    def emotion(self, text: str) -> Emotion:
        """The mood that a text speaks of or speaks in: valence and arousal, and how sure that is.

        Made for English, and for a sentence or a few. With the default embedder it reads the meaning as well as the words.

        Raises:
            InvalidInput: the text is not a string.
        """
        from mnemic.flows import feeling

        embedder = self._engine.embedder
        said = asking.identifier(text)
        return feeling.felt([said], self._engine.embed_documents([said], embedder), embedder.id)[0]

    # Keeping

    def stats(self) -> Stats:
        """Counts of this user's records, the work pending, and the size of the store."""
        return knowing.stats(self._engine, self._scope)

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Check every invariant of the record; ``deep`` also reads every page and every text."""
        return self._engine.store.verify(deep=deep)

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
        chosen = opening.embedder_from(embedder) if embedder is not None else self._engine.embedder
        return maintaining.reembed(self._engine, chosen, progress)

    def flush(self, *, process: bool = True) -> int:
        """Do the work that is pending: embed what has no vector, and ``process`` what waits; returns how many were done."""
        embedded = maintaining.embed_pending(self._engine)
        return embedded + self.process().messages if process else embedded

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
        from mnemic.flows import exporting

        return exporting.export(self._engine, self._scope, file, vectors=vectors)

    def import_from(
        self, file: str | Path | IO[str], *, progress: Callable[[int, int], None] | None = None
    ) -> dict[str, int]:
        """Read what ``export`` wrote into a user who has nothing yet: all of it or nothing.

        Raises:
            InvalidInput: the file is damaged or no export, or this user has records.
        """
        from mnemic.flows import exporting

        return exporting.restore_from(self._engine, self._scope, file, progress=progress)

    def close(self) -> None:
        """Close the record for this handle and all handles made from it. Closing twice is harmless."""
        self._engine.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: builtins.type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        s = self._scope
        place = "".join(
            f", {name}={value!r}" for name, value in (("project", s.project), ("session", s.session)) if value
        )
        return f"Memory({self._engine.store.location!r}, user={s.user!r}{place})"
