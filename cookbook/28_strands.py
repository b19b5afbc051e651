"""A Strands agent that remembers, for many users, with its tools and with streamed answers.

A baker's assistant learns on Monday what it needs on Friday. The model is a class of rules, so that this runs without a
network; put a real one there, such as BedrockModel() or AnthropicModel().

Install: pip install "strands-mnemic[minilm]"
"""

import asyncio
import json
from tempfile import TemporaryDirectory

from strands import Agent
from strands.models import Model

from mnemic import Memory
from strands_mnemic import MnemicPlugin, mnemic_tools


class Baker(Model):
    """Knows nothing but what it is shown; remembers what sounds like a fact."""

    def update_config(self, **config):
        pass

    def get_config(self):
        return {}

    def structured_output(self, *args, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, *args, **kwargs):
        question, *recalled = (block.get("text", "") for block in messages[-1]["content"])
        told = question and not question.endswith("?")
        yield {"messageStart": {"role": "assistant"}}
        if told:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "remember", "toolUseId": "call_1"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"content": question})}}}}
        else:
            answer = "Noted."  # after the tool's result
            if question:
                answer = "Rice bread." if "gluten" in "".join(recalled) else "What do you like?"
            for word in answer.split(" "):
                yield {"contentBlockDelta": {"delta": {"text": word + " "}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if told else "end_turn"}}


async def main() -> None:
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        # What Ana does not eat answers no question for a bread by itself: show what is nearest, however it is graded.
        plugin = MnemicPlugin(memory, scope=lambda state: {"user": state["user"]}, min_evidence="none")

        def assistant() -> Agent:
            """A new conversation; what the agent knows comes from memory, each user's own."""
            return Agent(Baker(), plugins=[plugin], callback_handler=None)

        monday, gluten = assistant(), "Ana does not eat gluten."
        told = await monday.invoke_async(gluten, invocation_state={"user": "ana"})
        assert str(told).strip() == "Noted."

        # The user comes from the program, with each call; no model can change it.
        question, answers = "Which bread should I bake?", {}
        for user in ("ana", "ben"):
            result = await assistant().invoke_async(question, invocation_state={"user": user})
            answers[user] = str(result).strip()
        print(answers)
        assert answers == {"ana": "Rice bread.", "ben": "What do you like?"}
        anas = memory.scoped(user="ana")
        assert [m.content.strip() for m in anas.messages(session=monday.session_id)] == [gluten, "Noted."]
        assert [(fact.content, fact.source) for fact in anas.list()] == [(gluten, "model_inference")]

        # Streamed.
        events = assistant().stream_async(question, invocation_state={"user": "ana"})
        words = [event["data"] async for event in events if "data" in event]
        assert "".join(words).strip() == anas.messages()[-1].content.strip() == "Rice bread."

        # The tools alone, for an agent that should store nothing by itself.
        eves = memory.scoped(user="eve")
        await Agent(Baker(), tools=mnemic_tools(eves), callback_handler=None).invoke_async("Eve bakes at night.")
        assert ([fact.content for fact in eves.list()], eves.messages()) == (["Eve bakes at night."], [])
    print("All as expected.")


if __name__ == "__main__":
    asyncio.run(main())
