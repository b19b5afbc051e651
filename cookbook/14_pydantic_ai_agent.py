"""A pydantic-ai agent that remembers, for many users, with its tools and with streamed answers.

A gardener's assistant learns on Monday what it needs on Friday. The model is a function, so that this runs without a
network; put the name of a real one there, such as Agent("anthropic:claude-haiku-4-5", ...).

Install: pip install "mnemic[pydantic-ai]"
"""

import asyncio
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from mnemic import Memory
from pydantic_ai_mnemic import MnemicCapability, mnemic_toolset


@dataclass
class Visitor:
    """What the program knows about who is asking; no model can change it."""

    user: str


def gardener(messages, info) -> ModelResponse:
    """Knows nothing but what stands before the question; remembers what sounds like a fact."""
    prompt = str(messages[0].parts[-1].content)
    if prompt.endswith("?"):
        return ModelResponse(
            [TextPart("Not before May." if "on the north side" in prompt else "Where is your garden?")]
        )
    if len(messages) == 1:
        return ModelResponse([ToolCallPart("remember", {"content": prompt})])
    return ModelResponse([TextPart("Noted.")])


async def main() -> None:
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        # Where the garden lies answers no question for tomatoes by itself: show what is nearest, however it is graded.
        capability = MnemicCapability(memory, scope=lambda ctx: {"user": ctx.deps.user}, min_evidence="none")
        agent = Agent(FunctionModel(gardener), deps_type=Visitor, capabilities=[capability])
        garden = "Ana's garden lies on the north side of the house."
        told = await agent.run(garden, deps=Visitor("ana"), conversation_id="monday")
        assert told.output == "Noted."

        # A new conversation begins with an empty history; what the agent knows comes from memory, each user's own.
        question = "When can I plant tomatoes in the garden?"
        answers = {user: (await agent.run(question, deps=Visitor(user))).output for user in ("ana", "ben")}
        print(answers)
        assert answers == {"ana": "Not before May.", "ben": "Where is your garden?"}
        anas = memory.scoped(user="ana")
        assert [m.content for m in anas.messages(session="monday")] == [garden, "Noted."]
        assert [(fact.content, fact.source) for fact in anas.list()] == [(garden, "model_inference")]

        # Streamed, by a model that streams.
        model = TestModel(call_tools=[], custom_output_text="Water it well.")
        talker = Agent(model, deps_type=Visitor, capabilities=[capability])
        async with talker.run_stream("How do I care for a fig?", deps=Visitor("ben")) as run:
            assert await run.get_output() == "Water it well."
        assert memory.scoped(user="ben").messages()[-1].content == "Water it well."

        # The tools alone, for an agent that should store nothing by itself.
        eves = memory.scoped(user="eve")
        await Agent(TestModel(call_tools=["remember"]), toolsets=[mnemic_toolset(eves)]).run("Keep this.")
        assert (len(eves.list()), eves.messages()) == (1, [])
    print("All as expected.")


if __name__ == "__main__":
    asyncio.run(main())
