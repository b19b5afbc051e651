"""The statements of the common rooms in PostgreSQL's words."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import count

__all__ = ["translated"]

_MARK = re.compile(r"\?(\d*)")
_LIST = re.compile(r"IN \(SELECT value FROM json_each\((\$\d+)\)\)")
_GROUPED = re.compile(r"json_group_array\((\w+)\)")


@lru_cache(maxsize=2_000)
def translated(statement: str) -> str:
    """A statement with numbered values, and arrays in the place of JSON lists.

    Statements are constants, put together from a few: each is translated once.
    """
    numbers = count(1)
    statement = _MARK.sub(lambda mark: f"${mark[1] or next(numbers)}", statement)
    statement = _LIST.sub(r"= ANY(\1)", statement)
    return _GROUPED.sub(r"coalesce(json_agg(\1 ORDER BY \1), '[]')::text", statement)
