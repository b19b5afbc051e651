"""The scale study: rows that were made, figures of a small run, runs put together, curves."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

pytest.importorskip("psutil")

from benchmarks.conversations import Conversation, Question
from benchmarks.scale import at_once, made, recall, study

from mnemic import HashingEmbedder, Message


def test_rows_are_the_same_every_time_and_unit_vectors():
    first, again = (list(made.batches(made.Made(50), size=20)) for _ in range(2))
    assert [batch.first for batch in first] == [0, 20, 40]
    assert [batch.texts for batch in first] == [batch.texts for batch in again]
    every = np.concatenate([batch.vectors for batch in first])
    assert every.shape == (50, made.DIMENSION)
    np.testing.assert_allclose(np.linalg.norm(every, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(every, np.concatenate([batch.vectors for batch in again]))
    assert all(8 <= len(text.split()) < 40 for batch in first for text in batch.texts)


def test_words_are_zipf():
    words = " ".join(made.Made(1).texts(3000)).split()
    shares = [words.count(f"word{n}") / len(words) for n in (1, 10)]
    assert shares[0] > 5 * shares[1] > 0


@pytest.mark.parametrize(("layout", "own"), [("shared", 3), ("whole", 300)])
def test_a_small_run_has_all_figures(layout, own):
    run = study.one("sqlite", 300, layout, 4)
    assert run["stored"]["rows"] == 300
    assert run["stored"]["of_the_user"] == own
    for name in ("add", "search", "vector_search", "filtered_search"):
        assert run[name]["calls"] == 4
        assert run[name]["cpu_ms_p50"] > 0
        assert run[name]["server_cpu_ms_mean"] == 0
    assert run["vectors"]["chosen"]["recall"] == min(own, 10) / 10
    assert run["cold"]["rss_mb"] > 10
    assert run["disk_mb"] > 0


def test_a_run_takes_the_place_of_the_same_one_before(tmp_path):
    path = tmp_path / "f.json"
    runs = [{"engine": name, "rows": 10, "layout": "shared", "v": 1} for name in ("postgres", "sqlite")]
    path.write_text(json.dumps({"figures": {"runs": runs}}))
    after = study.merged(path, [{"engine": "sqlite", "rows": 10, "layout": "shared", "v": 2}])
    assert [(run["engine"], run["v"]) for run in after] == [("sqlite", 2), ("postgres", 1)]


def test_the_picture_is_the_same_for_the_same_runs(tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks.scale import plotting

    call = {"cpu_ms_p50": 1.0, "server_cpu_ms_mean": 0.5}
    runs = [
        {
            "engine": engine, "rows": rows, "layout": layout, "search": call, "filtered_search": call, "add": call,
            "cold": {"wall_ms": 9.0}, "disk_mb": 3.0,
        }
        for engine in ("sqlite", "postgres") for rows in (10, 100) for layout in ("shared", "whole")
    ]  # fmt: skip
    first = plotting.draw(runs, tmp_path / "a").read_bytes()
    assert b"<svg" in first
    assert first == plotting.draw(runs, tmp_path / "b").read_bytes()


def test_recall_on_an_engine_is_of_every_question_alone_and_together():
    said = ("bees live on the roof", "radios are repaired at night", "the marathon is in May")
    talks = [
        Conversation(
            name,
            tuple(
                Message(role="user", content=f"{name}: {text}", id=f"m{n}", session="s", sent_at=datetime(2024, 1, 1, tzinfo=UTC))
                for n, text in enumerate(said)
            ),
            (Question(f"Where do the bees of {name} live?", ("m0",), 1), Question("bees?", ("m0", "never said"), 1)),
        )
        for name in ("Ana", "Ben")
    ]  # fmt: skip
    assert recall.measured(talks, HashingEmbedder(), "sqlite") == {
        "alone R@10": 75.0, "alone asked": 0, "together R@10": 75.0, "together asked": 0, "questions": 4,
    }  # fmt: skip
    with pytest.raises(SystemExit):
        recall.main(["--data", "none.json", "--engines", "sqlite,nothing"])


def test_searches_at_once_are_all_timed():
    with at_once.made_folder(60) as (location, file):
        run = at_once.measured(location, file, 4, 2, 3)
    assert run["searches"] == 12
    assert 0 < run["p50_ms"] <= run["p95_ms"] <= run["max_ms"]
