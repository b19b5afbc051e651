"""A crew that remembers, for many users: what an agent learned in one run is known in the next.

A gardener's crew learns on Monday what it needs on Friday. The model is a class with a script, so that this runs without a
network; put the name of a real one there, such as Agent(llm="anthropic/claude-haiku-4-5", ...).

Install: pip install "crewai-mnemic[minilm]"
"""

import json
import logging
import os
import warnings
from tempfile import TemporaryDirectory

# CrewAI reports usage and offers to upload traces, unless it is told not to before it is imported.
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false")
warnings.filterwarnings("ignore", "Cannot set an attribute on 'crewai", ImportWarning)
warnings.filterwarnings(
    "ignore", "function_calling_llm is deprecated|deprecated$", DeprecationWarning
)  # its own fields

from crewai import Agent, BaseLLM, Crew, Task  # noqa: E402 - after its settings

from crewai_mnemic import MnemicRecall, mnemic_tools  # noqa: E402
from mnemic import Memory  # noqa: E402

logging.getLogger("crewai").setLevel(logging.ERROR)  # this model counts no tokens


class Gardener(BaseLLM):
    """Knows nothing but what stands before the task; remembers what sounds like a fact."""

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages, tools=None, **_) -> object:
        if messages[-1]["role"] == "tool":
            return "Noted."
        task = messages[-1]["content"]
        if "Remember:" in task:
            fact = task.partition("Remember: ")[2].partition("\n")[0]
            function = {"name": "remember", "arguments": json.dumps({"content": fact})}
            return [{"id": "call", "type": "function", "function": function}]
        return "Not before May." if "on the north side" in task else "Where is your garden?"


def crew_of(memory: Memory, user: str) -> Crew:
    """A crew for one user: CrewAI tells a tool nothing of its run, so the tools are made with the user."""
    tools = mnemic_tools(memory, scope={"user": user})
    agent = Agent(
        role="Gardener",
        goal="Help with the garden.",
        backstory="You know plants.",
        llm=Gardener(model="script"),
        tools=tools,
    )
    return Crew(agents=[agent], tasks=[Task(description="{said}", expected_output="One sentence.", agent=agent)])


def main() -> None:
    with TemporaryDirectory() as folder, TemporaryDirectory() as storage, Memory(folder) as memory:
        os.environ["CREWAI_STORAGE_DIR"] = storage  # CrewAI keeps the outputs of the last run, by default in your home
        recall = MnemicRecall(memory, min_evidence="none")  # the place answers no question by itself: show the nearest

        # On Monday the agent remembers, with its tool, what Ana said.
        garden = "Ana's garden lies on the north side of the house."
        with recall.run(scope={"user": "ana"}):
            told = crew_of(memory, "ana").kickoff(inputs={"said": f"Remember: {garden}"})
        assert told.raw == "Noted."

        # On Friday the task is answered with what is known of its user, and of nobody else.
        answers = {}
        for user in ("ana", "ben"):
            with recall.run(scope={"user": user}):
                crew = crew_of(memory, user)
                answers[user] = crew.kickoff(inputs={"said": "When can I plant tomatoes in the garden?"}).raw
        print(answers)
        assert answers == {"ana": "Not before May.", "ben": "Where is your garden?"}

        # CrewAI has tasks, not conversations: what was said is stored by the program, where it is to be remembered.
        anas = memory.scoped(user="ana", session="friday")
        anas.add_exchange("When can I plant tomatoes in the garden?", answers["ana"])
        assert [(fact.content, fact.source) for fact in anas.list()] == [(garden, "model_inference")]
        assert [message.content for message in anas.messages()][-1] == "Not before May."
    print("All as expected.")


if __name__ == "__main__":
    main()
