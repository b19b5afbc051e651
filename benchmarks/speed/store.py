"""Add, search, opening, memory and disk, side by side: ``python -m benchmarks.speed.store --data FILE``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.conversations import load
from benchmarks.speed import corpus, fresh, tenant
from benchmarks.speed.children import Child, rounds
from benchmarks.speed.engines import ENGINES
from benchmarks.speed.measures import folder_bytes, pin_threads
from benchmarks.vectors import default_embedder

ADDS, ADDS_A_ROUND = 200, 20
QUESTIONS_A_ROUND = 20
INTERLEAVED = 200
BM25_UP_TO = 10_000
FOREIGN = 100_000
FOOTPRINT_ROWS = 10_000

DEFINITIONS = {
    "engines": "mnemic: default recipe; script: one SQLite transaction an add (row, FTS5, float16 vector), float32 matrix in "
    "RAM, reciprocal rank fusion of the best 100 of FTS5 and of the scan; chroma: PersistentClient, dense only; chroma+bm25: "
    "the same with rank-bm25 in RAM, up to 10,000 rows. Each in a process of its own; rounds of 20 calls alternate",
    "rows": "one user's rows: real turns first, then turns recombined from their sentences (benchmarks.speed.corpus)",
    "vectors": "prepared: no figure contains an embedding",
    "add": "one message a call, durable (mnemic and script: synchronous=FULL; Chroma as it is), on top of the rows",
    "search": "k = 10, each question once, after one search that warms the row caches; search_again: the same questions a "
    "second time; search_after_add: an untimed add before each",
    "cpu_ms": "CPU time of the whole process with all threads; numeric libraries on one thread",
    "cold_start": "CPU seconds of a fresh process, median of five: open_and_answer is opening and the first hybrid answer, "
    "with_imports adds the imports, numpy among them; files are in the system's cache",
    "disk": "all files of the folder after closing, in 10^6 bytes; footprint: 10,000 messages of 20 words",
    "memory": "resident 10^6 bytes of a process with the footprint's store and no embedder loaded",
    "tenant": "the first conversation as one user among 100,000 rows of 100 others, written in slices between them, against "
    "the same conversation alone",
}


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.store", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in the shape of LoCoMo")
    parser.add_argument("--rows", default="1000,10000,100000", help="sizes, separated by commas; empty for none")
    parser.add_argument("--engines", default=",".join(ENGINES), help="which of " + ", ".join(ENGINES))
    parser.add_argument("--questions", type=int, default=400, help="how many questions are asked at each size")
    parser.add_argument("--tenant", action="store_true", help="also one user among 100,000 rows of others")
    parser.add_argument(
        "--vectors-cache", type=Path, help="file that keeps vectors between runs; default: cache folder"
    )
    parser.add_argument("--json", type=Path, help="write the result to this file")
    return parser.parse_args(given)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def at_size(real: corpus.Corpus, size: int, engines: Sequence[str]) -> dict[str, Any]:
    """Every engine at one size."""
    chosen = [name for name in engines if name != "chroma+bm25" or size <= BM25_UP_TO]
    found: dict[str, Any] = {name: {} for name in chosen}
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "data"
        grown = corpus.grown(real, size + ADDS + INTERLEAVED)
        grown.write(data)
        children = {name: Child(name, data, Path(place) / name, size) for name in chosen}
        for name, child in children.items():
            found[name]["loaded_rows_a_second"] = round(child.do("load"))
            say(f"{size} rows in {name}: {found[name]['loaded_rows_a_second']} a second")
        _in_turns(children, len(grown.questions))
        for name, child in children.items():
            found[name] |= child.do("report")
        for name, child in children.items():
            found[name] |= child.end()
        for name in chosen:
            if name != "chroma+bm25":  # its keyword index is not on disk
                found[name]["cold_start"] = fresh.cold_start(name, Path(place) / name, data)
    return found


def _in_turns(children: Mapping[str, Child], questions: int) -> None:
    """Each engine a few calls, then the next: whatever disturbs the machine disturbs all of them."""
    durable = {name: child for name, child in children.items() if name != "chroma+bm25"}
    for start, end in rounds(ADDS, ADDS_A_ROUND):
        for child in durable.values():
            child.do("add", end - start)
    for passage in (0, 1):
        for span in rounds(questions, QUESTIONS_A_ROUND):
            for child in (children if passage == 0 else durable).values():
                child.do("search", passage, *span)
    for span in rounds(min(INTERLEAVED, questions), QUESTIONS_A_ROUND):
        for child in durable.values():
            child.do("interleave", *span)


def footprint(real: corpus.Corpus) -> dict[str, Any]:
    """Disk of 10,000 messages of 20 words, and the memory of a process that has them."""
    with tempfile.TemporaryDirectory() as place:
        folder, data = Path(place) / "mnemic", Path(place) / "data"
        corpus.of_twenty_words(corpus.grown(real, FOOTPRINT_ROWS)).write(data)
        child = Child("mnemic", data, folder, FOOTPRINT_ROWS)
        child.do("load")
        while_open = folder_bytes(folder)
        megabytes = child.end()["mb_on_disk"]
        thousands = FOOTPRINT_ROWS / 1000
        return {
            "rows": FOOTPRINT_ROWS, "mb_per_1000": round(megabytes / thousands, 3),
            "mb_per_1000_while_open": round(while_open / 1e6 / thousands, 3), "memory": fresh.memory_use(folder, data),
        }  # fmt: skip


def ratios(found: Mapping[str, Any]) -> dict[str, float]:
    """What the bars are about: Mnemic against the floor and against Chroma, in this run."""
    mine, result = found.get("mnemic", {}), {}
    for other in ("script", "chroma"):
        if "add" in mine and other in found:
            for clock in ("wall_ms_p50", "wall_ms_p10", "cpu_ms_p50"):
                result[f"add_{clock}_over_{other}"] = round(mine["add"][clock] / found[other]["add"][clock], 3)
            result[f"search_cpu_ms_p50_over_{other}"] = round(
                mine["search"]["cpu_ms_p50"] / found[other]["search"]["cpu_ms_p50"], 3
            )
    return result


def show(figures: Mapping[str, Any]) -> None:
    """The figures as tables."""
    for size, found in figures["sizes"].items():
        engines = {name: values for name, values in found.items() if name != "ratios"}
        head = ("CPU ms p50 / p95, wall p50 (p10)", *engines)
        lines = [
            (what, *(_times(values.get(what)) for values in engines.values()))
            for what in ("add", "search", "search_again", "search_after_add")
        ]
        lines.append(("MB on disk", *(values["mb_on_disk"] for values in engines.values())))
        for part in ("import_s", "open_s", "first_answer_s", "open_and_answer_s"):
            lines.append(
                (f"cold {part}, CPU", *(values.get("cold_start", {}).get(part) for values in engines.values()))
            )
        reporting.print_table(f"{size} rows of one user", head, lines)
        print("ratios:", found["ratios"])
        for name, values in engines.items():
            for doubt in ("texts_without_vector", "answers_of_less_than_10"):
                if values.get(doubt):
                    print(f"{name}: {values[doubt]} {doubt.replace('_', ' ')}")
    for key in ("import", "footprint", "tenant"):
        if key in figures:
            reporting.print_table(key, ("figure", "value"), _flat(figures[key]))


def _times(values: Mapping[str, float] | None) -> str | None:
    if not values:
        return None
    cpu = f"{values['cpu_ms_p50']:.2f} / {values['cpu_ms_p95']:.2f}"
    return f"{cpu}, {values['wall_ms_p50']:.2f} ({values['wall_ms_p10']:.2f})"


def _flat(values: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    lines: list[tuple[str, Any]] = []
    for name, value in values.items():
        lines += _flat(value, f"{before}{name}.") if isinstance(value, Mapping) else [(before + name, value)]
    return lines


def measure(options: argparse.Namespace) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The corpus and the figures so far, after each part: a long run that is broken off leaves what it had."""
    conversations, embedder = load(options.data), default_embedder(options.vectors_cache)
    real = corpus.prepare(conversations, embedder, options.questions)
    embedder.close()
    figures: dict[str, Any] = {"sizes": {}}
    for size in [int(text) for text in options.rows.split(",") if text]:
        found = at_size(real, size, options.engines.split(","))
        figures["sizes"][str(size)] = found | {"ratios": ratios(found)}
        yield real, figures
    figures |= {"import": fresh.import_cost(), "footprint": footprint(real)}
    yield real, figures
    if options.tenant:
        say(f"one user among {FOREIGN} rows of others")
        figures["tenant"] = tenant.measure(conversations, embedder, FOREIGN)
        yield real, figures


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    options = arguments(given)
    pin_threads("benchmarks.speed.store", given)
    figures: dict[str, Any] = {}
    for real, figures in measure(options):
        result = reporting.document(
            "speed.store", given, data={"file": options.data.name, "sha256": reporting.sha256(options.data)},
            machine=reporting.machine(), settings={"questions": len(real.questions)}, definitions=DEFINITIONS,
            figures=figures,
        )  # fmt: skip
        if options.json:
            reporting.written(result, options.json)
    show(figures)
    return figures


if __name__ == "__main__":
    main(sys.argv[1:])
