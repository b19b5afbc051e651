"""Values as text: canonical JSON, and values of callers in error messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from mnemic.errors import InvalidInput

MAX_NAME = 1_000
"""Bytes of a name or an id in UTF-8. Two names share an entry of an index, which PostgreSQL limits to 2,704 bytes."""


def check_name(what: str, value: str) -> None:
    """Check the length of a name or an id.

    Raises:
        InvalidInput: it is too long; the error does not quote it.
    """
    size = len(value.encode(errors="replace"))
    if size > MAX_NAME:
        raise InvalidInput(f"{what} has {size:,} bytes in UTF-8, more than {MAX_NAME:,}. Give it a shorter one.")


def clipped(name: str) -> str:
    """The beginning of a name that may be stored."""
    return name.encode(errors="replace")[:MAX_NAME].decode(errors="ignore")


def to_json(value: object) -> str:
    """Compact JSON with sorted keys: equal values are equal text.

    Raises:
        InvalidInput: the value is not JSON, or contains NaN or infinity.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"Metadata must be plain JSON: {error}. Convert the value before storing it.") from error
    return text


def shown(value: object, most: int = 40) -> str:
    """The ``repr`` of a value, cut to ``most`` characters; its type if ``repr`` fails."""
    try:
        return repr(value)[:most]
    except Exception:  # noqa: BLE001 - it is the caller's object, and an error message must not fail
        return f"<{type(value).__name__}>"


def json_type(value: object) -> str:
    """The kind of a JSON value, in words."""
    if isinstance(value, Mapping):
        return f"an object with {sorted(cast('Mapping[str, object]', value))[:8]}"
    names = {"list": "a list", "str": "a string", "bool": "a truth value", "NoneType": "null"}
    return names.get(type(value).__name__, "a number")
