"""Values of query strings and forms."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo
from urllib.parse import quote

from mnemic.errors import InvalidInput
from mnemic.text.values import later

DAY = timedelta(days=1)


def day_of(text: str | None, zone: tzinfo) -> datetime | None:
    """The beginning of a day in a zone; None if none is given.

    Raises:
        InvalidInput: it is no date.
    """
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is no date. Write it like 2026-03-09.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def next_day(day: datetime) -> datetime:
    """A day later; the same at the end of time."""
    return later(day, DAY)


def whole(query: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """A whole number between two bounds; outside of them the nearer bound."""
    try:
        return min(max(int(query.get(name) or default), least), most)
    except ValueError:
        raise InvalidInput(f"{name} must be a whole number.") from None


def number(query: Mapping[str, str], name: str) -> float | None:
    """A number; None if none is given."""
    try:
        return float(query[name]) if query.get(name) else None
    except ValueError:
        raise InvalidInput(f"{name} must be a number.") from None


def href(base: str | None, id_: str | None) -> str:
    """The page of a record; empty without a server."""
    return "" if base is None else f"{base}/record?id={quote(id_ or '', safe='')}"
