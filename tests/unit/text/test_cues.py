"""Cues, BM25 and the rendering of records: small pure functions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.indexes import keyword
from mnemic.testing.fakes import memory_record, message
from mnemic.text import cues
from mnemic.types import searchable

RUN = settings(max_examples=150, deadline=None)
ALL_BITS = cues.QUESTION | cues.ASKS | cues.TIME | cues.NUMBER | cues.REASON | cues.NAME


@RUN
@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_any_text_has_traits_and_asks_for_known_bits(text):
    traits = cues.traits(text)
    assert traits & ~ALL_BITS == 0
    assert not traits & cues.QUESTION or traits & cues.ASKS  # what ends in a question asks
    assert cues.expected_traits(text) & ~(cues.TIME | cues.NUMBER | cues.REASON | cues.NAME | cues.REPLY) == 0


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("Where is it?", cues.QUESTION | cues.ASKS),
        ("Where is it? [a photo of a cat]", cues.QUESTION | cues.ASKS),
        ("どこですか？", cues.QUESTION | cues.ASKS),
        ("Really? Wow.", cues.ASKS),
        ("we met yesterday", cues.TIME),
        ("it was in 1999", cues.TIME | cues.NUMBER),
        ("i have three cats", cues.NUMBER),
        ("it rained, because it could", cues.REASON),
        ("i saw Ana there", cues.NAME),
        ('it is called "Emma"', cues.NAME),
        ("works at NASA", cues.NAME),
        ("Hello there", 0),
        ("", 0),
        ("[only a note?]", cues.ASKS),
    ],
)
def test_traits(text, bits):
    assert cues.traits(text) == bits


@pytest.mark.parametrize(
    ("query", "bits"),
    [
        ("When did she move?", cues.TIME),
        ("  when?", cues.TIME),
        ("In which month was it?", cues.TIME),
        ("How long did it take?", cues.TIME | cues.NUMBER),
        ("And tell me how many cats?", cues.NUMBER),
        ("Why did she move?", cues.REASON),
        ("What made her move?", cues.REASON),
        ("Who is it?", cues.NAME),
        ("Where does she live?", cues.NAME),
        ("What are the names of her cats?", cues.NAME),
        ("How did you suggest I store it?", cues.REPLY),
        ("I forgot: what have you found so far?", cues.REPLY),
        ("How would you suggest I store it?", 0),
        ("As you suggested, I store it here. Is that right?", 0),
        ("What did I tell you?", 0),
        ("Whenever she moves", 0),
        ("She moved", 0),
        ("", 0),
    ],
)
def test_what_a_question_asks_for(query, bits):
    assert cues.expected_traits(query) == bits


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
