"""What the commands print: answers on stdout, everything else on stderr, and nothing a terminal would obey."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import cast

from mnemic.types import Hit

__all__ = ["complain", "hit_lines", "jsonable", "say", "say_json", "size", "table"]

# Stored text may hold escape sequences, which must not reach the terminal as such.
_CONTROL = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _encodable(text: str, encoding: str | None) -> str:
    """The text with every character that the stream cannot write replaced."""
    name = encoding or "utf-8"
    return text.encode(name, "replace").decode(name)


def say(*lines: str) -> None:
    """Print lines on stdout."""
    for line in lines:
        print(_encodable(_CONTROL.sub("", line.replace("\r\n", "\n")), sys.stdout.encoding))


def complain(message: str) -> None:
    """Print a message about the run on stderr."""
    print(_encodable(f"mnemic: {_CONTROL.sub('', message)}", sys.stderr.encoding), file=sys.stderr)


def say_json(value: object) -> None:
    """Print one JSON document on stdout."""
    plain = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    print(json.dumps(jsonable(value), ensure_ascii=not plain, indent=2))


def jsonable(value: object) -> object:
    """A value as JSON can hold it: dataclasses and mappings as objects, times in ISO 8601, sequences as lists."""
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in cast("Sequence[object]", value)]
    return value


def table(rows: Iterable[tuple[str, object]]) -> list[str]:
    """Names and values in two columns."""
    pairs = [(name, str(value)) for name, value in rows]
    width = max((len(name) for name, _ in pairs), default=0)
    return [f"{name:<{width}}  {value}" for name, value in pairs]


def size(count: float) -> str:
    """Bytes for people: ``1.4 MB``."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def hit_lines(rank: int, hit: Hit) -> list[str]:
    """One hit: a line that says what it is, then its text."""
    when = f"{hit.sent_at:%Y-%m-%d %H:%M}" if hit.sent_at else "undated"
    who = _one_line(hit.speaker or hit.type or hit.kind)
    place = f"  in {_one_line(hit.session)}" if hit.session else ""
    text = hit.text.strip().replace("\n", "\n    ")
    return [f"{rank:>2}. {when}  {who}{place}  [{_one_line(hit.id)}]  {hit.score:.3f}", f"    {text}"]


def _one_line(text: str) -> str:
    return " ".join(text.split())
