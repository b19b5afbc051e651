"""Valence and arousal: what holds for every text, what people would say of plain ones, and what the weights refuse."""

import subprocess
import sys
from importlib import resources

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from mnemic import Emotion, OnnxEmbedder
from mnemic.emotion import estimate
from mnemic.emotion.estimate import NEUTRAL, emotion, emotions, has_affect, similarity
from mnemic.errors import ConfigurationError, EmbedderUnavailable, InvalidInput

RUN = settings(max_examples=150, deadline=None)
MODEL = "all-MiniLM-L6-v2"
UNIT = st.floats(0, 1)
SIGNED = st.floats(-1, 1)
MOOD = st.builds(Emotion, valence=SIGNED, arousal=SIGNED, confidence=UNIT)
GLAD = "happy great wonderful proud glad excited delighted good pleased hopeful lucky thrilled".split()
GRIM = "sad angry afraid terrible upset worried miserable lonely bad guilty ashamed horrible".split()


@pytest.fixture(scope="module")
def felt():
    """Texts to moods, with the vectors of the default embedder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        embedder = OnnxEmbedder(offline=True)
        try:
            embedder.load()
        except EmbedderUnavailable:
            pytest.skip("needs the package mnemic-minilm: pip install ./integrations/minilm")

        def moods(*texts):
            return emotions(texts, embedder.embed(texts), embedder.id)

        yield moods


def vectors(seed, count):
    rows = np.random.default_rng(seed).standard_normal((count, 384)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def with_vector(text, row, model=MODEL):
    return emotions([text], row[None], model)[0]


def near(a, b):
    return (a.valence, a.arousal, a.confidence) == pytest.approx((b.valence, b.arousal, b.confidence), abs=1e-4)


class TestAnyText:
    @RUN
    @given(st.text(), st.integers(0, 2**32 - 1))
    def test_every_text_has_a_place_on_the_plane_and_always_the_same(self, text, seed):
        row = vectors(seed, 1)[0]
        for found, again in ((emotion(text), emotion(text)), (with_vector(text, row), with_vector(text, row))):
            assert -1 <= found.valence <= 1
            assert -1 <= found.arousal <= 1
            assert 0 <= found.confidence <= 1
            assert found == again

    @RUN
    @given(st.text(alphabet="aA nNoOtT'\u2019!?.\"I0:)(😀❤\ufe0f"))
    def test_marks_negations_and_signs_in_any_order(self, text):
        found = emotion(text)
        assert abs(found.valence) <= 1
        assert abs(found.arousal) <= 1

    @RUN
    @given(st.lists(st.text(max_size=60), max_size=8), st.integers(0, 2**32 - 1))
    def test_a_text_among_others_has_the_mood_it_has_alone(self, texts, seed):
        rows = vectors(seed, len(texts))
        together = emotions(texts, rows, MODEL)
        assert len(together) == len(texts)
        for text, row, found in zip(texts, rows, together, strict=True):
            assert near(found, with_vector(text, row))

    @pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"])
    def test_a_blank_text_has_none(self, blank):
        assert emotion(blank) == NEUTRAL == with_vector(blank, vectors(0, 1)[0])
        assert (NEUTRAL.valence, NEUTRAL.arousal, NEUTRAL.confidence) == (0, 0, 0)
        assert not has_affect(NEUTRAL)

    def test_only_the_beginning_of_a_long_text_is_read(self):
        start = "I am so happy! " * 200
        assert emotion(start + "I am so sad. " * 5_000) == emotion(start)
        assert emotion("x" * 500_000).confidence <= 1

    @pytest.mark.parametrize("run", ["\U0001f600", "ok\U0001f600", "\U0001f600!", "\U0001f469\u200d\U0001f467"])
    def test_emoji_without_spaces_are_words_of_their_own(self, run, monkeypatch):
        """What VADER does with a text grows with the square of its words, and an emoji is several of them."""
        emoji, scores = [], SentimentIntensityAnalyzer.polarity_scores

        def read(analyzer, text):
            emoji.append(sum(sign in analyzer.emojis for sign in text))
            return scores(analyzer, text)

        monkeypatch.setattr(SentimentIntensityAnalyzer, "polarity_scores", read)
        emotion(run * 3_000)
        assert 0 < max(emoji) <= estimate.CHUNK
        assert sum(emoji) <= estimate.MAX_WORDS
        assert emotion("\U0001f600" * 3) == emotion("\U0001f600 " * 3)

    def test_a_long_text_is_no_surer_of_one_word_than_a_short_one(self):
        assert abs(emotion("The room is here and the room is there. " * 40 + "Terrible.").valence) < abs(
            emotion("Terrible.").valence
        )

    def test_typographic_marks_are_plain_ones(self):
        assert emotion("I don\u2019t love it\u2026") == emotion("I don't love it...")
        assert emotion("\u2764\ufe0f") == emotion("\u2764")

    @pytest.mark.parametrize("text", ["Я очень рад тебя видеть!", "とても悲しい。", "أنا غاضب جدا"])
    def test_nothing_is_known_of_other_scripts(self, text):
        assert with_vector(text, vectors(1, 1)[0]).confidence == 0

    def test_a_text_in_two_scripts_counts_by_its_latin_part(self):
        assert 0 < emotion("I am so happy, Здравствуйте").confidence < emotion("I am so happy, hello there").confidence


class TestWords:
    """By words and marks alone."""

    @pytest.mark.parametrize("word", [*GLAD, *GRIM])
    def test_emphasis_raises_arousal(self, word):
        plain, loud = emotion(word), emotion(f"{word.upper()}!!!")
        assert plain.arousal < emotion(f"{word}!").arousal < loud.arousal

    @pytest.mark.parametrize("word", GLAD)
    def test_negation_turns_gladness(self, word):
        assert emotion(f"I am {word}.").valence > 0 > emotion(f"I am not {word}.").valence

    @pytest.mark.parametrize("word", GRIM)
    def test_negation_softens_grimness(self, word):
        assert emotion(f"I am {word}.").valence < emotion(f"I am not {word}.").valence

    def test_a_clear_mood_is_surer_than_a_statement(self):
        assert (
            emotion("The file is in the folder.").confidence
            < 0.3
            < 0.8
            < emotion("I love this wonderful day!").confidence
        )


class TestVectors:
    """With the vectors of the default model."""

    @pytest.mark.parametrize("word", [*GLAD, *GRIM])
    def test_emphasis_raises_arousal(self, felt, word):
        plain, loud = felt(word, f"{word.upper()}!!!")
        assert plain.arousal < loud.arousal

    @pytest.mark.parametrize("word", GLAD)
    def test_negation_turns_gladness(self, felt, word):
        said, denied = felt(f"I am {word}.", f"I am not {word}.")
        assert said.valence > 0 > denied.valence

    @pytest.mark.parametrize("word", GRIM)
    def test_negation_softens_grimness(self, felt, word):
        said, denied = felt(f"I am {word}.", f"I am not {word}.")
        assert said.valence < denied.valence

    def test_statements_and_questions_have_no_affect(self, felt):
        plain = (
            "The meeting is on Tuesday.", "The file is in the second folder.", "When did Ana move to Lisbon?", "Use pytest to run the tests.",
            "Prefers morning meetings", "The function returns a list of integers.", "I moved to Lisbon.", "What is the deadline of the project?",
        )  # fmt: skip
        for text, found in zip(plain, felt(*plain), strict=True):
            assert not has_affect(found), text
            assert abs(found.valence) < 0.3, text

    @pytest.mark.parametrize(
        ("quadrant", "text"),
        [
            ("excited", "We won the championship!"), ("excited", "I got the job!!! I can't believe it!"),
            ("distressed", "I'm furious, he lied to me again!"), ("distressed", "I am terrified of the operation."),
            ("distressed", "My grandmother died yesterday."),
        ],
    )  # fmt: skip
    def test_what_people_would_say(self, felt, quadrant, text):
        (found,) = felt(text)
        assert (found.quadrant, has_affect(found)) == (quadrant, True)

    def test_calm_is_glad_and_not_stirred(self, felt):
        calm, wild = felt(
            "A quiet evening by the lake, warm tea, all is calm.", "A wild evening by the lake, we danced till dawn!"
        )
        assert calm.valence > 0.2
        assert abs(calm.arousal) < 0.2 < wild.arousal

    def test_what_no_word_says_the_vector_does(self, felt):
        (found,) = felt("They carried her coffin down the hill.")
        assert found.valence < emotion("They carried her coffin down the hill.").valence - 0.1

    def test_vectors_of_another_model_are_not_used(self):
        other = np.ones(128, np.float32)
        of_an_unnamed_model = with_vector("what a day!", vectors(2, 1)[0], None)
        assert with_vector("what a day!", other, "hashing-128") == emotion("what a day!") == of_an_unnamed_model

    def test_a_row_of_zeros_is_a_missing_vector(self):
        texts, rows = ["I love it", "I hate it", "I own it"], vectors(3, 3)
        rows[1] = 0
        first, second, third = emotions(texts, rows, MODEL)
        assert near(second, emotion("I hate it"))
        assert near(first, with_vector("I love it", rows[0]))
        assert near(third, with_vector("I own it", rows[2]))

    def test_half_precision_and_length_do_not_matter(self):
        row = vectors(4, 1)[0]
        given_, kept = with_vector("I see", row), with_vector("I see", row.astype(np.float16))
        assert near(with_vector("I see", 3 * row), given_)
        assert kept.valence == pytest.approx(given_.valence, abs=0.01)

    def test_vectors_that_do_not_fit_are_refused(self):
        with pytest.raises(InvalidInput, match=r"\(2, 384\)"):
            emotions(["a", "b"], vectors(0, 3), MODEL)
        with pytest.raises(InvalidInput, match="384"):
            with_vector("a", np.ones(128, np.float32))
        broken = vectors(0, 1)[0]
        broken[5] = np.nan
        with pytest.raises(InvalidInput, match="finite"):
            with_vector("a", broken)

    def test_no_texts(self):
        assert emotions([]) == emotions([], np.empty((0, 384), np.float32), MODEL) == []


class TestSimilarity:
    @RUN
    @given(MOOD, MOOD)
    def test_it_is_symmetric_and_bounded(self, a, b):
        assert similarity(a, b) == similarity(b, a)
        assert 0 <= similarity(a, b) <= 1
        assert similarity(a, b) <= similarity(a, Emotion(valence=a.valence, arousal=a.arousal, confidence=b.confidence))

    @RUN
    @given(MOOD, MOOD)
    def test_nothing_is_near_what_is_not_known(self, a, b):
        assert similarity(a, Emotion(valence=b.valence, arousal=b.arousal, confidence=0)) == 0

    @RUN
    @given(SIGNED, SIGNED)
    def test_the_same_mood_for_certain_is_one(self, valence, arousal):
        mood = Emotion(valence=valence, arousal=arousal)
        assert similarity(mood, mood) == 1

    def test_opposites_are_far(self):
        assert similarity(Emotion(valence=0.6, arousal=0.6), Emotion(valence=-0.6, arousal=-0.6)) < 0.01

    @pytest.mark.parametrize(
        ("valence", "arousal", "confidence", "felt_"),
        [(0.3, 0, 0.5, True), (0, -0.3, 0.5, True), (0.29, -0.29, 1, False), (1, 1, 0, False), (-0.9, 0, 0.01, True)],
    )
    def test_affect_begins_at_a_floor(self, valence, arousal, confidence, felt_):
        assert has_affect(Emotion(valence=valence, arousal=arousal, confidence=confidence)) is felt_


class TestWeights:
    def test_they_are_read_once_and_small(self):
        assert resources.files("mnemic.emotion").joinpath(estimate.FILE).stat().st_size < 1_000_000
        found = estimate.load()
        assert found is estimate.load()
        assert found.squares == pytest.approx(np.sum(found.centres**2, axis=1))

    def test_the_licence_of_the_data_comes_with_it(self):
        text = resources.files("mnemic.emotion").joinpath("NOTICE.md").read_text(encoding="utf-8")
        assert "EmoBank" in text
        assert "CC BY-SA 4.0" in text

    @pytest.mark.parametrize(
        "content", [b"", b"no archive", b"PK\x03\x04 half of one", None], ids=["empty", "text", "half", "absent"]
    )
    def test_a_damaged_or_missing_file_is_refused(self, content, tmp_path, monkeypatch):
        if content is not None:
            (tmp_path / "weights.npz").write_bytes(content)
        monkeypatch.setattr(resources, "files", lambda package: tmp_path)
        with pytest.raises(ConfigurationError, match="Install mnemic again"):
            estimate.load.__wrapped__()

    @pytest.mark.parametrize("changed", [{}, {"bias": np.array(["code"], object)}], ids=["missing", "an object"])
    def test_arrays_that_are_not_the_weights_are_refused(self, changed, tmp_path, monkeypatch):
        np.savez(tmp_path / "weights.npz", **changed)
        monkeypatch.setattr(resources, "files", lambda package: tmp_path)
        with pytest.raises(ConfigurationError, match="Install mnemic again"):
            estimate.load.__wrapped__()

    def test_nothing_is_read_before_it_is_needed(self):
        code = "import sys, mnemic.emotion.estimate as e; assert not {m for m in sys.modules if 'vader' in m}; assert e.load.cache_info().currsize == 0"
        subprocess.run([sys.executable, "-I", "-c", code], check=True)


def test_names_in_capitals_are_not_shouted():
    shouted = estimate.FEATURES.index("shouted")
    assert estimate.features_of("NATO met in the USA")[shouted] == 0
    assert estimate.features_of("I HATE the USA")[shouted] > 0


def test_a_feature_for_every_name():
    found = estimate.features_of("WOW, what a day!! I am soooo happy... are you?")
    assert found.shape == (len(estimate.FEATURES),)
    assert found.dtype == np.float32
    by_name = dict(zip(estimate.FEATURES, found.tolist(), strict=True))
    assert by_name["exclamations"] == 0.75
    assert by_name["questions"] == pytest.approx(1 / 3)
    assert by_name["shouted"] == 0.25
    for name in ("ellipsis", "stretched", "first_person", "second_person", "opener"):
        assert by_name[name] == 1, name
    assert by_name["ends_exclaiming"] == by_name["amazed"] == by_name["digits"] == 0
