"""Every file of the cookbook runs, with warnings as errors."""

import asyncio
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic import Memory

COOKBOOK = Path(__file__).parents[2] / "cookbook"
NUMBERED = sorted(COOKBOOK.glob("[0-9][0-9]_*.py"))
NEEDS = {
    "langchain": "langchain_mnemic", "langgraph": "langchain_mnemic", "agents_that_share": "langchain_mnemic",
    "llamaindex": "llama_index.memory.mnemic", "over_mcp": "mnemic_mcp", "pydantic_ai": "pydantic_ai_mnemic",
    "_llm": "pydantic_ai", "chroma": "chromadb", "openai_agents": "openai_agents_mnemic", "adk": "adk_mnemic",
    "agent_framework": "agent_framework_mnemic", "strands": "strands_mnemic", "anthropic": "anthropic_memory_mnemic",
    "crewai": "crewai_mnemic", "observability": "opentelemetry.sdk",
}  # fmt: skip
"""What files with a word in their name need."""


def run(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "error", *map(str, words)]
    return subprocess.run(
        command, cwd=folder, env=offline, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False
    )


@pytest.fixture
def event_loop_of_the_thread():
    """LlamaIndex makes one where there is none, and does not close it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


def test_there_are_some():
    assert len(NUMBERED) >= 4


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.encrypted] * ("encryption" in path.stem))
        for path in NUMBERED
    ],
)
def test_numbered_files(path, tmp_path, monkeypatch, capsys, event_loop_of_the_thread):
    for word, module in NEEDS.items():
        if word in path.name:
            pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    told = capsys.readouterr()
    assert told.out.endswith("All as expected.\n")
    assert told.err == ""
    assert list(tmp_path.iterdir()) == []  # nothing is left where it was started


def test_a_file_as_a_script(tmp_path):
    done = run(NUMBERED[0], folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("All as expected.\n")


@pytest.mark.parametrize("path", NUMBERED, ids=lambda path: path.stem)
def test_numbered_files_say_how_to_install(path):
    text = path.read_text(encoding="utf-8")
    assert text.split('"""')[1].count("\nInstall: pip install ") == 1
    assert "    assert " in text


class TestConversation:
    messages = json.loads((COOKBOOK / "conversation.json").read_text(encoding="utf-8"))
    questions = json.loads((COOKBOOK / "questions.json").read_text(encoding="utf-8"))

    def test_is_in_order(self):
        assert len(self.messages) == 64
        assert len({m["id"] for m in self.messages}) == 64
        assert len({m["session"] for m in self.messages}) == 8
        assert [m["sent_at"][:19] for m in self.messages] == sorted(m["sent_at"][:19] for m in self.messages)

    def test_questions_have_their_evidence(self):
        ids = {m["id"] for m in self.messages}
        assert len(self.questions) == 5
        assert all(q["gold"] and ids >= {*q["gold"]} for q in self.questions)


