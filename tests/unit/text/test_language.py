import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.text.language import is_english, mostly_english


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Lisbon with my sister.",
        "im a baker and im from Kiel",
        "Great dinner!",
        "Loved the tapas in El Born.",
        "We flew to Los Angeles, La Paz is next.",
        "I met die Mutter",
        "Where does Zo\u00eb work?",
        "her dentist",
        "Barcelona",
        "OK",
        "",
        "1234 !!!",
    ],
)
def test_english_and_what_could_be_of_any_language(text):
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "Meine Freundin hei\u00dft Lena und wohnt in Kiel.",
        "Ich wei\u00df noch, was im Vertrag steht, und die Bank hat es auch.",
        "\u00bfD\u00f3nde vive mi hermana ahora?",
        "No me gusta nada el caf\u00e9 con leche",
        "Ma s\u0153ur d\u00e9m\u00e9nage \u00e0 Lyon en mars",
        "Preciso comprar um presente para o meu pai",
        "Mia sorella si trasferisce a Torino a marzo",
        "Kakak saya pindah ke Bandung bulan Maret",
        "\u041c\u043e\u044f \u0441\u0435\u0441\u0442\u0440\u0430 \u043f\u0435\u0440\u0435\u0435\u0437\u0436\u0430\u0435\u0442",
        "\u6211\u59b9\u59b9\u4e09\u6708\u642c\u5230\u4e0a\u6d77",
        "\u0623\u062e\u062a\u064a \u0633\u062a\u0646\u062a\u0642\u0644 \u0625\u0644\u0649 \u0627\u0644\u0631\u064a\u0627\u0636",
    ],
)
def test_other_languages(text):
    assert not is_english(text)


@given(st.text(st.characters(codec=None), max_size=60))
def test_any_text_has_an_answer(text):
    assert is_english(text) in (True, False)


@example("00000")
@given(st.text(st.sampled_from("0123456789 .,!?-"), max_size=60))
def test_a_text_without_words_counts_as_english(text):
    assert is_english(text)


ENGLISH, GERMAN = "I moved to Lisbon with my sister.", "Ich bin mit meiner Schwester umgezogen."


@pytest.mark.parametrize(
    ("texts", "expected"),
    [([], True), ([ENGLISH] * 30, True), ([GERMAN] * 30, False), ([ENGLISH] * 20 + [GERMAN] * 10, True)],
)
def test_the_language_of_most_texts(texts, expected):
    assert mostly_english(texts) is expected
