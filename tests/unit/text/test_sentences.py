import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.sentences import LONG, PASSAGE, PASSAGES, READ, headings, passages, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t ", []),
        ("Hey! Good to see you! I'm here.", ["Hey!", "Good to see you!", "I'm here."]),
        ("Dr. Smith met Mr. Lee. They talked.", ["Dr. Smith met Mr. Lee.", "They talked."]),
        ("It costs $3.50 in v1.2.3 e.g. now. Done.", ["It costs $3.50 in v1.2.3 e.g. now.", "Done."]),
        ("We left at 5 p.m. Then it rained.", ["We left at 5 p.m.", "Then it rained."]),
        ("Come at 5 p.m. on Monday.", ["Come at 5 p.m. on Monday."]),
        ("See fig. 3 and No. 5. No. It is so.", ["See fig. 3 and No. 5.", "No.", "It is so."]),
        ("J. R. R. Tolkien wrote it. I read it.", ["J. R. R. Tolkien wrote it.", "I read it."]),
        (
            "Handover is with Hr. Kr\u00fcger from 3. Mai on. Bring keys.",
            ["Handover is with Hr. Kr\u00fcger from 3. Mai on.", "Bring keys."],
        ),
        ("My address is Weserstr. 88, 12045 Berlin.", ["My address is Weserstr. 88, 12045 Berlin."]),
        ("By id (SELECT ... FOR UPDATE).", ["By id (SELECT ... FOR UPDATE)."]),
        ("Thx. Then we go. I have a TV. So?", ["Thx.", "Then we go.", "I have a TV.", "So?"]),
        ("We have 3. August is busy. Ok ... Maybe.", ["We have 3.", "August is busy.", "Ok ...", "Maybe."]),
        ("It is in the Hauptstr. Then go left.", ["It is in the Hauptstr.", "Then go left."]),
        ("He left... but came back. Well... Maybe.", ["He left... but came back.", "Well...", "Maybe."]),
        ("Wait\u2026 what?", ["Wait\u2026 what?"]),
        ('"Stop!" he said. "Go." She went.', ['"Stop!" he said.', '"Go."', "She went."]),
        ("I love it \U0001f600 We went home \U0001f389", ["I love it \U0001f600", "We went home \U0001f389"]),
        ("So good! \U0001f600\U0001f600 Thanks.", ["So good! \U0001f600\U0001f600", "Thanks."]),
        ("i moved to lisbon. it's great.", ["i moved to lisbon.", "it's great."]),
        ("- one\n- two things\n3. third\n* [x] done", ["one", "two things", "third", "done"]),
        ("# Title\nText here", ["Title", "Text here"]),
        (
            "Look:\n```python\nx = 1. # a\n\ny = 2\n```\nDone.",
            ["Look:", "```python\nx = 1. # a\n\ny = 2\n```", "Done."],
        ),
        ("Unclosed:\n```\nx. Y", ["Unclosed:", "```\nx. Y"]),
        (
            "\u4eca\u65e5\u306f\u6674\u308c\u3002\u660e\u65e5\u306f\u96e8\uff01\u672c\u5f53\uff1f",
            ["\u4eca\u65e5\u306f\u6674\u308c\u3002", "\u660e\u65e5\u306f\u96e8\uff01", "\u672c\u5f53\uff1f"],
        ),
        (
            "\u00bfD\u00f3nde est\u00e1? \u00a1Aqu\u00ed! Bien.",
            ["\u00bfD\u00f3nde est\u00e1?", "\u00a1Aqu\u00ed!", "Bien."],
        ),
        ("a line that goes on\nin the next one. End", ["a line that goes on in the next one.", "End"]),
        ("Never commit to main\nUse Postgres 16", ["Never commit to main", "Use Postgres 16"]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ("The file is main.py. Open it.", ["The file is main.py.", "Open it."]),
        ("See https://example.org/a.b?c=d. Next one.", ["See https://example.org/a.b?c=d.", "Next one."]),
    ],
)
def test_sentences(text, expected):
    assert sentences(text) == expected


