"""The shared suites for adapters and tools, on MnemicSession and mnemic_tools."""

from __future__ import annotations

from typing import Any

from agents import Agent, RunConfig, Runner
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from mnemic import Memory
from mnemic_testing import AdapterConformance, Script, ToolAnswer, ToolConformance
from openai_agents_mnemic import MnemicSession, mnemic_tools
from openai_agents_mnemic.items import text_of


class Conversation:
    """An agent and its session."""

    def __init__(self, memory: Memory, script: Script, name: str, options: dict[str, Any]) -> None:
        async def answer(call: ModelCall) -> Any:
            shown = [{"role": "user", "content": call.input}] if isinstance(call.input, str) else call.input
            texts = [call.system_instructions, *map(text_of, shown)]
            return [assistant_message(await script.aanswer([text for text in texts if text]))]

        self.model = ScriptedModel(ModelStep.respond(answer) for _ in range(9))
        self.agent = Agent(name="Agent", model=self.model)
        self.name = name
        self.session = MnemicSession(memory, name, **options)

    async def run(self, given: Any) -> str:
        config = RunConfig(call_model_input_filter=self.session.input_filter)
        return (await Runner.run(self.agent, given, session=self.session, run_config=config)).final_output


class TestSession(AdapterConformance):
    tracks_runs = False  # the hooks of a run say nothing when it fails: the session arms the idle period at every call
    keeps_all = True  # the runner counts on it when it takes items back

    def conversation(self, memory: Memory, script: Script, *, session: str, **options: Any) -> Conversation:
        return Conversation(memory, script, session, options)

    async def turn(self, conversation: Conversation, text: str) -> str:
        return await conversation.run(text)

    async def stream(self, conversation: Conversation, text: str, *, parts: int | None = None) -> str:
        session, said = conversation.session, list[str]()
        config = RunConfig(call_model_input_filter=session.input_filter)
        run = Runner.run_streamed(conversation.agent, text, session=session, run_config=config)
        async for event in run.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                said.append(event.data.delta)
                if len(said) == parts:
                    run.cancel()
        return "".join(said)

    async def retry(self, conversation: Conversation, text: str) -> str:
        return await conversation.run([])

    async def regenerate(self, conversation: Conversation) -> str:
        await conversation.session.pop_item()
        return await conversation.run([])

    async def edit(self, conversation: Conversation, text: str) -> str:
        for _ in range(2):
            await conversation.session.pop_item()
        return await conversation.run(text)

    async def reopened(self, conversation: Conversation, memory: Memory, script: Script) -> Conversation:
        return Conversation(memory, script, conversation.name, {})

    async def clear(self, conversation: Conversation) -> None:
        await conversation.session.clear_session()


class TestTools(ToolConformance):
    async def call(self, memory: Memory, tool: str, **arguments: Any) -> ToolAnswer:
        model = ScriptedModel([[function_call(tool, arguments, call_id="1")], [assistant_message("ok")]])
        await Runner.run(Agent(name="Agent", model=model, tools=[*mnemic_tools(memory)]), "go")
        text = str(model.calls[-1].input[-1]["output"])
        return ToolAnswer(text, refused=text.startswith("Error: "))
