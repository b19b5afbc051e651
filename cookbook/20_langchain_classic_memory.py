"""A classic LangChain chain with long-term memory: ``MnemicMemory`` is LangChain's ``BaseMemory``.

Install: pip install "mnemic[langchain]"
"""

import tempfile
import warnings
from pathlib import Path

from langchain_classic.chains import ConversationChain
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import PromptTemplate

from langchain_mnemic import MnemicMemory
from mnemic import Memory

PROMPT = PromptTemplate.from_template("{history}\nHuman: {input}\nAI:")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        monday(Path(folder))
        friday(Path(folder))
    print("All as expected.")


def chain_over(memory: MnemicMemory, *answers: str) -> ConversationChain:
    """A chain with scripted answers; with your model it is the same line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain has deprecated classic chains; new code takes the middleware
        return ConversationChain(llm=FakeListChatModel(responses=[*answers]), memory=memory, prompt=PROMPT)


def monday(folder: Path) -> None:
    """The line that changes: ConversationBufferMemory() becomes MnemicMemory(...)."""
    with Memory(folder, user="ana") as memory:
        chain = chain_over(MnemicMemory(memory=memory, session="monday", memory_key="history"), "Noted.", "Enjoy!")
        chain.invoke({"input": "I am allergic to kiwi."})
        chain.invoke({"input": "We booked a table for Friday."})


def friday(folder: Path) -> None:
    """Another session, another process as it were: what bears on the question is recalled, the rest is not."""
    with Memory(folder, user="ana") as memory:
        classic = MnemicMemory(memory=memory, session="friday", memory_key="history")
        shown = classic.load_memory_variables({"input": "Which fruit am I allergic to?"})["history"]
        print(shown)
        assert "I am allergic to kiwi." in shown
        assert classic.load_memory_variables({"input": "What is the capital of Peru?"})["history"] == ""

        chain = chain_over(classic, "To kiwi.")
        assert chain.invoke({"input": "Which fruit am I allergic to?"})["response"] == "To kiwi."
        classic.clear()  # ends the conversation; nothing is forgotten
        assert classic.load_memory_variables({"input": "Hello"})["history"] == ""
        assert memory.search("allergic to a fruit")[0].text == "I am allergic to kiwi."

    with Memory(folder, user="bob") as other:  # another user's memory is another memory
        assert MnemicMemory(memory=other).load_memory_variables({"input": "allergic?"})["memory_context"] == ""


if __name__ == "__main__":
    main()
