from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Message
from mnemic.knowledge.segmentation import LONGEST, begins_episode, boundaries, is_filler, is_greeting, turn

NOW = datetime(2023, 5, 8, 12, tzinfo=UTC)


def talk(*texts, minutes=0, session=None):
    return [
        Message(
            role=("user", "assistant")[n % 2],
            content=text,
            sent_at=NOW + timedelta(minutes=minutes * n),
            session=session,
        )
        for n, text in enumerate(texts)
    ]


def about(*subjects, dimension=8):
    """One vector per message: the axis of its subject with some noise."""
    draw = np.random.default_rng(0)
    rows = np.eye(dimension, dtype=np.float32)[list(subjects)] + draw.normal(0, 0.1, (len(subjects), dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


TRAIN = [
    "We took the train to Porto.",
    "It crossed a long bridge.",
    "The carriage was nearly empty.",
    "Our seats faced the river.",
]
BREAD = [
    "My sourdough finally rose.",
    "The crust came out dark.",
    "A hot stone did that.",
    "Rye flour helped the crumb.",
]


def test_short_talks():
    assert boundaries([], None) == []
    assert boundaries(talk("Hello"), None) == [0]
    assert boundaries(talk("Where do you live?", "In Lisbon."), about(0, 1)) == [0]
    assert begins_episode([], None) is False
    assert begins_episode(talk("Hello"), None) is True


def test_a_shift_of_subject():
    messages = talk(*TRAIN, *BREAD)
    vectors = about(0, 0, 0, 0, 1, 1, 1, 1)
    assert boundaries(messages, vectors) == [0, 4]
    begun = [end for end in range(1, 9) if begins_episode(messages[:end], vectors[:end])]
    assert begun == [1, 5]


def leaning(strength):
    """Three messages that lean one way and three that lean another, from a subject they share."""
    ways = np.eye(8, dtype=np.float32)[[1, 1, 1, 2, 2, 2]]
    return about(0, 0, 0, 0, 0, 0) + strength * ways


def test_a_cue_phrase_tips_the_scale():
    plain = talk(*TRAIN[:3], *BREAD[:3])
    marked = talk(*TRAIN[:3], "By the way, my sourdough finally rose.", *BREAD[1:3])
    vectors = leaning(1.1)
    assert boundaries(plain, vectors) == [0]
    assert boundaries(marked, vectors) == [0, 3]
    assert not begins_episode(plain[:4], vectors[:4])
    assert begins_episode(marked[:4], vectors[:4])


def test_an_answer_stays_with_its_question():
    plain = talk(*TRAIN[:3], *BREAD[:3])
    asked = talk(*TRAIN[:2], "The ride was long, but was it comfortable?", *BREAD[:3])
    assert boundaries(plain, leaning(1.5)) == [0, 3]
    assert boundaries(asked, leaning(1.5)) == [0]
    assert begins_episode(plain[:4], leaning(2.5)[:4])
    assert not begins_episode(asked[:4], leaning(2.5)[:4])


def test_another_session_always_begins_an_episode():
    messages = [*talk(*TRAIN, session="a"), *talk("ok", session="b")]
    assert boundaries(messages, about(0, 0, 0, 0, 0)) == [0, 4]
    assert begins_episode(messages, about(0, 0, 0, 0, 0))


def test_a_long_pause_begins_an_episode_and_a_shorter_one_does_not():
    def paused(minutes):
        first, second = talk(*TRAIN[:2]), talk(*TRAIN[2:])
        return first + [
            Message(role=m.role, content=m.content, sent_at=m.sent_at + timedelta(minutes=minutes)) for m in second
        ]

    vectors = about(0, 0, 0, 0)
    assert boundaries(paused(30), vectors) == [0, 2]
    assert boundaries(paused(29), vectors) == [0]
    assert boundaries(paused(29), vectors, time_gap=timedelta(minutes=20)) == [0, 2]
    assert begins_episode(paused(30)[:3], vectors[:3])
    assert not begins_episode(paused(29)[:3], vectors[:3])


def test_thanks_after_a_pause_stay_and_a_greeting_goes_on():
    late = [*talk(*TRAIN), Message(role="user", content="Thanks!", sent_at=NOW + timedelta(hours=2))]
    assert boundaries(late, about(0, 0, 0, 0, 1)) == [0]
    assert not begins_episode(late, about(0, 0, 0, 0, 1))
    back = [*late[:4], Message(role="user", content="Good morning!", sent_at=NOW + timedelta(hours=20))]
    assert boundaries(back, about(0, 0, 0, 0, 1)) == [0, 4]
    assert begins_episode(back, about(0, 0, 0, 0, 1))


def test_no_episode_of_nothing_but_filler():
    messages = talk(
        "Hi there!", "Hello! How are you?", *TRAIN, "Thank you, bye!", "You're welcome. Have a nice day!", *BREAD
    )
    vectors = about(2, 3, 0, 0, 0, 0, 4, 5, 1, 1, 1, 1)
    assert boundaries(messages, vectors) == [0, 8]


def test_no_episode_is_longer_than_stated():
    count = 3 * LONGEST
    messages = talk(*("The same thing again and again." for _ in range(count)))
    vectors = np.tile(about(0), (count, 1))
    for found in (boundaries(messages, vectors), boundaries(messages, None)):
        assert max(np.diff([*found, count])) <= LONGEST
    assert begins_episode(messages[: LONGEST + 1], vectors[: LONGEST + 1])
    assert not begins_episode(messages[:LONGEST], vectors[:LONGEST])


def test_messages_without_vectors_are_judged_by_their_words():
    texts = [
        "The train to Porto leaves at nine.", "Which platform does the Porto train use?", "The train uses platform four.",
        "Can you find a bread recipe with rye flour?", "A rye bread needs flour and water.", "How long does rye bread dough rest?",
    ]  # fmt: skip
    messages = talk(*texts)
    assert boundaries(messages, None) == [0, 3]
    holes = np.full((6, 8), np.nan, np.float32)
    assert boundaries(messages, holes) == [0, 3]
    assert boundaries(messages, np.zeros((6, 8), np.float32)) == [0, 3]
    some = about(0, 0, 0, 1, 1, 1)
    some[[1, 4]] = 0
    before = some.copy()
    assert boundaries(messages, some) == [0, 3]
    assert np.array_equal(some, before)


def test_times_may_be_missing_naive_or_out_of_order():
    messages = [
        Message(role="user", content=TRAIN[0]),
        Message(role="user", content=TRAIN[1], sent_at=NOW.replace(tzinfo=None)),
        Message(role="user", content=TRAIN[2], sent_at=NOW + timedelta(minutes=1)),
        Message(role="user", content=TRAIN[3], sent_at=NOW - timedelta(minutes=1)),
    ]
    assert boundaries(messages, about(0, 0, 0, 0)) == [0]
    assert boundaries(messages, about(0, 0, 0, 0), time_gap=timedelta(0)) == [0, 1, 2, 3]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=60), st.booleans())
