"""Plots of a record: tiers over time, and the emotion plane. The only module that loads matplotlib."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from mnemic.cli.handles import open_runtime
from mnemic.cli.output import counted, warn
from mnemic.errors import ConfigurationError, MissingExtra
from mnemic.runtime import scopes
from mnemic.transfer.picture import Picture, picture

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["draw", "plot"]

COLOURS = {
    "short_term": "#E69F00",
    "long_term": "#0072B2",
    "archived": "#999999",
    "message": "#56B4E9",
    "memory": "#D55E00",
}
CORNERS = ((0.95, 0.95, "excited"), (-0.95, 0.95, "distressed"), (-0.95, -0.95, "low"), (0.95, -0.95, "content"))
SOONEST = 0.25
"""Opacity of an emotion with confidence 0; one with confidence 1 is opaque."""


def plot(given: Namespace) -> None:
    """Draw the record of the options to the file of ``--plot``."""
    with closing(open_runtime(given)) as runtime:
        draw(picture(runtime, scopes.scope(given.user)), given.plot)
    warn(f"drawn into {given.plot}.")


def draw(picture: Picture, file: str) -> None:
    """Draw a plot to a file; its suffix is the format: svg, png or pdf.

    Raises:
        MissingExtra: matplotlib is not installed.
        ConfigurationError: the file cannot be written, or its suffix is not a format.
    """
    try:
        from matplotlib import rc_context  # pyright: ignore[reportUnknownVariableType] - a path of unknown kind in it
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("Drawing", "plot") from error
    figure: Any = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _tiers(left, picture)
    _moods(right, picture)
    try:
        with rc_context({"svg.hashsalt": "mnemic", "svg.fonttype": "path"}):  # reproducible output
            figure.savefig(file, metadata={"Date": None} if file.endswith(".svg") else None)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"The picture cannot be written to {file!r}: {error}.") from error


def _tiers(axes: Any, picture: Picture) -> None:
    axes.set_title("Memories by tier")
    axes.set_ylabel("memories")
    moments = [moment for moment, _ in picture.tiers]
    for tier in ("short_term", "long_term", "archived"):
        counts = [held.get(tier, 0) for _, held in picture.tiers]
        if any(counts):
            axes.step(moments, counts, where="post", label=tier.replace("_", "-"), color=COLOURS[tier], marker=".")
    if moments:
        axes.legend(frameon=False)
    axes.tick_params(axis="x", rotation=30)
    axes.set_ylim(bottom=0)


def _moods(axes: Any, picture: Picture) -> None:
    axes.set_title("Feelings")
    axes.set_xlabel("valence")
    axes.set_ylabel("arousal")
    axes.set_xlim(-1, 1)
    axes.set_ylim(-1, 1)
    axes.axhline(0, color="#cccccc", linewidth=0.8)
    axes.axvline(0, color="#cccccc", linewidth=0.8)
    for x, y, name in CORNERS:
        side, above = ("right" if x > 0 else "left"), ("top" if y > 0 else "bottom")
        axes.text(x, y, name, ha=side, va=above, color="#777777")
    for kind, found in picture.moods.items():
        if found:
            sure = [SOONEST + (1 - SOONEST) * mood.confidence for mood in found]
            places = [mood.valence for mood in found], [mood.arousal for mood in found]
            axes.scatter(*places, alpha=sure, s=18, label=counted({kind: len(found)}), color=COLOURS[kind])
    if any(picture.moods.values()):
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
