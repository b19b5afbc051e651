"""The shared suite for adapters, on MnemicPlugin."""

from __future__ import annotations

import json
from typing import Any

from strands import Agent
from strands.hooks import AfterModelCallEvent
from strands.models import Model
from strands.session import SnapshotSessionManager
from strands.storage import InMemoryStorage
from strands.types.exceptions import EventLoopException

from mnemic import Memory
from mnemic_testing import AdapterConformance, Script, ToolAnswer, ToolConformance
from strands_mnemic import MnemicPlugin, mnemic_tools


class Scripted(Model):
    """Answers from a script."""

    def __init__(self, script: Script) -> None:
        self.script = script

    update_config = get_config = structured_output = None

    async def stream(self, messages, *args, **kwargs):
        texts = ["".join(block.get("text", "") for block in message["content"]) for message in messages]
        answer = await self.script.aanswer(texts)
        yield {"messageStart": {"role": "assistant"}}
        for word in answer.split(" "):
            yield {"contentBlockDelta": {"delta": {"text": word + " "}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


class Conversation:
    """An agent, and what its session manager keeps."""

    def __init__(self, plugin: MnemicPlugin, script: Script, session: str, storage: InMemoryStorage) -> None:
        manager = SnapshotSessionManager(session, storage=storage)
        self.agent = Agent(Scripted(script), plugins=[plugin], session_manager=manager, callback_handler=None)
        self.session, self.storage = session, storage

    async def run(self, text: str | None) -> str:
        try:
            result = await self.agent.invoke_async(text)
        except EventLoopException as error:
            raise error.original_exception from error
        return str(result).strip()


class TestPlugin(AdapterConformance):
    def conversation(self, memory: Memory, script: Script, *, session: str, **options: Any) -> Conversation:
        return Conversation(MnemicPlugin(memory, tools=False, **options), script, session, InMemoryStorage())

    async def turn(self, conversation: Conversation, text: str) -> str:
        return await conversation.run(text)

    async def stream(self, conversation: Conversation, text: str, *, parts: int | None = None) -> str:
        said: list[str] = []
        async for event in conversation.agent.stream_async(text):
            said += [event["data"]] if "data" in event else []
            if len(said) == parts:
                break
        return "".join(said)

    async def retry(self, conversation: Conversation, text: str) -> str:
        return await conversation.run(None)

    async def regenerate(self, conversation: Conversation) -> str:
        del conversation.agent.messages[-1]
        return await conversation.run(None)

    async def edit(self, conversation: Conversation, text: str) -> str:
        del conversation.agent.messages[-2:]
        return await conversation.run(text)

    async def refused(self, conversation: Conversation, text: str) -> str:
        def check(event: AfterModelCallEvent) -> None:
            event.retry = "90" in str(event.stop_response)

        conversation.agent.add_hook(check)
        return await conversation.run(text)

    async def reopened(self, conversation: Conversation, memory: Memory, script: Script) -> Conversation:
        plugin = MnemicPlugin(memory, tools=False)
        return Conversation(plugin, script, conversation.session, conversation.storage)


class TestTools(ToolConformance):
    async def call(self, memory: Memory, tool: str, **arguments: Any) -> ToolAnswer:
        answers: list[Any] = []

        class Caller(Scripted):
            async def stream(self, messages, *args, **kwargs):
                answers.append(messages[-1]["content"][0])
                yield {"messageStart": {"role": "assistant"}}
                if len(answers) == 1:
                    yield {"contentBlockStart": {"start": {"toolUse": {"name": tool, "toolUseId": "c1"}}}}
                    yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
                else:
                    yield {"contentBlockDelta": {"delta": {"text": "ok"}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "tool_use" if len(answers) == 1 else "end_turn"}}

        agent = Agent(Caller(Script()), tools=mnemic_tools(memory), callback_handler=None)
        await agent.invoke_async("go")
        result = answers[-1]["toolResult"]
        return ToolAnswer(result["content"][0]["text"], refused=result["status"] == "error")
