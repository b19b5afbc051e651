"""MnemicMemoryBlock: long-term memory as a block of ``llama_index.core.memory.Memory``."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, takewhile
from typing import Any, TypeVar

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.memory import Memory as ChatHistory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from pydantic import SkipValidation

from llama_index.memory.mnemic._messages import Place, cleaned, text_of, thread_message, thread_of
from llama_index.memory.mnemic._window import Tokenizer, counter, default_tokenizer
from mnemic import Memory, Mood, Recipe, Scope, adapters
from mnemic.adapters.schemas import RecallFields

SHOWN = 16
"""How many texts can be cut again: one for each conversation that asks at the same time."""
STORED = 64
"""For how many conversations the block keeps what was stored last."""
NO_SESSION = "default"

T = TypeVar("T")


class MnemicMemoryBlock(BaseMemoryBlock[str], RecallFields):
    """Recall from earlier conversations, for ``Memory.from_defaults(memory_blocks=[...])``.

    ``Memory`` gives a block only what it ejects from its queue, and a short chat ejects nothing. But it shows the block
    the whole queue each time it asks for content: this block stores there what it has not stored yet. The last answer
    of a chat engine is not followed by such a question: ``aflush`` (or ``flush``) stores it; agents ask once more.

    Args:
        memory: an open ``mnemic.Memory``, or the folder of one; left out, ``./memory`` of the scope's user, who must be named
            then.
        scope: whose memory this is: set by the program, out of reach of any model. Names it leaves out are those of
            ``memory``.
        max_tokens: most tokens of the recalled text, by ``tokenizer_fn`` and by the handle's tokenizer.
        min_evidence: hits graded lower are not shown: ``weak`` shows nothing where nothing bears on the message, ``none``
            the nearest anyway. The text states its grade.
        filters: what may be recalled: fields of ``SearchFilters``, such as ``{"reach": "project"}``.
        profile: begin the recalled text with who the user is and what matters, whatever is asked, within ``max_tokens``.
        recipe: how hits are ranked; see ``Memory.search``.
        mood: what to rank by beside relevance; see ``Memory.search``.
        emotion_weight: of the mood, 0 to 1.
        procedures: most procedures that worked for similar requests, at the beginning of the recalled text.
        options: with a folder: more arguments for ``mnemic.Memory``, such as ``{"embedder": "hashing"}``.
        tokenizer_fn: text in, list of tokens out; default ``llama_index.core.utils.get_tokenizer()``.
        idle: arm ``memory.idle`` when something is stored: after an idle period new messages are processed and consolidated,
            on a background thread.
        name: the tag the text stands in.
        priority: blocks are cut when the limit is passed, 1 first, larger ones later, 0 never.

    Raises:
        ConfigurationError: an argument cannot be used.
        StoreError: the record cannot be opened.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", hide_input_in_errors=True)

    name: str = "long_term_memory"
    description: str | None = "Messages and memories of earlier conversations."
    priority: int = 1
    memory: Place = Field(default=None, exclude=True)
    scope: SkipValidation[Scope | dict[str, str] | None] = None
    max_tokens: int = Field(default=2_000, ge=0)
    recipe: SkipValidation[str | Recipe] = Field(default="conversation", exclude=True)
    mood: SkipValidation[Mood] = Field(default=None, exclude=True)
    options: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)
    idle: bool = True
    tokenizer_fn: Tokenizer = Field(default_factory=default_tokenizer, exclude=True, repr=False)

    _handle: Memory = PrivateAttr()
    _root: Memory = PrivateAttr()
    _count: Callable[[str], int] = PrivateAttr()
    _recall: adapters.Recall = PrivateAttr()
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _stored: OrderedDict[str, list[adapters.Words]] = PrivateAttr(default_factory=OrderedDict)
    _found: tuple[tuple[str, str, list[adapters.Words]], str] | None = PrivateAttr(default=None)
    _shown: OrderedDict[str, Callable[..., str]] = PrivateAttr(default_factory=OrderedDict)

    def model_post_init(self, context: Any, /) -> None:
        """Open the record."""
        super().model_post_init(context)
        self._recall = adapters.Recall.of(self)
        self._count = counter(self.tokenizer_fn)
        bound = adapters.bind(self.memory, self.scope, options=self.options)
        self._handle, self._root = bound.memory, bound.root
        self.memory = bound.memory

    async def _aget(self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **_: Any) -> str:
        """Recall for the user's last message; new messages of the queue are stored first."""
        return await asyncio.to_thread(self._get, messages or [], session_id)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store messages that leave the queue, unless they are stored already."""
        await asyncio.to_thread(self._put, messages)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The same recall with less in it, the best kept; None when nothing of it fits."""
        again = self._shown.get(content) if content else None  # the framework asks about blocks that gave nothing, too
        if again is None:
            return None
        return await asyncio.to_thread(again, max_tokens=self._count(content) - tokens_to_truncate) or None

    async def aflush(self, memory: ChatHistory) -> None:
        """Store what is in the queue of a ``Memory``: the last answer of a chat engine, before the program ends."""
        messages = await memory.aget_all(status=MessageStatus.ACTIVE)
        await asyncio.to_thread(self._flushed, messages, memory.session_id)

    def flush(self, memory: ChatHistory) -> None:
        """See ``aflush``."""
        self._flushed(memory.get_all(status=MessageStatus.ACTIVE), memory.session_id)

    # Inside; everything below runs in worker threads

    def _get(self, messages: Sequence[ChatMessage], session_id: str | None) -> str:
        with self._lock:
            handle = self._session(session_id)
            history = _without_echo(messages)
            self._store(history, handle)
            asked = (text_of(m) for m in reversed(history) if m.role == MessageRole.USER)
            query = next((text for text in asked if text), "")
            return self._recalled(query, thread_of(history, handle), handle) if query else ""

    def _put(self, messages: Sequence[ChatMessage]) -> None:
        with self._lock:
            for name, group in groupby(messages, key=lambda m: m.additional_kwargs.get("session_id")):
                self._store([*group], self._session(name), ejected=True)

    def _flushed(self, messages: Sequence[ChatMessage], session_id: str) -> None:
        with self._lock:
            self._store(messages, self._session(session_id))

    def _session(self, name: str | None) -> Memory:
        """The handle on a session."""
        return adapters.Conversation(self._handle, name or self._handle.scope.session or NO_SESSION).memory

    def _store(self, messages: Sequence[ChatMessage], handle: Memory, *, ejected: bool = False) -> None:
        """Store what is new in a queue, and not what was stored from here before: it may be erased since."""
        session = handle.scope.session or NO_SESSION
        thread = thread_of(cleaned(messages, handle), handle)
        words, before = thread.words, self._stored.get(session, [])
        if not words or (not ejected and before == words):
            return
        stored = adapters.session_words(handle, session)
        if ejected and (adapters.contains(stored, words) or adapters.contains(before, words)):
            return
        erased = words[0] in before and words[0] not in stored
        if not ejected and len(words) == 1 and stored[-1:] != words and not erased:
            new = [0]  # a session name that is used again
        else:
            _, new = adapters.unstored_in_session(handle, session, words, before)
        handle.add(thread.records_after(stored, new))
        if self.idle:
            handle.idle.arm(handle.scope)
        if not ejected:
            _keep(self._stored, session, words, STORED)

    def _recalled(self, query: str, thread: adapters.Thread, handle: Memory) -> str:
        """The text for a turn; the answers to it do not change it."""
        session, words = handle.scope.session or NO_SESSION, thread.words
        answers = sum(1 for _ in takewhile(lambda word: word[0] == "assistant", reversed(words)))
        key = (session, query, words[: len(words) - answers])
        if self._found is None or self._found[0] != key:
            text = ""
            with adapters.recall_failures_logged():
                shown = adapters.shown_in_session(handle, session, words)
                again = partial(
                    self._recall.blocking_text,
                    handle,
                    query,
                    exclude=shown,
                    recent=thread.recent(query),
                    count=self._count,
                )
                text = again(max_tokens=self.max_tokens)
                _keep(self._shown, text, again, SHOWN)
            self._found = (key, text)
        return self._found[1]


def _keep(kept: OrderedDict[str, T], key: str, value: T, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)


def _without_echo(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The history without the question that ``Memory.aget(input=...)`` appends although it was put before."""
    users = [at for at, m in enumerate(messages) if m.role == MessageRole.USER]
    if len(users) < 2 or users[-1] != len(messages) - 1:
        return [*messages]
    answered = any(thread_message(m).stored for m in messages[users[-2] + 1 : -1])
    again = text_of(messages[users[-2]]) == text_of(messages[-1])
    return [*messages[:-1]] if again and not answered else [*messages]
