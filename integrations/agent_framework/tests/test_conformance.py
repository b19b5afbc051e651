"""The shared suite for adapters, on MnemicContextProvider."""

from __future__ import annotations

from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
)

from agent_framework_mnemic import MnemicContextProvider, mnemic_tools
from mnemic import Memory
from mnemic_testing import AdapterConformance, Script, ToolAnswer, ToolConformance


class Client(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Answers from a script."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        texts = [message.text for message in messages]
        return self._build_response_stream(self._words(texts)) if stream else self._whole(texts)

    async def _whole(self, texts):
        return ChatResponse(messages=[Message("assistant", [await self.script.aanswer(texts)])])

    async def _words(self, texts):
        for word in (await self.script.aanswer(texts)).split(" "):
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(word + " ")])


class Conversation:
    """An agent and the session that its program keeps."""

    def __init__(self, memory: Memory, script: Script, session: AgentSession, providers: list[Any]) -> None:
        self.agent = Agent(Client(script), context_providers=providers)
        self.session = session

    @property
    def history(self) -> list[Message]:
        return self.session.state[InMemoryHistoryProvider.DEFAULT_SOURCE_ID]["messages"]


class TestProvider(AdapterConformance):
    def providers(self, provider: MnemicContextProvider) -> list[Any]:
        return [InMemoryHistoryProvider(), provider]

    def conversation(self, memory: Memory, script: Script, *, session: str, **options: Any) -> Conversation:
        providers = self.providers(MnemicContextProvider(memory, tools=False, **options))
        return Conversation(memory, script, AgentSession(session_id=session), providers)

    async def turn(self, conversation: Conversation, text: str) -> str:
        return (await conversation.agent.run(text, session=conversation.session)).text

    async def stream(self, conversation: Conversation, text: str, *, parts: int | None = None) -> str:
        said: list[str] = []
        async for update in conversation.agent.run(text, stream=True, session=conversation.session):
            said.append(update.text)
            if len(said) == parts:
                break
        return "".join(said)

    async def retry(self, conversation: Conversation, text: str) -> str:
        return await self.turn(conversation, text)

    async def regenerate(self, conversation: Conversation) -> str:
        question = conversation.history[-2].text
        del conversation.history[-2:]
        return await self.turn(conversation, question)

    async def edit(self, conversation: Conversation, text: str) -> str:
        del conversation.history[-2:]
        return await self.turn(conversation, text)

    async def reopened(self, conversation: Conversation, memory: Memory, script: Script) -> Conversation:
        again = self.conversation(memory, script, session="")
        again.session = AgentSession.from_dict(conversation.session.to_dict())
        return again


class TestBeforeTheHistory(TestProvider):
    """The history provider that an agent adds by itself comes last."""

    def providers(self, provider: MnemicContextProvider) -> list[Any]:
        return [provider]


class TestTools(ToolConformance):
    async def call(self, memory: Memory, tool: str, **arguments: Any) -> ToolAnswer:
        answers: list[Message] = []

        class Caller(Client):
            async def _whole(self, texts):
                called = Content.from_function_call("c1", tool, arguments=arguments)
                return ChatResponse(messages=[Message("assistant", ["ok" if "" in texts else called])])

        result = await Agent(Caller(Script()), tools=mnemic_tools(memory)).run("go")
        answers = [content for message in result.messages for content in message.contents]
        (content,) = [content for content in answers if content.type == "function_result"]
        text = str(content.result)
        return ToolAnswer(text, refused=content.exception is not None or text.startswith("Error: "))
