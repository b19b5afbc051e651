"""Every command of a benchmark that the pages name runs, at its smallest size."""

import itertools
import json
import re
import runpy
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from benchmarks.speed.measures import ONE_THREAD

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/README.md", *(ROOT / "docs").rglob("*.md"))
NAMED = {name for page in PAGES for name in re.findall(r"python -m (benchmarks[\w.]*\w)", page.read_text("utf-8"))}

WORDS = "bees radio Porto garden tram violin river bread letters chess".split()
TOLD = [f"I keep the {word} on day {day}, and I like it." for day, word in enumerate(WORDS)]

COMMANDS = {
    "benchmarks.quality.agents": "--data agents.jsonl --embedder hashing --prompts",
    "benchmarks.quality.changes": "--form two --cases 2",
    "benchmarks.quality.chats": "--chats 2",
    "benchmarks.quality.consolidation": "--part planted --groups 2",
    "benchmarks.quality.emotion": "score --data emotion.csv",
    "benchmarks.quality.evidence": "--data locomo.json",
    "benchmarks.quality.evidence_small": "--data locomo.json --questions 2",
    "benchmarks.quality.grade_fit": "--agents agents.jsonl --cases 2 --memories 2 --chats 2",
    "benchmarks.quality.knowledge": "--data locomo.json",
    "benchmarks.quality.languages": "--embedder hashing",
    "benchmarks.quality.llm_cost": "--data locomo.json --messages 4",
    "benchmarks.quality.locomo": "--data locomo.json --embedder hashing --budgets 500",
    "benchmarks.quality.mood": "--via function",
    "benchmarks.quality.need_fit": "",
    "benchmarks.quality.pasted": "",
    "benchmarks.quality.precision": "--data beliefs.json",
    "benchmarks.quality.procedures": "--embedder hashing",
    "benchmarks.quality.reader_fit": "updates --cases 2 --epochs 1 --save learnt",
    "benchmarks.quality.recency_fit": "--sequences 1 --cases 2 --stories stories.json --talk talk/conversations.json --locomo locomo.json --agents agents.jsonl",
    "benchmarks.quality.relevance_fit": "--locomo locomo.json --friends friends.jsonl --agents agents.jsonl --memories 2 --chats 2",
    "benchmarks.quality.segmentation": "--data dialogues.json --folds 2",
    "benchmarks.quality.talk": "--data talk",
    "benchmarks.quality.worth_fit": "--talk talk --left-out 1",
    "benchmarks.quality.updates": "--sequences 1 --family tuned",
    "benchmarks.scale.at_once": "--rows 50 --at-once 1 --processes 1 --calls 4",
    "benchmarks.scale.recall": "--data locomo.json --engines sqlite",
    "benchmarks.scale.study": "--rows 200 --engines sqlite --layouts one --calls 2",
    "benchmarks.speed.adapters": "--only langchain --rounds 1 --repeats 1",
    "benchmarks.speed.embedding": "--rounds 1 --texts 8",
    "benchmarks.speed.tracing": "--rows 40 --rounds 1 --embedder hashing",
    "benchmarks.speed.explorer": "--messages 50 --memories 60 --calls 1 --rounds 1",
}
ELSEWHERE = {"benchmarks.speed.hotspots", "benchmarks.speed.store"}
"""``test_speed`` runs these from their commands, and reads the figures."""

INSTALLING = {"benchmarks.quality.peers", "benchmarks.speed.weight"}
"""They make environments from a package index: minutes, and not offline."""

CHROMA = {
    "benchmarks.scale.chroma_filter": "--rows 300 --share 10 --queries 2",
    "benchmarks.scale.chroma_opening": "--rows 300",
}

ENCRYPTED = {"benchmarks.speed.encryption": "--rows 40 --rounds 1"}


