"""The shared suites for adapters and tools, on MnemicPlugin and mnemic_tools."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from pydantic import PrivateAttr

from adk_mnemic import MnemicPlugin, mnemic_tools
from mnemic import Memory, MnemicError
from mnemic_testing import AdapterConformance, Script, ToolAnswer, ToolConformance

USER = "somebody"


def text_of(content: types.Content | None) -> str:
    return "".join(part.text or "" for part in (content and content.parts) or ())


def answer_of(text: str, *, partial: bool = False) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]), partial=partial)


class Model(BaseLlm):
    """Answers from the script, whole or in words."""

    _script: Script = PrivateAttr()

    def __init__(self, script: Script) -> None:
        super().__init__(model="scripted")
        self._script = script

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        text = await self._script.aanswer([text_of(content) for content in llm_request.contents])
        if stream:
            for word in text.split(" "):
                yield answer_of(f"{word} ", partial=True)
        yield answer_of(text)


class Conversation:
    """An app and one of its sessions."""

    def __init__(
        self, memory: Memory, script: Script, session: str, options: dict[str, Any], sessions: InMemorySessionService
    ) -> None:
        # the suite looks into the handle's own scope
        plugin = MnemicPlugin(memory, **{"scope": None, **options})
        app = App(name="shop", root_agent=LlmAgent(name="clerk", model=Model(script)), plugins=[plugin])
        self.runner = Runner(app=app, session_service=sessions, auto_create_session=True)
        self.session, self.sessions = session, sessions
        self.last = ""  # invocation

    async def run(self, text: str | None, *, parts: int | None = None, stream: bool = False, **given: Any) -> str:
        config = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
        message = None if text is None else types.UserContent(parts=[types.Part(text=text)])
        events = self.runner.run_async(
            user_id=USER, session_id=self.session, new_message=message, run_config=config, **given
        )
        said: list[str] = []
        try:
            async with aclosing(events):
                async for event in events:
                    if bool(event.partial) is stream:
                        said.append(text_of(event.content))
                    if len(said) == parts:
                        break
        except RuntimeError as error:  # ADK wraps what a plugin raises
            if isinstance(error.__cause__, MnemicError):
                raise error.__cause__ from error
            raise
        return "".join(said)

    async def invocation(self) -> str:
        """The last one of the session."""
        held = await self.sessions.get_session(app_name="shop", user_id=USER, session_id=self.session)
        return held.events[-1].invocation_id


class TestPlugin(AdapterConformance):
    def conversation(self, memory: Memory, script: Script, *, session: str, **options: Any) -> Conversation:
        return Conversation(memory, script, session, options, InMemorySessionService())

    async def turn(self, conversation: Conversation, text: str) -> str:
        return await conversation.run(text)

    async def stream(self, conversation: Conversation, text: str, *, parts: int | None = None) -> str:
        return await conversation.run(text, parts=parts, stream=True)

    async def retry(self, conversation: Conversation, text: str) -> str:
        return await conversation.run(None, invocation_id=await conversation.invocation())

    async def edit(self, conversation: Conversation, text: str) -> str:
        await conversation.runner.rewind_async(
            user_id=USER, session_id=conversation.session, rewind_before_invocation_id=await conversation.invocation()
        )
        return await conversation.run(text)

    async def reopened(self, conversation: Conversation, memory: Memory, script: Script) -> Conversation:
        return Conversation(memory, script, conversation.session, {}, conversation.sessions)


class TestTools(ToolConformance):
    async def call(self, memory: Memory, tool: str, **arguments: Any) -> ToolAnswer:
        answers: list[dict[str, Any]] = []

        class Caller(BaseLlm):
            async def generate_content_async(
                self, llm_request: LlmRequest, stream: bool = False
            ) -> AsyncGenerator[LlmResponse, None]:
                result = llm_request.contents[-1].parts[-1].function_response
                if result is not None:
                    answers.append(result.response)
                    yield answer_of("ok")
                    return
                wanted = types.FunctionCall(name=tool, args=arguments)
                yield LlmResponse(content=types.Content(role="model", parts=[types.Part(function_call=wanted)]))

        agent = LlmAgent(name="clerk", model=Caller(model="caller"), tools=mnemic_tools(memory, scope=None))
        runner = Runner(
            app=App(name="shop", root_agent=agent), session_service=InMemorySessionService(), auto_create_session=True
        )
        message = types.UserContent(parts=[types.Part(text="go")])
        async for _ in runner.run_async(user_id=USER, session_id="s", new_message=message):
            pass
        (answer,) = answers
        whole = answer.get("result", answer)
        return ToolAnswer(
            whole if isinstance(whole, str) else json.dumps(whole, ensure_ascii=False), refused="error" in answer
        )
