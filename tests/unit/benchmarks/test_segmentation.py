import json
import math

import numpy as np
import pytest
from benchmarks.quality import segmentation

from mnemic import HashingEmbedder
from mnemic.knowledge.segmentation import WEIGHTS


def dialogue(number, subjects):
    words = (
        "harbour ship sail anchor",
        "flour oven bread yeast",
        "violin bow string concert",
        "goal pitch referee match",
    )
    utterances = [
        f"the {words[s % 4]} thing number {number} {n}" for s, size in enumerate(subjects) for n in range(size)
    ]
    return {"utterances": utterances, "segments": list(subjects)}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([dialogue(n, [4 + n % 2, 3, 5]) for n in range(6)] + [dialogue(9, [2])]))
    return path


def test_the_window_is_half_the_mean_length_of_the_subjects_and_at_least_two():
    assert segmentation.window(24, 4) == 3
    assert segmentation.window(6, 3) == 2
    assert segmentation.window(40, 2) == 10


def test_pk_and_window_diff_by_hand():
    assert segmentation.errors([0, 4], [0, 4], 8) == (0.0, 0.0)
    # k = 2: pairs (0,2) .. (5,7); marked apart: (2,4), (3,5); found apart: none
    assert segmentation.errors([0, 4], [0], 8) == pytest.approx((100 * 2 / 6, 100 * 2 / 6))
    # found 4 and 5: (4,6) is split besides, and (3,5) holds two boundaries in the place of one
    pk, window_diff = segmentation.errors([0, 4], [0, 4, 5], 8)
    assert pk == pytest.approx(100 * 1 / 6)
    assert window_diff == pytest.approx(100 * 2 / 6)
    assert segmentation.errors([0], [0, 1], 2) is None


def test_the_interval_is_that_of_a_mean():
    found = segmentation.summary(np.array([[10.0, 20.0], [30.0, 20.0]]))
    assert found == {
        "pk": 20.0, "pk_interval": round(1.96 * math.sqrt(200) / math.sqrt(2), 1), "window_diff": 20.0, "window_diff_interval": 0.0,
        "dialogues": 2,
    }  # fmt: skip


def test_texttiling_cuts_where_the_similarity_dips(file):
    first = segmentation.load(file, HashingEmbedder())[0]
    assert first.starts == (0, 4, 7)
    assert segmentation.tiled(first) == [0, 4, 7]


def test_every_dialogue_is_scored_once_by_weights_of_the_others(file):
    files = {"talks": segmentation.load(file, HashingEmbedder())}
    held, weights = segmentation.cross_validated(files, 3)
    assert (
        held["talks"]["global"]["dialogues"] == held["talks"]["causal"]["dialogues"] == 6
    )  # the seventh has one window
    assert len(weights) == 3
    assert held["talks"]["global"]["pk"] < segmentation.fixed(files["talks"])["none"]["pk"]


def test_fitting_never_ends_worse_than_it_began(file):
    files = {"talks": segmentation.load(file, HashingEmbedder())}

    def pk(weights):
        return segmentation.mean_pk(files, lambda d: segmentation.cut(d.boundary_features, weights))

    assert pk(segmentation.fitted(files)) <= pk(segmentation.NEUTRAL)


def test_a_run_writes_what_it_depends_on(file, tmp_path, monkeypatch, capsys):
    class Kept(HashingEmbedder):
        def close(self):
            pass

    monkeypatch.setattr(segmentation, "default_embedder", lambda file: Kept())
    out = tmp_path / "out.json"
    result = segmentation.main(["--data", str(file), "--folds", "1", "--json", str(out)])
    assert json.loads(out.read_text()) == json.loads(json.dumps(result))
    assert result["command"] == "python -m benchmarks.quality.segmentation --data talks.json --folds 1 --json out.json"
    assert len(result["data"]["talks.json"]) == 64
    assert result["settings"]["weights"]["price"] == WEIGHTS.price
    assert set(result["figures"]["files"]["talks"]) == {"default", "without_vectors", "texttiling", "none"}
    assert "default causal" in capsys.readouterr().out
