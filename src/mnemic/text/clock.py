"""Times: aware datetimes in the API, microseconds since 1970 UTC plus an offset in storage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

from mnemic.errors import InvalidInput
from mnemic.text.values import shown

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


def offset_minutes(value: datetime, zone: tzinfo = UTC) -> int:
    """Minutes east of UTC at that time."""
    offset = aware(value, zone).utcoffset() or timedelta()
    return round(offset.total_seconds() / 60)


def from_micros(value: int, offset: int = 0) -> datetime:
    """The aware datetime of stored microseconds, in its own offset where that can be expressed."""
    moment = _EPOCH + timedelta(microseconds=min(max(value, EARLIEST), LATEST))
    try:
        return moment.astimezone(timezone(timedelta(minutes=offset)))
    except (OverflowError, ValueError):
        return moment
