"""Values of callers in error messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

__all__ = ["json_type", "shown"]


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
