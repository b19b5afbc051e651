"""An app of the Agent Development Kit that remembers, for many users: a plugin, tools, and the memory service.

A library's assistant learns on Monday what it needs on Friday. The model is a class, so that this runs without a network;
put the name of a real one there, such as LlmAgent(model="gemini-2.5-flash", ...).

Install: pip install "adk-mnemic[minilm]"
"""

import asyncio
import logging
from tempfile import TemporaryDirectory

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from adk_mnemic import MnemicMemoryService, MnemicPlugin, mnemic_tools
from mnemic import Memory

logging.getLogger("google_adk").setLevel(logging.ERROR)  # it misses the token counts of this model


class Librarian(BaseLlm):
    """Knows nothing but what is shown before the question; remembers what sounds like a fact."""

    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1]
        prompt = "".join(part.text or "" for part in last.parts)
        recalled, _, asked = prompt.rpartition("\n\n")
        if last.parts[-1].function_response:
            part = types.Part(text="Noted.")
        elif asked.endswith("?"):
            part = types.Part(text="Large print, then." if "large print" in recalled else "Any edition?")
        else:
            part = types.Part(function_call=types.FunctionCall(name="remember", args={"content": asked}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main() -> None:
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        agent = LlmAgent(name="librarian", model=Librarian(model="librarian"), tools=mnemic_tools(memory))
        service = MnemicMemoryService(memory)
        runner = Runner(
            app=App(name="library", root_agent=agent, plugins=[MnemicPlugin(memory)]),
            session_service=InMemorySessionService(), memory_service=service, auto_create_session=True,
        )  # fmt: skip

        async def say(user: str, session: str, text: str) -> str:
            message = types.UserContent(parts=[types.Part(text=text)])
            events = runner.run_async(user_id=user, session_id=session, new_message=message)
            texts = [part.text async for event in events for part in event.content.parts if part.text]
            return "".join(texts)

        wish = "Ana reads books in large print."
        assert await say("ana", "monday", wish) == "Noted."

        # A new session begins with an empty history; what the agent knows comes from memory, each user's own.
        question = "Which books can Ana read?"
        answers = {user: await say(user, "friday", question) for user in ("ana", "ben")}
        print(answers)
        assert answers == {"ana": "Large print, then.", "ben": "Any edition?"}

        # The user_id is the user, the app_name the project, the session_id the session.
        anas = memory.scoped(user="ana", project="library")
        assert [message.content for message in anas.messages(session="monday")] == [wish, "Noted."]
        assert [(fact.content, fact.source) for fact in anas.list()] == [(wish, "model_inference")]

        # The memory service is what the framework's own tools search. It knows the events that the plugin stored.
        session = await runner.session_service.get_session(app_name="library", user_id="ana", session_id="monday")
        await service.add_session_to_memory(session)
        assert len(anas.messages(session="monday")) == 2
        found = await service.search_memory(app_name="library", user_id="ana", query=question)
        assert wish in [memory.content.parts[0].text for memory in found.memories]
        assert (await service.search_memory(app_name="library", user_id="eve", query=question)).memories == []
    print("All as expected.")


if __name__ == "__main__":
    asyncio.run(main())
