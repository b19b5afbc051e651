"""An agent of the OpenAI Agents SDK that remembers: sessions, recall and tools, for many users.

A parcel service's assistant learns on Monday what it needs on Friday. The model is scripted, so that this runs without a
network; put the name of a real one there, such as Agent(model="gpt-5-mini", ...).

Install: pip install "openai-agents-mnemic[minilm]"
"""

import asyncio
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from agents import Agent, RunConfig, Runner, function_tool, set_tracing_disabled
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from mnemic import Memory
from openai_agents_mnemic import MnemicSession, mnemic_tools


@dataclass
class Visitor:
    """What the program knows about who is asking; no model can change it."""

    user: str


@function_tool
def track() -> str:
    """Where the parcel is."""
    return "in the depot of Evora"


def clerk(call: ModelCall) -> list:
    """Knows nothing but what is shown before the question; remembers what sounds like a fact."""
    last = call.input[-1]
    if last.get("type") == "function_call_output":
        return [assistant_message("It is in Evora." if "depot" in last["output"] else "Noted.")]
    recalled, _, asked = last["content"].rpartition("\n\n")
    if "parcel" in asked:
        return [function_call("track", {}, call_id="c1")]
    if asked.endswith("?"):
        return [assistant_message("At the bakery." if "bakery" in recalled else "Where shall I leave it?")]
    return [function_call("remember", {"content": asked}, call_id="c1")]


async def main() -> None:
    set_tracing_disabled(True)
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        tools = [track, *mnemic_tools(memory, scope=lambda ctx: {"user": ctx.context.user})]
        model = ScriptedModel(ModelStep.respond(clerk) for _ in range(9))
        agent = Agent[Visitor](name="Clerk", model=model, tools=tools)

        async def say(user: str, name: str, text: str) -> str:
            session = MnemicSession(memory, name, scope={"user": user})
            config = RunConfig(call_model_input_filter=session.input_filter)
            result = await Runner.run(agent, text, context=Visitor(user), session=session, run_config=config)
            return result.final_output

        place = "Deliveries for Ana go to the bakery next door."
        assert await say("ana", "monday", place) == "Noted."
        assert await say("ana", "monday", "Where is my parcel?") == "It is in Evora."

        # A new session begins with an empty history; what the agent knows comes from memory, each user's own.
        question = "Where do deliveries for Ana go?"
        answers = {user: await say(user, "friday", question) for user in ("ana", "ben")}
        print(answers)
        assert answers == {"ana": "At the bakery.", "ben": "Where shall I leave it?"}

        # The history has every item of the runs; only what was said is evidence that a search finds.
        anas = memory.scoped(user="ana")
        items = await MnemicSession(anas, "monday").get_items()
        kinds = ["message", "function_call", "function_call_output", "message"]
        assert [item.get("type", "message") for item in items] == 2 * kinds
        said = [message.content for message in anas.messages(session="monday")]
        assert said == [place, "Noted.", "Where is my parcel?", "It is in Evora."]
        assert "depot" not in " ".join(hit.text for hit in anas.search("In which depot is it?"))
        assert [(fact.content, fact.source) for fact in anas.list()] == [(place, "model_inference")]
    print("All as expected.")


if __name__ == "__main__":
    asyncio.run(main())
