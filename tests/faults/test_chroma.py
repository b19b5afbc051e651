"""Chroma beside processes that die, two processes on one folder, and damaged files: nothing is lost, nobody dies of it."""

import os
import random
import shutil
import subprocess
import sys
import time
from itertools import cycle, product
from pathlib import Path

import pytest

from mnemic import HashingEmbedder, Memory, Message

pytest.importorskip("chromadb")
pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
BATTERY = os.environ.get("MNEMIC_BATTERY") == "1"
KILLS = 50 if BATTERY else 3


def begun(folder, *arguments):
    command = [sys.executable, "-m", "tests.faults.chroma_worker", str(folder), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def checked(folder, stored=()):
    """A process opens what is there and answers for every text; it must neither die nor miss one."""
    process = begun(folder, "check")
    told, _ = process.communicate("".join(f"{id_}\t{text}\n" for id_, text in stored), timeout=300)
    assert process.returncode == 0, (process.returncode, told)
    return told


def rest_of(process):
    """What a killed process had said besides; ``communicate`` would drop what stands in the buffer, and begin within a line."""
    rest = process.stdout.read().splitlines(keepends=True)
    process.communicate(timeout=60)
    return rest


def acknowledged(lines):
    return [tuple(line.rstrip("\n").split("\t")) for line in lines if line.count("\t") == 1 and line.endswith("\n")]


def test_killed_with_a_writer_and_a_consolidator(tmp_path):
    folder, chance = tmp_path / "memory", random.Random(7)
    stored = []
    for number in range(KILLS):
        workers = [begun(folder, "write", f"w{number}"), begun(folder, "consolidate")]
        writer, lines = workers[0], []
        if chance.random() < 0.5:
            workers.reverse()  # either is killed first
        for _ in range(chance.randrange(5, 150)):
            lines.append(writer.stdout.readline())
        time.sleep(chance.random() * 0.5)
        for worker in workers:
            worker.kill()
        for worker in workers:
            rest = rest_of(worker)
            lines += rest if worker is writer else []
        stored += acknowledged(lines)
        checked(folder, stored[-400:])
    assert len(stored) > KILLS
    checked(folder, chance.sample(stored, min(len(stored), 2000)))


def test_two_processes_on_one_folder(tmp_path):
    folder = tmp_path / "memory"
    writers = [begun(folder, "write", name) for name in ("a", "b")]
    lines = [writer.stdout.readline() for _ in range(150) for writer in writers]
    for writer in writers:
        writer.kill()
    stored = acknowledged([*lines, *(line for writer in writers for line in rest_of(writer))])
    assert len(stored) >= 300
    checked(folder, stored)


def test_the_index_of_a_killed_process_is_free(tmp_path):
    folder = tmp_path / "memory"
    with Memory(folder, user="ana", embedder=HashingEmbedder(dimension=64)) as memory:
        memory.add("a line about gardens")
    first = begun(folder, "hold")
    assert first.stdout.readline() == "owner\n"
    second = begun(folder, "hold")
    assert second.stdout.readline() == "reader\n"
    first.kill()
    first.communicate()
    third = begun(folder, "hold")
    assert third.stdout.readline() == "owner\n"
    for process in (second, third):
        process.communicate("\n", timeout=60)
        assert process.returncode == 0


def halved(path):
    os.truncate(path, path.stat().st_size // 2)


def zeroed(path):
    path.write_bytes(bytes(path.stat().st_size))


def emptied(path):
    os.truncate(path, 0)


def deleted(path):
    path.unlink()


def scrambled(path):
    content = bytearray(path.read_bytes())
    chance = random.Random(1)
    for _ in range(64):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


LEFT = ("closed", "killed")
MUTANTS = [
    (name, damage)
    for name in (
        "header.bin",
        "data_level0.bin",
        "chroma.sqlite3",
        "link_lists.bin",
        "length.bin",
        "index_metadata.pickle",
    )
    for damage in (halved, zeroed, deleted, *((scrambled,) if name in ("header.bin", "data_level0.bin") else ()))
]
CHOSEN = [*product(MUTANTS, LEFT)] if BATTERY else [*zip(MUTANTS[::2], cycle(LEFT), strict=False)]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A folder with an index that was closed, large enough to have its graph on disk; and what it holds."""
    from mnemic import Chroma

    folder = tmp_path_factory.mktemp("sound") / "memory"
    messages = [
        Message(role="user", content=f"line {n} tells of the {n % 7} gardens of house {n}", id=f"m{n}")
        for n in range(1500)
    ]
    with Memory(folder, user="ana", embedder=HashingEmbedder(dimension=64), vectors=Chroma(exact_below=0)) as memory:
        memory.add(messages)
        memory.admin.flush(process=False)
        assert memory.admin.verify().ok
    return folder, [(message.id, message.content) for message in messages[::75]]


def test_there_are_twenty():
    assert len(MUTANTS) == 20


@pytest.mark.parametrize(
    ("mutant", "left"), CHOSEN, ids=lambda value: value if isinstance(value, str) else f"{value[0]}-{value[1].__name__}"
)
def test_damaged_files(sound, tmp_path, mutant, left):
    name, damage = mutant
    folder, stored = sound
    copy = tmp_path / "memory"
    shutil.copytree(folder, copy)
    (path,) = (copy / "chroma").rglob(name)
    damage(path)
    if left == "killed":  # then nothing says what the files were
        (closed,) = (copy / "chroma").glob("closed-*")
        closed.rename(closed.with_name("open-1"))
    checked(copy, stored)
