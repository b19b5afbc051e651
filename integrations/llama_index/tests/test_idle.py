"""When the quiet time begins: the event handler, the chat memory and the block."""

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.llm import LLMChatEndEvent
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import RetrieverQueryEngine

from llama_index.memory.mnemic import MnemicChatMemory, MnemicIdleConsolidation, MnemicMemoryBlock, MnemicRetriever
from mnemic import AsyncMemory, ConfigurationError

pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning:inspect")


@pytest.fixture
def handler(memory):
    dispatcher = get_dispatcher()
    made = MnemicIdleConsolidation(memory=memory)
    dispatcher.add_event_handler(made)
    yield made
    dispatcher.event_handlers.remove(made)


def armed(memory):
    return memory.idle.wait() is not None


class Looking:
    """Notes whether the quiet time had begun when the model was called."""

    def __init__(self, memory):
        self.memory, self.seen = memory, []

    def answer(self, messages, **kwargs):
        self.seen.append(armed(self.memory))
        if messages[-1].content == "fail":
            raise RuntimeError("down")
        return ChatMessage(role="assistant", content="Hi.")


@pytest.fixture
def looking(memory):
    return Looking(memory)


@pytest.fixture
def llm(looking, scripted, monkeypatch):
    monkeypatch.setattr(scripted, "_answer", looking.answer)
    return scripted()


def test_what_is_no_open_memory_is_refused(memory):
    for bad in (AsyncMemory.over(memory), "./memory", 3):
        with pytest.raises(ConfigurationError, match="memory must be"):
            MnemicIdleConsolidation(memory=bad)


@pytest.mark.parametrize("method", ["chat", "achat"])
async def test_a_chat_engine(memory, handler, looking, llm, method):
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=MnemicChatMemory(memory=memory, idle=False))
    _ = engine.chat("Hello.") if method == "chat" else await engine.achat("Hello.")
    assert looking.seen == [False]
    assert armed(memory)


@pytest.mark.parametrize("method", ["chat", "achat"])
async def test_a_model_that_fails(memory, handler, llm, method):
    with pytest.raises(RuntimeError):
        _ = llm.chat([ChatMessage("fail")]) if method == "chat" else await llm.achat([ChatMessage("fail")])
    assert armed(memory)


@pytest.mark.parametrize("method", ["stream_chat", "stream_complete"])
def test_a_stream_read_and_a_stream_left(memory, handler, method):
    model = MockLLM(max_tokens=5)
    given = "a b c d e f" if method == "stream_complete" else [ChatMessage("a b c d e f")]
    for _ in getattr(model, method)(given):
        pass
    assert armed(memory)
    stream = getattr(model, method)(given)
    next(stream)
    assert not armed(memory)
    stream.close()
    assert armed(memory)


async def test_an_asynchronous_stream(memory, handler):
    stream = await MockLLM(max_tokens=5).astream_complete("a b c d e f")
    async for _ in stream:
        pass
    assert armed(memory)


@pytest.mark.parametrize("method", ["query", "aquery"])
async def test_a_query_engine_is_one_run(memory, handler, looking, llm, method):
    memory.add("I moved to Lisbon.")
    engine = RetrieverQueryEngine.from_args(MnemicRetriever(memory), llm=llm)
    _ = engine.query("Where?") if method == "query" else await engine.aquery("Where?")
    assert looking.seen == [False]
    assert armed(memory)


def test_predictions(memory, handler, llm):
    llm.predict(PromptTemplate("Say {x}"), x="hi")
    assert armed(memory)


async def test_an_agent(memory, handler, looking, llm):
    await FunctionAgent(name="bo", llm=llm, streaming=False).run(user_msg="Hello.")
    assert looking.seen == [False]
    assert armed(memory)


def test_it_looks_after_one_user(memory):
    handler = MnemicIdleConsolidation(memory=memory, scope={"user": "bo"})
    handler.handle(LLMChatEndEvent(messages=[], response=None))
    assert memory.scoped(user="bo").idle.wait() is not None
    assert not armed(memory)
    assert handler.class_name() == "MnemicIdleConsolidation"
    assert handler.model_dump() == {"scope": {"user": "bo"}}


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
async def test_the_chat_memory_arms_it(memory, asynchronous):
    chat = MnemicChatMemory(memory=memory)
    assert not armed(memory)
    if asynchronous:
        await chat.aput(ChatMessage("Hello."))
    else:
        chat.put(ChatMessage("Hello."))
    assert armed(memory)


async def test_the_block_arms_it(memory):
    for idle in (False, True):
        block = MnemicMemoryBlock(memory=memory, idle=idle)
        await block.aput([ChatMessage(f"Hello {idle}.")], session_id=f"s{idle}")
        assert armed(memory) is idle
