"""Memory systems side by side: ``python -m benchmarks.quality.peers --data FILE``.

Every peer gets the same turns and the same vectors, in an environment and in processes of its own.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks import reporting
from benchmarks.conversations import load
from benchmarks.quality.locomo import described
from benchmarks.quality.peers.catalogue import PEERS
from benchmarks.quality.peers.preparation import COLD_STARTS, prepare
from benchmarks.quality.peers.runs import measure
from benchmarks.vectors import default_embedder
from mnemic import HashingEmbedder
from mnemic.paths import cache_dir

DEFINITIONS = {
    "store": "one per conversation; each peer is given every turn as `Speaker: text` with its session and date where it has a "
    "place for them (Mnemic: as a message with name, session and sent_at, which it renders to the same text); images are "
    "rendered [shares an image: caption]",
    "vectors": "all-MiniLM-L6-v2, made once by mnemic.OnnxEmbedder and handed out by a stand-in for each peer's embedder; no "
    "figure contains an embedding, and a text that was not prepared is an error",
    "questions": "those with at least one usable evidence id",
    "R@k": "gold turns among the first k distinct turns of one search for 50, over gold turns; mean over questions, in percent",
    "session.any@k": "1 when a session with gold turns is among the sessions of the first k hits; mean, in percent",
    "R@10 when ten are asked for": "the same as R@10 for a search for ten: differs where the order depends on k",
    "rows": "turns of the large store: all conversations of the file, then turns recombined from their sentences with a fixed "
    "seed (benchmarks.speed.corpus), with vectors mixed the same way",
    "add_rows_per_cpu_s": "rows over CPU seconds of filling the large store, one call a session where the peer takes lists, "
    "else one a turn; rank-bm25's index is built once at the end",
    "search_cpu_ms_conversation": "CPU ms of one search for 50 in the stores of the conversations, p50 over all questions",
    "search_50, search_10": "CPU and wall ms of searches for 50 and for ten in the large store, 200 other questions each, none "
    "asked twice",
    "cold_cpu_s": "CPU seconds of a new process from before its imports to its first answer (ten hits) from the large store; "
    f"median of {COLD_STARTS}; peers in memory have to be filled again, which is counted",
    "import_cpu_ms": "the part of it that goes into imports by the peer's guide; a package may import more later",
    "rss_mb": "resident 10^6 bytes of that process after the answer; peers in memory hold the harness's vectors beside",
    "disk_kb_per_1000": "kB of the closed large store for 1,000 rows",
    "packages, mb": "distributions and 10^6 bytes of site-packages that pip install of the pinned requirement brought, the peer "
    "itself among them, pip and the harness's helpers not",
    "clock": "CPU time of the process with its threads; numeric libraries on one thread",
}
LABEL_POINTS = 3.0
ROOM_FOR_A_LABEL = 6.0
HEAD = (
    "peer", "R@5", "R@10", "R@20", "session@5", "@10", "add/s", "ms conv.", "ms large", "ms k=10", "cold s", "import ms",
    "RSS MB", "kB/1,000", "packages", "MB",
)  # fmt: skip


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.peers", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in the shape of LoCoMo")
    parser.add_argument("--peers", default=",".join(PEERS), help="names, separated by commas; default: all")
    parser.add_argument("--rows", type=int, default=5_000, help="turns in the large store")
    parser.add_argument("--embedder", choices=("default", "hashing"), default="default")
    parser.add_argument("--environments", type=Path, help="folder of virtual environments; default: cache folder")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    parser.add_argument("--plot", type=Path, help="draw recall against search time into this file; needs matplotlib")
    options = parser.parse_args(given)
    unknown = [name for name in options.peers.split(",") if name not in PEERS]
    if unknown:
        parser.error(f"no such peer: {', '.join(unknown)}; there are {', '.join(PEERS)}")
    return options


def line(figures: Mapping[str, Any]) -> list[Any]:
    """One peer's row of the table."""
    if "error" in figures:
        return [figures["label"], *[None] * (len(HEAD) - 1)]
    recall = [figures["recall"][n]["mean"] for n in ("R@5", "R@10", "R@20", "session.any@5", "session.any@10")]
    return [
        figures["label"], *recall, figures["add_rows_per_cpu_s"], figures["search_cpu_ms_conversation"],
        figures["search_50"]["cpu_ms_p50"], figures["search_10"]["cpu_ms_p50"], figures["cold_cpu_s"],
        figures["import_cpu_ms"], figures["rss_mb"], figures["disk_kb_per_1000"], figures["packages"], figures["mb"],
    ]  # fmt: skip


def show(figures: Mapping[str, Mapping[str, Any]]) -> None:
    """The table, then what did not run and why, then whose order depends on k."""
    reporting.print_table("peers", HEAD, [line(found) for found in figures.values()])
    for found in figures.values():
        if "error" in found:
            print(f"\n{found['label']} did not run: {found['error']}")
            continue
        deep, short = (found["recall"][name]["mean"] for name in ("R@10", "R@10 when ten are asked for"))
        if deep != short:
            print(f"\n{found['label']}: R@10 is {short} when ten are asked for, {deep} when 50 are")


def plot(figures: Mapping[str, Mapping[str, Any]], file: Path) -> None:
    """R@10 against CPU ms of a search for 50 in the large store; memory products are blue, raw engines gray."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = sheet.subplots()
    measured = [found for found in figures.values() if "error" not in found]
    places = [(found["search_50"]["cpu_ms_p50"], found["recall"]["R@10"]["mean"]) for found in measured]
    for found, at in zip(measured, places, strict=True):
        axes.scatter(*at, color="tab:blue" if found["product"] else "tab:gray", zorder=3)
        crowded = any(at[0] < x < 1.5 * at[0] and abs(y - at[1]) < LABEL_POINTS for x, y in places)
        axes.annotate(found["label"], at, textcoords="offset points", xytext=(5, -13 if crowded else 5), fontsize=9)
    axes.set(xscale="log", xlabel="search, CPU ms p50 (log)", ylabel="evidence turns in the first ten, %")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.margins(y=0.12)
    axes.set_xlim(right=ROOM_FOR_A_LABEL * max((x for x, _ in places), default=1.0))
    axes.grid(visible=True, alpha=0.3)
    with rc_context({"svg.hashsalt": "mnemic", "svg.fonttype": "none"}):
        sheet.savefig(file, metadata={"Date": None, "Creator": None})


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write what is asked for."""
    options = arguments(given)
    conversations = [c for c in load(options.data) if c.questions]
    embedder = HashingEmbedder() if options.embedder == "hashing" else default_embedder()
    environments = (options.environments or cache_dir("benchmarks", "peers")).absolute()
    chosen = [PEERS[name] for name in options.peers.split(",")]
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        talks = dict(zip(prepare(conversations, embedder, options.rows, work), conversations, strict=True))
        with tqdm(total=len(chosen) * (len(talks) + 2), unit="step", file=sys.stderr) as progress:
            for number, peer in enumerate(chosen, start=1):
                figures[peer.name] = measure(peer, talks, work, environments, progress)
                progress.update(number * (len(talks) + 2) - progress.n)
    if options.embedder == "default":
        embedder.close()
    result = reporting.document(
        "quality.peers", given, data=described(options.data, conversations), machine=reporting.machine(),
        settings={"embedder": embedder.id, "rows": options.rows}, definitions=DEFINITIONS, figures=figures,
    )  # fmt: skip
    show(figures)
    if options.json:
        reporting.written(result, options.json)
    if options.plot:
        plot(figures, options.plot)
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
