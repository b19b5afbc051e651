"""``mem0.Memory`` over a memory of Mnemic: its method names, arguments and results.

Written for mem0 2.2. What differs:

- ``user_id`` is required. Ids begin with it: ``get``, ``update``, ``delete`` and
  ``history`` act on the user that the id names. Do not accept ids of one user from
  another.
- Messages are stored verbatim, and ``search`` returns them, too. ``infer=True``
  processes them, with a language model if the memory has one.
- ``score`` is the relevance of a hit; ``threshold`` is its lower limit.
- ``delete`` and ``delete_all`` forget; ``handle(user_id).restore`` brings back, ``forget(..., hard=True)`` erases.
- ``run_id`` is a label, and the session of the messages. With a ``run_id``, ``search``
  finds messages and what was stored with ``infer=False``; ``get_all`` and
  ``delete_all`` also cover the memories derived from the messages. Memories do not
  inherit the metadata of the messages that they were derived from.
- ``filters`` supports equality only, without operators. ``from_config``, ``reset``,
  ``chat`` and ``AsyncMemory`` are not provided.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, unquote

from mnemic import memory
from mnemic.errors import InvalidInput, NotFound
from mnemic.types import UNSET, Episode, Hit, MemoryRecord, Message, Record
from mnemic.types.records import last_transition

Messages = str | Mapping[str, Any] | Iterable[Mapping[str, Any]]
Results = dict[str, builtins.list[dict[str, Any]]]

_EVENTS = {"add": "ADD", "remember": "ADD", "update": "UPDATE", "archive": "DELETE", "erase": "DELETE"}
_AGENT, _RUN = "agent", "run_id"
"""The keys of the metadata that name the agent and the run."""
_NAMES = ("user_id", "agent_id", "run_id")


class Memory:
    """A memory with the methods of mem0's.

    Args:
        location: a folder, an address of PostgreSQL, or an open ``mnemic.Memory``.
        options: arguments of ``mnemic.Memory``, such as ``llm``.

    Examples:
        >>> from mnemic.compat.mem0 import Memory
        >>> m = Memory(":memory:", embedder="hashing")
        >>> added = m.add("I'm vegetarian and allergic to nuts.", user_id="alice")
        >>> found = m.search("What is Alice allergic to?", filters={"user_id": "alice"})
        >>> found["results"][0]["memory"]
        "I'm vegetarian and allergic to nuts."
    """

    def __init__(self, location: str | Path | memory.Memory | None = None, **options: Any) -> None:
        self._root = location if isinstance(location, memory.Memory) else memory.Memory(location, **options)

    def handle(self, user_id: str) -> memory.Memory:
        """The user's handle, for what mem0 has no method for."""
        return self._root.scoped(user=user_id)

    def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: float | datetime | None = None,
        expiration_date: str | None = None,
        infer: bool = True,
    ) -> Results:
        """Store messages and the memories derived from them; with ``infer=False`` each text as a memory.

        Args:
            messages: a text, a message, or messages with ``role`` and ``content``.
            user_id: the owner.
            agent_id: the agent that stores them.
            run_id: the session.
            metadata: of the messages, or of the memories with ``infer=False``.
            timestamp: when they were said: a datetime or seconds since 1970.
            expiration_date: ``YYYY-MM-DD``; only with ``infer=False``.
            infer: whether memories are derived.

        Returns:
            ``{"results": [{"id", "memory", "event"}]}`` with the new memories.

        Raises:
            InvalidInput: no ``user_id``, or a message is not valid.
        """
        handle = self._handle(_name_values(user_id, None, run_id))
        items, moment = _items(messages), _moment(timestamp)
        labels = {**(metadata or {}), **_label(run_id)}
        if not infer:
            level = handle.scoped(project=handle.scope.project or run_id)  # the same text of two runs is two memories
            receipts = [
                level.remember(
                    item.get("content", ""),
                    metadata=labels,
                    valid_at=moment,
                    delete_after=None if expiration_date is None else _day_after(expiration_date),
                    agent=agent_id,
                )
                for item in items
            ]
            stored = [handle.get(receipt.id) for receipt in receipts if receipt.outcome == "stored"]
            return {"results": [self._addition(handle, m) for m in stored if isinstance(m, MemoryRecord)]}
        if expiration_date is not None:
            raise InvalidInput(
                "expiration_date needs infer=False, because single messages do not expire. Leave it out, or limit the age "
                "of all messages with retention=RetentionPolicy(message_days=...)."
            )
        for item in items:
            item["metadata"] = {**dict(item.get("metadata") or {}), **labels}
            item["sent_at"] = item.get("sent_at") or moment
        receipts = handle.add(items, agent=agent_id)
        handle.process()
        sources = {receipt.id for receipt in receipts if receipt.outcome == "stored"}
        derived = [record for record in handle.list(limit=None) if sources & {*record.source_ids}]
        return {"results": [self._addition(handle, record) for record in reversed(derived)]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float = 0.0,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> Results:
        """The messages and memories that answer a query, best first.

        Args:
            query: the question.
            top_k: most results.
            filters: ``user_id``, ``agent_id``, ``run_id`` and keys of the metadata, each with the value it must equal.
            threshold: least score, 0 to 1.
            user_id: instead of that of ``filters``, as ``agent_id`` and ``run_id`` are.
            agent_id: of the agent that stored it.
            run_id: of the session.

        Raises:
            InvalidInput: no ``user_id``.
        """
        names = {**(filters or {}), **_name_values(user_id, agent_id, run_id)}
        handle = self._handle(names)
        hits = handle.search(query, k=top_k, min_relevance=threshold, **_filters(names))
        return {"results": [{**self._as_json(handle, hit), "score": hit.relevance} for hit in hits]}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """A memory or message by id; None if there is none."""
        try:
            return self._as_json(*self._record(memory_id))
        except NotFound:
            return None

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> Results:
        """The memories of a user, newest first; arguments as in ``search``.

        Raises:
            InvalidInput: no ``user_id``.
        """
        names = {**(filters or {}), **_name_values(user_id, agent_id, run_id)}
        handle = self._handle(names)
        records = _memories(handle, names, top_k, include_expired=show_expired)
        return {"results": [{**self._as_json(handle, record), **_label(names.get("run_id"))} for record in records]}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        data: str | None = None,
    ) -> dict[str, str]:
        """Replace the text or the metadata of a memory; ``data`` is the former name of ``text``.

        Raises:
            NotFound: no memory has this id.
        """
        handle, record = self._record(memory_id)
        content = text if text is not None else data
        # the agent and the run are immutable, as in mem0
        labels = {name: value for name, value in record.metadata.items() if name in (_AGENT, _RUN)}
        handle.update(
            str(record.id),
            content=UNSET if content is None else content,
            metadata=UNSET if metadata is None else {**metadata, **labels},
        )
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Forget a memory or a message.

        Raises:
            NotFound: no record has this id.
        """
        handle, record = self._record(memory_id)
        handle.forget(ids=[str(record.id)])
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Forget the messages and memories of a user, or of one agent or session of the user.

        Raises:
            InvalidInput: no ``user_id``.
        """
        names = _name_values(user_id, agent_id, run_id)
        handle = self._handle(names)
        ids = [record.id for record in _memories(handle, names, include_expired=True, reach="user")]
        ids += [str(record.id) for record in handle.messages(reach="user", **_filters(names))]
        if ids:
            handle.forget(ids=ids)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> builtins.list[dict[str, Any]]:
        """The changes of a memory, oldest first, each with the text before and after it.

        Raises:
            NotFound: no record has this id.
        """
        handle, id_ = self._located(memory_id)
        changes, before = list[dict[str, Any]](), None
        for event in handle.history(id_):
            if (name := _EVENTS.get(event.operation)) is None:
                continue
            after = None if name == "DELETE" else event.content
            changes.append(
                {
                    "id": str(event.sequence), "memory_id": memory_id, "old_memory": before, "new_memory": after,
                    "event": name, "created_at": event.at.isoformat(), "is_deleted": name == "DELETE",
                }
            )  # fmt: skip
            before = after
        return changes

    def close(self) -> None:
        """Close the memory."""
        self._root.close()

    def _handle(self, names: Mapping[str, Any]) -> memory.Memory:
        if not (user := names.get("user_id")):
            raise InvalidInput(
                'user_id is required: Mnemic keeps a memory for each user. Pass user_id="..." or filters={"user_id": "..."}.'
            )
        handle = self.handle(str(user))
        return handle.scoped(session=str(names["run_id"])) if names.get("run_id") else handle

    def _located(self, memory_id: str) -> tuple[memory.Memory, str]:
        user, _, id_ = str(memory_id).partition(":")
        if not (user and id_):
            raise NotFound(f"There is no memory {memory_id!r}.")
        return self.handle(unquote(user)), id_

    def _record(self, memory_id: str) -> tuple[memory.Memory, Message | MemoryRecord]:
        """A record that was not deleted."""
        handle, id_ = self._located(memory_id)
        record, last = handle.get(id_), last_transition(handle.history(id_))
        if isinstance(record, Episode) or (last is not None and last.operation in ("archive", "absorb")):
            raise NotFound(f"There is no memory {memory_id!r}.")
        return handle, record

    def _addition(self, handle: memory.Memory, record: MemoryRecord) -> dict[str, Any]:
        return {"id": _id(handle, record.id), "memory": record.content, "event": "ADD"}

    def _as_json(self, handle: memory.Memory, item: Hit | Record) -> dict[str, Any]:
        """A record as mem0 shows one."""
        record = handle.get(item.id) if isinstance(item, Hit) else item
        created = record.sent_at if isinstance(record, Message) else record.created_at
        updated = record.updated_at if isinstance(record, MemoryRecord) else None
        run = record.metadata.get(_RUN) or record.session
        return {
            "id": _id(handle, str(record.id)),
            "memory": item.text if isinstance(item, Hit) else item.content,
            "metadata": {name: value for name, value in record.metadata.items() if name not in (_AGENT, _RUN)} or None,
            "created_at": created.isoformat() if created else None,
            "updated_at": updated.isoformat() if updated else None,
            "user_id": handle.scope.user,
            **({"agent_id": record.metadata[_AGENT]} if _AGENT in record.metadata else {}),
            **({"run_id": run} if run else {}),
            **({"role": record.role} if isinstance(record, Message) else {}),
        }


