"""Cues, BM25 and the rendering of records: small pure functions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.indexes import keyword
from mnemic.testing.fakes import memory_record, message
from mnemic.text import english
from mnemic.types import searchable

RUN = settings(max_examples=150, deadline=None)
ALL_BITS = english.QUESTION | english.ASKS | english.TIME | english.NUMBER | english.REASON | english.NAME


@RUN
@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_any_text_has_traits_and_asks_for_known_bits(text):
    traits = english.traits(text)
    assert traits & ~ALL_BITS == 0
    assert not traits & english.QUESTION or traits & english.ASKS  # what ends in a question asks
    assert (
        english.expected_traits(text) & ~(english.TIME | english.NUMBER | english.REASON | english.NAME | english.REPLY)
        == 0
    )


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("Where is it?", english.QUESTION | english.ASKS),
        ("Where is it? [a photo of a cat]", english.QUESTION | english.ASKS),
        ("どこですか？", english.QUESTION | english.ASKS),
        ("Really? Wow.", english.ASKS),
        ("we met yesterday", english.TIME),
        ("it was in 1999", english.TIME | english.NUMBER),
        ("i have three cats", english.NUMBER),
        ("it rained, because it could", english.REASON),
        ("i saw Ana there", english.NAME),
        ('it is called "Emma"', english.NAME),
        ("works at NASA", english.NAME),
        ("Hello there", 0),
        ("", 0),
        ("[only a note?]", english.ASKS),
    ],
)
def test_traits(text, bits):
    assert english.traits(text) == bits


@pytest.mark.parametrize(
    ("query", "bits"),
    [
        ("When did she move?", english.TIME),
        ("  when?", english.TIME),
        ("In which month was it?", english.TIME),
        ("How long did it take?", english.TIME | english.NUMBER),
        ("And tell me how many cats?", english.NUMBER),
        ("Why did she move?", english.REASON),
        ("What made her move?", english.REASON),
        ("Who is it?", english.NAME),
        ("Where does she live?", english.NAME),
        ("What are the names of her cats?", english.NAME),
        ("How did you suggest I store it?", english.REPLY),
        ("I forgot: what have you found so far?", english.REPLY),
        ("How would you suggest I store it?", 0),
        ("As you suggested, I store it here. Is that right?", 0),
        ("What did I tell you?", 0),
        ("Whenever she moves", 0),
        ("She moved", 0),
        ("", 0),
    ],
)
def test_what_a_question_asks_for(query, bits):
    assert english.expected_traits(query) == bits


@RUN
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_idf_falls_with_use_and_is_never_negative(documents, containing):
    containing = min(containing, documents)
    value = keyword.idf(documents, containing)
    assert value >= 0
    if containing:
        assert value < keyword.idf(documents, containing - 1)


@RUN
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 500)), min_size=1, max_size=20),
    st.one_of(st.just(0.0), st.floats(0.1, 100)),
)
def test_saturation_by_hand(documents, mean):
    counts, lengths = (np.array(column, np.float32) for column in zip(*documents, strict=True))
    found = keyword.saturation(counts, lengths, mean)
    assert found.dtype == np.float32
    by_hand = [
        tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * length / (mean or 1.0))) for tf, length in documents
    ]  # k1 = 1.5, b = .75
    np.testing.assert_allclose(found, by_hand, rtol=1e-5)
    assert ((found >= 0) & (found <= keyword.K1 + 1)).all()


def test_saturation_takes_a_table_of_terms():
    counts = np.array([[1, 0], [2, 3]], np.float32)
    lengths = np.array([4, 8], np.float32)
    table = keyword.saturation(counts, lengths[:, None], 5.0)
    for column in range(2):
        np.testing.assert_array_equal(table[:, column], keyword.saturation(counts[:, column], lengths, 5.0))


def test_a_record_is_found_by_its_name_and_its_labels():
    assert searchable(message("hello", name="Ana")) == "Ana: hello"
    assert searchable(message("hello")) == "hello"
    record = memory_record("likes tea", summary="tea", keywords=("drink",), tags=("taste", "home"))
    assert searchable(record) == "likes tea\ntea\ndrink\ntaste home"
    assert searchable(memory_record("likes tea")) == "likes tea"


@pytest.mark.parametrize(
    "text",
    ["أين تعمل أختي؟", "Πού δουλεύει η αδελφή μου\u037e", "妹はどこで働いていますか。", "妹妹在哪里\uff1f", "Where?"],
)
def test_a_question_ends_as_its_script_has_it(text):
    assert english.traits(text) & english.QUESTION
    assert english.traits(text) & english.ASKS


@pytest.mark.parametrize(
    "asked",
    [
        "what did you suggest last week", "Which options did you give me for the webhooks?", "and why did you say that",
        "remind me what you suggested for the jobs", "Tell me again what you recommended.",
    ],
)  # fmt: skip
def test_who_asks_for_the_reply_needs_no_question_mark(asked):
    assert english.expected_traits(asked) & english.REPLY


@pytest.mark.parametrize("asked", ["tell me what you know about me", "I said what you did was fine. Who am I?"])
def test_other_words_to_an_assistant_ask_for_no_reply(asked):
    assert not english.expected_traits(asked) & english.REPLY
