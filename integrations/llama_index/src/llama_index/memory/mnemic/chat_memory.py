"""MnemicChatMemory: the recent messages of a conversation, and what earlier ones have to say to it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import (
    ConfigDict,
    Field,
    PrivateAttr,
    field_serializer,
    field_validator,
    model_validator,
)
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import BaseMemory

from llama_index.memory.mnemic import _messages, _recall, _sessions
from llama_index.memory.mnemic._binding import bind, given_memory, location_of
from llama_index.memory.mnemic._window import Tokenizer, counter, default_tokenizer, fit, message_tokens
from mnemic import Memory, checked_options

__all__ = ["MnemicChatMemory"]

DEFAULT_TOKEN_LIMIT = 30_000
CONTEXT_WINDOW_RATIO = 0.75
LOADED = 1_000
"""How many of the latest messages of a session a new object takes over."""
RECENT = 50
"""How far back the turn before a new one is looked for: further than any run of tool calls."""


class MnemicChatMemory(BaseMemory):
    """The memory of a chat engine or an agent: a buffer of the current session with recall from all earlier ones.

    Every message of the user and of the model is in long-term memory as soon as it is put. ``get`` gives the newest
    turns of the session that fit the budget and, before the message to be answered, what was found for it: one fenced
    message of role ``user`` (or, with ``insert_method="system"``, a part of the system message). It is never stored
    again, wherever it is handed back.

    Args:
        memory: an open ``Memory``, or the folder of one; left out, ``./memory`` of the ``user``, who must be named then.
        user: whose memory this is: set by the program, out of reach of any model. ``None``: the handle's user; with a
            folder ``"default"``, whom all share that name no user.
        project: a level between user and session; ``None``: the handle's.
        session_id: the conversation; an existing one goes on where it ended, or was reset. ``None``: the handle's, else
            a new one, which no other object takes up.
        token_limit: tokens of everything ``get`` returns together with ``initial_token_count``. The system messages it
            begins with and the last turn are kept whole, even if they alone are more.
        recall_tokens: at most this much of it, and half of what the last turn leaves, is recalled; 0: no recall.
        min_evidence: what is graded lower is not recalled: ``weak`` recalls nothing where nothing bears on the message,
            ``none`` what is nearest anyway. The text states its grade.
        insert_method: ``user`` or ``system``; some providers reject a second system message.
        search_kwargs: more arguments for ``Memory.get_memory_context``, such as ``{"reach": "project"}``.
        options: with a folder: more arguments for ``Memory``, such as ``{"embedder": "hashing"}``. With a handle: how
            to open its folder again in another process after ``to_dict``. JSON values, if it is to be serialised.
        buffer: the messages of the session so far; left out, they are loaded from the memory.
        idle: arm ``memory.idle`` at every call: after a quiet time new messages are processed and consolidated, in a thread
            of its own.
        tokenizer_fn: text in, list of tokens out; default ``llama_index.core.utils.get_tokenizer()``. Recalled text keeps
            its budget by the handle's tokenizer, too.

    Raises:
        ConfigurationError: an argument cannot be used.
        StoreError: the record cannot be opened.

    Example:
        >>> from llama_index.memory.mnemic import MnemicChatMemory
        >>> from llama_index.core.llms import ChatMessage
        >>> chat = MnemicChatMemory(memory=":memory:", user="ana", options={"embedder": "hashing"})
        >>> chat.put(ChatMessage(role="user", content="I live in Lisbon."))
        >>> chat.reset()
        >>> chat.put(ChatMessage(role="user", content="Where do I live?"))
        >>> [m.role.value for m in chat.get()], "I live in Lisbon." in chat.get()[0].content
        (['user', 'user'], True)
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory | str | Path | None = None
    user: str | None = None
    project: str | None = None
    session_id: str | None = None
    token_limit: int = Field(default=DEFAULT_TOKEN_LIMIT, gt=0)
    recall_tokens: int = Field(default=2_000, ge=0)
    min_evidence: Literal["strong", "weak", "none"] = "weak"
    insert_method: Literal["user", "system"] = "user"
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    idle: bool = True
    buffer: list[ChatMessage] | None = None
    record: str | None = Field(default=None, repr=False)
    tokenizer_fn: Tokenizer = Field(default_factory=default_tokenizer, exclude=True, repr=False)

    _root: Memory = PrivateAttr()
    _named: bool = PrivateAttr()
    _count: Callable[[str], int] = PrivateAttr()
    _options: dict[str, Any] = PrivateAttr()
    _lock: threading.RLock = PrivateAttr(default_factory=threading.RLock)
    _turn: int = PrivateAttr(default=0)
    _found: tuple[tuple[int, str, int, int], str] | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _accepted(cls, values: object) -> object:
        """Forms in which the framework hands over values: enums, a class name, None for the default tokenizer."""
        if not isinstance(values, dict):
            return values
        given = {key: value for key, value in cast("dict[str, object]", values).items() if key != "class_name"}
        if given.get("tokenizer_fn", ...) is None:
            del given["tokenizer_fn"]
        if "insert_method" in given:
            given["insert_method"] = getattr(given["insert_method"], "value", given["insert_method"])
        return given

    @field_validator("memory", mode="before")
    @classmethod
    def _usable(cls, value: object) -> Memory | str | Path | None:
        return None if value is None else given_memory(value)

    def model_post_init(self, context: Any, /) -> None:
        """Open the record and take up the session."""
        super().model_post_init(context)
        self._options = checked_options(
            Memory.get_memory_context, self.search_kwargs, own={"min_evidence": self.min_evidence},
            reserved=("query", "max_tokens", "exclude", "recent"), what="search_kwargs",
        )  # fmt: skip
        self._count = counter(self.tokenizer_fn)
        bound = bind(
            self.memory, user=self.user, project=self.project, session=self.session_id, options=self.options,
            record=self.record,
        )  # fmt: skip
        self._root, self.record = bound.root, bound.record
        scope = bound.memory.scope
        self.user, self.project = scope.user, scope.project
        self._named = scope.session is not None
        self.session_id = scope.session or uuid.uuid4().hex
        session = _sessions.current(bound.memory, self.session_id) if self._named else self.session_id
        self.memory = bound.memory.scoped(session=session)
        if self.buffer is None:
            self.buffer = self._loaded() if self._named else []

    @classmethod
    def class_name(cls) -> str:
        """The name in serialised form."""
        return "MnemicChatMemory"

    @classmethod
    def from_defaults(
        cls,
        memory: Memory | str | Path | None = None,
        *,
        chat_history: Sequence[ChatMessage] | None = None,
        llm: LLM | None = None,
        token_limit: int | None = None,
        **kwargs: Any,
    ) -> MnemicChatMemory:
        """As the constructor, in the form chat engines call for ``memory_cls``.

        Args:
            memory: see the class. Unlike a ``ChatMemoryBuffer`` it is shared by all objects on it: name the ``user``.
            chat_history: how the conversation begins; stored like any other message, once.
            llm: gives the token limit, three quarters of its context window, when there is none.
            token_limit: see the class.
            **kwargs: the other arguments of the class.
        """
        if token_limit is None and llm is not None:
            token_limit = int(llm.metadata.context_window * CONTEXT_WINDOW_RATIO)
        made = cls(memory=memory, token_limit=DEFAULT_TOKEN_LIMIT if token_limit is None else token_limit, **kwargs)
        if chat_history is not None:
            made.set([*chat_history])
        return made

    # What the framework calls. The asynchronous forms are inherited: each runs its twin in a worker thread.

    def get(self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **_: Any) -> list[ChatMessage]:
        """The recent messages with what was recalled for the message to be answered.

        Args:
            input: that message; ``None``: the last one of the user. Within a turn the search runs once.
            initial_token_count: tokens of the prompt that are not the memory's. If they leave no room, the last turn is
                returned all the same: a model that is shown too much says so.
            **_: what other memories take.
        """
        self._arm()
        with self._lock:
            query = _messages.text_of(input) or self._asked()
            budget = self.token_limit - initial_token_count
            reserve = self._reserve(budget) if query else 0
            window = fit(self._messages, budget - reserve, self._count)
            text = self._recalled(query, window, reserve) if reserve else ""
            return self._with_recall([_messages.copied(m) for m in window], text, coming=self._is_coming(input))

    def get_all(self) -> list[ChatMessage]:
        """The buffer, without recall."""
        with self._lock:
            return [_messages.copied(message) for message in self._messages]

    def put(self, message: ChatMessage) -> None:
        """Append a message; what the user or the model says is in long-term memory when this returns."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Append messages; see ``put``."""
        with self._lock:
            mine = _messages.cleaned(messages, self._handle)
            self._store_said(mine)
            self._messages.extend(mine)
            self._turn += any(m.role == MessageRole.USER for m in mine)
        self._arm()

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the buffer. Long-term memory keeps everything, and learns what of this it does not know yet."""
        with self._lock:
            mine = _messages.cleaned(messages, self._handle)
            clean = self._handle.trust.redacted
            if words := _messages.tellable(mine, clean):
                said = _messages.spoken(words, clean)
                stored = _messages.spoken(_recall.latest(self._handle, self._session), clean)
                # what is held was stored when it came; it may be erased since
                unheld = {*_messages.news(_messages.spoken(_messages.tellable(self._messages, clean), clean), said)}
                new = [at for at in _messages.news(stored, said) if at in unheld]
                self._handle.add(_messages.evidence(self._session, stored, words, new, clean))
            self.buffer = mine
            self._turn += 1
        self._arm()

    def reset(self) -> None:
        """End the session: the buffer is empty and a new session begins. Long-term memory keeps everything.

        With a ``session_id`` it is ended for every object that is given this name later, in every process: they take up
        what was said since. In the record that is the session ``"<session_id>#reset1"``, then ``#reset2``.
        """
        with self._lock:
            if self._named:
                self.memory = _sessions.begin_next(self._handle, self._name)
            else:
                self.session_id = uuid.uuid4().hex
                self.memory = self._handle.scoped(session=self.session_id)
            self.buffer = []
            self._turn += 1

    # Serialisation: the buffer, and where to find the rest

    @field_serializer("memory")
    def _dump_memory(self, value: Memory | str | Path | None) -> str:
        return value.location if isinstance(value, Memory) else str(value)

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """JSON values from which ``from_dict`` restores this memory: its buffer, its scope and where its record is.

        ``from_dict(data, memory=handle)`` gives it another handle on the record. A password is not among them: whoever
        restores a memory in PostgreSQL has it in the environment, or gives the handle.

        Raises:
            ConfigurationError: the record is in RAM.
        """
        location_of(self._handle)
        return self._dumped(**kwargs)

    def _dumped(self, **kwargs: Any) -> dict[str, Any]:
        with self._lock:
            return super().to_dict(**{"mode": "json", **kwargs})

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], MnemicChatMemory], tuple[dict[str, Any]]]:
        return type(self).from_dict, (self.to_dict(),)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> MnemicChatMemory:
        return type(self).from_dict(self._dumped(), memory=self._root, tokenizer_fn=self.tokenizer_fn)

    # Inside

    @property
    def _handle(self) -> Memory:
        assert isinstance(self.memory, Memory)  # since model_post_init
        return self.memory

    @property
    def _name(self) -> str:
        assert self.session_id is not None  # since model_post_init
        return self.session_id

    @property
    def _session(self) -> str:
        """What the record calls the session: the name of the conversation until it is reset."""
        assert self._handle.scope.session is not None  # since model_post_init
        return self._handle.scope.session

    @property
    def _messages(self) -> list[ChatMessage]:
        assert self.buffer is not None  # since model_post_init
        return self.buffer

    def _arm(self) -> None:
        """The quiet time begins anew."""
        if self.idle:
            self._handle.idle.arm()

    def _loaded(self) -> list[ChatMessage]:
        """The latest messages of the session in long-term memory."""
        found = _recall.latest(self._handle, self._session, LOADED)
        return [chat for message in found if (chat := _messages.as_chat(message)) is not None]

    def _store_said(self, messages: Sequence[ChatMessage]) -> None:
        """Store what was said just now. A pair of turns that was said before gets a new id: it was said again."""
        clean = self._handle.trust.redacted
        words = _messages.tellable(messages, clean)
        if not words:
            return
        last = _messages.spoken(self._messages[-RECENT:], clean)[-1:]
        told = _messages.evidence(self._session, last, words, range(len(words)), clean)
        receipts = self._handle.add(told)
        if again := [_messages.nameless(m) for m, r in zip(told, receipts, strict=True) if r.outcome == "duplicate"]:
            self._handle.add(again)

    def _asked(self) -> str:
        """The last message of the user."""
        return next((_messages.text_of(m) for m in reversed(self._messages) if m.role == MessageRole.USER), "")

    def _is_coming(self, input: str | ChatMessage | None) -> bool:
        """Whether the message to be answered is still to be put: chat engines with context ask before they put."""
        text = _messages.text_of(input)
        if not text:
            return False
        last = _messages.said(self._messages[-1]) if self._messages else None
        return text != self._asked() or (last is not None and last.role == "assistant")

    def _reserve(self, budget: int) -> int:
        """Tokens kept free for recall: at most half of what the last turn leaves, the rest is for the turns before."""
        last_turn = sum(message_tokens(m, self._count) for m in fit(self._messages, 0, self._count))
        return max(0, min(self.recall_tokens, (budget - last_turn) // 2))

    def _recalled(self, query: str, window: Sequence[ChatMessage], max_tokens: int) -> str:
        """The text for a turn, found again only when more of the history was cut off or the budget is another."""
        key = (self._turn, query, max_tokens, len(self._messages) - len(window))
        if self._found is None or self._found[0] != key:
            clean = self._handle.trust.redacted
            shown = _messages.spoken(_messages.tellable(window, clean), clean)
            known = _recall.shown_ids(self._handle, self._session, shown)
            text = _recall.recall(
                self._handle, query, max_tokens, count=self._count, exclude=known, recent=_recall.before(query, shown),
                arguments=self._options,
            )  # fmt: skip
            self._found = (key, text)
        return self._found[1]

    def _with_recall(self, window: list[ChatMessage], text: str, *, coming: bool) -> list[ChatMessage]:
        """The window with the recalled text: before the message to be answered, or in front of the system message."""
        if not text:
            return window
        if self.insert_method == "system":
            if window and window[0].role == MessageRole.SYSTEM:
                window[0].blocks = [TextBlock(text=text), *window[0].blocks]
                return window
            return [ChatMessage(role=MessageRole.SYSTEM, content=text), *window]
        users = [at for at, m in enumerate(window) if m.role == MessageRole.USER]
        at = len(window) if coming or not users else users[-1]
        return [*window[:at], ChatMessage(role=MessageRole.USER, content=text), *window[at:]]
