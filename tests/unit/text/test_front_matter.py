"""What a Markdown file says it is about; whatever the bytes are, nothing raises."""

import unicodedata

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic.text.front_matter import decoded, front_matter, lead, one_line

PIECES = st.lists(
    st.sampled_from(
        ["---\n", "name:", " ", "\t", "\n", "\r\n", '"', "'", "\\", "\\u12", "&a ", "*a", ">-\n", "|", "# ", "#", "```\n", "<!--",
         "-->", "===\n", "[", "](", "!", "**", "`", "x", "é", "\0", "...", "- ", "description: "]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(PIECES | st.text(max_size=300))
@example("---\nname: \\\n")
@example('---\nname: "\\')
def test_any_text_has_an_answer(text):
    fields, body = front_matter(text)
    heading, paragraph = lead(body)
    for value in (*fields.values(), heading or "", paragraph or ""):
        assert isinstance(value, str)
        assert len(one_line(value, 50)) <= 50


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_have_an_answer(data):
    text = decoded(data)
    front_matter(text)
    lead(text)
    assert not {"Cc", "Cs", "Zl", "Zp"} & {unicodedata.category(c) for c in one_line(text, 20)}


def test_headings_and_paragraphs():
    assert lead("Title\n=====\n\nText [here](x).") == ("Title", "Text here.")
    assert lead("# `Atlas` ##\nGlued on,\ntwo lines.\n# Next") == ("Atlas", "Glued on, two lines.")
    assert lead("![logo](a.png)\n[![ci](b)](c)\n\n# A\n\n> quoted\n\n| a | b |\n\n1. one\n\n<b>\n\nAt last.") == (
        "A",
        "At last.",
    )
    assert lead("<!-- # No\n\nnothing -->\n~~~\n# no\n~~~\n# Yes") == ("Yes", None)
    assert lead("#hashtag is prose") == (None, "#hashtag is prose")
    assert lead("# Repository Guidelines\n\n# Atlas") == (None, None)
    assert lead("<!-- never closed # A") == (None, None)
    assert lead("Text\n---\nMore") == ("Text", "More")


def test_the_end_of_the_front_matter():
    assert front_matter("---\na: 1\n---\nb: 2") == ({"a": "1"}, "b: 2")
    assert front_matter("text\n---\na: 1\n---\n") == ({}, "text\n---\na: 1\n---\n")
    assert front_matter("---\na: 1\n# heading") == ({"a": "1"}, "# heading")
    assert front_matter("----\na: 1\n---") == ({}, "----\na: 1\n---")


def test_values():
    text = "---\na: 'it''s'\nb: \"\\x41\\u0042\\n\"\nc: x # y\nd: x#y\ne: ~\nf:\ng: [1]\nh: [WIP] x\ni: 'open\nj: http://x\n---\n"
    assert front_matter(text)[0] == {
        "a": "it's", "b": "AB\n", "c": "x", "d": "x#y", "h": "[WIP] x", "i": "open", "j": "http://x",
    }  # fmt: skip


def test_a_line_is_cut_at_a_word():
    assert one_line("one two three", 13) == "one two three"
    assert one_line("one two three", 10) == "one two…"
    assert one_line("a" * 20, 10) == "a" * 9 + "…"
    assert one_line("a\x1b[0m\u202eb", 10) == "a [0m b"
