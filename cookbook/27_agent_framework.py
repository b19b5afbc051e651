"""An agent of the Microsoft Agent Framework that remembers, for many users, with its tools and with streamed answers.

A librarian's assistant learns on Monday what it needs on Friday. The model is a class of rules, so that this runs without
a network; put a real client there, such as OpenAIChatClient() or AnthropicClient().

Install: pip install "agent-framework-mnemic[minilm]"
"""

import asyncio
from tempfile import TemporaryDirectory

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
)

from agent_framework_mnemic import MnemicContextProvider, mnemic_tools
from mnemic import Memory


class Librarian(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Knows nothing but what it is shown; remembers what sounds like a fact."""

    def decided(self, messages) -> Content:
        prompt = messages[-1].text
        if prompt.endswith("?"):
            read = "The Left Hand of Darkness" in "\n".join(message.text for message in messages)
            return Content.from_text("Then The Dispossessed." if read else "What did you like?")
        if prompt:
            return Content.from_function_call("call_1", "remember", arguments={"content": prompt})
        return Content.from_text("Noted.")  # after the tool's result

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        return self._build_response_stream(self.words(messages)) if stream else self.whole(messages)

    async def whole(self, messages):
        return ChatResponse(messages=[Message("assistant", [self.decided(messages)])])

    async def words(self, messages):
        for word in self.decided(messages).text.split(" "):
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(word + " ")])


def visit(user: str, name: str) -> AgentSession:
    """A session whose user the program knows; no model can change it."""
    session = AgentSession(session_id=name)
    session.state["user"] = user
    return session


async def main() -> None:
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        # A book that was liked answers no question for the next one by itself: show what is nearest, however it is graded.
        provider = MnemicContextProvider(
            memory, scope=lambda session: {"user": session.state["user"]}, min_evidence="none"
        )
        agent = Agent(Librarian(), context_providers=[InMemoryHistoryProvider(), provider])
        liked = "Ana liked the novel The Left Hand of Darkness."
        told = await agent.run(liked, session=visit("ana", "monday"))
        assert told.text == "Noted."

        # A new session begins with an empty history; what the agent knows comes from memory, each user's own.
        question = "Which novel should I read next?"
        answers = {user: (await agent.run(question, session=visit(user, "friday"))).text for user in ("ana", "ben")}
        print(answers)
        assert answers == {"ana": "Then The Dispossessed.", "ben": "What did you like?"}
        anas = memory.scoped(user="ana")
        assert [m.content for m in anas.messages(session="monday")] == [liked, "Noted."]
        assert [(fact.content, fact.source) for fact in anas.list()] == [(liked, "model_inference")]

        # Streamed.
        words = [update.text async for update in agent.run(question, stream=True, session=visit("ana", "saturday"))]
        assert "".join(words).strip() == "Then The Dispossessed."
        assert anas.messages()[-1].content.strip() == "Then The Dispossessed."

        # The tools alone, for an agent that should store nothing by itself.
        eves = memory.scoped(user="eve")
        await Agent(Librarian(), tools=mnemic_tools(eves)).run("Eve reads at night.")
        assert ([fact.content for fact in eves.list()], eves.messages()) == (["Eve reads at night."], [])
    print("All as expected.")


if __name__ == "__main__":
    asyncio.run(main())
