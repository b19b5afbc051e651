"""A stdout that is full or closed: one line on stderr, no traceback."""

import errno
import io
import os
import subprocess
import sys

import pytest

from mnemic.cli import main


class Full(io.RawIOBase):
    """A stream without room."""

    def writable(self):
        return True

    def write(self, _data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(params=["full at once", "full at the end", "closed"])
def no_room(request, monkeypatch):
    """Nowhere to write an answer."""
    stream = None
    if request.param != "closed":
        stream = io.TextIOWrapper(io.BufferedWriter(Full()), encoding="utf-8", write_through="once" in request.param)
    return lambda: monkeypatch.setattr(sys, "stdout", stream)


@pytest.mark.parametrize("words", [("list",), ("stats",), ("--json", "stats"), ("export", "-")], ids=" ".join)
def test_an_answer_that_cannot_be_written(filled, folder, no_room, capsys, words):
    filled("remember", "Prefers tea.")
    no_room()
    assert main(["--dir", str(folder), "--embedder", "hashing", *words]) == 2
    told = capsys.readouterr().err.splitlines()
    assert "cannot be written" in told[-1]
    assert not any("Traceback" in line for line in told)


def test_a_hook_whose_answer_cannot_be_written_stops_nobody(filled, folder, no_room, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    no_room()
    assert main(["--dir", str(folder), "--embedder", "hashing", "hook", "session-start"]) == 0


def test_a_closed_stderr_costs_nothing(filled, folder, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["--dir", str(folder), "--embedder", "hashing", "export", str(tmp_path / "all.jsonl")]) == 0


def test_the_package_runs_as_a_program():
    run = subprocess.run([sys.executable, "-m", "mnemic", "--version"], capture_output=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.startswith(b"mnemic ")
