"""Several processes on one folder, and processes that are killed: no acknowledged write is lost."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.battery import count

from mnemic import Memory, NotFound

from .failpoints import in_child

WRITER = Path(__file__).with_name("writer.py")
KILLS = count(8, 100)
WRITERS = 4
ADDS = count(100, 2_000)


def start(folder: Path, side: Path, name: str, limit: int) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, str(WRITER), str(folder), str(side), name, str(limit)])


def acknowledged(side: Path) -> list[str]:
    """Whole lines only: a line cut by the kill was not acknowledged."""
    data = side.read_bytes() if side.exists() else b""
    return data.decode().split("\n")[:-1]


def lost(folder: Path, ids: list[str]) -> list[str]:
    missing = []
    with Memory(folder, user="ana", embedder="hashing") as memory:
        for id_ in ids:
            try:
                memory.get(id_)
            except NotFound:
                missing.append(id_)
        report = memory.admin.verify()
        assert report.ok, report.findings
    return missing


def test_several_processes_write_at_once(tmp_path):
    sides = [tmp_path / f"side{n}" for n in range(WRITERS)]
    writers = [start(tmp_path / "memory", side, f"w{n}", ADDS) for n, side in enumerate(sides)]
    assert [writer.wait(timeout=300) for writer in writers] == [0] * WRITERS
    ids = [id_ for side in sides for id_ in acknowledged(side)]
    assert len(ids) == WRITERS * ADDS
    assert lost(tmp_path / "memory", ids) == []


def test_kill_minus_nine_at_random_moments(tmp_path):
    """A kill counts only after at least 100 acknowledged adds."""
    folder, moments = tmp_path / "memory", random.Random(7)
    ids: list[str] = []
    for trial in range(KILLS):
        side = tmp_path / f"side{trial}"
        writer = start(folder, side, f"k{trial}", 1_000_000)
        deadline = time.monotonic() + 60
        while len(acknowledged(side)) < 100 + moments.randrange(50) and time.monotonic() < deadline:
            assert writer.poll() is None
            time.sleep(moments.random() / 200)
        writer.send_signal(signal.SIGKILL)
        assert writer.wait(timeout=60) == -signal.SIGKILL
        found = acknowledged(side)
        assert len(found) >= 100
        ids += found
        assert lost(folder, found) == []
    assert lost(folder, ids) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_connections_of_its_own(tmp_path):
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        memory.add("before the fork", id="before")

        def work():
            memory.add("in the child", id="child")
            assert memory.get("before").content == "before the fork"

        assert in_child(work) == 0
        memory.add("after the fork", id="after")
        assert [m.id for m in memory.messages()] == ["before", "child", "after"]
        assert memory.admin.verify().ok


def test_one_process_sees_what_another_wrote(tmp_path):
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        memory.add("the garden needs water", id="mine")
        assert len(memory.search("garden")) == 1
        side = tmp_path / "side"
        assert start(tmp_path / "memory", side, "other", 30).wait(timeout=60) == 0
        assert [hit.id for hit in memory.search("turn 29 of other", k=1)] == ["other-29"]
        memory.forget(ids=["other-29"])
        assert "other-29" not in [hit.id for hit in memory.search("turn 29 of other")]
