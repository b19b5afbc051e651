"""A mood in recall: named, asked for at each call, or read off the session."""

import math

import numpy as np
import pytest

from mnemic import ConfigurationError, Emotion, InvalidInput, Memory, checked_options
from mnemic.adapters import Recall
from mnemic.recall.recipes import among_equals

GLAD, SAD = "The exam made me proud, I am so happy!", "The exam made me cry, I feel miserable."
LOW = Emotion(valence=-0.6, arousal=-0.4)


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.remember(GLAD)
        memory.remember(SAD)
        yield memory


@pytest.mark.parametrize("mood", [LOW, lambda: LOW])
def test_a_context_has_what_feels_like_the_mood_first(memory, mood):
    context = memory.get_memory_context("How was the exam?", mood=mood, emotion_weight=1.0)
    assert [hit.text for hit in context.hits] == [SAD, GLAD]
    assert memory.search("How was the exam?", mood=mood, emotion_weight=1.0)[0].text == SAD


def test_a_function_is_asked_at_each_call(memory):
    moods = iter([LOW, Emotion(valence=0.7, arousal=0.6), None])
    first = [
        memory.get_memory_context("How was the exam?", mood=lambda: next(moods), emotion_weight=1.0).hits[0].text
        for _ in range(2)
    ]
    assert first == [SAD, GLAD]
    plain = memory.get_memory_context("How was the exam?", mood=lambda: next(moods)).text
    assert plain == memory.get_memory_context("How was the exam?").text


def test_the_mood_of_a_session_is_that_of_the_last_turns(memory):
    talk = memory.scoped(session="now")
    for text in ("I am so sad and lonely today.", "Everything hurts, I feel terrible."):
        talk.add(text)
    talk.add("Wonderful, fantastic news!", role="assistant")
    query = {"kinds": ["memory"], "emotion_weight": 1.0}
    scores = {hit.text: hit.scores["emotion"] for hit in talk.search("How was the exam?", mood="session", **query)}
    assert scores[SAD] > scores[GLAD]
    elsewhere = memory.scoped(session="another").search("How was the exam?", mood="session", **query)
    assert not any("emotion" in hit.scores for hit in elsewhere)


def test_what_is_no_mood_is_refused(memory):
    for wrong in (" ", 0.5, lambda: 1):
        with pytest.raises(InvalidInput, match="mood must be"):
            memory.get_memory_context("How was the exam?", mood=wrong)


@pytest.mark.parametrize(
    ("place", "wrong"),
    [("valence", 1.5), ("arousal", -2), ("arousal", math.nan), ("confidence", -0.1), ("valence", "high")],
)
def test_a_mood_off_the_plane_is_refused_whoever_gives_it(memory, place, wrong):
    mood = Emotion(**{"valence": 0.5, "arousal": 0.5, place: wrong})
    for ask in (memory.search, memory.get_memory_context):
        with pytest.raises(InvalidInput, match=rf"mood\.{place} must be a number from"):
            ask("How was the exam?", mood=mood)
    with pytest.raises(ConfigurationError, match=place):
        Recall(max_tokens=100, mood=mood)


def test_an_adapter_takes_a_function_without_calling_it():
    def mood():
        raise AssertionError

    assert checked_options(Memory.get_memory_context, {"mood": mood}) == {"mood": mood}


def test_words_show_a_mood_like_the_emotion_that_is_read_from_them(memory):
    words = "I feel so sad and miserable."
    read = memory.admin.emotion(words)
    for mood in (words, lambda: words):
        assert memory.search("How was the exam?", mood=mood).hits == memory.search("How was the exam?", mood=read).hits


def test_a_mood_decides_among_equal_answers_and_raises_no_worse_one():
    near, scores = np.array([0.1, 0.3, 0.4], np.float32), np.array([9.0, 8.5, 2.0], np.float32)
    found = among_equals(near, scores, 1.5)
    assert found.tolist() == pytest.approx([1 / 3, 1.0, 0.0])
    assert among_equals(near / 10, scores, 1.5).tolist() == pytest.approx([0.01, 0.03, 0.0])
