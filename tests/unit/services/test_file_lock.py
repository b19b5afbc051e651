"""A lock that one handle of one process has at a time."""

import os
import subprocess
import sys

import pytest

from mnemic.services.processes import FileLock

HOLD = """
import sys
from pathlib import Path
from mnemic.services.processes import FileLock
lock = FileLock(Path(sys.argv[1]))
print(lock.acquire(), flush=True)
sys.stdin.readline()
"""


def test_one_handle_at_a_time(tmp_path):
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire()
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    assert second.held
    assert not first.held
    second.release()
    second.release()


def test_reading_the_file_does_not_end_it(tmp_path):
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire()
    (tmp_path / "lock").read_bytes()
    assert not second.acquire()
    first.release()


def test_it_ends_with_its_process(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "True\n"
        lock = FileLock(tmp_path / "lock")
        assert not lock.acquire()
        process.kill()
        process.wait()
        assert lock.acquire()
        lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_neither_has_it_nor_keeps_it_alive(tmp_path):
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire()
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        os.write(tell, b"y" if first.held else b"n")
        os.close(tell)
        os.read(told, 0)
        os.kill(os.getpid(), 19)  # stopped: it lives while the parent looks
        os._exit(0)
    os.close(tell)
    assert os.read(told, 1) == b"n"
    os.close(told)
    first.release()
    assert second.acquire()
    second.release()
    os.kill(child, 9)
    os.waitpid(child, 0)


def test_where_nothing_can_be_written(tmp_path):
    assert not FileLock(tmp_path / "missing" / "lock").acquire()
