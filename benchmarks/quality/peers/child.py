"""One task of one peer, in a process of its own, under the interpreter of the peer's environment.

``python -m benchmarks.quality.peers.child PEER TASK WORK NAME...`` reads what the parent wrote into the folder WORK and
prints one JSON object a line. What the peer itself prints goes to the error stream.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.peers.products import DEEPEST, ENGINES
from benchmarks.quality.peers.protocol import Known, Talk, sessions
from benchmarks.quality.peers.raw import Engine
from benchmarks.speed.measures import Timings, folder_bytes

__all__ = ["cold", "conversations", "large"]

SHORT = 10


def _filled(peer: str, talk: Talk, folder: Path) -> tuple[Engine, float]:
    """A store with the turns of a talk, and the CPU seconds of its adds."""
    engine = ENGINES[peer]()
    engine.library()
    engine.open(folder, talk.known(), talk.now)
    parts = list(sessions(talk.turns))
    began = time.process_time()
    for part in parts:
        engine.add(part)
    engine.ready()
    return engine, time.process_time() - began


def conversations(peer: str, work: Path, *names: str) -> Iterator[dict[str, Any]]:
    """One store for each conversation: the hits of every question, asked for 50 and then all of them again for ten."""
    for name in names:
        talk = Talk.read(work, name)
        engine, added = _filled(peer, talk, work / f"store-{name}")
        engine.search(talk.questions[0], SHORT)
        timings = Timings()
        deep = [timings.of(engine.search, question, DEEPEST) for question in talk.questions]
        short = [engine.search(question, SHORT) for question in talk.questions]
        engine.close()
        yield {"name": name, "hits": deep, "hits_of_ten": short, "search_cpu_ms": timings.cpu, "add_cpu_s": added}


def large(peer: str, work: Path, name: str) -> Iterator[dict[str, Any]]:
    """One big store: adds, disk, and searches for 50 and for ten, each of other questions, none asked twice."""
    talk = Talk.read(work, name)
    folder = work / f"store-{name}"
    engine, added = _filled(peer, talk, folder)
    engine.search(talk.questions[0], SHORT)
    deep, short = Timings(), Timings()
    for question in talk.questions[1::2]:
        deep.of(engine.search, question, DEEPEST)
    for question in talk.questions[2::2]:
        short.of(engine.search, question, SHORT)
    engine.close()
    yield {
        "rows": len(talk.turns), "add_cpu_s": added, "search_50": deep.summary(), "search_10": short.summary(),
        "disk_bytes": folder_bytes(folder) if engine.persistent else None,
    }  # fmt: skip


def cold(peer: str, work: Path, name: str, number: str) -> Iterator[dict[str, Any]]:
    """What a new process pays for its first answer, in CPU seconds, and what it then holds in memory.

    A store that does not persist has to be filled again first; reading the rows and their vectors is not counted then.
    """
    question = json.loads((work / f"question-{number}.json").read_text(encoding="utf-8"))
    engine = ENGINES[peer]()
    began = time.process_time()
    engine.library()
    imported = time.process_time()
    talk = None if engine.persistent else Talk.read(work, name)
    known = talk.known() if talk else Known({question["text"]: question["vector"]})
    begun_again = time.process_time()
    engine.open(work / f"store-{name}", known, question["now"])
    if talk:
        for part in sessions(talk.turns):
            engine.add(part)
        engine.ready()
    found = engine.search(question["text"], SHORT)
    answered = time.process_time()
    if not found:
        raise RuntimeError("the first search found nothing")
    counted = imported - began + answered - begun_again
    yield {"import_cpu_s": imported - began, "cold_cpu_s": counted, "rss_mb": resident_mb()}


def resident_mb() -> float:
    """Resident memory of this process in 10^6 bytes."""
    held = Path("/proc/self/statm")
    if held.is_file():
        return int(held.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


TASKS = {"conversations": conversations, "large": large, "cold": cold}


def main(given: Sequence[str]) -> None:
    peer, task, work, *names = given
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for answer in TASKS[task](peer, Path(work), *names):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