@given(st.text(max_size=300))
def test_nothing_but_white_space_and_bullets_is_lost(text):
    found = sentences(text)
    assert all(sentence and sentence == sentence.strip() for sentence in found)
    kept = "".join("".join(found).split())
    letters = [c for c in text if c.isalpha() and c.isupper()]
    assert [c for c in kept if c.isalpha() and c.isupper()] == letters


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Notes\n\nAllergies\n\nI am allergic to latex.\n\n## Family\n\nMy father is 58.\n\n3. Insurance\n\nNone.", {"Notes", "Allergies", "Family", "Insurance"}),
        ("I am allergic to latex.\n\u00a7 2 Medication\nI take 50 mg.", {"\u00a7 2 Medication"}),
        ("I adopted a dog.\nA beagle", set()),
        ("I adopted a dog\nA beagle\nHe is three", {"I adopted a dog"}),
        ("I buy these.\n- Apples\n- Pears\n- Plums", set()),
        ("I have to pack:\n\n1. Passport\n\n2. Tickets\n\n3. Charger", set()),
        ("My hobbies:\nClimbing\nChess", set()),
        ("I went there\n\nwith Ana\n\nand with Ben.", {"I went there"}),
        ("A line of prose that goes on for so long that it is wrapped at\na width, of course.\n\nThe end.", set()),
    ],
)  # fmt: skip
def test_headings(text, expected):
    assert headings(text) == expected
    assert headings(text) <= {*sentences(text)}


@given(st.text(alphabet="aB.:#-1\n ", max_size=60))
def test_a_heading_stands_over_something(text):
    assert all(text.rstrip().rfind(one[-1:]) < len(text.rstrip()) and one.strip() for one in headings(text))


def test_a_long_text_takes_no_longer_than_its_length():
    assert len(sentences("One two. " * 20_000)) == 20_000
    assert len(sentences("." * 100_000)) == 1
    assert sentences("```" * 30_000)


@given(st.lists(st.text(st.sampled_from("ab .!\n\t`-"), max_size=400), max_size=12), st.integers(0, 2_000))
def test_passages_say_all_of_a_long_text_in_order(parts, more):
    text = "\n\n".join(parts) + "word. " * more
    found = passages(text)
    assert bool(found) == (len(text) > LONG and bool(text[:READ].strip()))
    assert all(text[begin:end].strip() for begin, end in found)
    assert all(end - begin <= max(PASSAGE, len(text) // PASSAGES) for begin, end in found)
    ends = [0, *(end for _, end in found)]
    begins = [*(begin for begin, _ in found), min(len(text), READ)]
    assert ends == sorted(ends)
    between = "".join(text[end:begin] for end, begin in zip(ends, begins, strict=True))
    assert not found or not any(c.isalpha() for c in between)


def test_a_short_paragraph_is_never_cut():
    paragraphs = [f"Paragraph {n} says one thing. Then it says another one, of {n} words." for n in range(40)]
    text = "\n\n".join(paragraphs)
    assert all(any(text[b:e].find(one) >= 0 for b, e in passages(text)) for one in paragraphs)


def test_the_longest_text_has_few_passages():
    assert len(passages("A sentence of five words. " * 50_000)) <= 2 * PASSAGES
    assert passages(" " * 500_000) == []
    assert len(passages("x" * 500_000)) <= 2 * PASSAGES


@pytest.mark.parametrize(
    "text",
    [
        "Meine Frau hatte am 24. August eine Operation.", "Mein Arzt sitzt im 3. Stock am Markt.", "Mi médica es la Sra. Dolores Ibáñez.",
        "Ma thérapeute est Mme. Claire Dupont.", "Il mio medico è il sig. Mario Conti.", "Ich bekomme 1000 Euro, inkl. Trinkgeld.",
    ],
)  # fmt: skip
def test_an_ordinal_or_a_title_of_another_language_ends_no_sentence(text):
    assert sentences(f"{text} Next.") == [text, "Next."]


def test_a_number_may_end_an_english_sentence():
    assert sentences("I am 24. August is hot.") == ["I am 24.", "August is hot."]
