"""The shared suite for adapters, on MnemicCapability."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent, ModelRetry, capture_run_messages
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from mnemic import Memory
from mnemic_testing import AdapterConformance, Script, ToolAnswer, ToolConformance
from pydantic_ai_mnemic import MnemicCapability, mnemic_toolset


def texts(messages: list[ModelMessage], info: AgentInfo) -> list[str]:
    kinds = (UserPromptPart, TextPart)
    found = [str(part.content) for message in messages for part in message.parts if isinstance(part, kinds)]
    return [*filter(None, [info.instructions]), *found]


class Conversation:
    """An agent and the message history that its program keeps."""

    def __init__(self, memory: Memory, script: Script, session: str, options: dict[str, Any]) -> None:
        async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            return ModelResponse([TextPart(await script.aanswer(texts(messages, info)))])

        async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
            for word in (await script.aanswer(texts(messages, info))).split(" "):
                yield word + " "

        model = FunctionModel(answer, stream_function=stream)
        self.agent = Agent(model, capabilities=[MnemicCapability(memory, tools=False, **options)])
        self.session = session
        self.history: list[ModelMessage] = []

    async def run(self, text: str | None, history: list[ModelMessage]) -> str:
        with capture_run_messages() as messages:
            try:
                result = await self.agent.run(text, message_history=history, conversation_id=self.session)
            except BaseException:
                self.history = [*messages]
                raise
        self.history = result.all_messages()
        return result.output


class TestCapability(AdapterConformance):
    inject = "user"

    def conversation(self, memory: Memory, script: Script, *, session: str, **options: Any) -> Conversation:
        return Conversation(memory, script, session, {"inject": self.inject, **options})

    async def turn(self, conversation: Conversation, text: str) -> str:
        return await conversation.run(text, conversation.history)

    async def stream(self, conversation: Conversation, text: str, *, parts: int | None = None) -> str:
        said: list[str] = []
        async with conversation.agent.run_stream(text, conversation_id=conversation.session) as run:
            async for part in run.stream_text(delta=True, debounce_by=None):
                said.append(part)
                if len(said) == parts:
                    break
        return "".join(said)

    async def retry(self, conversation: Conversation, text: str) -> str:
        return await conversation.run(None, conversation.history)

    async def regenerate(self, conversation: Conversation) -> str:
        return await conversation.run(None, conversation.history[:-1])

    async def edit(self, conversation: Conversation, text: str) -> str:
        return await conversation.run(text, conversation.history[:-2])

    async def refused(self, conversation: Conversation, text: str) -> str:
        refused: list[str] = []

        @conversation.agent.output_validator
        def checked(answer: str) -> str:
            if not refused:
                refused.append(answer)
                raise ModelRetry("Look again.")
            return answer

        return await self.turn(conversation, text)

    async def reopened(self, conversation: Conversation, memory: Memory, script: Script) -> Conversation:
        again = Conversation(memory, script, conversation.session, {})
        again.history = conversation.history
        return again


class TestInstructions(TestCapability):
    inject = "instructions"


class TestTools(ToolConformance):
    async def call(self, memory: Memory, tool: str, **arguments: Any) -> ToolAnswer:
        answers: list[Any] = []

        async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            answers.append(messages[-1].parts[-1])
            return ModelResponse([ToolCallPart(tool, arguments) if len(answers) == 1 else TextPart("ok")])

        await Agent(FunctionModel(answer), toolsets=[mnemic_toolset(memory)]).run("go")
        part = answers[-1]
        if isinstance(part, ToolReturnPart):
            return ToolAnswer(part.model_response_str(), refused=part.outcome != "success")
        return ToolAnswer(part.model_response(), refused=True)
