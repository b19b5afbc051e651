"""The table of the tokenizer is read when something is counted, and not before."""

from mnemic import Memory
from mnemic.text import tokens


def test_a_search_reads_no_table_until_its_hits_are_rendered(monkeypatch):
    read = []
    monkeypatch.setattr(tokens, "_tiktoken", read.append)
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add("I keep bees in Lisbon")
        found = memory.search("bees")
        assert [hit.text for hit in found] == ["I keep bees in Lisbon"]
        assert read == []
        assert "bees" in found.to_prompt()
        assert read