def test_any_texts_are_cut_into_runs(texts, embedded):
    messages = talk(*texts, minutes=1)
    vectors = about(*(len(text) % 8 for text in texts)) if embedded and texts else None
    found = boundaries(messages, vectors)
    assert found == sorted(set(found))
    assert found[:1] == ([0] if texts else [])
    assert boundaries(messages, vectors) == found
    assert not begins_episode(messages, vectors) or texts


def test_ten_thousand_messages_in_one_session():
    texts = [f"{TRAIN[n % 4]} {n // 7}" for n in range(10_000)]
    vectors = about(*(n // 7 % 8 for n in range(10_000)))
    found = boundaries(talk(*texts), vectors)
    assert max(np.diff([*found, 10_000])) <= LONGEST
    assert set(range(0, 9_996, 7)) <= set(found)


@pytest.mark.parametrize(
    "text",
    [
        "Hi!",
        "ok thanks",
        "Good morning, how are you?",
        "Haha yes, sounds great!",
        "Bye, see you later!",
        "",
        "\U0001f44d",
    ],
)
def test_filler(text):
    assert is_filler(text)


@pytest.mark.parametrize(
    "text",
    [
        "In Lisbon.",
        "At 5",
        "I quit my job.",
        "Merci, je pars demain",
        "\u308f\u304b\u308a\u307e\u3057\u305f",
        "ok " * 200,
    ],
)
def test_not_filler(text):
    assert not is_filler(text)


def test_greetings_are_filler_that_begins():
    assert is_greeting("Hello there!")
    assert not is_greeting("Thanks!")
    assert not is_greeting("Hi, I need a train to Porto.")


@pytest.mark.parametrize(
    ("text", "traits"),
    [
        ("Anyway, how is Ben?", {"opens", "waits"}),
        ("Oh, and by the way, we moved.", {"opens", "replies"}),
        ("Speaking of bread, I baked one.", {"opens"}),
        ("Can you find a hotel in Porto?", {"asks", "waits"}),
        ("I\u2019m looking for a hotel.", {"asks", "replies"}),
        ("Booked. Is there anything else I can help you with?", {"asks", "closes"}),
        ("Did it rain? [shares an image: a wet road]", {"waits"}),
        ("Hey, it rained.", {"greets"}),
        ("", set()),
    ],
)  # fmt: skip
def test_turns(text, traits):
    assert {name for name, is_so in turn(text).items() if is_so} == traits


def test_cues_are_found_in_very_long_messages_without_reading_them_whole():
    assert turn("By the way, " + "x" * 1_000_000 + " right?")["opens"]
    assert turn("!" * 200_000)["opens"] is False
