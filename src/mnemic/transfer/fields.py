"""Conversion of JSON values to the types of record fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin

from mnemic.text.clock import to_micros
from mnemic.text.terms import clean
from mnemic.text.values import shown
from mnemic.types import Emotion

__all__ = ["coerce"]

_SIGNED = {"valence", "arousal"}


def coerce(name: str, hint: Any, value: object) -> object:
    """Convert a JSON value to the type of its field; raises ValueError."""
    if get_origin(hint) in (Union, UnionType):
        if value is None:
            return None
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    match get_origin(hint) or hint, value:
        case (origin, str()) if origin is str or value in get_args(hint):
            return clean(value)
        case (origin, str()) if origin is datetime:
            return _moment(name, value)
        case (origin, bool()) if origin is bool:
            return value
        case (origin, _) if origin in (int, float):
            return _number(name, origin, value)
        case (origin, list()) if origin is tuple:
            return tuple(coerce(name, str, item) for item in cast("list[object]", value))
        case (origin, dict()) if origin is Emotion:
            return Emotion(**{part: _number(part, float, item) for part, item in cast("dict[str, Any]", value).items()})
        case (origin, dict()) if origin is Mapping:
            return cast("object", value)
        case _:
            raise ValueError(f"{name} is {shown(value, 60)}")


def _number(name: str, kind: Any, value: object) -> float:
    """A count, or a number in 0..1; emotions may be negative."""
    least, most = (0, 2**53) if kind is int else (-1 if name in _SIGNED else 0, 1)
    allowed = int if kind is int else (int, float)
    if isinstance(value, bool) or not isinstance(value, allowed) or not least <= value <= most:
        raise ValueError(f"{name} is {shown(value, 60)}")
    return kind(value)


def _moment(name: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name} is {shown(text, 60)}, which is not a time") from None
    if moment.utcoffset() is None:
        raise ValueError(f"{name} has no time zone")
    to_micros(moment)
    return moment
