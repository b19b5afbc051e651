"""MnemicMemory: the memory of classic chains (``langchain_classic``)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, get_buffer_string
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation

from langchain_mnemic.history import MnemicChatMessageHistory
from langchain_mnemic.messages import restored, text_of, well_formed
from mnemic import InvalidInput, Memory, MissingExtra, Scope
from mnemic.adapters import Recall, bound, checked_memory, recall_failures_logged
from mnemic.adapters.schemas import RecallFields

try:
    from langchain_classic.base_memory import BaseMemory
except ModuleNotFoundError as error:
    raise MissingExtra("MnemicMemory", "classic", package="langchain-mnemic") from error


def _only(values: Mapping[str, Any], without: Sequence[str], what: str) -> str:
    """The one key that is not among ``without``.

    Raises:
        InvalidInput: there is none, or more than one.
    """
    names = sorted({*values} - {*without})
    if len(names) != 1:
        raise InvalidInput(f"Which {what} is the message? There are {names}; choose one with {what}_key=.")
    return names[0]


def _text(value: object) -> str:
    """The text of what chains pass as input or output: a string, a message, a list of messages, or any value."""
    if isinstance(value, BaseMessage):
        return text_of(value)
    if isinstance(value, (list, tuple)):
        return "\n".join(_text(item) for item in cast("Sequence[object]", value))
    return str(value)


class MnemicMemory(BaseMemory, RecallFields):
    """What is recalled for the input, then the last messages of the conversation, as one variable of the prompt.

    For ``ConversationChain`` with its own prompt set ``memory_key="history"``. ``clear`` ends the conversation
    with a summary and keeps long-term memory. What is recalled, and how it is ranked, are the fields of
    ``mnemic.adapters.RecallOptions``; the last messages come on top of ``max_tokens``.

    Examples:
        >>> memory = MnemicMemory(memory=Memory(":memory:", embedder="hashing"), memory_key="history")
        >>> memory.save_context({"input": "I moved to Lisbon."}, {"output": "How do you like it?"})
        >>> print(memory.load_memory_variables({"input": "Lisbon?"})["history"].splitlines()[-2])
        Human: I moved to Lisbon.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: SkipValidation[Memory]
    """Where to recall from and to store into."""

    scope: SkipValidation[Scope | Mapping[str, str] | None] = None
    """Whose memory; names it leaves out are those of ``memory``."""

    session: str | None = None
    """The conversation; None takes the session of ``memory``, else a new one."""

    memory_key: str = "memory_context"
    """The prompt's variable."""

    input_key: str | None = None
    """The input that is the user's message; needed when a chain has several."""

    output_key: str | None = None
    """The output that is the answer; needed when a chain has several and none is called ``output``."""

    human_prefix: str = "Human"
    ai_prefix: str = "AI"

    return_messages: bool = False
    """Give a list of messages instead of text; what was recalled is then its first, a human message."""

    k_recent: int = Field(default=10, ge=0)
    """How many of the last messages are given verbatim, and so are not recalled; 0 for none."""

    idle: bool = True
    """Arm ``memory.idle``: after an idle period new messages are processed and consolidated, and the conversation is
    summarized, on a background thread."""

    _handle: Memory = PrivateAttr()
    _history: MnemicChatMessageHistory = PrivateAttr()
    _recall: Recall = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Open the conversation.

        Raises:
            ConfigurationError: ``memory`` is not a ``Memory``, or another argument cannot be used.
        """
        super().model_post_init(context)
        self._handle = bound(checked_memory(self.memory), self.scope, None)
        name = self.session or self._handle.scope.session or f"session_{uuid.uuid4().hex}"
        self._recall = Recall.of(self)
        self._history = MnemicChatMessageHistory(self._handle, name, idle=self.idle)

    @property
    def chat_memory(self) -> MnemicChatMessageHistory:
        """The conversation as a chat history."""
        return self._history

    @property
    def memory_variables(self) -> list[str]:
        """The one variable this memory adds to the inputs of a chain."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What the prompt should know. A recall that fails is logged, and the last messages are given alone.

        Args:
            inputs: of the chain. Without any, what a new session should know is recalled.

        Raises:
            InvalidInput: it is not clear which input is the user's message.
            StoreError: the last messages cannot be read.
        """
        query = self._input(inputs).strip() if inputs else ""
        if self.idle:
            self._handle.idle.arm()
        latest = self._history.records(self.k_recent)
        shown, texts = [m.id for m in latest if m.id], [m.content for m in latest]
        recalled = ""
        with recall_failures_logged():
            recalled = self._recall.blocking_text(self._handle, query or None, exclude=shown, recent=texts)
        recent = well_formed([restored(message) for message in latest], complete=False)
        if self.return_messages:
            return {self.memory_key: [*([HumanMessage(content=recalled)] if recalled else []), *recent]}
        lines = get_buffer_string(recent, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        return {self.memory_key: "\n\n".join(part for part in (recalled, lines) if part)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store what was asked and answered. ``inputs`` holds the injected variable too; it is not taken in again.

        Raises:
            InvalidInput: it is not clear which input or output is the message.
            StoreError: the store refuses.
        """
        question, answer = self._input(inputs), _text(outputs[self._output_name(outputs)])
        self._history.add_messages([HumanMessage(content=question), AIMessage(content=answer)])

    def clear(self) -> None:
        """End the conversation; long-term memory keeps it, and a summary."""
        self._history.clear()

    def _input(self, inputs: Mapping[str, Any]) -> str:
        return _text(inputs[self.input_key or _only(inputs, [*self.memory_variables, "stop"], "input")])

    def _output_name(self, outputs: Mapping[str, Any]) -> str:
        if self.output_key is not None:
            return self.output_key
        return "output" if "output" in outputs else _only(outputs, [], "output")
