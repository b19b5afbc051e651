"""Values of callers: canonical JSON, names, values in error messages, and times.

Times are aware datetimes in the API, and microseconds since 1970 UTC plus an offset in storage.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
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


def new_session() -> str:
    """A unique name for a new conversation, ``session_{timestamp}_{random}``, sortable by time.

    Examples:
        >>> from mnemic import new_session
        >>> new_session()[:10]  # all of it: session_20260309T180500Z_5f0c1a9e
        'session_20'
    """
    return f"session_{datetime.now(UTC):%Y%m%dT%H%M%SZ}_{secrets.token_hex(4)}"


_encoded, _encoded_in_ascii = (
    json.JSONEncoder(ensure_ascii=is_ascii, sort_keys=True, separators=(",", ":"), allow_nan=False).encode
    for is_ascii in (False, True)
)


def to_json(value: object) -> str:
    """Compact JSON with sorted keys: equal values are equal text.

    Raises:
        InvalidInput: the value is not JSON, or contains NaN or infinity.
    """
    try:
        text = _encoded(value)
        text.encode()
    except UnicodeEncodeError:
        return _encoded_in_ascii(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"Metadata must be plain JSON: {error}. Convert the value before storing it.") from error
    return text


def counted(counts: Mapping[str, int]) -> str:
    """Counts as text: ``3 memories, 1 link``."""
    plurals = {name: f"{name[:-1]}ies" if name.endswith("y") else f"{name}s" for name in counts}
    return ", ".join(f"{count:,} {name if count == 1 else plurals[name]}" for name, count in counts.items())


def size(count: float) -> str:
    """Formatted bytes: ``1.4 MB``."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def one_line(text: str, most: int | None = None) -> str:
    """Text with normalized white space, cut to ``most`` characters."""
    line = " ".join(text.split())
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"


def shown(value: object, most: int = 40) -> str:
    """The ``repr`` of a value, cut to ``most`` characters; its type if ``repr`` fails."""
    try:
        return repr(value)[:most]
    except Exception:  # noqa: BLE001 - it is the caller's object, and an error message must not fail
        return f"<{type(value).__name__}>"


LONGEST_ERROR = 4_000
"""Characters of an error; a longer one keeps its two ends: what happened, and what to do."""


def error_excerpt(text: str) -> str:
    """The text of an error, which may quote a value of any length. Secrets are redacted before: half a one would stay."""
    half = LONGEST_ERROR // 2
    return text if len(text) <= LONGEST_ERROR else f"{text[:half]} ... {text[-half:]}"


def jsonable(value: object) -> object:
    """A value as JSON: dataclasses and mappings as objects, times in ISO 8601, sequences as lists."""
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value) if field.repr}
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in cast("Sequence[object]", value)]
    return value


def as_object(value: object) -> dict[str, object]:
    """A dataclass as a JSON object."""
    return cast("dict[str, object]", jsonable(value))


def json_type(value: object) -> str:
    """The kind of a JSON value, in words."""
    if isinstance(value, Mapping):
        return f"an object with {sorted(cast('Mapping[str, object]', value))[:8]}"
    names = {"list": "a list", "str": "a string", "bool": "a truth value", "NoneType": "null"}
    return names.get(type(value).__name__, "a number")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
EARLIEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)


def aware(value: datetime, zone: tzinfo) -> datetime:
    """The same wall-clock time with a zone: naive values take ``zone``."""
    return value.replace(tzinfo=zone) if value.utcoffset() is None else value


def to_micros(value: datetime, zone: tzinfo = UTC) -> int:
    """Microseconds since 1970 UTC.

    Raises:
        InvalidInput: it is not a datetime, or it lies outside the years 1 to 9999 in UTC.
    """
    if not isinstance(value, datetime):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
        raise InvalidInput(f"A time must be a datetime.datetime, not {type(value).__name__} ({shown(value, 60)}).")
    micros = (aware(value, zone) - _EPOCH) // _MICROSECOND
    if not EARLIEST <= micros <= LATEST:  # year 1 or 9999, out of range in UTC
        raise InvalidInput(f"The time {value!r} lies outside the years 1 to 9999 in UTC.")
    return micros


_MILLISECONDS = 100_000_000_000
"""Larger numbers are milliseconds since 1970, smaller ones seconds."""
_SECONDS_1970 = re.compile(r"\d{10}(?:\d{3})?(?:\.\d+)?")
"""Seconds or milliseconds in a text; other numbers of digits are dates without separators."""
_UTC = re.compile(r"\s*(?:UTC|GMT)$", re.IGNORECASE)


def written_time(value: str | float, what: str) -> datetime:
    """A time in ISO 8601, or in seconds or milliseconds since 1970; naive if it names no zone.

    Raises:
        InvalidInput: it is another, or no record can hold it in every zone.
    """
    text = str(value).strip()
    try:
        if not isinstance(value, str) or _SECONDS_1970.fullmatch(text):
            seconds = float(text)
            moment = datetime.fromtimestamp(seconds / 1000 if seconds >= _MILLISECONDS else seconds, UTC)
        else:
            moment = datetime.fromisoformat(_UTC.sub("+00:00", text))
        _ = to_micros(moment - timedelta(days=1)), to_micros(moment + timedelta(days=1))
    except (ValueError, OverflowError, OSError, InvalidInput) as error:
        raise InvalidInput(
            f"{what} is {value!r:.60}, not a time in ISO 8601 such as 2026-03-01T18:05+01:00, or seconds since 1970."
        ) from error
    return moment


def offset_minutes(value: datetime) -> int:
    """Minutes east of UTC at that time; 0 without a zone."""
    offset = value.utcoffset() or timedelta()
    return round(offset.total_seconds() / 60)


def from_micros(value: int, offset: int = 0) -> datetime:
    """The aware datetime of stored microseconds, in its own offset where that can be expressed."""
    moment = _EPOCH + timedelta(microseconds=min(max(value, EARLIEST), LATEST))
    try:
        return moment.astimezone(timezone(timedelta(minutes=offset)))
    except (OverflowError, ValueError):
        return moment


def local(moment: datetime, zone: tzinfo) -> datetime:
    """A time in a zone; as it is at the ends of time."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


def later(moment: datetime, by: timedelta) -> datetime:
    """A later time; the same at the end of time."""
    try:
        return moment + by
    except OverflowError:
        return moment


_HOURS = (1, 3, 6, 12, 24, 48, 168, 336, 720, 2_184, 8_760)
"""Lengths of periods, up to a year."""


def periods(first: datetime, last: datetime, most: int) -> Sequence[datetime]:
    """The bounds of at most ``most`` periods of equal length that hold two times.

    They begin at midnight in the zone of the first time; those that are shorter than a day, at a full hour.
    """
    hour = first.replace(minute=0, second=0, microsecond=0)
    midnight = hour.replace(hour=0)
    years = 1 + (last - midnight) // (most * timedelta(days=365))
    for width in (*_HOURS, years * _HOURS[-1]):
        begin, step = midnight if width >= 24 else hour, timedelta(hours=width)
        if (count := (last - begin) // step + 1) <= most:
            return [later(begin, step * n) for n in range(count + 1)]
    raise AssertionError("years are long enough")
