"""Cost curves: one picture for each thing that grows, a line for each engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["draw"]

Value = Callable[[dict[str, Any]], float]


def _cpu(name: str) -> Value:
    """Client and server together."""
    return lambda run: run[name]["cpu_ms_p50"] + run[name]["server_cpu_ms_mean"]


PANELS: Sequence[tuple[str, str, str, Value]] = (
    ("search, user with 1 %", "CPU ms", "shared", _cpu("search")),
    ("search, user with all rows", "CPU ms", "whole", _cpu("search")),
    ("filtered search, all rows", "CPU ms", "whole", _cpu("filtered_search")),
    ("add one message", "CPU ms", "shared", _cpu("add")),
    ("open and first search, all rows", "ms", "whole", lambda run: run["cold"]["wall_ms"]),
    ("disk", "MB", "shared", lambda run: run["disk_mb"]),
)
STYLES = {"sqlite": "o-", "chroma": "s--", "chroma-server": "d:", "postgres": "^-."}


def draw(runs: Sequence[dict[str, Any]], folder: Path) -> Path:
    """Write ``scale.svg``: the same bytes for the same runs."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "scale.svg"
    with rc_context({"svg.hashsalt": "mnemic", "font.size": 8}):
        figure = Figure(figsize=(10, 5.6), layout="constrained")
        for axis, (title, unit, layout, value) in zip(figure.subplots(2, 3).flat, PANELS, strict=True):
            for engine, style in STYLES.items():
                points = sorted((r["rows"], value(r)) for r in runs if (r["engine"], r["layout"]) == (engine, layout))
                if points:
                    axis.plot(*zip(*points, strict=True), style, label=engine, markersize=4, linewidth=1)
            axis.set(xscale="log", yscale="log", title=title, xlabel="rows", ylabel=unit)
            axis.grid(alpha=0.3)
        figure.axes[0].legend()
        figure.savefig(path, format="svg", metadata={"Date": None})
    return path
