"""The fit leaves behind what the library computes; the set of moods is fair, and its ranking is what it says."""

import io
import json

import numpy as np
import pytest
from benchmarks.quality import emotion as fitting
from benchmarks.quality import mood

from mnemic import Emotion
from mnemic.emotion import estimate
from mnemic.emotion.estimate import FEATURES, features_of


def sentences(count=120):
    draw = np.random.default_rng(5)
    texts = [f"{('I own', 'I love', 'I hate')[i % 3]} thing {i}{'!' * (i % 3 and i % 4)}" for i in range(count)]
    vectors = draw.standard_normal((count, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    columns = np.stack([features_of(text) for text in texts])
    ratings = np.stack(
        [3 + columns[:, FEATURES.index("compound")], 3 + columns[:, FEATURES.index("exclamations")]], axis=1
    )
    documents = np.array([f"d{i // 6}" for i in range(count)])
    return fitting.Sentences(texts, documents, vectors, ratings=ratings, columns=columns)


class TestFit:
    settings = fitting.Settings(centres=16)

    def test_the_library_computes_what_was_fitted(self):
        train = sentences()
        basis = fitting.Nystroem(train, self.settings)
        arrays = basis.fitted(train)
        slope, bias = fitting.ridge(basis.design(train), train.ratings, (1.0, 1.0))
        by_library, by_text = fitting.estimates(arrays, train)
        assert by_library == pytest.approx(basis.design(train) @ slope + bias, abs=1e-3)
        assert fitting.correlation(by_library[:, 0], train.ratings[:, 0]) > 0.9
        assert fitting.correlation(by_text[:, 1], train.ratings[:, 1]) > 0.9

    def test_the_file_is_one_that_the_library_reads(self, monkeypatch):
        monkeypatch.setattr(fitting, "chosen", lambda train: (self.settings, []))
        content, _ = fitting.fit(sentences())
        with np.load(io.BytesIO(content)) as arrays:
            assert arrays["centres"].dtype == np.float16
            assert estimate.complete(arrays).centres.shape == (16, 384 + len(FEATURES))

    def test_no_document_is_divided(self):
        train = sentences()
        fold = fitting.folds(train.documents)
        assert set(fold.tolist()) == set(range(fitting.FOLDS))
        for name in set(train.documents.tolist()):
            assert len(set(fold[train.documents == name].tolist())) == 1

    def test_settings_come_from_what_was_held_out(self, monkeypatch):
        rows = {0.7: (0.5, 0.5), 1.0: (0.6, 0.45)}

        def tried(train, settings):
            v, a = rows[settings.share]
            return [
                {"ridge": 1.0, "r_valence": v, "r_arousal": a - 0.1},
                {"ridge": 4.0, "r_valence": v - 0.1, "r_arousal": a},
            ]

        monkeypatch.setattr(fitting, "tried", tried)
        best, log = fitting.chosen(sentences())
        assert (best.share, best.ridge_valence, best.ridge_arousal) == (1.0, 1.0, 4.0)
        assert len(log) == 16

    def test_the_logistic_regression_finds_the_chance(self):
        seen = np.column_stack([np.repeat([0.0, 1.0], 500), np.ones(1000)])
        right = np.concatenate([np.arange(500) < 250, np.arange(500) < 400])
        slope = fitting.logistic(seen, right)
        assert 1 / (1 + np.exp(-seen[[0, -1]] @ slope)) == pytest.approx([0.5, 0.8], abs=0.01)
        low, high = estimate.confidence(seen[[0, -1]].astype(np.float32), slope.astype(np.float32))
        assert (low, high) == (pytest.approx(0, abs=0.02), pytest.approx(0.6, abs=0.02))


class TestMoods:
    def test_every_subject_has_as_much_of_every_mood(self):
        memories, plain, felt = mood.made(0)
        for subject in mood.SUBJECTS:
            mine = [line.quadrant for line in memories if line.subject == subject]
            assert {quadrant: mine.count(quadrant) for quadrant in mood.MEMORIES} == dict.fromkeys(mood.MEMORIES, 5)
            assert sorted(line.quadrant for line in plain if line.subject == subject) == sorted(mood.QUADRANTS)
        assert len(felt) == 2 * len(plain)
        assert mood.made(0) == mood.made(0) != mood.made(1)

    def test_the_templates_of_memories_and_queries_are_not_the_same(self):
        queries = {text for texts in mood.ASKED_IN_MOOD.values() for text in texts}
        assert not queries & {text for texts in mood.MEMORIES.values() for text in texts}

    def test_mood_lifts_what_is_like_it_and_no_mood_changes_nothing(self):
        cosines, moods = np.array([0.5, 0.45, 0.4]), [Emotion(valence=v, arousal=0.1) for v in (-0.7, 0.0, 0.7)]
        assert mood.ranked(cosines, moods, Emotion(valence=0.7, arousal=0.1), 0.3).tolist() == [2, 1, 0]
        assert mood.ranked(cosines, moods, Emotion(valence=0.7, arousal=0.1), 0.0).tolist() == [0, 1, 2]
        assert mood.ranked(cosines, moods, Emotion(valence=0.1, arousal=0.1), 0.3).tolist() == [0, 1, 2]

    def test_shares_of_the_first_five(self):
        lines = (
            [mood.Line("m", "a", "low")] * 3 + [mood.Line("m", "a", "distressed")] + [mood.Line("m", "b", "fact")] * 2
        )
        found = mood.shares([mood.Line("q", "a", "low")], [np.arange(6)], lines)
        assert found == {"congruent": 60.0, "same_valence": 80.0, "on_subject": 80.0}

    def test_a_run_writes_its_figures(self, monkeypatch, tmp_path):
        class Flat:
            id = "flat"

            def embed(self, texts, *, kind="document"):
                return np.ones((len(texts), 4), np.float32) / 2

            def close(self):
                pass

        monkeypatch.setattr(mood, "default_embedder", lambda cache: Flat())
        mood.main(["--json", str(tmp_path / "out.json"), "--seed", "1"])
        written = json.loads((tmp_path / "out.json").read_text())
        assert written["figures"]["read"]["with"]["congruent"] > written["figures"]["read"]["without"]["congruent"]
        assert written["command"] == "python -m benchmarks.quality.mood --json out.json --seed 1"
