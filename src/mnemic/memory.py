"""Memory: the synchronous face. Each method says what it promises and hands over to a flow."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from mnemic import scopes
from mnemic.errors import InvalidInput
from mnemic.flows import asking, maintaining, opening, recalling, writing
from mnemic.protocols import Embedder, Reranker, TokenCounter
from mnemic.types import (
    Event,
    Evidence,
    Kind,
    MemoryContext,
    MemoryRecord,
    MemoryType,
    Message,
    Reach,
    Receipt,
    Receipts,
    Scope,
    SearchResult,
    Source,
    Stats,
    Status,
    VerifyReport,
)

if TYPE_CHECKING:
    from mnemic.flows.engine import Engine
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
        durability: Durability = "FULL",
    ) -> None:
        self._scope = scopes.scope(user, project, session)
        self._zone = opening.time_zone(timezone)
        self._engine: Engine = opening.open_engine(
            location, embedder=embedder, tokenizer=tokenizer, reranker=reranker, durability=durability
        )

    @property
    def scope(self) -> Scope:
        """The user, project and session this handle is bound to."""
        return self._scope

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
        return writing.add(self._engine, self._scope, messages, session, self._zone)

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

        Args:
            content: the statement; the same one twice at one level is one memory (``duplicate``).
            type: what kind of knowledge it is.
            category: a free word, such as ``preference`` or ``architecture_decision``.
            tags: words to filter by; they are searched too.
            metadata: any JSON object.
            importance: 0 to 1; given, it is pinned.
            source_ids: messages or memories it was made from; it is never trusted more than they are.
            valid_at: since when it is true in the world.
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

    def forget(self, *, ids: Iterable[str], reason: str = "") -> Receipts:
        """Take records out of every search and listing. They stay reachable by id, and ``restore`` brings them back."""
        return writing.archive(self._engine, self._scope, ids, reason)

    def restore(self, *ids: str) -> Receipts:
        """Bring forgotten records back."""
        return writing.restore(self._engine, self._scope, ids)

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
        session: str | None = None,
        role: str | None = None,
        exclude: Sequence[str] = (),
        now: datetime | None = None,
        recipe: str | Recipe = "conversation",
        quality: bool = True,
        min_similarity: float | None = None,
        min_evidence: Evidence = "none",
    ) -> SearchResult:
        """Find what bears on a query. Filters apply before any ranking or limit.

        Args:
            query: text in any language the embedder knows; operators have no meaning in it.
            k: at most how many hits, 1 to 10,000; the order does not depend on it.
            reach: how far to look from the handle's place: ``session``, ``project``, ``project+global``, ``user``, or
                ``auto`` (narrow first, wider until there are k).
            kinds: messages, memories, or both.
            types: types of memory; leaves messages out.
            tags: at least one of these; leaves messages out.
            metadata: every key must equal its value.
            status: default: everything that is not archived.
            since: said at this time or later.
            until: said before this time.
            session: messages of this conversation only.
            role: messages of this role only.
            exclude: ids to leave out, such as those of messages the prompt shows already.
            now: the moment the question is asked; default the present.
            recipe: ``conversation``, ``facts``, ``coding``, ``rrf``, ``vector``, or a ``Recipe``.
            quality: whether importance, recency, tier and level break ties.
            min_similarity: lowest cosine with the query, -1 to 1.
            min_evidence: a result graded lower than this is empty; it still carries its grade.

        Raises:
            InvalidInput: an argument cannot be used.
            EmbeddingMismatch: the record holds vectors of another model.
        """
        filters = asking.filters(
            self._scope, self._zone, kinds=kinds, reach=reach, types=types, tags=tags, metadata=metadata, status=status,
            since=since, until=until, in_session=session, role=role, exclude=exclude,
        )  # fmt: skip
        asked = asking.query(
            query, k=k, filters=filters, zone=self._zone, recipe=recipe, now=now, quality=quality,
            min_similarity=min_similarity, min_evidence=min_evidence,
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
            until=until, in_session=session, exclude=exclude,
        )  # fmt: skip
        budget = asking.whole("max_tokens", max_tokens, 1, 10_000_000)
        asked = None
        if query is not None:
            k = max(20, min(400, budget // 8))
            asked = asking.query(query, k=k, filters=filters, zone=self._zone, recipe=recipe, now=now)
        return recalling.recall(self._engine, self._scope, asked, filters=filters, max_tokens=budget)

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
    ) -> builtins.list[MemoryRecord]:
        """Memories in order, not ranked. ``since`` and ``until`` are about when they were made."""
        filters = asking.filters(
            self._scope, self._zone, kinds=("memory",), reach=reach, types=types, tags=tags, metadata=metadata,
            status=status, since=since, until=until,
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

    def get(self, id: str) -> Message | MemoryRecord:
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

    # Keeping

    def stats(self) -> Stats:
        """Counts of this user's records, the work pending, and the size of the store."""
        return self._engine.store.stats(self._scope.user)

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

    def flush(self) -> int:
        """Do the work that is pending (records without a vector); returns how many were done."""
        return maintaining.embed_pending(self._engine)

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
