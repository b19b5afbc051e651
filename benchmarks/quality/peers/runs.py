"""Each peer through the same tasks, in processes of its own, and its figures."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.conversations import Conversation, Question
from benchmarks.quality import metrics
from benchmarks.quality.peers.catalogue import Peer
from benchmarks.quality.peers.environments import ensure
from benchmarks.quality.peers.preparation import COLD_STARTS, LARGE
from benchmarks.speed.measures import percentile
from benchmarks.speed.weight import PROJECT

__all__ = ["answer_values", "measure", "plain"]

TURN_DEPTHS = (5, 10, 20)
SESSION_DEPTHS = (5, 10)
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1"
    for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "RAYON", "VECLIB_MAXIMUM", "TOKIO_WORKER")
}
QUIET = {
    "ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
    "OPENAI_API_KEY": "never used", "PYTHONWARNINGS": "ignore",
}  # fmt: skip
_PATH = re.compile(r"(?:/[^\s/:'\"]+){2,}")
_ADDRESS = re.compile(r"https?://\S+")


def measure(
    peer: Peer, talks: Mapping[str, Conversation], work: Path, environments: Path, progress: Any
) -> dict[str, Any]:
    """All figures of one peer; ``error`` instead where it does not install or does not run.

    Args:
        peer: which one.
        talks: conversations by the name of their talk.
        work: the folder that ``prepare`` wrote.
        environments: where virtual environments are kept.
        progress: something with ``update`` and ``set_postfix_str``: one step for each conversation, the large store, and
            the cold starts.
    """
    known = {"label": peer.label, "product": peer.product, "setup": peer.setup}
    try:
        progress.set_postfix_str(f"{peer.name}: installing")
        found = ensure(peer, environments)
        names = {re.split(r"[=<>\[]", text)[0] for text in peer.requirements} | {peer.name}
        known["versions"] = {n: v for n, v in found["installed"].items() if n.lower() in names}
        with tempfile.TemporaryDirectory() as home:
            known |= _run(peer, found["python"], talks, work, home, progress)
        return known | {"packages": found["packages"], "mb": found["mb"]}
    except (RuntimeError, subprocess.TimeoutExpired) as problem:
        return known | {"error": plain(str(problem))}
    finally:
        for store in work.glob("store-*"):
            shutil.rmtree(store)


def _run(
    peer: Peer, python: str, talks: Mapping[str, Conversation], work: Path, home: str, progress: Any
) -> dict[str, Any]:
    values: dict[str, dict[str, list[float]]] = {}
    times: list[float] = []
    for answer in _child(python, peer, "conversations", work, home, *talks):
        progress.update()
        progress.set_postfix_str(f"{peer.name}: {answer['name']}")
        conversation = talks[answer["name"]]
        times += answer["search_cpu_ms"]
        for figure, series in _of_conversation(conversation, answer).items():
            values.setdefault(figure, {})[conversation.name] = series
    progress.set_postfix_str(f"{peer.name}: large store")
    (large,) = _child(python, peer, "large", work, home, LARGE)
    progress.update()
    starts = [one for n in range(COLD_STARTS) for one in _child(python, peer, "cold", work, home, LARGE, str(n))]
    progress.update()
    return {
        "recall": {name: metrics.summary(groups) for name, groups in values.items()},
        **_costs(large, starts, percentile(times, 50)),
    }


def _costs(large: Mapping[str, Any], starts: Sequence[Mapping[str, float]], small: float) -> dict[str, Any]:
    middle = {name: statistics.median(start[name] for start in starts) for name in starts[0]}
    disk = large["disk_bytes"]
    return {
        "rows": large["rows"], "add_rows_per_cpu_s": round(large["rows"] / large["add_cpu_s"], 1),
        "search_cpu_ms_conversation": round(small, 3), "search_50": large["search_50"], "search_10": large["search_10"],
        "cold_cpu_s": round(middle["cold_cpu_s"], 3), "import_cpu_ms": round(1000 * middle["import_cpu_s"], 1),
        "rss_mb": round(middle["rss_mb"], 1), "disk_kb_per_1000": disk and round(disk / large["rows"], 1),
    }  # fmt: skip


def _of_conversation(conversation: Conversation, answer: Mapping[str, Any]) -> dict[str, list[float]]:
    """The values of one conversation: for each figure one number per question."""
    session = {m.id or "": m.session or "" for m in conversation.messages}
    found: dict[str, list[float]] = {}
    for question, deep, short in zip(conversation.questions, answer["hits"], answer["hits_of_ten"], strict=True):
        for name, value in answer_values(question, deep, short, session).items():
            found.setdefault(name, []).append(value)
    return found


def answer_values(
    question: Question, hits: Sequence[Sequence[str]], short: Sequence[Sequence[str]], session: Mapping[str, str]
) -> dict[str, float]:
    """One question's figures, by the definitions of ``benchmarks.quality.locomo``.

    Args:
        question: with its gold turns.
        hits: of a search for 50: the ids that each hit stands for.
        short: the same of a search for ten.
        session: the session of each turn.
    """
    ranked = metrics.distinct(i for hit in hits for i in hit)
    values = {f"R@{k}": metrics.fraction(question.gold, ranked[:k]) for k in TURN_DEPTHS}
    gold = metrics.distinct(session[i] for i in question.gold)
    for k in SESSION_DEPTHS:
        values[f"session.any@{k}"] = metrics.any_of(gold, [session[i] for hit in hits[:k] for i in hit])
    in_short = metrics.distinct(i for hit in short for i in hit)
    return values | {"R@10 when ten are asked for": metrics.fraction(question.gold, in_short[:10])}


def _child(python: str, peer: Peer, task: str, work: Path, home: str, *names: str) -> Iterator[dict[str, Any]]:
    """The answers of a task, each as it comes.

    Raises:
        RuntimeError: the process failed; the message ends with what it said.
    """
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR", "LANG") if name in os.environ}
    environment = kept | ONE_THREAD | QUIET | {"HOME": home, "USERPROFILE": home, "PYTHONPATH": str(PROJECT)}
    line = [python, "-m", "benchmarks.quality.peers.child", peer.name, task, str(work), *names]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        with subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, text=True, env=environment, cwd=home
        ) as process:
            for answer in process.stdout or ():
                yield json.loads(answer)
        if process.returncode:
            said.seek(0)
            raise RuntimeError(f"{task}: exit {process.returncode}\n{said.read()}")


def plain(problem: str) -> str:
    """The last three lines of what went wrong, without the paths and addresses of one machine."""
    lines = [line.strip() for line in problem.splitlines() if line.strip()]
    return _PATH.sub(lambda found: Path(found[0]).name, _ADDRESS.sub("(address)", " | ".join(lines[-3:])))
