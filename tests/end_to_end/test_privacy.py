"""Nothing is sent and nothing is left: each path runs in an empty home, behind a guard of every look-up and connection."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mnemic.onnx.session import TELEMETRY_OFF, imported_onnxruntime

GUARD = """
import sys

def guard(event, args):
    if event in ("socket.getaddrinfo", "socket.gethostbyname") or (event == "socket.connect" and args[0].family.name != "AF_UNIX"):
        raise SystemExit(f"{event} {args[1:]}")

sys.addaudithook(guard)
"""
PATHS = {
    "default": """
        from mnemic import Memory
        with Memory("m", user="ana") as memory:
            memory.add_exchange("I live in Lisbon.", "Nice.")
            memory.process()
            assert memory.get_memory_context("Where is my home?").text
    """,
    "chroma": """
        from mnemic import Memory
        with Memory("m", user="ana", vectors="chroma") as memory:
            memory.add_exchange("I live in Lisbon.", "Nice.")
            assert memory.search("Where is my home?")
    """,
    "langchain": """
        from langchain_mnemic import MnemicRetriever
        from mnemic import Memory
        with Memory("m", user="ana") as memory:
            memory.add("I live in Lisbon.")
            assert MnemicRetriever(memory=memory).invoke("Where is my home?")
    """,
    "llama_index": """
        from llama_index.memory.mnemic import MnemicRetriever
        from mnemic import Memory
        with Memory("m", user="ana") as memory:
            memory.add("I live in Lisbon.")
            assert MnemicRetriever(memory=memory).retrieve("Where is my home?")
    """,
    "pydantic_ai": """
        import pydantic_ai_mnemic
        from pydantic_ai import Agent
        from pydantic_ai.models.test import TestModel
        from mnemic import Memory
        with Memory("m", user="ana") as memory:
            agent = Agent(TestModel(), capabilities=[pydantic_ai_mnemic.MnemicCapability(memory)])
            assert agent.run_sync("I live in Lisbon.").output
    """,
    "mcp": """
        import mnemic_mcp.server
        from mnemic import Memory
        with Memory("m", user="ana") as memory:
            memory.add("I live in Lisbon.")
    """,
}


def run(home: Path, path: str, **variables: str) -> set[str]:
    """The files that a path leaves in an empty home, beside the memory and the copies of models."""
    left_out = ("XDG_", "ORT_", "HF_", "MNEMIC_", "TIKTOKEN_", "LANGCHAIN_", "LANGSMITH_", "ANONYMIZED_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    code = GUARD + "\n".join(line[8:] for line in PATHS[path].splitlines())
    environment = kept | variables | {"HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=home, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    files = {str(file.relative_to(home)) for file in home.rglob("*") if file.is_file()}
    return {file for file in files if not file.startswith(("m/", ".cache/mnemic/models/"))}


@pytest.mark.parametrize("path", [pytest.param(p, marks=[pytest.mark.engine] * (p == "chroma")) for p in PATHS])
def test_a_path_connects_to_nothing_and_leaves_no_file_but_ours(tmp_path, path):
    assert run(tmp_path, path) == set()


@pytest.mark.parametrize(("given", "left", "switched_off"), [(None, "1", 1), ("1", "1", 1), ("0", "0", 0)])
def test_onnxruntime_is_asked_for_no_telemetry_unless_the_user_wants_it(monkeypatch, given, left, switched_off):
    calls = []
    fake = SimpleNamespace(disable_telemetry_events=lambda: calls.append(os.environ[TELEMETRY_OFF]))
    monkeypatch.setitem(sys.modules, "onnxruntime", fake)
    monkeypatch.delenv(TELEMETRY_OFF, raising=False)
    if given is not None:
        monkeypatch.setenv(TELEMETRY_OFF, given)
    assert imported_onnxruntime() is fake
    assert (os.environ[TELEMETRY_OFF], len(calls)) == (left, switched_off)