class TestDemo:
    @pytest.fixture(autouse=True)
    def frameworks(self):
        for word in ("langchain", "llamaindex"):
            pytest.importorskip(NEEDS[word])

    @pytest.fixture
    def words(self, tmp_path: Path) -> Callable[..., list[str]]:
        """The command on a file."""
        fixed = ["--dir", str(tmp_path / "memory"), "--embedder", "hashing"]
        return lambda path, *more: [str(COOKBOOK / "demo.py"), str(path), *fixed, *more]

    @pytest.fixture
    def demo(self, words, monkeypatch, capfd, event_loop_of_the_thread) -> Callable[..., tuple[object, str, str]]:
        """Run it in this process, which has the frameworks; what it exits with and prints, also from the process that asks."""

        def played(path: Path, *more: str) -> tuple[object, str, str]:
            monkeypatch.setattr(sys, "argv", words(path, *more))
            with pytest.raises(SystemExit) as ended:
                runpy.run_path(sys.argv[0], run_name="__main__")
            return ended.value.code, *capfd.readouterr()

        return played

    @pytest.fixture
    def shortened(self, tmp_path: Path) -> Path:
        """The first three sessions, with the questions that can be answered from them."""
        messages = [m for m in TestConversation.messages if m["session"] in {"s1", "s2", "s3"}]
        (tmp_path / "short.json").write_text(json.dumps(messages), encoding="utf-8")
        (tmp_path / "questions.json").write_text(json.dumps(TestConversation.questions), encoding="utf-8")
        return tmp_path / "short.json"

    def test_a_shortened_conversation(self, shortened, tmp_path, words, demo):
        Memory(tmp_path / "memory", embedder="hashing").close()  # over the memory of an earlier run it begins again
        done = run(*words(shortened), folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "24 turns in 3 sessions, 08 September 2025 to 10 November 2025" in done.stdout
        assert "Through LangChain: 2 sessions, 16 turns" in done.stdout
        assert "Through LlamaIndex: 1 sessions, 8 turns" in done.stdout
        assert "24 of 24 turns are stored with the date they had." in done.stdout
        assert "Question 2: What must not be in the cake when Jonas comes?" in done.stdout
        assert "  * 27 Sep 2025  Teresa: The book club. Jonas must not have walnuts" in done.stdout
        assert "2 of 2 questions have all their evidence within 400 tokens." in done.stdout

        # Evidence that is not found is a failure.
        everything = [m["id"] for m in TestConversation.messages if m["session"] in {"s1", "s2"}]
        question = {"question": "What was said in September?", "answer": "More than fits.", "gold": everything}
        (tmp_path / "questions.json").write_text(json.dumps([question]), encoding="utf-8")
        code, out, _ = demo(shortened, "--ask")
        assert code == 1
        assert "0 of 1 questions" in out

    def test_the_shape_of_locomo(self, tmp_path, demo):
        def turn(number: int, speaker: str, text: str) -> dict[str, str]:
            return {"speaker": speaker, "dia_id": f"D1:{number}", "text": text}

        # Ben begins, Ana speaks twice in a row, and has the last word.
        turns = [
            turn(1, "Ben", "Hi Ana, what is new?"), turn(2, "Ana", "I bought a red kayak."), turn(3, "Ana", "It floats!"),
            turn(4, "Ben", "Wonderful."), turn(5, "Ben", "Where do you keep it?"), turn(6, "Ana", "In the cellar."),
        ]  # fmt: skip
        sample = {
            "sample_id": "c1",
            "conversation": {
                "speaker_a": "Ana", "speaker_b": "Ben",
                "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns,
                "session_2_date_time": "2:00 pm on 9 June, 2023",
                "session_2": [{**t, "dia_id": t["dia_id"].replace("D1", "D2")} for t in turns],
            },
            "qa": [
                {"question": "What did Ana buy?", "answer": "a kayak", "evidence": ["D1:2"], "category": 4},
                {"question": "What did Ben buy?", "evidence": ["D1:2"], "category": 5},
                {"question": "Malformed?", "answer": "yes", "evidence": ["D1:2; D1:3"], "category": 1},
            ],
        }  # fmt: skip
        path = tmp_path / "locomo.json"
        path.write_text(json.dumps([sample, {**sample, "sample_id": "c2"}]), encoding="utf-8")
        code, out, err = demo(path)
        assert (code, err) == (0, "")
        assert "12 of 12 turns are stored with the date they had." in out
        assert "12 turns of c2 were imported, each as a user of its own." in out
        assert "Expected: nothing: the question is a trap" in out
        assert "2 of 2 questions" in out

    def test_a_folder_with_other_things_is_left_alone(self, shortened, tmp_path, demo):
        (tmp_path / "memory").mkdir()
        (tmp_path / "memory" / "letter.txt").write_text("Dear Ana")
        code, _, _ = demo(shortened)
        assert "holds something that is no memory" in code
        assert (tmp_path / "memory" / "letter.txt").read_text() == "Dear Ana"

    def test_a_file_that_cannot_be_used(self, tmp_path, demo):
        code, _, err = demo(tmp_path / "nowhere.json")
        assert code == 2
        assert "nowhere.json cannot be used" in err
