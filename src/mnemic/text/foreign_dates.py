"""Dates in texts that are not English, by the library dateparser, which the extra ``languages`` brings."""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

from mnemic.text.language import language_of

_READ = 1_000
"""Characters read of a text."""
_TELLING = re.compile(r"\d|[^\W\d_]{4,}|[^\W_\u0000-\u024f]")
"""What a date needs: a digit, a word of four letters, or a letter that is not Latin. Shorter words are mostly others, such as
``mi`` and ``mit``, which are short for Wednesday as well."""


def foreign_dates(text: str, said: int) -> list[tuple[date, str]]:
    """The dates of a text, each with its period: ``day``, ``week``, ``month`` or ``year``.

    Args:
        text: in any language; none are found in an English one, or without the library.
        said: ordinal of the day from which "yesterday" counts, in any language.
    """
    if not _installed() or (language := language_of(text)) is None:
        return []
    base = datetime.fromordinal(said)
    try:
        found = _search(text[:_READ], languages=[language], settings={"RELATIVE_BASE": base}, add_period=True)
    except (ValueError, OverflowError):  # it does not know the language, or the date is beyond the calendar
        return []
    return [(moment.date(), period) for words, moment, period in found or () if _TELLING.search(words)]


@cache
def _installed() -> bool:
    return find_spec("dateparser") is not None


def _search(text: str, **options: Any) -> Any:  # the package need not be installed
    from dateparser import search

    return cast("Any", search).search_dates(text, **options)
