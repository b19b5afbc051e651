"""MnemicMemoryBlock: long-term memory as a block of ``llama_index.core.memory.Memory``."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any, Literal

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, field_validator
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.memory import Memory as ChatHistory
from llama_index.core.storage.chat_store.base_db import MessageStatus

from llama_index.memory.mnemic import _messages, _recall, _sessions
from llama_index.memory.mnemic._binding import Binding, bind, given_memory
from llama_index.memory.mnemic._messages import Said
from llama_index.memory.mnemic._window import Tokenizer, counter, default_tokenizer
from mnemic import Memory, checked_options

__all__ = ["MnemicMemoryBlock"]

SHOWN = 16
"""How many texts can be cut again: one for each conversation that asks at the same time."""
FED = 64
"""How many conversations it is known of what they showed last."""
NO_SESSION = "default"


class MnemicMemoryBlock(BaseMemoryBlock[str]):
    """What earlier conversations have to say to this one, for ``Memory.from_defaults(memory_blocks=[...])``.

    ``Memory`` gives a block only what it ejects from its queue, and a short chat ejects nothing. But it shows the block
    the whole queue each time it asks for content: this block stores there what it has not stored yet. The last answer
    of a chat engine is not followed by such a question: ``aflush`` (or ``flush``) stores it; agents ask once more.

    Args:
        memory: an open ``mnemic.Memory``, or the folder of one; left out, ``./memory`` of the ``user``, who must be named then.
        user: whose memory this is: set by the program, out of reach of any model. ``None``: the handle's user.
        project: a level between user and session; ``None``: the handle's.
        max_tokens: budget of the recalled text, by ``tokenizer_fn`` and by the handle's tokenizer.
        min_evidence: what is graded lower is not recalled: ``weak`` recalls nothing where nothing bears on the message,
            ``none`` what is nearest anyway. The text states its grade.
        search_kwargs: more arguments for ``Memory.get_memory_context``, such as ``{"reach": "project"}``.
        options: with a folder: more arguments for ``mnemic.Memory``, such as ``{"embedder": "hashing"}``.
        tokenizer_fn: text in, list of tokens out; default ``llama_index.core.utils.get_tokenizer()``.
        idle: arm ``memory.idle`` when something is stored: after a quiet time new messages are processed and consolidated,
            in a thread of its own.
        name: the tag the text stands in.
        priority: blocks are cut when the limit is passed, 1 first, larger ones later, 0 never.

    Raises:
        ConfigurationError: an argument cannot be used.
        StoreError: the record cannot be opened.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str = "long_term_memory"
    description: str | None = "What was said in earlier conversations."
    priority: int = 1
    memory: Memory | str | Path | None = Field(default=None, exclude=True)
    user: str | None = None
    project: str | None = None
    max_tokens: int = Field(default=2_000, gt=0)
    min_evidence: Literal["strong", "weak", "none"] = "weak"
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict, exclude=True)
    idle: bool = True
    tokenizer_fn: Tokenizer = Field(default_factory=default_tokenizer, exclude=True, repr=False)

    _bound: Binding = PrivateAttr()
    _count: Callable[[str], int] = PrivateAttr()
    _options: dict[str, Any] = PrivateAttr()
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _fed: OrderedDict[str, list[Said]] = PrivateAttr(default_factory=OrderedDict)
    _found: tuple[tuple[str, str, list[Said]], str] | None = PrivateAttr(default=None)
    _shown: OrderedDict[str, Callable[[int], str]] = PrivateAttr(default_factory=OrderedDict)

    @field_validator("memory", mode="before")
    @classmethod
    def _usable(cls, value: object) -> Memory | str | Path | None:
        return None if value is None else given_memory(value)

    def model_post_init(self, context: Any, /) -> None:
        """Open the record."""
        super().model_post_init(context)
        self._options = checked_options(
            Memory.get_memory_context, self.search_kwargs, own={"min_evidence": self.min_evidence},
            reserved=("query", "max_tokens", "exclude", "recent"), what="search_kwargs",
        )  # fmt: skip
        self._count = counter(self.tokenizer_fn)
        self._bound = bind(self.memory, user=self.user, project=self.project, options=self.options)
        self.memory = self._bound.memory
        self.user, self.project = self.memory.scope.user, self.memory.scope.project

    async def _aget(self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **_: Any) -> str:
        """What is recalled for the last message of the user; the messages are stored on the way, each once."""
        return await asyncio.to_thread(self._get, messages or [], session_id)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store messages that leave the queue, unless they are stored already."""
        await asyncio.to_thread(self._put, messages)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The same recall with less in it, the best kept; None when nothing of it fits."""
        again = self._shown.get(content) if content else None  # the framework asks about blocks that gave nothing, too
        if again is None:
            return None
        return await asyncio.to_thread(again, self._count(content) - tokens_to_truncate) or None

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
            session = self._session(session_id)
            history = _without_echo(messages)
            self._feed(history, session)
            asked = (_messages.text_of(m) for m in reversed(history) if m.role == MessageRole.USER)
            query = next((text for text in asked if text), "")
            return self._recalled(query, history, session) if query else ""

    def _put(self, messages: Sequence[ChatMessage]) -> None:
        with self._lock:
            for name, group in groupby(messages, key=lambda m: m.additional_kwargs.get("session_id")):
                self._feed([*group], self._session(name), ejected=True)

    def _flushed(self, messages: Sequence[ChatMessage], session_id: str) -> None:
        with self._lock:
            self._feed(messages, self._session(session_id))

    def _session(self, name: str | None) -> str:
        return _sessions.session_of(name or self._bound.memory.scope.session or NO_SESSION, 0)

    def _feed(self, messages: Sequence[ChatMessage], session: str, *, ejected: bool = False) -> None:
        """Store what of the history is not stored yet, and was not stored here before: it may be erased since."""
        clean = self._bound.memory.trust.redacted
        history = _messages.tellable(_messages.cleaned(messages, self._bound.memory), clean)
        words, fed = _messages.spoken(history, clean), self._fed.get(session, [])
        if not words or (not ejected and fed == words):
            return
        stored = _messages.spoken(_recall.latest(self._bound.memory, session), clean)
        if ejected and (_messages.holds(stored, words) or _messages.holds(fed, words)):
            return
        erased = words[0] in fed and words[0] not in stored
        if not ejected and len(words) == 1 and stored[-1:] != words and not erased:
            new = [0]  # a session name that is used again
        else:
            unfed = {*_messages.news(fed, words)}
            new = [at for at in _messages.news(stored, words) if at in unfed]
        self._bound.memory.add(_messages.evidence(session, stored, history, new, clean))
        if self.idle:
            self._bound.memory.idle.arm()
        if not ejected:
            self._fed[session] = words
            self._fed.move_to_end(session)
            while len(self._fed) > FED:
                self._fed.popitem(last=False)

    def _recalled(self, query: str, messages: Sequence[ChatMessage], session: str) -> str:
        """The text for a turn; what is answered meanwhile does not change it."""
        clean = self._bound.memory.trust.redacted
        shown = _messages.spoken(_messages.tellable(messages, clean), clean)
        answers = sum(1 for _ in takewhile(lambda word: word.role == "assistant", reversed(shown)))
        key = (session, query, shown[: len(shown) - answers])
        if self._found is None or self._found[0] != key:
            memory = self._bound.memory.scoped(session=session)
            known = _recall.shown_ids(memory, session, shown)
            again = partial(
                _recall.recall, memory, query, count=self._count, exclude=known, recent=_recall.before(query, shown),
                arguments=self._options,
            )  # fmt: skip
            text = again(self.max_tokens)
            self._found, self._shown[text] = (key, text), again
            while len(self._shown) > SHOWN:
                self._shown.popitem(last=False)
        return self._found[1]


def _without_echo(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The history without the question that ``Memory.aget(input=...)`` appends although it was put before."""
    users = [at for at, m in enumerate(messages) if m.role == MessageRole.USER]
    if len(users) < 2 or users[-1] != len(messages) - 1:
        return [*messages]
    answered = any(_messages.said(m) for m in messages[users[-2] + 1 : -1])
    again = _messages.text_of(messages[users[-2]]) == _messages.text_of(messages[-1])
    return [*messages[:-1]] if again and not answered else [*messages]
