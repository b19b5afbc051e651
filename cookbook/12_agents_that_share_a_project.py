"""Two LangChain agents in one project: they share what they remember for it, and each keeps its notes to itself.

A planner and a buyer open a kiosk. The models are scripted, so that this runs without a network. Levels: what is remembered
in a project is seen there by everyone, what is remembered at the level of a session only in that session, and what is the
user's own everywhere.

Install: pip install "mnemic[langchain]"
"""

import json
from tempfile import TemporaryDirectory

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage

from langchain_mnemic import MnemicMiddleware, mnemic_tools
from mnemic import Memory


class Scripted(GenericFakeChatModel):
    """A model that says the next thing of its script."""

    def bind_tools(self, tools, **kwargs):
        return self


def call(name: str, **arguments: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"{name}-1"}])


def agent(memory: Memory, *script: AIMessage | str):
    """An agent whose tools and middleware work on one handle: the model has no say in it."""
    model = Scripted(messages=iter([AIMessage(s) if isinstance(s, str) else s for s in script]))
    return create_agent(model, mnemic_tools(memory), middleware=[MnemicMiddleware(memory)])


def main() -> None:
    with TemporaryDirectory() as folder, Memory(folder, user="team") as memory:
        memory.remember("Prices are given in euros.")  # the user's own: known in every project
        kiosk = memory.scoped(project="kiosk")
        planning, buying = kiosk.scoped(session="planner"), kiosk.scoped(session="buyer")

        planner = agent(
            planning, call("remember", content="The kiosk opens on 2 May 2027.", category="decision"), "Decided."
        )  # fmt: skip
        planner.invoke({"messages": [("user", "When do we open? Decide.")]})
        planning.remember("Unsure about the date: the permit may come late.", level="session")

        buyer = agent(buying, call("recall", query="When does the kiosk open?"), "I order the coffee for 1 May.")
        state = buyer.invoke({"messages": [("user", "Order the coffee in time.")]})
        told = json.loads(next(m.text for m in state["messages"] if isinstance(m, ToolMessage)))
        texts = [result["text"] for result in told["results"]]
        print("buyer recalls:", *texts, sep="\n  ")
        assert "The kiosk opens on 2 May 2027." in texts  # shared through the project
        assert not any("permit" in text for text in texts)  # the planner's own note

        own = [hit.text for hit in planning.search("Is the opening date sure?", reach="session")]
        print("planner's notes:", *own, sep="\n  ")
        assert "Unsure about the date: the permit may come late." in own

        # Another project sees what is the user's own, and nothing of the kiosk.
        garden = memory.scoped(project="garden")
        seen = [hit.text for hit in garden.search("When does the kiosk open, and in which currency?")]
        assert seen == ["Prices are given in euros."]
        decision = next(record for record in kiosk.list() if record.category == "decision")
        assert (decision.project, decision.session, decision.source) == ("kiosk", None, "model_inference")
    print("All as expected.")


if __name__ == "__main__":
    main()
