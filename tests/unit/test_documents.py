"""Documents in pieces: where they are cut, what they carry, and what is not made of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import InvalidInput, Memory, documents

MANUAL = """Welcome.

# Boiler

It heats.

## Leaks

The valve is behind the panel.

```sh
# no heading
close --valve
```

# Tools

- a wrench
- a lamp
"""


def test_pieces_end_with_sections_and_carry_their_headings():
    found = documents.split(MANUAL, document="manual", file="manual.md")
    assert [piece.content for piece in found] == [
        "Welcome.",
        "Boiler\n\nIt heats.",
        "Boiler > Leaks\n\nThe valve is behind the panel.\n\n```sh\n# no heading\nclose --valve\n```",
        "Tools\n\n- a wrench\n- a lamp",
    ]
    assert [piece.metadata["position"] for piece in found] == [1, 2, 3, 4]
    assert found[0].metadata == {"document": "manual", "file": "manual.md", "position": 1}
    assert found[2].metadata["heading"] == "Boiler > Leaks"
    assert {(piece.role, piece.source, piece.name) for piece in found} == {("document", "document", "manual.md")}
    (whole,) = documents.split(MANUAL, document="manual", markdown=False)
    assert whole.content == MANUAL.strip()


def test_pages_and_long_paragraphs():
    long = " ".join(f"Sentence number {n} says a little more than the one before it." for n in range(60))
    found = documents.split(f"# One\n{long}\fThe second page.", document="d", max_characters=500)
    assert [piece.metadata["page"] for piece in found][-2:] == [1, 2]
    assert all(piece.content.startswith("One\n\n") for piece in found)
    assert all(len(piece.content) <= 500 and piece.content.endswith(".") for piece in found)
    words = " ".join(piece.content.removeprefix("One\n\n") for piece in found[:-1])
    assert words == long
    rows = "\n".join(f"| {n} | value |" for n in range(100))
    table = documents.split(rows, document="d", max_characters=200)
    assert "\n".join(piece.content for piece in table) == rows


def test_what_did_not_change_keeps_its_id():
    before = {piece.id for piece in documents.split(MANUAL, document="manual")}
    after = {piece.id for piece in documents.split(MANUAL.replace("It heats.", "It hums."), document="manual")}
    assert len(before & after) == 3
    assert before.isdisjoint(piece.id for piece in documents.split(MANUAL, document="other"))
    assert len(documents.split("Same.\f\nSame.", document="d")) == 1


@given(st.text(alphabet="ab #\n`.-|\f" + "é漢", max_size=600), st.integers(100, 200), st.booleans())
def test_every_character_is_in_a_piece_and_no_piece_is_too_long(text, most, markdown):
    found = documents.split(text, document="d", markdown=markdown, max_characters=most)
    assert all(0 < len(piece.content) <= most for piece in found)
    if not markdown:  # list marks may go where a paragraph is cut into sentences
        letters = {c for c in text if c.isalpha()}
        assert letters == {c for piece in found for c in piece.content if c.isalpha()}


def test_errors(tmp_path):
    for name, content, message in (
        ("a.pdf", b"%PDF", "pdftotext"), ("a.txt", b"\xff\xfe\xfa", "UTF-8"), ("a.md", b" \n", "no text"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInput, match=message):
            documents.read(tmp_path / name)
    with pytest.raises(InvalidInput, match="cannot be read"):
        documents.read(tmp_path / "none.md")
    with pytest.raises(InvalidInput, match="max_characters"):
        documents.split("x", document="d", max_characters=1)


def test_pieces_of_one_document_are_no_updates_of_each_other():
    with Memory(":memory:", user="ana") as memory:
        memory.add(
            documents.split("# Leaks\n\nThe valve is behind the panel.\n\n# Noise\n\nBleed the pipes.", document="d")
        )
        assert memory.search("Where is the valve?")[0].metadata["heading"] == "Leaks"


def test_a_document_is_found_and_is_not_a_person():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add("I live in Lisbon.", name="Ana", session="s1")
        memory.add(documents.split("I live in Faro. My sister is Rita.\n\n# Valve\n\nBehind the panel.", document="d"))
        report = memory.process()
        assert (report.messages, report.waiting) == (3, 0)
        assert [record.content for record in memory.list()] == ["I live in Lisbon."]
        assert [len(episode.message_ids) for episode in memory.episodes()] == [1]
        hit = memory.search("Where is the valve?")[0]
        assert (hit.text, hit.trust, hit.metadata["heading"]) == ("Valve\n\nBehind the panel.", 0.4, "Valve")
        assert "[unverified, document]" in memory.get_memory_context("Where is the valve?").to_prompt()


def test_each_document_has_its_own_share_of_the_hits():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        for name in ("one", "two"):
            text = "\f".join(f"The {name} pump number {n} runs." for n in range(8))
            memory.add(documents.split(text, document=name))
        shares = [hit.metadata["document"] for hit in memory.search("pump", k=6)]
        assert sorted(shares) == ["one"] * 3 + ["two"] * 3
        assert len(memory.search("pump", k=16, untrusted_share=1.0)) == 16


@pytest.mark.parametrize("wrong", [{"text": 3}, {"max_characters": "9"}, {"max_characters": 99}, {"document": ""}])
def test_what_cannot_be_split_is_refused(wrong):
    with pytest.raises(InvalidInput):
        documents.split(**{"text": "A page.", "document": "d", **wrong})
