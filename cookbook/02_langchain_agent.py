"""A LangChain agent that remembers earlier conversations, and a retriever over the same memory.

The model is a stand-in, so that this runs without a network: it answers from the text it is shown. Put the name of a
real model there, such as create_agent("anthropic:claude-haiku-4-5", ...).

Install: pip install "mnemic[langchain]"
"""

from dataclasses import dataclass
from tempfile import TemporaryDirectory

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from langchain_mnemic import MnemicMiddleware, MnemicRetriever
from mnemic import Memory


class StandIn(BaseChatModel):
    """Knows nothing but what stands in its prompt."""

    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        shown = "\n".join(message.text for message in messages)
        asked = messages[-1].text.endswith("?")
        answer = ("Lisbon." if "Lisbon" in shown else "I do not know.") if asked else "Noted."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])


@dataclass
class Caller:
    """What the program knows about who is asking; no model can change it."""

    user: str


def main() -> None:
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        middleware = MnemicMiddleware(memory, scope=lambda runtime: {"user": runtime.context.user})
        agent = create_agent(StandIn(), middleware=[middleware], checkpointer=InMemorySaver(), context_schema=Caller)

        def say(text: str, *, user: str, thread: str) -> str:
            message = {"messages": [{"role": "user", "content": text}]}
            state = agent.invoke(message, {"configurable": {"thread_id": thread}}, context=Caller(user))
            print(f"{user} in {thread}: {text}\n  agent: {state['messages'][-1].text}")
            return state["messages"][-1].text

        say("I moved to Lisbon last week.", user="ana", thread="monday")
        # A new thread begins with an empty history; what the agent knows comes from memory.
        assert say("Which city do I live in?", user="ana", thread="tuesday") == "Lisbon."
        assert say("Which city do I live in?", user="ben", thread="wednesday") == "I do not know."

        anas = memory.scoped(user="ana")
        assert [m.content for m in anas.messages(session="monday")] == ["I moved to Lisbon last week.", "Noted."]
        found = MnemicRetriever(memory=anas, k=1).invoke("moving to another city")
        assert found[0].page_content == "I moved to Lisbon last week."
        assert found[0].metadata["session"] == "monday"
    print("All as expected.")


if __name__ == "__main__":
    main()
