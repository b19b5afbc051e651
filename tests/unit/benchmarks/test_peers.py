import json
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from benchmarks.conversations import Conversation, Question
from benchmarks.quality.peers import __main__ as command
from benchmarks.quality.peers import child, environments, runs
from benchmarks.quality.peers.catalogue import PEERS, Peer
from benchmarks.quality.peers.preparation import COLD_STARTS, LARGE, prepare
from benchmarks.quality.peers.products import ENGINES, _llama_inner
from benchmarks.quality.peers.protocol import Known, Talk, sessions
from benchmarks.quality.questions import ask

from mnemic import HashingEmbedder, Message

BEGUN = datetime(2024, 1, 1, tzinfo=UTC)
SAID = (
    "The bees swarm in May.", "My radio is broken!", "Porto is lovely.", "I keep ten hives.", "We stayed a week.",
    "The dentist was late.", "Jazz on Friday?", "I planted tomatoes.",
)  # fmt: skip


class Steps:
    def __init__(self):
        self.n = 0

    def update(self, by=1):
        self.n += by

    def set_postfix_str(self, text):
        self.last = text


def conversation(name="talk", count=24):
    messages = tuple(
        Message(
            role=("user", "assistant")[i % 2], name=("Ana", "Ben")[i % 2], content=f"{SAID[i % 8]} Number {i}.",
            id=f"{name}:{i}", session=f"{name}:s{i // 6}", sent_at=BEGUN + timedelta(days=i // 6),
        )
        for i in range(count)
    )  # fmt: skip
    questions = (
        Question("When do the bees swarm?", (f"{name}:0", f"{name}:8"), 2),
        Question("Is Porto lovely?", (f"{name}:10",), 4),
        Question("Who keeps hives, and how many?", (f"{name}:3",), 1),
    )
    return Conversation(name, messages, questions)


@pytest.fixture
def talks(tmp_path):
    conversations = [conversation("one"), conversation("two")]
    names = prepare(conversations, HashingEmbedder(), 60, tmp_path)
    return dict(zip(names, conversations, strict=True))


def test_what_is_prepared_can_be_read_back(talks, tmp_path):
    first = Talk.read(tmp_path, "talk-0")
    assert [turn.id for turn in first.turns] == [m.id for m in talks["talk-0"].messages]
    assert first.turns[1].rendered == "Ben: My radio is broken! Number 1."
    assert first.questions == [question.text for question in talks["talk-0"].questions]
    assert datetime.fromisoformat(first.now) == talks["talk-0"].asked_at
    assert np.allclose(
        first.known().of("Is Porto lovely?"), HashingEmbedder().embed(["Is Porto lovely?"], kind="query")[0]
    )
    large = Talk.read(tmp_path, LARGE)
    assert len(large.turns) == len({turn.id for turn in large.turns}) == len(large.turn_vectors) == 60
    assert {turn.id for turn in first.turns} < {turn.id for turn in large.turns}
    asked = [json.loads((tmp_path / f"question-{n}.json").read_text())["text"] for n in range(COLD_STARTS)]
    assert set(asked) <= set(large.questions)


def test_sessions_keep_the_order_and_lose_nothing(talks, tmp_path):
    turns = Talk.read(tmp_path, "talk-1").turns
    parts = list(sessions(turns))
    assert [turn for part in parts for turn in part] == turns
    assert [{turn.session for turn in part} for part in parts] == [{f"two:s{n}"} for n in range(4)]


def test_a_text_that_was_not_prepared_is_an_error():
    known = Known({"a": np.ones(4)})
    assert known.matrix(["a", "a"]).shape == (2, 4)
    with pytest.raises(LookupError, match="not prepared: 'b'"):
        known.of("b")


def test_every_peer_of_the_catalogue_has_an_engine():
    assert set(ENGINES) == set(PEERS)


def test_mnemic_as_a_peer_has_the_figures_of_the_recall_benchmark(talks, tmp_path):
    """The two benchmarks may not come to differ in what they call recall."""
    for answer in child.conversations("mnemic", tmp_path, *talks):
        asked = talks[answer["name"]]
        here = runs._of_conversation(asked, answer)
        there = ask(asked, HashingEmbedder(), budgets=()).values
        shared = set(here) & set(there)
        assert shared == {"R@5", "R@10", "R@20", "session.any@5", "session.any@10"}
        assert {name: here[name] for name in shared} == {name: there[name] for name in shared}
        assert here["R@10 when ten are asked for"] == here["R@10"]


def test_values_of_one_answer():
    session = {"a": "s1", "b": "s1", "c": "s2", "d": "s3"}
    found = runs.answer_values(Question("?", ("c", "d"), 1), [["a", "b"], ["b"], ["c"]], [["a"]], session)
    assert found == {
        "R@5": 0.5, "R@10": 0.5, "R@20": 0.5, "session.any@5": 1.0, "session.any@10": 1.0,
        "R@10 when ten are asked for": 0.0,
    }  # fmt: skip


def test_a_peer_is_measured_in_processes_of_its_own(talks, tmp_path, monkeypatch):
    here = {"python": sys.executable, "packages": 2, "mb": 7.0, "installed": {"rank-bm25": "0.2.2", "numpy": "2"}}
    monkeypatch.setattr(runs, "ensure", lambda peer, folder: here)
    steps = Steps()
    found = runs.measure(PEERS["rank-bm25"], talks, tmp_path, tmp_path / "environments", steps)
    assert "error" not in found
    assert found["versions"] == {"rank-bm25": "0.2.2"}
    assert found["recall"]["R@5"]["questions"] == 6
    assert found["recall"]["R@20"]["mean"] > 50
    assert found["rows"] == 60
    assert found["disk_kb_per_1000"] is None
    assert found["cold_cpu_s"] > 0
    assert found["rss_mb"] > 5
    assert steps.n == len(talks) + 2
    assert not list(tmp_path.glob("store-*"))


def test_a_peer_that_does_not_install_is_reported_without_paths(talks, tmp_path, monkeypatch):
    def fails(peer, folder):
        raise RuntimeError(
            "pip failed:\nCollecting\nno wheel in /home/ana/wheels/x.whl\nsee https://example.org/simple\nend"
        )

    monkeypatch.setattr(runs, "ensure", fails)
    found = runs.measure(PEERS["mem0"], talks, tmp_path, tmp_path, Steps())
    assert found["error"] == "no wheel in x.whl | see (address) | end"
    assert found["label"] == "mem0"


def test_a_peer_that_does_not_run_is_reported(talks, tmp_path, monkeypatch, capsys):
    here = {"python": sys.executable, "packages": 1, "mb": 1.0, "installed": {}}
    monkeypatch.setattr(runs, "ensure", lambda peer, folder: here)
    nobody = Peer("nobody", "Nobody", ("nobody==1",), "none")
    found = runs.measure(nobody, talks, tmp_path, tmp_path, Steps())
    assert "KeyError: 'nobody'" in found["error"]
    command.show({"nobody": found})
    assert "Nobody did not run:" in capsys.readouterr().out


def test_an_environment_is_made_once_and_helpers_are_not_counted(tmp_path, monkeypatch):
    packages = tmp_path / "packages"
    packages.mkdir()
    said = []

    def run(*line):
        said.append(line[1:3] if "venv" in line else line[2:])
        if "venv" in line:
            (tmp_path / "it").mkdir()
        if "install" in line:
            (packages / line[-1]).write_bytes(b"x" * 2_000_000)
        if "list" in line:
            return json.dumps(
                [{"name": path.name, "version": "1"} for path in packages.iterdir()] + [{"name": "pip", "version": "1"}]
            )
        return str(packages)

    monkeypatch.setattr(environments, "run", run)
    peer = Peer("it", "It", ("its",), "", helpers=("helper",))
    found = environments.ensure(peer, tmp_path)
    assert (found["packages"], found["mb"], found["installed"]) == (1, 2.0, {"its": "1", "helper": "1"})
    made = len(said)
    assert environments.ensure(peer, tmp_path) == found
    assert len(said) == made
    environments.ensure(Peer("it", "It", ("its", "more"), "", helpers=("helper",)), tmp_path)
    assert len(said) == 2 * made


def test_the_block_s_tag_is_taken_off():
    assert _llama_inner("<message role='user'>one:3\nAna: Ten\nhives.</message>") == ("one:3", "Ana: Ten\nhives.")


def test_the_table_and_the_plot_show_every_peer(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    recall = {name: {"mean": 50.0} for name in ("R@5", "R@10", "R@20", "session.any@5", "session.any@10")}
    measured = {
        "label": "It", "product": True, "recall": recall | {"R@10 when ten are asked for": {"mean": 40.0}},
        "add_rows_per_cpu_s": 9.0, "search_cpu_ms_conversation": 1.0, "search_50": {"cpu_ms_p50": 2.0},
        "search_10": {"cpu_ms_p50": 1.0}, "cold_cpu_s": 0.5, "import_cpu_ms": 3.0, "rss_mb": 60.0,
        "disk_kb_per_1000": None, "packages": 3, "mb": 4.0,
    }  # fmt: skip
    figures = {"it": measured, "gone": {"label": "Gone", "product": False, "error": "no wheel"}}
    command.show(figures)
    out = capsys.readouterr().out
    assert "It: R@10 is 40.0 when ten are asked for, 50.0 when 50 are" in out
    assert "Gone did not run: no wheel" in out
    command.plot(figures, tmp_path / "peers.svg")
    drawn = (tmp_path / "peers.svg").read_text()
    assert "<svg" in drawn
    assert "It" in drawn


def test_an_unknown_peer_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.arguments(["--data", "x.json", "--peers", "mnemic,nobody"])
    assert "no such peer: nobody" in capsys.readouterr().err
