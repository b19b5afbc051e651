import pytest

from mnemic.text.subjects import mentions_another, tells_of_another, without_introduction


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Mum called.", True),
        ("My sister visited.", True),
        ("They have 340 drivers.", True),
        ("CRM note: They have 340 drivers.", True),
        ("New client: Stefan, 44, back pain.", True),
        ("Pawel called about the roof.", True),
        ("I met my sister.", False),
        ("My sister and I cooked.", False),
        ("We had a long day.", False),
        ("The flight was long.", None),
        ("Lunch with my sister.", None),
        ("My friend's car broke down.", None),
        ("Great news!", None),
    ],
)
def test_of_whom_a_sentence_tells(sentence, told):
    assert tells_of_another(sentence) is told


def test_what_she_can_stand_for():
    assert mentions_another("My sister is 40")
    assert mentions_another("I saw Joana")
    assert not mentions_another("I like tea")


@pytest.mark.parametrize(
    ("sentence", "rest"),
    [
        ("I'm Marta, I live in Utrecht", "I live in Utrecht"),
        ("I'm Marta and I work as a nurse", "I work as a nurse"),
        ("I'm Marta and work as a nurse", "I work as a nurse"),
        ("I am Marta, a nurse", "I'm a nurse"),
        ("my name is Marta from Utrecht.", "I'm from Utrecht."),
        ("I'm Marta.", ""),
        ("I'm Marta Jansen, I live in Utrecht", "I'm Marta Jansen, I live in Utrecht"),
        ("I'm Marta's sister", "I'm Marta's sister"),
        ("I'm Martha", "I'm Martha"),
        ("I'm married", "I'm married"),
    ],
)
def test_a_name_that_is_known_is_no_news(sentence, rest):
    assert without_introduction(sentence, "Marta") == rest
