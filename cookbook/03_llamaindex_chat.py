"""A LlamaIndex chat engine that remembers earlier conversations, and a retriever over the same memory.

The model is a stand-in, so that this runs without a network: it answers from the text it is shown. Put a real LLM there,
such as Settings.llm.

Install: pip install "mnemic[llama-index]"
"""

from tempfile import TemporaryDirectory

from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CustomLLM

from llama_index.memory.mnemic import MnemicChatMemory, MnemicRetriever
from mnemic import Memory


class StandIn(CustomLLM):
    """Knows nothing but what stands in its prompt."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="stand-in")

    def complete(self, prompt, formatted=False, **kwargs):
        asked = prompt.rstrip().removesuffix("assistant:").rstrip().endswith("?")
        answer = ("Lisbon." if "Lisbon" in prompt else "I do not know.") if asked else "Noted."
        return CompletionResponse(text=answer)

    def stream_complete(self, prompt, formatted=False, **kwargs):
        yield self.complete(prompt)


def main() -> None:
    with TemporaryDirectory() as folder, Memory(folder) as memory:

        def say(text: str, *, user: str, session: str) -> str:
            chat = MnemicChatMemory(memory=memory, scope={"user": user}, session_id=session)
            answer = SimpleChatEngine.from_defaults(llm=StandIn(), memory=chat).chat(text).response
            print(f"{user} in {session}: {text}\n  engine: {answer}")
            return answer

        say("I moved to Lisbon last week.", user="ana", session="monday")
        # A new session begins with an empty buffer; what the engine knows comes from memory.
        assert say("Which city do I live in?", user="ana", session="tuesday") == "Lisbon."
        assert say("Which city do I live in?", user="ben", session="wednesday") == "I do not know."

        anas = memory.scoped(user="ana")
        assert [m.content for m in anas.messages(session="monday")] == ["I moved to Lisbon last week.", "Noted."]
        found = MnemicRetriever(memory=anas, similarity_top_k=1).retrieve("moving to another city")
        assert found[0].text == "I moved to Lisbon last week."
    print("All as expected.")


if __name__ == "__main__":
    main()
