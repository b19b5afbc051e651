"""Material by authors who knew no code, and whose is left out: pairs of statements, of which the later one may update the earlier
one, and requests to forget.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

FILES = [
    Path(__file__).with_name(f"{name}.json")
    for name in (
        "statements_that_update", "plain_statements", "long_statements", "noted_statements", "contrasted_statements",
    )
]  # fmt: skip
"""In the last, twelve later statements in like words stand beside each earlier one, so that no word alone tells what they do."""
REQUESTS = Path(__file__).with_name("requests_to_forget.json")
UPDATING = ("correction", "retraction", "ending", "change")
LEFT_OUT = 5
"""The first author of a file, and every fifth after that, is left out of what ``reader_fit`` learns."""

Pairs = Mapping[str, Sequence[Mapping[str, str]]]
"""By author: each case has ``old``, ``new``, ``kind`` and ``question``."""


def pairs(file: Path, most: int | None = None) -> Pairs:
    """The pairs of a file, at most so many of each author."""
    return {author: cases[:most] for author, cases in json.loads(file.read_text(encoding="utf-8")).items()}


def left_out(file: Path, every: int = LEFT_OUT) -> set[str]:
    """The authors of a file who are left out: the first and every Nth after that; 0: none."""
    return {*[*json.loads(file.read_text(encoding="utf-8"))][::every]} if every else set()
