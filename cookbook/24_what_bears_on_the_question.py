"""What bears on the question: the relevance of each hit, and contexts that hold nothing else.

A search ranks whatever is there; ``hit.relevance`` says how likely a hit is evidence for the question. A context leaves out what is
not worth its tokens, and is empty after "thanks!".

Install: pip install "mnemic[minilm]"
"""

from mnemic import Memory

FACTS = (
    "Ana lives in Porto.",
    "Ana's dentist is Dr. Rossi.",
    "Ana is allergic to peanuts.",
    "Ana's cat is called Miso.",
    "The API listens on port 8080.",
    "The release is planned for 3 May.",
    "Two approvals are needed to merge.",
    "Production is deployed by hand, Monday to Thursday only.",
)


def main() -> None:
    with Memory(":memory:", user="ana") as memory:
        for fact in FACTS:
            memory.remember(fact)

        for hit in memory.search("Who is Ana's dentist?", k=3):
            print(f"{hit.relevance:.2f}  {hit.text}")
        first, second, *_ = memory.search("Who is Ana's dentist?")
        assert first.text == "Ana's dentist is Dr. Rossi."
        assert first.relevance > 0.3 > 0.2 > second.relevance

        # A limit of your own; the order stays the same.
        assert [*memory.search("Who is Ana's dentist?", min_relevance=0.2)] == [first]

        # The budget of a context is a ceiling. What bears on nothing costs no tokens.
        context = memory.get_memory_context("Who is Ana's dentist?", max_tokens=1000)
        print(context.to_prompt())
        assert first in context.hits
        assert "8080" not in context.text
        for text in ("hi", "thanks!", "What is the capital of France?"):
            assert memory.get_memory_context(text).to_prompt() == ""
        assert len(memory.get_memory_context("hi", min_relevance=0).hits) == len(FACTS)  # fills the budget
    print("All as expected.")


if __name__ == "__main__":
    main()
