import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from benchmarks.conversations import Conversation, Question
from benchmarks.speed import corpus, engines, fresh, hotspots, store, tenant
from benchmarks.speed.children import known_texts, rounds
from benchmarks.speed.measures import Timings, folder_bytes, percentile

from mnemic import HashingEmbedder, Message

BEGUN = datetime(2024, 1, 1, tzinfo=UTC)
SAID = ("The bees swarm in May. I keep ten hives.", "My radio is broken!", "Porto is lovely. We stayed a week.", "Ok.")


def conversation(name="talk", rounds_=4):
    messages = tuple(
        Message(
            role="user", name=("Ana", "Ben")[i % 2], content=f"{SAID[i % 4]} Number {i}.", id=f"{name}:{i}",
            session=f"{name}:{i // 4}", sent_at=BEGUN + timedelta(days=i // 4),
        )
        for i in range(4 * rounds_)
    )  # fmt: skip
    questions = (
        Question("When do the bees swarm?", (f"{name}:0",), 2),
        Question("Is Porto lovely?", (f"{name}:2",), 4),
    )
    return Conversation(name, messages, questions)


@pytest.fixture(scope="module")
def real():
    return corpus.prepare([conversation()], HashingEmbedder())


def test_a_corpus_grows_from_its_own_sentences_the_same_way_each_time(real):
    grown, again = corpus.grown(real, 60), corpus.grown(real, 60)
    assert grown.rows == again.rows
    assert np.array_equal(grown.vectors, again.vectors)
    assert grown.rows[: len(real.rows)] == real.rows
    assert len(grown.rows) == len(grown.vectors) == 60
    assert len({row.id for row in grown.rows}) == 60
    words = {word for row in real.rows for word in row.text.split()}
    assert {word for row in grown.rows for word in row.text.split()} <= words
    assert np.linalg.norm(grown.vectors, axis=1) == pytest.approx(np.ones(60), abs=1e-3)
    assert max(row.sent_at for row in real.rows) < min(row.sent_at for row in grown.rows[len(real.rows) :])


def test_a_made_up_row_is_nearest_to_the_turns_it_was_made_from(real):
    grown = corpus.grown(real, 80)
    made = grown.rows[len(real.rows) :]
    nearest = (grown.vectors[len(real.rows) :] @ real.vectors.T).argmax(axis=1)
    related = [
        bool(set(row.text.split()) & set(real.rows[at].text.split())) for row, at in zip(made, nearest, strict=True)
    ]
    assert np.mean(related) > 0.9


def test_a_corpus_can_be_cut_and_read_back(real, tmp_path):
    cut = corpus.grown(real, 5)
    cut.write(tmp_path)
    found = corpus.read(tmp_path)
    assert [asdict(row) for row in found.rows] == [asdict(row) for row in real.rows[:5]]
    assert np.array_equal(found.vectors, real.vectors[:5])
    assert found.questions == ["When do the bees swarm?", "Is Porto lovely?"]


def test_questions_are_spread_over_what_is_asked():
    asked = corpus.prepare([conversation("a"), conversation("b"), conversation("c")], HashingEmbedder(), questions=3)
    assert asked.questions == ["When do the bees swarm?", "When do the bees swarm?", "Is Porto lovely?"]


def test_texts_of_twenty_words(real):
    assert {len(row.text.split()) for row in corpus.of_twenty_words(real).rows} == {20}


@pytest.mark.parametrize("name", ["mnemic", "script"])
def test_an_engine_finds_what_was_loaded_and_what_was_added_after_opening_again(name, real, tmp_path):
    grown = corpus.grown(real, 40)
    late = replace(grown.rows[39], text="The lighthouse keeper paints at night.")
    grown = replace(grown, rows=[*grown.rows[:39], late])
    engine = engines.ENGINES[name]()
    engine.library()
    engine.open(tmp_path / name, *known_texts(grown), durable=False)
    engine.load(grown.rows[:39], grown.vectors[:39])
    engine.add(engine.prepared(late), grown.vectors[39])
    assert late.id in engine.search("Who paints at night?", grown.vectors[39])
    engine.close()
    assert folder_bytes(tmp_path / name) > 0
    engine.open(tmp_path / name, *known_texts(grown))
    best = engine.search("When do the bees swarm?", grown.question_vectors[0])[0]
    assert "bees swarm" in next(row.text for row in grown.rows if row.id == best)
    assert late.id in engine.search("Who paints at night?", grown.vectors[39])
    engine.close()


def test_fusion_rewards_what_both_rankings_name():
    assert engines.fused(["a", "b", "c"], ["d", "b"])[0] == "b"
    assert len(engines.fused(range(50), range(50, 100))) == 10


def test_foreign_rows_change_neither_hits_nor_recall():
    found = tenant.measure([conversation("mine"), conversation("theirs")], HashingEmbedder(), foreign=400)
    assert found["questions_with_identical_scores"] == found["questions_with_the_same_hits"] == found["questions"] == 2
    assert found["R@10_difference"] == 0.0
    assert found["R@10_alone"] == 100.0
    assert found["user_with_1_percent"]["rows"] == 4
    assert found["foreign_rows"] == 400


def test_percentiles_are_those_of_numpy():
    values = [5.0, 1.0, 4.0, 2.0, 3.5]
    assert [percentile(values, p) for p in (0, 50, 95, 100)] == pytest.approx(np.percentile(values, (0, 50, 95, 100)))


def test_timings_give_back_the_answer_and_count_the_calls():
    timings = Timings()
    assert [timings.of(max, i, 2) for i in range(4)] == [2, 2, 2, 3]
    summary = timings.summary()
    assert summary["calls"] == 4
    assert set(summary) == {"calls"} | {f"{clock}_ms_p{p}" for clock in ("cpu", "wall") for p in (10, 50, 95)}


def test_rounds_cover_every_call_once():
    assert rounds(45, 20) == [(0, 20), (20, 40), (40, 45)]


def test_ratios_compare_mnemic_with_the_others():
    def times(value):
        return {"wall_ms_p50": value, "wall_ms_p10": value / 4, "cpu_ms_p50": value / 2}

    found = {
        name: {"add": times(add), "search": times(search)}
        for name, add, search in (("mnemic", 2.0, 3.0), ("script", 1.0, 2.0), ("chroma", 20.0, 1.0))
    }
    assert store.ratios(found)["add_wall_ms_p50_over_script"] == 2.0
    assert store.ratios(found)["add_wall_ms_p50_over_chroma"] == 0.1
    assert store.ratios(found)["search_cpu_ms_p50_over_script"] == 1.5
    assert store.ratios({"script": found["script"]}) == {}


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A file of one conversation, and every benchmark of speed at its smallest size, without the default model."""
    turns = [
        {"speaker": ("Ana", "Ben")[i % 2], "dia_id": f"D1:{i + 1}", "text": f"{SAID[i % 4]} Number {i}."}
        for i in range(12)
    ]
    talk = {"speaker_a": "Ana", "speaker_b": "Ben", "session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    asked = [{"question": "When do the bees swarm?", "answer": "May", "evidence": ["D1:1"], "category": 2}]
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([{"sample_id": name, "conversation": talk, "qa": asked} for name in ("a", "b")]))

    class Closable(HashingEmbedder):
        def close(self):
            """Nothing is open."""

    for module in (store, hotspots):
        monkeypatch.setattr(module, "default_embedder", lambda file: Closable())
        monkeypatch.setattr(module, "pin_threads", lambda module, given: None)
        monkeypatch.setattr(module, "ADDS", 2)
    for name, value in {"INTERLEAVED": 1, "FOOTPRINT_ROWS": 30, "FOREIGN": 200}.items():
        monkeypatch.setattr(store, name, value)
    monkeypatch.setattr(fresh, "REPEATS", 1)
    monkeypatch.chdir(Path(__file__).parents[3])
    return file


def test_the_benchmark_of_the_store_runs_from_its_command(small, tmp_path):
    out = tmp_path / "speed.json"
    given = ["--data", str(small), "--rows", "30", "--engines", "mnemic,script", "--tenant", "--json", str(out)]
    store.main(given)
    found = json.loads(out.read_text())["figures"]
    for engine in ("mnemic", "script"):
        assert found["sizes"]["30"][engine]["add"]["calls"] == 2
        assert found["sizes"]["30"][engine]["search"]["cpu_ms_p50"] > 0
        assert found["sizes"]["30"][engine]["texts_without_vector"] == 0
        assert found["sizes"]["30"][engine]["mb_on_disk"] > 0
    assert found["sizes"]["30"]["ratios"]["add_cpu_ms_p50_over_script"] > 0
    assert found["tenant"]["R@10_difference"] == 0


def test_the_hotspots_are_listed_from_their_command(small, capsys):
    hotspots.main(["--data", str(small), "--rows", "20"])
    printed = capsys.readouterr().out
    assert "indexer.py" in printed
    assert "per search" in printed
