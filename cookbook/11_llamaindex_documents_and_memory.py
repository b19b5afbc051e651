"""Documents and memory beside each other: what the manual says, and what was said before, in one LlamaIndex chat engine.

A bicycle shop's assistant knows the price list from an index and the customer from memory. The model is a stand-in that
shows what it was given, so that this runs without a network; the embedder of Mnemic serves the index, too.

Install: pip install "mnemic[llama-index]"
"""

from tempfile import TemporaryDirectory

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import CustomLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever

from llama_index.memory.mnemic import MnemicChatMemory, MnemicRetriever
from mnemic import Memory, OnnxEmbedder

PRICES = ("Truing a wheel costs 25 euros.", "A new chain costs 40 euros.", "The shop is closed on Mondays.")
_embedder = OnnxEmbedder()


class LocalEmbedding(BaseEmbedding):
    """The model that Mnemic uses anyway."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return _embedder.embed([text])[0].tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return _embedder.embed([query], kind="query")[0].tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class StandIn(CustomLLM):
    """Answers with those lines of its prompt that bear on money or wheels."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="stand-in")

    def complete(self, prompt, formatted=False, **kwargs):
        lines = [line.strip("- ") for line in prompt.splitlines() if "euros" in line or "wheel" in line]
        return CompletionResponse(text=" / ".join(dict.fromkeys(lines)))

    def stream_complete(self, prompt, formatted=False, **kwargs):
        yield self.complete(prompt)


def main() -> None:
    with TemporaryDirectory() as folder, Memory(folder, user="ana") as memory:
        memory.add("The rear wheel of my blue Peugeot wobbles.", session="march")
        documents = VectorStoreIndex.from_documents([Document(text=t) for t in PRICES], embed_model=LocalEmbedding())
        both = QueryFusionRetriever(
            [documents.as_retriever(similarity_top_k=2), MnemicRetriever(memory, similarity_top_k=2)],
            llm=StandIn(), num_queries=1, mode="reciprocal_rerank", similarity_top_k=3, use_async=False,
        )  # fmt: skip

        # A query engine over both: one answer from the price list and from memory.
        answer = RetrieverQueryEngine.from_args(both, llm=StandIn()).query("What does repairing my wheel cost?")
        print(f"query engine: {answer.response}")
        assert "Truing a wheel costs 25 euros." in answer.response
        assert "The rear wheel of my blue Peugeot wobbles." in answer.response

        # A chat engine: documents through the retriever, earlier conversations through its memory.
        chat = CondensePlusContextChatEngine.from_defaults(
            documents.as_retriever(similarity_top_k=1), llm=StandIn(), memory=MnemicChatMemory(memory=memory, session_id="may")
        )  # fmt: skip
        answer = chat.chat("What does repairing my wheel cost?")
        print(f"chat engine: {answer.response}")
        assert "Truing a wheel costs 25 euros." in answer.response
        assert "The rear wheel of my blue Peugeot wobbles." in answer.response
        assert [m.role for m in memory.messages(session="may")] == ["user", "assistant"]
        assert not any(price in m.content for m in memory.messages(role="user") for price in PRICES)
    print("All as expected.")


if __name__ == "__main__":
    main()
