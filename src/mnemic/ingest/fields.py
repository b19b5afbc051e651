"""Fields of a new record: its id, and the validation of the others. Every error names the field, and nothing is stored then."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from itertools import islice
from typing import Any, cast

from mnemic.errors import InvalidInput
from mnemic.safety.trust import TRUST_OF_SOURCE
from mnemic.services.processes import process_lock
from mnemic.text.clock import aware, to_micros
from mnemic.text.terms import clean
from mnemic.text.values import check_name, shown, to_json
from mnemic.types import Emotion, Source
from mnemic.types.literals import CATEGORIES

_lock = process_lock()
_last = 0


def new_id(prefix: str) -> str:
    """A new id, such as ``msg_019aab...``.

    Ids of one process sort in the order of creation, so that texts of the same millisecond keep their order. UUID version 7
    of RFC 9562, with the twelve bits of ``rand_a`` as fractions of a millisecond.
    """
    global _last  # noqa: PLW0603 - the order holds for the whole process
    with _lock:
        _last = tick = max(_last + 1, time.time_ns() * 4096 // 1_000_000)
    rest = int.from_bytes(os.urandom(8)) >> 2 | 1 << 63
    return f"{prefix}{tick >> 12:012x}7{tick & 4095:03x}{rest:016x}"


MAX_CONTENT = 1_000_000
MAX_KEY = 200
MAX_WORDS = 10_000
"""Most ids, tags or other words of one call."""
MAX_DEPTH = 100
"""Levels of metadata; each takes a few stack frames."""
SOURCES = tuple(TRUST_OF_SOURCE)
TYPES = ("episodic", "semantic", "procedural", "emotional")


def text(what: str, value: object, *, limit: int) -> str:
    """A text that can be stored."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {type(value).__name__}. Nothing was stored.")
    if len(value) > limit:
        raise InvalidInput(f"{what} has {len(value):,} characters, more than {limit:,}. Split it; nothing was stored.")
    return clean(value)


def name(what: str, value: object) -> str:
    """A name or an id that can be stored."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {type(value).__name__}. Nothing was stored.")
    cleaned = clean(value)
    check_name(what, cleaned)
    return cleaned


def optional(what: str, value: object) -> str | None:
    """A name or None."""
    return None if value is None else name(what, value)


def category(value: object) -> str | None:
    """A category or None; one that Mnemic gives may be written in another way: ``ArchitectureDecision``, ``preferences``."""
    given = optional("category", value)
    word = re.sub(r"[\s_-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", given or "")).lower()
    return next((known for known in CATEGORIES if word in (known, f"{known}s", f"{known}es")), given)


def fraction(what: str, value: object) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0 or math.isnan(value):
        raise InvalidInput(f"{what} must be a number from 0 to 1, not {shown(value)}.")
    return float(value)


def json_object(what: str, value: object) -> dict[str, Any]:
    """A metadata object with storable text; it must be plain JSON."""
    if value is None:
        return {}
    given = shown(value, 60)
    items = cast("Mapping[object, object]", value if isinstance(value, Mapping) else {0: value})
    if not all(isinstance(key, str) for key in items):
        raise InvalidInput(f"{what} must be a mapping from strings to JSON values, not {given}.")
    try:
        cleaned = {clean(str(key)): _json_value(item, 1) for key, item in items.items()}
    except RecursionError as error:
        raise InvalidInput(
            f"{what} is nested deeper than {MAX_DEPTH} levels, or within itself. Store a flatter value."
        ) from error
    to_json(cleaned)
    return cleaned


def _json_value(value: object, depth: int) -> object:
    if isinstance(value, str):
        return clean(value)
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, Mapping):
        return {clean(str(k)): _json_value(v, depth + 1) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item, depth + 1) for item in cast("Sequence[object]", value)]
    return value


def words(what: str, values: object) -> tuple[str, ...]:
    """Distinct names or ids; one is a list of one."""
    if isinstance(values, (bytes, Mapping)) or not isinstance(values, Iterable):
        raise InvalidInput(
            f"{what} must be a string or a list of strings, not {type(cast('object', values)).__name__}."
        )
    given = [values] if isinstance(values, str) else cast("Iterable[object]", values)
    found = tuple(dict.fromkeys(name(what, value) for value in islice(given, MAX_WORDS + 1)))
    if len(found) > MAX_WORDS:
        raise InvalidInput(f"{what} has more than {MAX_WORDS:,} entries. Split it; nothing was done.")
    return found


def description(given: Mapping[str, object]) -> dict[str, Any]:
    """The checked fields of ``Description``; None empties one.

    Raises:
        InvalidInput: a value is not valid.
    """
    found: dict[str, Any] = {}
    for field, value in given.items():
        match field:
            case "summary" | "context":
                found[field] = None if value is None else text(field, value, limit=MAX_CONTENT)
            case "confidence":
                found[field] = 1.0 if value is None else fraction(field, value)
            case "emotion":
                found[field] = None if value is None else emotion(field, value)
            case _:
                found[field] = () if value is None else words(field, value)
    return found


def emotion(what: str, value: object) -> Emotion:
    """A mood on the plane of valence and arousal.

    Raises:
        InvalidInput: it is something else, or off the plane.
    """
    if not isinstance(value, Emotion):
        raise InvalidInput(f"{what} must be an Emotion(valence=..., arousal=...), not {shown(value)}.")
    for part, low in (("valence", -1), ("arousal", -1), ("confidence", 0)):
        number = getattr(value, part)
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not low <= number <= 1:  # NaN fails too
            raise InvalidInput(f"{what}.{part} must be a number from {low} to 1, not {shown(number)}.")
    return value


def key(value: object) -> str | None:
    """The key of a statement or None."""
    given = None if value is None else text("key", value, limit=MAX_KEY)
    if given is not None and not given.strip():
        raise InvalidInput("key must not be empty; leave it out for a statement without one.")
    return given


def moment(what: str, value: object, zone: tzinfo) -> datetime | None:
    """A time with its zone, or None."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidInput(f"{what} must be a datetime, not {type(value).__name__} ({shown(value)}).")
    to_micros(value, zone)
    return aware(value, zone)


def source(value: Any) -> Source:
    """A known source."""
    if value not in SOURCES:
        raise InvalidInput(f"source must be one of {sorted(TRUST_OF_SOURCE)}, not {shown(value)}.")
    return value
