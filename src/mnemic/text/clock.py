"""Times: aware datetimes outside, microseconds since 1970 UTC plus an offset inside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

from mnemic.errors import InvalidInput

__all__ = ["aware", "from_micros", "now", "offset_minutes", "to_micros"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)


def aware(value: datetime, zone: tzinfo) -> datetime:
    """The same wall-clock time with a zone: naive values take ``zone``."""
    return value.replace(tzinfo=zone) if value.tzinfo is None else value


def to_micros(value: datetime, zone: tzinfo = UTC) -> int:
    """Microseconds since 1970 UTC.

    Raises:
        InvalidInput: it is not a datetime.
    """
    if not isinstance(value, datetime):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
        raise InvalidInput(f"A time must be a datetime.datetime, not {type(value).__name__} ({value!r:.60}).")
    try:
        return (aware(value, zone) - _EPOCH) // _MICROSECOND
    except (OverflowError, ValueError) as error:  # year 1 or 9999 pushed over the edge by its zone
        raise InvalidInput(f"The time {value!r} lies outside the years 1 to 9999 in UTC.") from error


def offset_minutes(value: datetime, zone: tzinfo = UTC) -> int:
    """Minutes east of UTC at that time."""
    offset = aware(value, zone).utcoffset() or timedelta()
    return round(offset.total_seconds() / 60)


def from_micros(value: int, offset: int = 0) -> datetime:
    """The aware datetime of stored microseconds, in its own offset where that can be expressed."""
    moment = _EPOCH + timedelta(microseconds=value)
    try:
        return moment.astimezone(timezone(timedelta(minutes=offset)))
    except (OverflowError, ValueError):
        return moment
