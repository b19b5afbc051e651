"""Canonical JSON."""

from __future__ import annotations

import json

from mnemic.errors import InvalidInput

__all__ = ["to_json"]


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