def write_data(folder):
    turns = [{"id": f"t{n}", "role": ("user", "assistant")[n % 2], "text": text} for n, text in enumerate(TOLD)]
    asked = [
        {"question": f"Where are the {word}?", "kind": "kind", "before": None, "evidence": [f"t{n}"], "original": [], "updated": []}
        for n, word in enumerate(WORDS[:3])
    ]  # fmt: skip
    talk = {"id": "beam-1", "kind": "assistant", "sessions": [{"id": "s", "at": "2024-03-15T00:00:00", "turns": turns}], "questions": asked}  # fmt: skip
    said = [{"speaker": ("Ana", "Ben")[n % 2], "dia_id": f"D1:{n}", "text": text} for n, text in enumerate(TOLD)]
    locomo = [
        {
            "sample_id": f"talk-{part}",
            "conversation": {"speaker_a": "Ana", "speaker_b": "Ben", "session_1": said, "session_1_date_time": "9:00 am on 1 June, 2024"},
            "qa": [{"question": f"Where is the {word}?", "evidence": [f"D1:{n}"], "category": 1 + n % 5} for n, word in enumerate(WORDS[:5])],
            "observation": {"session_1_observation": {"Ana": [[TOLD[0], "D1:0"]]}},
        }
        for part in range(2)
    ]  # fmt: skip
    dialogues = [{"utterances": TOLD[:6], "segments": [3, 3]} for _ in range(4)]
    emotion = "id,split,V,A,D,text\n" + "".join(
        f"{n},{('train', 'dev')[n % 2]},{2 + n % 3},{2 + n % 3 + n % 2 * 0.05},3.0,I {felt} {word}!\n"
        for n, (felt, word) in enumerate(itertools.product(("love", "hate", "keep", "mourn"), WORDS))
    )
    data = ROOT / "benchmarks/quality"
    (folder / "talk").mkdir()
    (folder / "talk/conversations.json").write_text(
        json.dumps(json.loads((data / "talk_by_others/conversations.json").read_text("utf-8"))[:1])
    )
    (folder / "stories.json").write_text(
        json.dumps(json.loads((data / "values_that_change.json").read_text("utf-8"))[:3])
    )
    (folder / "agents.jsonl").write_text(json.dumps(talk) + "\n")
    beliefs = {"name": "one", "beliefs": [{"id": "b1", "text": TOLD[0]}], "cases": [{"query": TOLD[0], "expected": ["b1"]}, {"query": "hi", "expected": []}]}  # fmt: skip
    (folder / "beliefs.json").write_text(json.dumps([beliefs]))
    scenes = [
        talk | {"id": f"scene-{part}", "sessions": [{"id": "s", "at": None, "turns": [turn | {"speaker": "Ana"} for turn in turns]}]}
        for part in range(2)
    ]  # fmt: skip
    (folder / "friends.jsonl").write_text("\n".join(map(json.dumps, scenes)))
    (folder / "locomo.json").write_text(json.dumps(locomo))
    (folder / "dialogues.json").write_text(json.dumps(dialogues))
    (folder / "emotion.csv").write_text(emotion)


def run(command, arguments, tmp_path, monkeypatch):
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, value in ({"PYTHONPATH": str(ROOT)} | ONE_THREAD).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delitem(sys.modules, command, raising=False)
    monkeypatch.setattr(sys, "argv", [command, *arguments.split()])
    with suppress(SystemExit):
        runpy.run_module(command, run_name="__main__")


def test_every_command_of_the_pages_is_here():
    assert {"benchmarks.quality.locomo", "benchmarks.speed.store"} <= NAMED
    assert COMMANDS.keys() | CHROMA.keys() | ENCRYPTED.keys() | ELSEWHERE | INSTALLING == NAMED


@pytest.mark.benchmarks
@pytest.mark.parametrize("command", COMMANDS)
def test_it_runs(command, tmp_path, monkeypatch, capsys):
    run(command, COMMANDS[command], tmp_path, monkeypatch)
    assert capsys.readouterr().out


@pytest.mark.engine
@pytest.mark.parametrize("command", CHROMA)
def test_it_runs_with_chroma(command, tmp_path, monkeypatch, capsys):
    run(command, CHROMA[command], tmp_path, monkeypatch)
    assert capsys.readouterr().out


@pytest.mark.encrypted
@pytest.mark.parametrize("command", ENCRYPTED)
def test_it_runs_encrypted(command, tmp_path, monkeypatch, capsys):
    run(command, ENCRYPTED[command], tmp_path, monkeypatch)
    assert capsys.readouterr().out
