"""What a caller gave, in an error message."""

from __future__ import annotations

__all__ = ["shown"]


def shown(value: object, most: int = 40) -> str:
    """What a caller gave, in at most so many characters; objects that cannot show themselves are named by their type."""
    try:
        return repr(value)[:most]
    except Exception:  # noqa: BLE001 - it is the caller's object, and an error message must not fail
        return f"<{type(value).__name__}>"
