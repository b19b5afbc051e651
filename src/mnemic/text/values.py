"""Values as text: canonical JSON, and values of callers in error messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from mnemic.errors import InvalidInput

__all__ = ["json_type", "shown", "to_json"]


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
