"""Clocks and percentiles. CPU time is that of the process with all its threads: it holds on a busy machine."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["Timings", "folder_bytes", "pin_threads"]

T = TypeVar("T")

PERCENTILES = (10, 50, 95)
"""The 10th is what a call takes when nothing else wants the processor: wall times of a busy machine need it."""


@dataclass(slots=True)
class Timings:
    """Times of repeated calls in milliseconds."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def of(self, call: Callable[..., T], *arguments: Any) -> T:
        """Call and note how long it took."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = call(*arguments)
        self.cpu.append((time.process_time() - cpu) * 1000)
        self.wall.append((time.perf_counter() - wall) * 1000)
        return result

    def merged(self, other: Timings) -> Timings:
        """Both series as one."""
        return Timings([*self.wall, *other.wall], [*self.cpu, *other.cpu])

    def summary(self) -> dict[str, float | int]:
        """10th, 50th and 95th percentile of both clocks, and how many calls they stand for."""
        found: dict[str, float | int] = {"calls": len(self.cpu)}
        for name, values in (("cpu_ms", self.cpu), ("wall_ms", self.wall)):
            for percent in PERCENTILES:
                found[f"{name}_p{percent}"] = round(percentile(values, percent), 3)
        return found


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which that share of the values lies, interpolated."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")} | {
    "ANONYMIZED_TELEMETRY": "False"
}


def pin_threads(module: str, arguments: Sequence[str]) -> None:
    """One thread for every numeric library, here and in child processes: more are slower on a busy machine.

    The libraries read this when they are loaded, so a process that began without it begins again with it.
    """
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        os.environ.update(ONE_THREAD)
        os.execv(sys.executable, [sys.executable, "-m", module, *arguments])


def folder_bytes(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
