import pytest

from mnemic.text.language import is_english, which_are_english


@pytest.mark.parametrize(
    ("sentences", "english"),
    [
        (["Update: ich ziehe nach Flensburg im August.", "My workshop will be in Harrislee then."], [False, True]),
        (["My girlfriend is new.", "Meine Freundin hei\u00dft Lena Petersen und wohnt in Kiel."], [True, False]),
        (["Ich arbeite im Krankenhaus und wohne in Kiel.", "Viel Spa\u00df!"], [False, False]),
        (["im a baker and im from Kiel"], [True]),
        (["We flew to Los Angeles.", "La Paz is next."], [True, True]),
        (["Great dinner!", "Loved the tapas in El Born."], [True, True]),
        ([], []),
    ],
)
def test_each_sentence_is_of_its_own_language(sentences, english):
    assert which_are_english(sentences) == english


def test_two_words_of_another_language_outweigh_none_of_english():
    assert not is_english("Meine Freundin hei\u00dft Lena und wohnt in Kiel")
    assert is_english("I met die Mutter")
