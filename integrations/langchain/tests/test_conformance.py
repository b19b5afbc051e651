"""The shared suite for adapters, on MnemicMiddleware with a checkpointer and without one, and on MnemicMemory."""

from contextlib import aclosing, closing
from itertools import islice
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from langchain_mnemic import MnemicMemory, MnemicMiddleware, mnemic_tools
from mnemic import Memory
from mnemic_testing import AdapterConformance, Script, ToolAnswer, ToolConformance


class Scripted(GenericFakeChatModel):
    """Answers from a script."""

    script: Any

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        return self._result(self.script.answer([m.text for m in messages]))

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        return self._result(await self.script.aanswer([m.text for m in messages]))

    def _result(self, text: str) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


class Thread:
    """An agent, and one thread of it."""

    def __init__(self, agent: Any, session: str, saver: Any) -> None:
        self.agent, self.saver = agent, saver
        self.config: Any = {"configurable": {"thread_id": session}}
        self.history: list[Any] = []

    @property
    def messages(self) -> list[BaseMessage]:
        return self.agent.get_state(self.config).values["messages"]


def thread(memory: Memory, script: Script, session: str, saver: Any = None, **options: Any) -> Thread:
    model = Scripted(messages=iter([]), script=script)
    agent = create_agent(model, middleware=[MnemicMiddleware(memory, **options)], checkpointer=saver)
    return Thread(agent, session, saver)


class TestCheckpointer(AdapterConformance):
    def conversation(self, memory: Memory, script: Script, *, session: str, **options: Any) -> Thread:
        return thread(memory, script, session, InMemorySaver(), **options)

    async def _run(self, chat: Thread, given: Any) -> str:
        return (await chat.agent.ainvoke(given, chat.config))["messages"][-1].text

    async def turn(self, conversation: Thread, text: str) -> str:
        return await self._run(conversation, {"messages": [HumanMessage(text)]})

    async def stream(self, conversation: Thread, text: str, *, parts: int | None = None) -> str:
        given, said = {"messages": [HumanMessage(text)]}, []
        async with aclosing(conversation.agent.astream(given, conversation.config, stream_mode="messages")) as stream:
            async for part, _ in stream:
                said.append(part.text)
                if len(said) == parts:
                    break
        return "".join(said)

    async def retry(self, conversation: Thread, text: str) -> str:
        return await self._run(conversation, None)

    async def regenerate(self, conversation: Thread) -> str:
        answer = conversation.messages[-1]
        return await self._run(conversation, {"messages": [RemoveMessage(id=answer.id)]})

    async def edit(self, conversation: Thread, text: str) -> str:
        question, answer = conversation.messages[-2:]
        return await self._run(
            conversation, {"messages": [RemoveMessage(id=answer.id), HumanMessage(text, id=question.id)]}
        )

    async def reopened(self, conversation: Thread, memory: Memory, script: Script) -> Thread:
        return thread(memory, script, conversation.config["configurable"]["thread_id"], conversation.saver)


class TestClientWithTheWholeHistory(AdapterConformance):
    """A client without ids that sends the history with each request, to an agent without a checkpointer, in blocking calls."""

    cancellable = False

    def conversation(self, memory: Memory, script: Script, *, session: str, **options: Any) -> Thread:
        return thread(memory, script, session, **options)

    async def turn(self, conversation: Thread, text: str) -> str:
        conversation.history.append({"role": "user", "content": text})
        answer = conversation.agent.invoke({"messages": [*conversation.history]}, conversation.config)["messages"][
            -1
        ].text
        conversation.history.append({"role": "assistant", "content": answer})
        return answer

    async def stream(self, conversation: Thread, text: str, *, parts: int | None = None) -> str:
        given = {"messages": [*conversation.history, {"role": "user", "content": text}]}
        with closing(conversation.agent.stream(given, conversation.config, stream_mode="messages")) as stream:
            return "".join([part.text for part, _ in islice(stream, parts)])

    async def retry(self, conversation: Thread, text: str) -> str:
        del conversation.history[-1:]
        return await self.turn(conversation, text)

    async def regenerate(self, conversation: Thread) -> str:
        text = conversation.history[-2]["content"]
        return await self.edit(conversation, text)

    async def edit(self, conversation: Thread, text: str) -> str:
        del conversation.history[-2:]
        return await self.turn(conversation, text)

    async def reopened(self, conversation: Thread, memory: Memory, script: Script) -> Thread:
        again = thread(memory, script, conversation.config["configurable"]["thread_id"])
        again.history = conversation.history
        return again


class Chain:
    """What a classic chain does with its memory."""

    def __init__(self, memory: MnemicMemory, script: Script) -> None:
        self.memory, self.script = memory, script

    def __call__(self, text: str) -> str:
        context = self.memory.load_memory_variables({"input": text})["memory_context"]
        answer = self.script.answer([*filter(None, [context, text])])
        self.memory.save_context({"input": text, "memory_context": context}, {"output": answer})
        return answer


class TestClassic(AdapterConformance):
    tracks_runs = False
    cancellable = False

    def conversation(self, memory: Memory, script: Script, *, session: str, **options: Any) -> Chain:
        return Chain(MnemicMemory(memory=memory, session=session, **options), script)

    async def turn(self, conversation: Chain, text: str) -> str:
        return conversation(text)

    async def clear(self, conversation: Chain) -> None:
        conversation.memory.clear()

    async def reopened(self, conversation: Chain, memory: Memory, script: Script) -> Chain:
        return self.conversation(memory, script, session=conversation.memory.session or "")

    async def test_ids_reveal_no_secret(self, memory: Memory) -> None:
        pytest.skip("Messages of a history have no ids of a framework; those of the record are random.")


class TestTools(ToolConformance):
    async def call(self, memory: Memory, tool: str, **arguments: Any) -> ToolAnswer:
        tools = {made.name: made for made in mnemic_tools(memory)}
        message = await tools[tool].ainvoke({"type": "tool_call", "name": tool, "args": arguments, "id": "call"})
        return ToolAnswer(message.text, refused=message.status == "error")
