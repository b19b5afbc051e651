"""What a caller gave, in an error message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

__all__ = ["described", "shown"]


def shown(value: object, most: int = 40) -> str:
    """What a caller gave, in at most so many characters; objects that cannot show themselves are named by their type."""
    try:
        return repr(value)[:most]
    except Exception:  # noqa: BLE001 - it is the caller's object, and an error message must not fail
        return f"<{type(value).__name__}>"


def described(value: object) -> str:
    """What kind of JSON value it is."""
    if isinstance(value, Mapping):
        return f"an object with {sorted(cast('Mapping[str, object]', value))[:8]}"
    names = {"list": "a list", "str": "a string", "bool": "a truth value", "NoneType": "null"}
    return names.get(type(value).__name__, "a number")
