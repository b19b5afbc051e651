"""Index terms: whatever is written can be stored, and what was said can be found."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic import Memory, Message, NotFound
from mnemic.text.markup import is_blank
from mnemic.text.terms import BASE_FORMS, STOP_WORDS, clean, content_terms, index_terms, query_terms

ANY = st.text(st.characters(exclude_categories=()), max_size=60)
RUN = settings(max_examples=150, deadline=None)

# What was planted, and a text that holds it.
PLANTED = [
    ("@nasa", "I follow @nasa and @esa on the web"),
    ("GB/s", "It reads 3.5 GB/s from disk"),
    ("it's", "I think it's fine"),
    ("C++", "She writes C++ and Rust"),
    ("C#", "He prefers C# at work"),
    ("naïve", "That was a naïve plan"),
    ("naive", "That was a naïve plan"),
    ("café", "We met at the cafe"),
    ("東京都庁", "昨日は東京都庁に行きました"),
    ("고양이", "우리 고양이는 귀엽다"),
    ("แมว", "ฉันมีแมวสองตัว"),
    ("3.14", "Pi is about 3.14, they say"),
    ("10,000", "It costs 10000 euros"),
    ("10000", "It costs 10,000 euros"),
    ("10:30", "The train leaves at 10:30."),
    ("ＡＢＣ１２３", "the code is abc123"),
    ("O'Brien", "Ask O’Brien about it"),
    ("don't", "I don't know"),
    ("who", "the band is called the who"),
    ("ping-pong", "we play ping pong"),
    ("state_of_the_art", "it is state of the art"),
    ("user@example.org", "write to user@example.org please"),
    ("Straße", "Die Straße ist lang"),
    ("Hauptstraße", "KÜNDIGUNG HAUPTSTRASSE 7"),
    ("ışık", "Işık Iğdır'da"),
    ("Lodz", "Byłem w Łódź"),
    ("oeuf", "un œuf"),
    ("2024", "في ٢٠٢٤"),
    ("Rechtsanwalt", "mein Rechts\u00adanwalt"),
    ("Élodie", "Le numéro d'Élodie"),
    ("hôpital", "L\u2019hôpital d'Évreux"),
    ("università", "davanti all'università"),
    ("Ankara", "Ankara'da oturuyor"),
    ("Москва", "Я живу в Москва"),
]

HOSTILE = [
    "undefined", "NULL", "(null)", "-1", "0x0", "1e309", "../../etc/passwd", "%00", "\x00", "\x00\x01\x1f", "'", '"', "''",
    '"" OR 1=1 --', "'; DROP TABLE messages; --", "a AND b OR NOT c", "NEAR(a b, 2)", "col:term*", "^term", "{a b}", "-",
    "+", "*", "(", ")", "[", "]", "\\", "$HOME", "`id`", "<script>alert(1)</script>", "&lt;", "\ud800", "\udfff\ud800",
    "\ufeff", "\u200b\u200d", "\u202etest\u202c", "Ṱ̺̺̕o͞ ̷i̲̬n̝̗v͕o̭̗", "田中さんにあげて下さい", "👩‍👩‍👧‍👦", "🇺🇸🏴󠁧󠁢󠁥󠁮󠁧󠁿", "Ω≈ç√∫˜µ≤≥÷", "½ ¼ ²", "١٢٣",
    "𝕋𝕙𝕖 𝕢𝕦𝕚𝕔𝕜", "ﷺ", "ﬃ", "İIıi", "ß ẞ", "\U0010ffff", "a" * 5_000, "1" * 5_000, "1." * 2_000, "'" * 2_000, "+#" * 999,
]  # fmt: skip


@RUN
@given(ANY)
@example("\x00")
@example("\ud800\udfff")
@example("1" * 100 + ".")
@example("a'" * 50)
def test_any_text_has_terms_without_white_space(text):
    for terms in (index_terms(text), content_terms(text), query_terms(text)):
        assert all(term and term == "".join(term.split()) and "\x00" not in term for term in terms)


@RUN
@given(ANY)
def test_content_terms_are_index_terms_in_order(text):
    everything = iter(index_terms(text))
    assert all(term in everything for term in content_terms(text))  # consuming: a subsequence, repeats included


@RUN
@given(ANY)
def test_a_query_has_each_term_once_and_finds_the_text_itself(text):
    asked = query_terms(text)
    assert len(set(asked)) == len(asked)
    assert set(asked) <= set(index_terms(text))
    assert bool(asked) == bool(index_terms(text))


@RUN
@given(ANY)
def test_the_same_text_has_the_same_terms_in_any_case_and_form(text):
    import unicodedata

    assert index_terms(text) == index_terms(text)
    assert index_terms(unicodedata.normalize("NFC", text)) == index_terms(unicodedata.normalize("NFD", text))


@given(st.text(st.sampled_from("abcdefgh XYZ.,!?'1"), max_size=40))
@RUN
def test_case_does_not_count(text):
    assert index_terms(text.upper()) == index_terms(text.lower())


@RUN
@given(ANY)
def test_clean_text_can_be_written_and_is_cleaned_once(text):
    assert clean(clean(text)) == clean(text)
    assert clean(text).encode().decode() == clean(text)
    assert len(clean(text)) == len(text)


@pytest.mark.parametrize(("planted", "text"), PLANTED, ids=[planted for planted, _ in PLANTED])
def test_what_was_said_can_be_found(planted, text):
    assert set(query_terms(planted)) & set(index_terms(text))
    assert set(query_terms(planted)) <= set(index_terms(planted))


@pytest.mark.parametrize(
    ("form", "base"),
    [("bought", "buy"), ("children", "child"), ("went", "go"), ("mice", "mouse"), ("taught", "teaching"),
     ("knives", "knife"), ("moved", "moving"), ("cities", "city"), ("women", "woman"), ("ran", "running")],
)  # fmt: skip
def test_forms_of_a_word_meet(form, base):
    assert index_terms(form) == index_terms(base)


def test_distinct_words_stay_apart():
    for one, other in (("C++", "C"), ("C#", "C"), ("3.14", "3.15"), ("Ana", "Anna"), ("10:30", "10:31")):
        assert index_terms(one) != index_terms(other)


def test_the_table_of_irregular_words_is_sound():
    assert all(form.isascii() and form.islower() and form.isalpha() for form in BASE_FORMS)
    assert not set(BASE_FORMS) & set(BASE_FORMS.values())  # a base form is nobody's irregular form
    assert not any(word in STOP_WORDS for word in BASE_FORMS.values())


def test_long_words_are_cut_and_still_found():
    word = "x" * 10_000
    assert len(index_terms(word)[0]) <= 64
    assert query_terms(word) == index_terms(word)


@pytest.fixture(scope="module")
def hostile():
    with Memory(":memory:", embedder="hashing") as memory:
        memory.add([Message(role="user", content=text, id=f"h{n}", name=text[:20]) for n, text in enumerate(HOSTILE)])
        memory.add([Message(role="user", content=f"say {text} again", id=f"in{n}") for n, text in enumerate(HOSTILE)])
        memory.add("the garden needs water", id="plain")
        yield memory


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_stored_searched_and_shown(hostile, text):
    if is_blank(text):
        assert hostile.search(f"say {text}", k=10_000)
        with pytest.raises(NotFound):
            hostile.get(f"h{HOSTILE.index(text)}")
        return
    assert hostile.get(f"h{HOSTILE.index(text)}").content == clean(text)
    hits = hostile.search(text, k=10_000)
    assert len({hit.id for hit in hits}) == len(hits)
    if query_terms(text):
        # Every text that shares a term is among the hits, whatever else is.
        assert {f"h{HOSTILE.index(text)}", f"in{HOSTILE.index(text)}"} <= {hit.id for hit in hits}
    assert hostile.get_memory_context(text, max_tokens=500).token_count <= 500


def test_the_record_of_hostile_texts_is_sound(hostile):
    assert hostile.admin.verify().findings == ()
    assert hostile.search("garden")[0].id == "plain"
