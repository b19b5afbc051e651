"""MnemicSession: the history of one conversation, kept as evidence, and what earlier ones have to say to it."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from agents import SessionSettings
from agents.run import CallModelData, ModelInputData

from mnemic import AsyncMemory, InvalidInput, Memory, Message, Scope
from mnemic.adapters import (
    LATEST,
    Recall,
    RecallOptions,
    Thread,
    ThreadMessage,
    as_async,
    bound,
    log_rejected,
    name_of,
    recall_failures_logged,
    thread_of,
    words_of,
)
from mnemic.types.literals import EVERYWHERE
from openai_agents_mnemic.items import (
    KEPT,
    Item,
    answered,
    entry,
    is_kept,
    restored,
    thread_message,
    whole,
    with_data,
)

if TYPE_CHECKING:
    from agents import TResponseInputItem

T = TypeVar("T")

CLEARED = "cleared"
"""What marks the end of a conversation, in the place of an item."""

_RESET = re.compile(r"#reset\d+$")
"""How the sessions of a conversation that was cleared end."""

LAST_TURN, BEYOND = 50, 50
"""How far back the tool calls before an answer are looked for."""

_WHY = "an item of a session that is not evidence"
"""Why it was archived, for its history."""


class MnemicSession:
    """The history of one conversation, for ``Runner.run(..., session=...)``; what is read equals what was added.

    The messages of the user and the agent are evidence: they are searched, processed and summarized like all that was
    said. The runner adds the user's message before it asks the model, so that a run that fails keeps it. Tool calls, their
    results, reasoning and system messages are in the record, too, but archived: only this history shows them, no search
    finds them. Secrets are redacted in both. A message that is forgotten or erased leaves the history. A request that is
    forgotten while it is answered, by the tool ``forget``, stays in it, so that the calls for it are not without one, and
    leaves when it is erased.

    Give ``input_filter`` to the run, and the model sees, once per run, what bears on the user's message.

    ``pop_item`` forgets a message (``memory.restore`` brings it back) and erases any other item. ``clear_session`` ends the
    conversation with a summary and forgets nothing; what is added next belongs to a new session, ``"<session_id>#reset1"``,
    then ``#reset2``. A conversation belongs to the project of ``memory``.

    Args:
        memory: the memory to keep it in; blocking calls run on worker threads.
        session_id: the name of the conversation.
        scope: whose conversation it is; names it leaves out are those of ``memory``. ``session_id`` takes the place of its
            session.
        idle: arm ``memory.idle`` at every call: after an idle period new messages are processed and consolidated, and the
            conversation is summarized, on a background thread.
        session_settings: such as how many of the latest items are read.
        **recall: what is recalled, and how it is ranked; see ``mnemic.adapters.RecallOptions``.

    Raises:
        ConfigurationError: ``memory`` is no handle, or another argument is not understood.
        InvalidInput: ``session_id`` or ``scope`` is not usable.

    Examples:
        >>> import asyncio
        >>> memory = Memory(":memory:", embedder="hashing")
        >>> session = MnemicSession(memory, "monday")
        >>> asyncio.run(session.add_items([{"role": "user", "content": "I moved to Lisbon."}]))
        >>> [item["content"] for item in asyncio.run(session.get_items())]
        ['I moved to Lisbon.']
    """

    def __init__(
        self,
        memory: Memory | AsyncMemory,
        session_id: str,
        *,
        scope: Scope | Mapping[str, str] | None = None,
        idle: bool = True,
        session_settings: SessionSettings | None = None,
        **recall: Unpack[RecallOptions],
    ) -> None:
        if not session_id or not isinstance(session_id, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
            raise InvalidInput(
                f"session_id must name a conversation, and is {session_id!r:.40}. Nothing was read or written."
            )
        self._recall = Recall(**recall)
        self._named = bound(as_async(memory), scope, None).scoped(session=session_id)
        self.session_id, self.session_settings, self._idle = session_id, session_settings, idle
        self._found: dict[str, str] = {}  # what this run recalled, by what was asked
        self._turn: list[str | None] = []  # the ids of what the user said last

    # What the runner calls

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items since the conversation began or was cleared, oldest first; a run begins with this.

        Args:
            limit: at most this many, the latest; default that of ``session_settings``, else all.
        """
        self._found.clear()
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        here, most = await self._here(), None if limit is None else limit + BEYOND
        stored = await self._stored(here, most)
        found = whole([item for _, item in stored])
        if limit is not None and len(found) < limit and len(stored) == most:
            found = whole([item for _, item in await self._stored(here)])
        return cast("list[TResponseInputItem]", _last(found, limit))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items; what the user or the agent said can be searched when this returns.

        Raises:
            InvalidInput: an item is not valid; none was stored.
            StoreError: the record cannot be written.
        """
        here = await self._here()
        clean, before = here.admin.redacted, list[ThreadMessage]()
        forgotten = [name_of(message) for message in await self._forgotten(here)]
        entries = [entry(item, clean, forgotten) for item in cast("list[Item]", items)]
        if any(message.stored and message.role == "assistant" for message in entries):  # it notes the tools before it
            before = [thread_message(item) for _, item in await self._stored(here, LAST_TURN)]
        records = Thread([*before, *entries], scope=here.scope, clean=clean).entries()[len(before) :]
        asked = [record.id for record in records if record.role == "user"]
        self._turn = asked or self._turn
        await asyncio.shield(self._write(here, records))  # a run that is cancelled leaves nothing half done

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item and return it; None when there is none."""
        here = await self._here()
        for record, item in await self._stored(here, 1):
            await here.forget(ids=[record.id or ""], hard=is_kept(record))
            self._turn = [id_ for id_ in self._turn if id_ != record.id]
            return cast("TResponseInputItem", item)
        return None

    async def clear_session(self) -> None:
        """End the conversation; long-term memory keeps it, and a summary. An empty one is left as it is."""
        here = await self._here()
        if await self._stored(here, 1):
            await here.sessions.summarize()
            mark = Message(role="system", content="The conversation was cleared.", metadata={KEPT: CLEARED})
            await asyncio.shield(self._write(self._named, [mark]))

    # What the model is shown

    async def input_filter(self, data: CallModelData[Any]) -> ModelInputData:
        """Put what was recalled, fenced as data, at the head of the user's last message, in this request only.

        Give it to the run: ``RunConfig(call_model_input_filter=session.input_filter)``. A recall that fails is logged and
        the agent answers without it.
        """
        shown, named = cast("list[Item]", data.model_data.input), self._named
        if self._idle:
            named.idle.arm()
        thread = thread_of(named, map(thread_message, shown))
        question = thread.question()
        if question not in self._found:
            self._found[question] = ""
            with recall_failures_logged():
                here = await self._here()
                said = await self._messages(here, limit=LATEST)
                seen = [message.id for message in said if message.id and words_of(message) in thread.words]
                recent = thread.recent(question)
                self._found[question] = await self._recall.text(here, question, exclude=seen, recent=recent)
        if context := self._found[question]:
            shown = with_data(shown, context)
        return ModelInputData(input=cast("list[TResponseInputItem]", shown), instructions=data.model_data.instructions)

    # What is in the record

    async def _write(self, here: AsyncMemory, records: Sequence[Message]) -> None:
        """Store records, and archive those that are not evidence."""
        receipts = await here.add(records)
        log_rejected(receipts)
        stored = [(record, receipt) for record, receipt in zip(records, receipts, strict=True) if receipt.changed]
        if ids := [receipt.id for record, receipt in stored if record.role in ("tool", "system")]:
            await here.forget(ids=ids, reason=_WHY)

    async def _here(self) -> AsyncMemory:
        """The handle on the session that the conversation is in."""
        marks = await self._messages(self._named, status="archived", metadata={KEPT: CLEARED})
        ended = marks or _RESET.search(self.session_id)  # that name is taken by another conversation
        here = self._named.scoped(session=f"{self.session_id}#reset{len(marks)}") if ended else self._named
        if self._idle:
            here.idle.arm(here.scope)
        return here

    async def _messages(self, here: AsyncMemory, **filters: Any) -> Sequence[Message]:
        """Messages of the session of a handle, in its project; without a project, those that have none."""
        if here.scope.project is None:  # a project that does not exist sees its own messages and those of no project
            here = here.scoped(project=f"none-{uuid.uuid4().hex}")
        else:
            filters["reach"] = "project"
        return await here.messages(session=here.scope.session, **filters)

    async def _forgotten(self, here: AsyncMemory) -> list[Message]:
        """What the user said last, as far as it was forgotten since: a request to forget is forgotten with what it names."""
        if not self._turn:
            return []
        said = {message.id for message in await self._messages(here, limit=LAST_TURN)}
        gone = {*self._turn} - said
        every = await self._messages(here, status="archived", limit=LATEST) if gone else ()
        return [message for message in every if message.id in gone]

    async def _stored(self, here: AsyncMemory, limit: int | None = None) -> list[tuple[Message, Item]]:
        """The latest items with their records, oldest first: messages that were not forgotten, or are still answered by what
        comes after them, and what is not evidence.
        """
        size = limit
        while True:
            said = {message.id for message in await self._messages(here, limit=size)}
            every = await self._messages(here, limit=size, status=EVERYWHERE)  # forgotten ones in their places
            names = {name for message in every for name in answered(message)}
            held = [
                (message, restored(message))
                for message in every
                if message.id in said or is_kept(message) or (names and name_of(message) in names)
            ]
            found = _last([(message, item) for message, item in held if item is not None], limit)
            if size is None or len(found) == limit or len(every) < size:
                return found
            size *= 4  # what was forgotten took the place of items


def _last(values: list[T], limit: int | None) -> list[T]:
    return values if limit is None else values[max(len(values) - limit, 0) :]
