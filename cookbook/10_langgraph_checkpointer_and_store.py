"""A LangGraph graph with both of its memories: a checkpointer for the thread, MnemicStore for what outlives it.

A helpdesk notes what each customer owns. A later thread, and a later process, begin with an empty history and know it.
The nodes are plain functions, so that this runs without a network; put a model into answer().

Install: pip install "mnemic[langchain]"
"""

from dataclasses import dataclass
from tempfile import TemporaryDirectory

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from langchain_mnemic import MnemicStore


@dataclass
class Customer:
    """Who is calling: the program says so."""

    id: str


def note(state: MessagesState, runtime: Runtime[Customer]) -> dict:
    """Keep what the customer tells."""
    said = state["messages"][-1]
    if not said.text.endswith("?"):
        runtime.store.put(("customers", runtime.context.id), said.id, {"text": said.text, "kind": "told"})
    return {}


def answer(state: MessagesState, runtime: Runtime[Customer]) -> dict:
    """Answer from this customer's items alone."""
    asked = state["messages"][-1].text
    found = runtime.store.search(("customers", runtime.context.id), query=asked, filter={"kind": "told"}, limit=1)
    known = found[0].value["text"] if found else "nothing"
    return {"messages": [AIMessage(f"You told me: {known}" if asked.endswith("?") else "Noted.")]}


def helpdesk(store: MnemicStore):
    graph = StateGraph(MessagesState, context_schema=Customer)
    graph.add_node("note", note)
    graph.add_node("answer", answer)
    graph.add_edge(START, "note")
    graph.add_edge("note", "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=InMemorySaver(), store=store)


def main() -> None:
    with TemporaryDirectory() as folder:
        with MnemicStore(folder, ttl={"default_ttl": 60 * 24 * 365}) as store:
            desk = helpdesk(store)

            def say(text: str, *, customer: str, thread: str) -> str:
                config = {"configurable": {"thread_id": thread}}
                state = desk.invoke({"messages": [("user", text)]}, config, context=Customer(customer))
                print(f"{customer} in {thread}: {text}\n  desk: {state['messages'][-1].text}")
                return state["messages"][-1].text

            say("My boiler is a Vaillant ecoTEC.", customer="ana", thread="monday")
            say("The hot water comes and goes.", customer="ana", thread="monday")
            thread = desk.get_state({"configurable": {"thread_id": "monday"}}).values["messages"]
            assert len(thread) == 4  # the checkpointer has the thread, word for word
            # Another thread has none of it; the store has.
            assert "ecoTEC" in say("Which boiler do I have?", customer="ana", thread="friday")
            assert "nothing" in say("Which boiler do I have?", customer="ben", thread="friday-2")

        with MnemicStore(folder) as store:  # as in a new process
            assert store.list_namespaces() == [("customers", "ana")]
            best = store.search(("customers",), query="boiler")[0]
            assert best.value["text"] == "My boiler is a Vaillant ecoTEC."
    print("All as expected.")


if __name__ == "__main__":
    main()
