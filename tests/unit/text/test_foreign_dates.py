"""Dates in texts of other languages, with the library that the extra brings."""

from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic.text import dates
from mnemic.text.dates import mentioned_periods, named_periods

pytestmark = pytest.mark.languages

LAST = date.max.toordinal()
PIECES = st.sampled_from(
    "ayer hace dos meses en marzo el 3 de mayo semana pasada gestern letzte Woche vor drei Tagen im März heute "
    "9999 años 99999999 Jahren 31.2.2026 0 8h 昨天 两个月前 вчера كل".split()
)
SAID = date(2026, 6, 10).toordinal()  # a Wednesday


def day(month, number):
    return (date(2026, month, number).toordinal(),) * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ayer fui al médico con mi hermana", [day(6, 9)]),
        ("Am 3. Mai habe ich Geburtstag", [day(5, 3)]),
        ("Il y a deux semaines on a adopté un chat", [(day(5, 24)[0], day(5, 30)[0])]),
        ("A minha irmã muda-se para o Porto em março", [(day(3, 1)[0], day(3, 31)[0])]),
        ("我昨天去看了医生", [day(6, 9)]),
        ("Mi jefa prefiere viajar en tren con su perro", []),  # mi and mit are short for Wednesday as well
        ("In 1999 habe ich mit meiner Familie in Kiel gewohnt", []),  # a year alone is too wide
    ],
)
def test_what_a_message_mentions(text, expected):
    assert mentioned_periods(text, SAID) == expected


def test_a_question_counts_from_the_day_it_is_asked():
    assert named_periods("¿Adónde fui ayer con mi hermana?", SAID, ()) == [day(6, 9)]


def test_english_texts_and_dates_are_read_as_without_it(monkeypatch):
    texts = ("We met on 3 May, two months ago", "I will be there at 8", "Wir waren am 2026-03-01 da, sagt die Bank")
    found = [mentioned_periods(text, SAID) for text in texts[:2]]
    monkeypatch.setattr(dates, "_installed", lambda: False)
    assert [mentioned_periods(text, SAID) for text in texts[:2]] == found
    assert mentioned_periods(texts[2], SAID) == [day(3, 1)]


@example(["ayer", "fui", "al", "médico"], 1)
@example(["ayer", "fui", "al", "médico"], LAST)
@given(st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=8), st.one_of(st.integers(1, LAST), st.just(SAID)))
@settings(max_examples=200, deadline=None)
def test_any_text_on_any_day_gives_periods_of_the_calendar(words, said):
    for first, last in mentioned_periods(" ".join(words), said) + named_periods(" ".join(words), said, ()):
        assert last >= 1
        assert first <= last
        assert last - first < 366
