"""The shared suite for adapters, on MnemicChatMemory and on MnemicMemoryBlock, in chat engines."""

from collections import defaultdict

import pytest
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, ChatResponse
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory as ChatHistory
from llama_index.core.memory.memory import InsertMethod
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from llama_index.memory.mnemic import MnemicChatMemory, MnemicMemoryBlock, MnemicToolSpec
from mnemic import MnemicError
from mnemic_testing import AdapterConformance, ToolAnswer, ToolConformance


class ScriptedLLM(MockFunctionCallingLLM):
    """Answers from a script."""

    def __init__(self, script):
        super().__init__(response_generator=self._answer, is_chat_model=True)
        self._script = script

    def _answer(self, messages, **kwargs):
        return ChatMessage(role="assistant", content=self._script.answer([m.content for m in messages]))

    async def achat(self, messages, **kwargs):
        text = await self._script.aanswer([m.content for m in messages])
        return ChatResponse(message=ChatMessage(role="assistant", content=text), delta=text)


class TestChatMemory(AdapterConformance):
    tracks_runs = False  # a memory sees messages; MnemicIdleConsolidation sees runs
    keeps_all = True  # a program that sends a prompt again cuts the first one off

    def conversation(self, memory, script, *, session, **options):
        chat = MnemicChatMemory(memory=memory, session_id=session, **options)
        return SimpleChatEngine.from_defaults(llm=ScriptedLLM(script), memory=chat)

    async def history(self, conversation):
        return await conversation._memory.aget_all()

    async def turn(self, conversation, text):
        return str(await conversation.achat(text))

    async def stream(self, conversation, text, *, parts=None):
        answer, said = await conversation.astream_chat(text), []
        async for token in answer.async_response_gen():
            said.append(token)
            if len(said) == parts:
                break
        return "".join(said)

    async def again(self, conversation, text, removed):
        history = await self.history(conversation)
        return str(await conversation.achat(text, chat_history=history[: len(history) - removed]))

    async def retry(self, conversation, text):
        return await self.again(conversation, text, 1)

    async def regenerate(self, conversation):
        question = (await self.history(conversation))[-2].content
        return await self.again(conversation, question, 2)

    async def edit(self, conversation, text):
        return await self.again(conversation, text, 2)

    async def clear(self, conversation):
        await conversation._memory.areset()

    async def reopened(self, conversation, memory, script):
        return self.conversation(memory, script, session=conversation._memory.session_id)


class TestSystemMessage(TestChatMemory):
    def conversation(self, memory, script, *, session, **options):
        return super().conversation(memory, script, session=session, inject="system", **options)


class TestMemoryBlock(TestChatMemory):
    """The stock Memory keeps one database for each user, as an application would."""

    @pytest.fixture(autouse=True)
    async def databases(self):
        self.engines = defaultdict(lambda: create_async_engine("sqlite+aiosqlite://", poolclass=StaticPool))
        yield
        for engine in self.engines.values():
            await engine.dispose()

    def conversation(self, memory, script, *, session, **options):
        block = MnemicMemoryBlock(memory=memory, **options)
        stock = ChatHistory.from_defaults(
            session_id=session, memory_blocks=[block], async_engine=self.engines[str(options.get("scope"))],
            insert_method=InsertMethod.USER,
        )  # fmt: skip
        return SimpleChatEngine.from_defaults(llm=ScriptedLLM(script), memory=stock)

    async def end(self, conversation):
        await conversation._memory.memory_blocks[0].aflush(conversation._memory)

    async def clear(self, conversation):
        pytest.skip("A block is not told of a reset; idle work summarizes the session.")


class TestTools(ToolConformance):
    async def call(self, memory, tool, **arguments):
        tools = {made.metadata.name: made for made in MnemicToolSpec(memory).to_tool_list()}
        try:
            return ToolAnswer((await tools[tool].acall(**arguments)).content)
        except (MnemicError, TypeError) as error:  # which agents show the model
            return ToolAnswer(str(error), refused=True)
