"""A memory that is gone after the test, and a chat model that answers from a list and notes what it was shown."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage

from mnemic import Memory


class Scripted(GenericFakeChatModel):
    """Gives the next answer of its script; ``seen`` holds the messages of every call."""

    seen: list[list[BaseMessage]] = []  # noqa: RUF012 - pydantic copies it

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", user="ana", embedder="hashing") as opened:
        yield opened


@pytest.fixture
def scripted() -> Callable[..., Scripted]:
    def make(*answers: str | AIMessage) -> Scripted:
        return Scripted(messages=iter([AIMessage(a) if isinstance(a, str) else a for a in answers]))

    return make
