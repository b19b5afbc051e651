"""MnemicChatMemory: the recent messages of a conversation, and what earlier ones have to say to it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, cast

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import (
    ConfigDict,
    Field,
    PrivateAttr,
    field_serializer,
    model_validator,
)
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import BaseMemory
from pydantic import FieldSerializationInfo, SkipValidation

from llama_index.memory.mnemic._messages import Place, as_chat, cleaned, copied, text_of, thread_message, thread_of
from llama_index.memory.mnemic._window import Tokenizer, counter, default_tokenizer, fit, message_tokens
from mnemic import Memory, Message, Scope, adapters
from mnemic.adapters.schemas import RecallFields

DEFAULT_TOKEN_LIMIT = 30_000
CONTEXT_WINDOW_RATIO = 0.75
LOADED = 1_000
"""How many of the latest messages of a session a new object takes over."""
LAST_TURN = 50
"""How far back the turn before a new one is looked for: further than any run of tool calls."""


class MnemicChatMemory(BaseMemory, RecallFields):
    """The memory of a chat engine or an agent: a buffer of the current session with recall from all earlier ones.

    Every message of the user and of the model is in long-term memory as soon as it is put. ``get`` gives the newest
    turns of the session that fit the budget and, before the message to be answered, what was found for it: one fenced
    message of role ``user`` (or, with ``inject="system"``, a part of the system message). It is never stored
    again, wherever it is handed back.

    Args:
        memory: an open ``Memory``, or the folder of one; left out, ``./memory`` of the scope's user, who must be named then.
        scope: whose memory this is: set by the program, out of reach of any model. Names it leaves out are those of
            ``memory``; with a folder the user is ``"default"``, shared by all that name no user.
        session_id: the conversation; an existing one goes on where it ended, or was reset. ``None``: that of the scope or
            handle, else a new one, which no other object takes up.
        token_limit: tokens of everything ``get`` returns together with ``initial_token_count``. The system messages it
            begins with and the last turn are kept whole, even if they alone are more.
        max_tokens: most tokens of it that recalled text may take, and at most half of what the last turn leaves; 0: no recall.
        min_evidence: hits graded lower are not shown: ``weak`` shows nothing where nothing bears on the message, ``none``
            the nearest anyway. The text states its grade.
        inject: ``user`` or ``system``; some providers reject a second system message.
        filters: what may be recalled: fields of ``SearchFilters``, such as ``{"reach": "project"}``.
        profile: begin the recalled text with who the user is and what matters, whatever is asked, within ``max_tokens``.
        recipe: how hits are ranked; see ``Memory.search``.
        mood: what to rank by beside relevance; see ``Memory.search``. An emotion or a function is not serialized.
        emotion_weight: of the mood, 0 to 1.
        procedures: most procedures that worked for similar requests, at the beginning of the recalled text.
        options: with a folder: more arguments for ``Memory``, such as ``{"embedder": "hashing"}``. With a handle: how
            to open its folder again in another process after ``to_dict``. JSON values, if it is to be serialized.
        buffer: the messages of the session so far; left out, they are loaded from the memory.
        idle: arm ``memory.idle`` at every call: after an idle period new messages are processed and consolidated, on a
            background thread.
        tokenizer_fn: text in, list of tokens out; default ``llama_index.core.utils.get_tokenizer()``. Recalled text keeps
            its budget by the handle's tokenizer, too.

    Raises:
        ConfigurationError: an argument cannot be used.
        StoreError: the record cannot be opened.

    Examples:
        >>> from llama_index.memory.mnemic import MnemicChatMemory
        >>> from llama_index.core.llms import ChatMessage
        >>> chat = MnemicChatMemory(memory=":memory:", options={"embedder": "hashing"})
        >>> chat.put(ChatMessage(role="user", content="I live in Lisbon."))
        >>> chat.reset()
        >>> chat.put(ChatMessage(role="user", content="Where do I live?"))
        >>> [m.role.value for m in chat.get()], "I live in Lisbon." in chat.get()[0].content
        (['user', 'user'], True)
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", hide_input_in_errors=True)

    memory: Place = None
    scope: SkipValidation[Scope | dict[str, str] | None] = None
    session_id: str | None = None
    token_limit: int = Field(default=DEFAULT_TOKEN_LIMIT, gt=0)
    max_tokens: int = Field(default=2_000, ge=0)
    inject: Literal["user", "system"] = "user"
    options: dict[str, Any] = Field(default_factory=dict, repr=False)
    idle: bool = True
    buffer: list[ChatMessage] | None = None
    record: str | None = Field(default=None, repr=False)
    tokenizer_fn: Tokenizer = Field(default_factory=default_tokenizer, exclude=True, repr=False)

    _root: Memory = PrivateAttr()
    _named: bool = PrivateAttr()
    _count: Callable[[str], int] = PrivateAttr()
    _recall: adapters.Recall = PrivateAttr()
    _lock: threading.RLock = PrivateAttr(default_factory=threading.RLock)
    _turn: int = PrivateAttr(default=0)
    _removed: list[adapters.Words] = PrivateAttr(default_factory=list[adapters.Words])
    _found: tuple[tuple[int, str, int, int], str] | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _accepted(cls, values: object) -> object:
        """Values as the framework passes them: a class name, None for the default tokenizer."""
        if not isinstance(values, dict):
            return values
        given = {key: value for key, value in cast("dict[str, object]", values).items() if key != "class_name"}
        if given.get("tokenizer_fn", ...) is None:
            del given["tokenizer_fn"]
        return given

    def model_post_init(self, context: Any, /) -> None:
        """Open the record and take up the session."""
        super().model_post_init(context)
        self._recall = adapters.Recall.of(self)
        self._count = counter(self.tokenizer_fn)
        bound = adapters.bind(self.memory, self.scope, options=self.options, record=self.record)
        self._root, self.record, scope = bound.root, bound.record, bound.memory.scope
        self.scope = {"user": scope.user} if scope.project is None else {"user": scope.user, "project": scope.project}
        name = self.session_id or scope.session
        self._named = name is not None
        self.session_id = name or uuid.uuid4().hex
        self.memory = bound.memory.scoped(session=self.session_id)
        if self._named:
            self.memory = self._conversation.handle
        if self.buffer is None:
            self.buffer = self._loaded() if self._named else []

    @classmethod
    def class_name(cls) -> str:
        """The name in serialized form."""
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
            memory: see the class. Unlike a ``ChatMemoryBuffer`` it is shared by all objects on it: name the user in ``scope``.
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
            coming = self._is_coming(input)
            query = text_of(input) if coming else self._asked()
            budget = self.token_limit - initial_token_count
            reserve = self._reserve(budget) if query else 0
            window = fit(self._messages, budget - reserve, self._count)
            text = self._recalled(query, window, reserve) if reserve else ""
            return self._with_recall([copied(m) for m in window], text, coming=coming)

    def get_all(self) -> list[ChatMessage]:
        """The buffer, without recall."""
        with self._lock:
            return [copied(message) for message in self._messages]

    def put(self, message: ChatMessage) -> None:
        """Append a message; what the user or the model says is in long-term memory when this returns."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Append messages; see ``put``."""
        with self._lock:
            mine = cleaned(messages, self._handle)
            repeated = self._store(mine)
            self._messages.extend(mine)
            if repeated:
                self._note_edit()
            self._turn += any(m.role == MessageRole.USER for m in mine)
        self._arm()

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the buffer. Long-term memory keeps everything, and stores what of this is new.

        What this leaves out is an edit: later objects on the session do not load it, and it is recalled in other sessions only.
        An older part that is cut off, with nothing in its place, is no edit: it is still loaded and recalled. What an empty
        buffer leaves out is recalled.

        When this removes the end of the buffer and the same message is put next, it is a repeated request: a retry, or an
        answer generated again. It is not stored again.
        """
        with self._lock:
            mine = cleaned(messages, self._handle)
            thread, held = thread_of(mine, self._handle), thread_of(self._messages, self._handle)
            records = list[Message]()
            if words := thread.words:
                stored, new = adapters.unstored_in_session(self._handle, self._session, words, held.words)
                records = thread.records_after(stored, new)
            adapters.note_edit(self._handle, self._session, thread.words, held.words)
            self._handle.add(records)
            self._removed = _removed(held.words, thread.words)
            self.buffer = mine
            self._turn += 1
        self._arm()

    def reset(self) -> None:
        """End the session: the buffer is empty and a new session begins. Long-term memory keeps everything, and a summary.

        With a ``session_id`` it is ended for every object that is given this name later, in every process: they take up
        what was said since. In the record that is the session ``"<session_id>#reset1"``, then ``#reset2``.
        """
        with self._lock:
            self._arm()
            if self._named:
                self._conversation.end()
                self.memory = self._conversation.handle
            else:
                self._handle.sessions.summarize()
                self.session_id = uuid.uuid4().hex
                self.memory = self._handle.scoped(session=self.session_id)
            self.buffer, self._removed = [], []
            self._turn += 1

    # Serialization: the buffer, and where to find the rest

    @field_serializer("recipe", "mood")
    def _dump_ranking(self, value: object, info: FieldSerializationInfo) -> str | None:
        return value if isinstance(value, str) else type(self).model_fields[info.field_name].default

    @field_serializer("options")
    def _dump_options(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {name: option for name, option in value.items() if name != "key"}

    @field_serializer("memory")
    def _dump_memory(self, value: Memory | str | Path | None) -> str:
        return value.admin.location if isinstance(value, Memory) else str(value)

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """JSON values from which ``from_dict`` restores this memory: its buffer, its scope and where its record is.

        ``from_dict(data, memory=handle)`` gives it another handle on the record. A password is not among them: whoever
        restores a memory in PostgreSQL has it in the environment, or gives the handle.

        Raises:
            ConfigurationError: the record is in RAM.
        """
        adapters.location_of(self._handle)
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
    def _conversation(self) -> adapters.Conversation:
        assert self.session_id is not None  # since model_post_init
        return adapters.Conversation(self._handle, self.session_id)

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
        """Restart the idle period."""
        if self.idle:
            self._handle.idle.arm(self._handle.scope)

    def _loaded(self) -> list[ChatMessage]:
        """The latest messages of the session in long-term memory, without those that edits took out of it.

        Where earlier ones are left out or forgotten, from the first message of the user on.
        """
        found = adapters.session_messages(self._handle, self._session, LOADED)
        gone = adapters.edited_out(self._handle, self._session, found)
        chats = [chat for message in found if message.id not in gone and (chat := as_chat(message)) is not None]
        complete = len(found) < LOADED and not adapters.has_forgotten(self._handle, self._session)
        begin = next((n for n, chat in enumerate(chats) if chat.role in (MessageRole.USER, MessageRole.SYSTEM)), 0)
        return chats if complete else chats[begin:]

    def _note_edit(self) -> None:
        """Note what the buffer has again of what an edit took out."""
        words = thread_of(self._messages, self._handle).words
        adapters.note_edit(self._handle, self._session, words, words)

    def _store(self, messages: Sequence[ChatMessage]) -> int:
        """Store new messages; returns how many of them are a repeated request, and are not.

        A pair of turns that was said before gets a new id: it was said again.
        """
        before = self._messages[-LAST_TURN:]
        thread = thread_of(messages, self._handle, before)
        last = thread_of(before, self._handle).words[-1:]
        repeated = len([*takewhile(lambda pair: pair[0] == pair[1], zip(thread.words, self._removed, strict=False))])
        self._removed = self._removed[repeated:] if repeated == len(thread.words) else []
        if records := thread.records_after(last, range(len(thread.messages)))[repeated:]:
            receipts = self._handle.add(records)
            stored = zip(records, receipts, strict=True)
            if again := [replace(m, id=None) for m, receipt in stored if receipt.outcome == "duplicate"]:
                self._handle.add(again)
        return repeated

    def _last_asked(self) -> ChatMessage | None:
        """The last message of the user."""
        read = ((message, thread_message(message)) for message in reversed(self._messages))
        return next((message for message, thread in read if thread.stored and thread.role == "user"), None)

    def _asked(self) -> str:
        """The text of the last message of the user, media by reference."""
        last = self._last_asked()
        return "" if last is None else thread_message(last).text.strip()

    def _is_coming(self, input: str | ChatMessage | None) -> bool:
        """Whether the message to be answered is still to be put: chat engines with context ask before they put."""
        text = text_of(input)
        if not text:
            return False
        last = thread_message(self._messages[-1]) if self._messages else None
        return text != text_of(self._last_asked()) or (last is not None and last.stored and last.role == "assistant")

    def _reserve(self, budget: int) -> int:
        """Tokens kept free for recall: at most half of what the last turn leaves, the rest is for the turns before."""
        last_turn = sum(message_tokens(m, self._count) for m in fit(self._messages, 0, self._count))
        return max(0, min(self.max_tokens, (budget - last_turn) // 2))

    def _recalled(self, query: str, window: Sequence[ChatMessage], max_tokens: int) -> str:
        """The text for a turn, found again only when more of the history was cut off or the budget is another."""
        key = (self._turn, query, max_tokens, len(self._messages) - len(window))
        if self._found is None or self._found[0] != key:
            thread, text = thread_of(window, self._handle), ""
            with adapters.recall_failures_logged():
                shown = adapters.shown_in_session(self._handle, self._session, thread.words)
                text = self._recall.blocking_text(
                    self._handle,
                    query,
                    recent=thread.recent(query),
                    exclude=shown,
                    max_tokens=max_tokens,
                    count=self._count,
                )
            self._found = (key, text)
        return self._found[1]

    def _with_recall(self, window: list[ChatMessage], text: str, *, coming: bool) -> list[ChatMessage]:
        """The window with the recalled text: before the message to be answered, or in front of the system message."""
        if not text:
            return window
        if self.inject == "system":
            if window and window[0].role == MessageRole.SYSTEM:
                window[0].blocks = [TextBlock(text=text), *window[0].blocks]
                return window
            return [ChatMessage(role=MessageRole.SYSTEM, content=text), *window]
        users = [at for at, m in enumerate(window) if m.role == MessageRole.USER]
        at = len(window) if coming or not users else users[-1]
        return [*window[:at], ChatMessage(role=MessageRole.USER, content=text), *window[at:]]


def _removed(held: list[adapters.Words], given: list[adapters.Words]) -> list[adapters.Words]:
    """The end of a history that was cut off. A history that is emptied after an answer is a new conversation."""
    end = held[len(given) :] if held[: len(given)] == given else []
    return end if given or not any(role == "assistant" for role, _ in end) else []
