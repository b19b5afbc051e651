"""Tables in Markdown, in CSV, and as spreadsheets copy them: a heading says what the cells below it are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemic.safety.secrets.labels import stands_out
from mnemic.safety.secrets.pattern import Span
from mnemic.safety.secrets.surroundings import KEYS, PASSWORDS, compiled, named_secret

__all__ = ["columns"]

_CELLS = {sign: re.compile(rf'(?:[^"{re.escape(sign)}]|"[^"]*+"|")*+') for sign in "|\t;,"}
_HEADING = re.compile(r"[\s\"'*_`]*(?:[^\W_][\w-]*(?: [\w/-]+){0,2})?[\s\"'*_`]*")
_LOGIN = compiled("user|login|e-?mail|account|benutzer|konto|usuario|utilisateur")
_PLAIN = re.compile(r"[a-z]{6,}(?<!ed)(?<!ing)(?<!ly)(?<!able)")
LONGEST = 2_000
"""Characters of a line of headings."""
_OPAQUE = "k7Q2xV9mZ4tR8wB1nY5c"


@dataclass(frozen=True, slots=True)
class _Table:
    sign: str
    width: int
    secret: dict[int, str]
    logins: bool


def columns(text: str) -> Iterator[Span]:
    """Where the cells of secret columns are, and of what kind. Marks of earlier secrets stand as they are, and are cells."""
    table, at, low = None, 0, text.lower()
    names = [name for name in (*PASSWORDS, *KEYS) if name in low]
    for line in text.split("\n"):
        if table is not None:
            cells = _cells(line, table.sign)
            table = table if len(cells) == table.width else None
            if table is not None:
                yield from _secrets(text, table, [(at + start, at + end) for start, end in cells])
        if table is None:
            table = _headed(line, names)
        at += len(line) + 1


def _cells(line: str, sign: str) -> list[tuple[int, int]]:
    found, at = list[tuple[int, int]](), 0
    while (match := _CELLS[sign].match(line, at)) is not None:
        found.append(match.span())
        if match.end() == len(line):
            break
        at = match.end() + 1
    return found


def _headed(line: str, names: Sequence[str]) -> _Table | None:
    """The table that a line begins, if it is a line of headings and one of them says that the cells below are secret."""
    sign = next((sign for sign in _CELLS if sign in line), None)
    if sign is None or len(line) > LONGEST or not any(name in line.lower() for name in names):
        return None
    headings = [line[start:end] for start, end in _cells(line, sign)]
    if sum(bool(one.strip()) for one in headings) < 2 or not all(map(_HEADING.fullmatch, headings)):
        return None
    named = {place: one.strip(" \t\"'*_`") for place, one in enumerate(headings)}
    secret = {place: name for place, name in named.items() if named_secret(name, _OPAQUE)}
    return _Table(sign, len(headings), secret, any(map(_LOGIN.search, headings))) if secret else None


def _secrets(text: str, table: _Table, cells: list[tuple[int, int]]) -> Iterator[Span]:
    for place, name in table.secret.items():
        start, end = cells[place]
        cell = text[start:end]
        value = cell.strip(" \t\r\"'*_`")
        kind = named_secret(name, value) if value and not re.search(r"\s", value) else None
        if kind and (kind == "key" or stands_out(value) or (table.logins and _PLAIN.fullmatch(value))):
            first = start + cell.index(value)
            yield first, first + len(value), kind
