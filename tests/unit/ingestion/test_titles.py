import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Message
from mnemic.ingestion import counted, title


def talk(*texts, names=("Ana", "Ben")):
    return [Message(role=("user", "assistant")[n % 2], name=names[n % 2], content=text) for n, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["I'm moving to Lisbon in June!", "Wow, yes, that is great!"], "Moving to Lisbon in June"),
        (["I passed the adoption agency interviews yesterday."], "Passing the adoption agency interviews"),
        (["We want to visit the castles in Scotland."], "Visiting the castles in Scotland"),
        (["I just bought a second-hand violin from Marta."], "Buying a second-hand violin from Marta"),
        (["Hi!", "Hello.", "The budget for the kitchen renovation is too high."], "Budget for the kitchen renovation"),
        (["I finally cooked my grandmother's lentil soup recipe."], "Cooking Ana's grandmother's lentil soup recipe"),
    ],
)
def test_titles_read_as_headings(texts, wanted):
    assert title(talk(*texts)) == wanted


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("Dr. Brandt and TixNow", "Dr Brandt and TixNow"),
        ("Daughter Lia takes piano lessons with Ms. Ivanova", "Lia takes piano lessons with Ms Ivanova"),
        ("Trip to Japan in October w/ Ben", "Japan in October with Ben"),
        ("Nah gyms are closed", "Gyms are closed"),
        ("Close on friday and the end is near", "Close on friday and the end"),
        ("Bau & Co 7.150", "Bau and Co 7.150"),
        ("24th at 14", "Short exchange with Ana"),
        ("91.8. 2.4 kg", "Short exchange with Ana"),
    ],
)
def test_titles_say_something(said, wanted):
    assert title(talk(said)) == wanted


def test_what_is_said_often_wins():
    messages = talk(
        "I took my car to the garage.", "What did the garage say about the car?", "The car needs new brakes at the garage.",
        "I had pasta with green pesto.",
    )  # fmt: skip
    assert "garage" in title(messages)


def test_what_is_said_everywhere_in_the_talk_counts_less():
    messages = talk("I painted a sunset over the lake.", "I planted tulips behind the old shed.")
    alone = title(messages)
    elsewhere = talk(*["I painted a sunset over the lake."] * 12, *["I planted tulips behind the old shed."] * 0)
    assert title(messages, counted([*messages, *elsewhere])) == "Planting tulips behind the old shed"
    assert alone == title(messages, counted(messages))


def test_the_user_speaks_for_an_episode_more_than_the_assistant():
    messages = talk(
        "I need a train to Cambridge on Friday.", "Booking was successful, the total fee is payable at the station.",
        names=(None, None),
    )  # fmt: skip
    assert title(messages) == "Train to Cambridge"


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        ([], ""),
        (talk("Hi!", "Hello!"), "Short exchange between Ana and Ben"),
        (talk("Hi!", names=(None, None)), "Short exchange with user"),
        ([Message(role="user", content="\u6771\u4eac\u306b\u5f15\u3063\u8d8a\u3057\u307e\u3057\u305f\u3002\u6765\u6708\u304b\u3089\u65b0\u3057\u3044\u4ed5\u4e8b\u3092\u59cb\u3081\u307e\u3059\u3002")], None),
        ([Message(role="user", content="Ich ziehe im Juni nach Lissabon um und suche eine Wohnung.")], None),
        ([Message(role="user", content="5")], None),
        ([Message(role="user", content="```\nx = 1\n```")], None),
        ([Message(role="user", content="a" * 300_000)], None),
        ([Message(role="user", content="word " * 100_000)], None),
    ],
)  # fmt: skip
def test_what_has_no_phrase_gets_a_title_all_the_same(messages, wanted):
    found = title(messages)
    assert wanted is None or found == wanted
    assert bool(found) == bool(messages)
    assert len(found) <= 80


TALKS = st.lists(
    st.sampled_from(
        "I we went to the big market in Rome and bought my 3 old red lamps because it rained . , ! ?".split()
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(TALKS, TALKS)
def test_three_to_seven_words_and_always_the_same(first, second):
    messages = talk(" ".join(first), " ".join(second))
    found = title(messages)
    assert found == title(messages)
    assert 3 <= len(found.split()) <= 7
    assert found[0].isupper() or found[0].isdigit()
