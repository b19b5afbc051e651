import json

from benchmarks import reporting
from benchmarks.quality import knowledge
from benchmarks.quality.knowledge import Gold

TURNS = (
    ("Ana", "I keep bees on the roof of my house in Porto."),
    ("Ben", "Wow, really?"),
    ("Ana", "Yes! My sister Joana repairs old radios."),
    ("Ben", "I ran a marathon in Berlin last year."),
)
NOTED = {
    "Ana": [
        ["Ana keeps bees on the roof of her house.", "D1:1"],
        ["Joana, the sister of Ana, repairs radios.", ["D1:3"]],
    ],
    "Ben": [["Ben collects stamps from Peru.", "D1:4"], ["A fact of nowhere.", "D9:9"]],
}


def write_file(folder):
    turns = [{"speaker": s, "dia_id": f"D1:{n}", "text": text} for n, (s, text) in enumerate(TURNS, start=1)]
    talk = {"speaker_a": "Ana", "session_1": turns, "session_1_date_time": "9:00 am on 1 June, 2024"}
    file = folder / "tiny.json"
    file.write_text(
        json.dumps([{"sample_id": "talk", "conversation": talk, "observation": {"s1": NOTED}}]), encoding="utf-8"
    )
    return file


def test_gold_facts_keep_only_evidence_that_exists(tmp_path):
    gold = knowledge.gold_facts(write_file(tmp_path))["talk"]
    assert [g.evidence for g in gold] == [("talk:D1:1",), ("talk:D1:3",), ("talk:D1:4",)]


def test_coverage_asks_for_evidence_words_and_few_messages():
    gold = [Gold("Ana keeps bees on the roof.", ("m1",))]
    text = "Ana keeps bees."

    def covered(*memories):
        return knowledge.coverage(gold, memories)

    assert covered((text, ("m1",))) == {"facts": 1, "cited": 1, "covered": 1}
    assert covered((text, ("m2",))) == {"facts": 1, "cited": 0, "covered": 0}
    assert covered((text, ("m1", "m2", "m3", "m4"))) == {"facts": 1, "cited": 0, "covered": 0}
    assert covered(("Ana likes bees.", ("m1",))) == {"facts": 1, "cited": 1, "covered": 0}
    assert covered(("Ana keeps", ("m1",)), ("bees, roof", ("m1",))) == {"facts": 1, "cited": 1, "covered": 0}


def test_the_result_says_how_it_was_made_and_names_no_folder(tmp_path, capsys):
    file, out = write_file(tmp_path), tmp_path / "out.json"
    knowledge.main(["--data", str(file), f"--json={out}"])
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["command"] == "python -m benchmarks.quality.knowledge --data tiny.json --json=out.json"
    assert str(tmp_path) not in out.read_text(encoding="utf-8")
    assert result["data"]["sha256"] == reporting.sha256(file)
    found = result["figures"]
    assert (found["facts"], found["messages"], found["memories"]) == (3, 4, 3)
    assert found["coverage"] == 66.7
    assert found["coverage_by_conversation"] == {"talk": 66.7}
    assert found["per_message"] == 0.75
    assert set(found) <= {
        *knowledge.DEFINITIONS,
        "facts",
        "messages",
        "memories",
        "types",
        "coverage_by_conversation",
    } | {"memories"}
    assert "coverage" in capsys.readouterr().out
