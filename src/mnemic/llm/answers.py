"""Extracts JSON objects from a model's answer, ignoring prose, code fences and odd characters."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, cast

MOST_TRIES = 100
"""Most opening braces tried."""

_DECODER = json.JSONDecoder(strict=False)  # allows raw control characters in strings, which are removed below

_ESCAPES = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")  # terminal escape sequences

# Control, invisible and bidirectional characters, tags, and lone surrogates.
_UNSAFE = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def plain(text: str) -> str:
    """The text without control and invisible characters; every line end is a line feed."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return _UNSAFE.sub("", _ESCAPES.sub("", joined).replace("\r\n", "\n").replace("\r", "\n")).strip()


def plain_values(value: Any) -> Any:
    """A JSON value with every string made plain."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(key): plain_values(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [plain_values(item) for item in cast("list[Any]", value)]
    return value


def find_objects(text: str, names: Collection[str]) -> list[dict[str, Any]]:
    """The JSON objects in a text that have one of these keys, last first.

    Nested objects are not searched, unless the outer one is truncated.
    """
    found: list[dict[str, Any]] = []
    position = 0
    for _ in range(MOST_TRIES):
        start = text.find("{", position)
        if start < 0:
            break
        try:
            value, position = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        if isinstance(value, dict) and any(name in value for name in names):
            found.append(cast("dict[str, Any]", value))
    return found[::-1]