def _items(messages: Messages) -> builtins.list[dict[str, Any]]:
    """Messages as a list; a text is one of the user's."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    items = [cast("Mapping[str, Any]", messages)] if isinstance(messages, Mapping) else [*messages]
    if not all(isinstance(item, Mapping) for item in items):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise InvalidInput("messages must be a text, a message, or a list of messages with role and content.")
    return [dict(item) for item in items]


def _id(handle: memory.Memory, id: str) -> str:
    return f"{quote(handle.scope.user, safe='')}:{id}"


def _name_values(*names: str | None) -> dict[str, Any]:
    return {name: value for name, value in zip(_NAMES, names, strict=True) if value is not None}


def _filters(names: Mapping[str, Any]) -> dict[str, Any]:
    """Names and metadata of mem0 as filters."""
    metadata = {key: value for key, value in names.items() if key not in _NAMES} | _label(names.get("run_id"))
    if wrong := [key for key, value in metadata.items() if key in ("AND", "OR", "NOT") or isinstance(value, Mapping)]:
        raise InvalidInput(
            f"filters[{wrong[0]!r}] has an operator; only equal values are understood. Use handle(user_id).search."
        )
    filters = {"agent": names.get("agent_id"), "metadata": metadata or None}
    return {name: value for name, value in filters.items() if value is not None}


def _label(run_id: object) -> dict[str, Any]:
    return {_RUN: str(run_id)} if run_id else {}


def _memories(
    handle: memory.Memory, names: Mapping[str, Any], limit: int | None = None, **options: Any
) -> builtins.list[MemoryRecord]:
    """The memories with these names, newest first; of a run also those that its messages alone led to."""
    run = _label(names.get("run_id"))
    if not run:
        return handle.list(limit=limit, **_filters(names), **options)
    ids = {message.id for message in handle.messages(reach="user", metadata=run)}
    memories = handle.list(limit=None, **_filters({**names, "run_id": None}), **options)
    return [m for m in memories if m.metadata.get(_RUN) == run[_RUN] or ids.issuperset(m.source_ids or [None])][:limit]


def _moment(timestamp: float | datetime | None) -> datetime | None:
    if timestamp is None or isinstance(timestamp, datetime):
        return timestamp
    try:
        return datetime.fromtimestamp(timestamp, UTC)
    except (ValueError, OverflowError, OSError, TypeError) as error:
        raise InvalidInput(f"timestamp must be a datetime or seconds since 1970, not {timestamp!r}.") from error


def _day_after(text: str) -> datetime:
    """The end of a day: a memory that expires on it holds on it."""
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC) + timedelta(days=1)
    except (ValueError, OverflowError, TypeError) as error:
        raise InvalidInput(f"expiration_date must be YYYY-MM-DD, not {text!r}.") from error
