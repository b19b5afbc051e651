import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.text import english
from mnemic.text.english import is_english, mostly_english


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Lisbon with my sister.",
        "im a baker and im from Kiel",
        "Great dinner!",
        "Loved the tapas in El Born.",
        "We flew to Los Angeles, La Paz is next.",
        "I met die Mutter",
        "Where does Zoë work?",
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
        "Meine Freundin heißt Lena und wohnt in Kiel.",
        "Ich weiß noch, was im Vertrag steht, und die Bank hat es auch.",
        "¿Dónde vive mi hermana ahora?",
        "No me gusta nada el café con leche",
        "Ma sœur déménage à Lyon en mars",
        "Preciso comprar um presente para o meu pai",
        "Mia sorella si trasferisce a Torino a marzo",
        "Kakak saya pindah ke Bandung bulan Maret",
        "Моя сестра переезжает",
        "我妹妹三月搬到上海",
        "أختي ستنتقل إلى الرياض",
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


def test_without_room_for_the_model_of_the_library_a_text_is_too_short_to_tell(monkeypatch):
    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(english, "_identifier", full)
    assert english.language_of("Wo wohnt deine Schwester heute, und was macht sie dort?") is None
