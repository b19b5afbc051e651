"""How often ordinary texts are taken for secrets, and what looking for them costs.

    python -m benchmarks.quality.secrets PATH [PATH ...]

A path is a JSON or CSV file, or a folder of these; every string of at least 20 characters counts as one ordinary note.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mnemic import SecretPolicy

LEAST = 20


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def notes(paths: list[Path]) -> list[str]:
    """The distinct texts of some files."""
    found: dict[str, None] = {}
    for path in paths:
        files = [path] if path.is_file() else sorted([*path.rglob("*.json"), *path.rglob("*.csv")])
        for file in files:
            with file.open(encoding="utf-8", newline="") as lines:
                held = list(csv.reader(lines)) if file.suffix == ".csv" else json.load(lines)
            found |= dict.fromkeys(text for text in strings(held) if len(text) >= LEAST)
    return list(found)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    texts = notes(parser.parse_args().paths)
    policy, kinds, taken = SecretPolicy(), Counter[str](), 0
    began = time.process_time()
    for text in texts:
        found = policy.redacted(text)[1]
        taken += bool(found)
        kinds.update(found)
    spent = time.process_time() - began
    print(f"{len(texts):,} texts of {sum(map(len, texts)) / len(texts):.0f} characters on average")
    print(f"taken for secrets: {taken} ({taken / len(texts):.3%}) {dict(kinds)}")
    print(f"{spent / len(texts) * 1e6:.1f} us of CPU a text")


if __name__ == "__main__":
    main()
