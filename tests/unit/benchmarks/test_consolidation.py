import json
import random
from itertools import combinations

from benchmarks.quality import consolidation, consolidation_reader
from benchmarks.quality.consolidation_texts import conflicting_pair, restatements, reworded, statement

from mnemic import HashingEmbedder, Memory
from mnemic.text.differences import differs


def test_tellings_say_the_same_and_pairs_do_not():
    draw, seen = random.Random(1), set()
    same = [restatements(draw, statement(draw, seen)) for _ in range(60)]
    assert sum(not any(differs(a, b) for a, b in combinations(texts, 2)) for texts in same) > 20
    assert all(differs(*conflicting_pair(draw, statement(draw, seen))) for _ in range(100))
    assert len({text for texts in same for text in texts}) == 180
    loose = reworded(draw, "Ana keeps the old guitar in the attic")
    assert any("stores" in text for text in loose)
    assert any("the guitar" in text for text in loose)


def test_statements_are_drawn_once():
    seen = set()
    draw = random.Random(0)
    assert len([statement(draw, seen) for _ in range(2000)]) == len(seen)


def test_a_group_counts_only_with_its_whole_lineage():
    with Memory(":memory:", embedder="hashing") as memory:
        for place in range(3):
            memory.remember(f"The box stands in the cellar{', as said' * place}.", importance=0.9, id=f"x{place}")
        assert not consolidation.merged(memory, (0, 1, 2))
        memory.consolidate(min_age_hours=0, similarity_threshold=0.5)
        assert consolidation.merged(memory, (0, 1, 2))
        assert not consolidation.merged(memory, (0, 1))


def test_planted_groups_are_found_and_taken_back():
    found = consolidation.planted_figures(HashingEmbedder(), groups=40, pairs=10, filler=110, seed=0, loose=False)
    assert (found["merged"], found["conflicting_merged"], found["unaccounted"], found["restored"]) == (
        100.0,
        0,
        0,
        100.0,
    )
    assert found["memories"] == 40 * 3 + 20 + 110
    assert found["cycles"] > 1


def test_a_reader_is_measured_alone_and_beside_real_cycles(monkeypatch):
    monkeypatch.setattr(consolidation_reader, "ROUNDS", 1)
    # Until a cycle has come to its end beside each reader, however busy the machine.
    for seconds in (0.3, 1.0, 4.0, 16.0):
        monkeypatch.setattr(consolidation_reader, "SECONDS", seconds)
        found = consolidation_reader.reader_figures(
            300, lambda folder: consolidation.crowd(folder, 300, 0).close(), consolidation.asked()
        )
        if all(line["cycles"] for line in found):
            break
    assert [(line["background"], line["apart_ms"]) for line in found] == [
        ("thread", 0), ("thread", 20), ("process", 0), ("process", 20),
    ]  # fmt: skip
    for line in found:
        assert line["cycles"] >= 1
        assert min(*line["searches"], *line["wall_p95_ms"], *line["cpu_p95_ms"]) > 0


def test_the_cost_names_its_size():
    found = consolidation.cost_figures(400, cycles=2, seed=0)
    assert (found["memories"], found["seeds"]) == (400, 50)
    assert found["cycle_cpu_ms"] > 0


def test_parts_are_written_beside_each_other(tmp_path, monkeypatch, capsys):
    out = tmp_path / "out.json"
    monkeypatch.setattr(consolidation, "_part", lambda options: {options.part: {"figure": 1}})
    for part in ("cost", "planted"):
        consolidation.main(["--part", part, "--json", str(out)])
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["figures"] == {"cost": {"figure": 1}, "planted": {"figure": 1}}
    assert result["commands"]["cost"] == "python -m benchmarks.quality.consolidation --part cost --json out.json"
    assert str(tmp_path) not in out.read_text(encoding="utf-8")
    assert "figure" in capsys.readouterr().out
