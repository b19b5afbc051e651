"""Fixtures: a memory, language models that answer from a script and keep what they were shown, a stock Memory."""

import pytest
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory as ChatHistory
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from mnemic import Memory


class ScriptedLLM(MockFunctionCallingLLM):
    """Answers ``answers`` in order, then "Understood."; ``shown`` keeps a copy of every prompt."""

    def __init__(self, *answers):
        super().__init__(response_generator=self._answer, is_chat_model=True)
        self._answers = list(answers)
        self._shown = []

    @property
    def shown(self):
        return self._shown

    def _answer(self, messages, **kwargs):
        self._shown.append([m.model_copy(deep=True) for m in messages])
        answer = self._answers.pop(0) if self._answers else "Understood."
        return answer if isinstance(answer, ChatMessage) else ChatMessage(role="assistant", content=answer)

    @property
    def metadata(self):
        return super().metadata.model_copy(update={"context_window": 128_000, "is_chat_model": True})


@pytest.fixture
def scripted():
    return ScriptedLLM


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as opened:
        yield opened


@pytest.fixture
def wordy():
    """A memory that takes each word for a token."""
    with Memory(":memory:", user="ana", embedder="hashing", tokenizer=lambda text: len(text.split())) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "memory"


@pytest.fixture
async def history():
    """Makes stock Memory objects over one database, as an application with a database file would; closes it."""
    engines = {}

    def make(database="first", **kwargs):
        if database not in engines:
            engines[database] = create_async_engine("sqlite+aiosqlite://", poolclass=StaticPool)
        return ChatHistory.from_defaults(async_engine=engines[database], **kwargs)

    yield make
    for engine in engines.values():
        await engine.dispose()


@pytest.fixture
def said():
    """The texts a user's memory holds, in order."""
    return lambda memory, **kwargs: [m.content for m in memory.messages(**kwargs)]


@pytest.fixture
def user_message():
    return lambda text: ChatMessage(role="user", content=text)


@pytest.fixture
def assistant_message():
    return lambda text: ChatMessage(role="assistant", content=text)
