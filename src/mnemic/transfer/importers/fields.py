"""Typed access to parsed JSON, with errors that name the place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from mnemic.errors import InvalidInput
from mnemic.text.parts import join_parts
from mnemic.text.values import json_type

LEFT_OUT = "left_out"
"""Metadata key that lists the parts of a message that could not be imported."""

_MILLISECONDS = 100_000_000_000
"""Larger numbers are milliseconds since 1970, smaller ones seconds."""


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object with its place in the file, for errors."""

    values: Mapping[str, object]
    place: str

    def fault(self, field: str, problem: str) -> InvalidInput:
        """The error for a field."""
        return InvalidInput(f"{self.place}.{field} {problem}.")

    def text(self, field: str, *, needed: bool = True) -> str | None:
        """A string; if not ``needed``, None for a missing or empty one."""
        value = self.values.get(field)
        if isinstance(value, str) or (value is None and not needed):
            return value or (None if not needed else "")
        if value is None:
            raise self.fault(field, "is missing")
        raise self.fault(field, f"must be a string, not {json_type(value)}")

    def word(self, field: str) -> str:
        """A non-empty string."""
        value = self.text(field)
        if not value:
            raise self.fault(field, "is empty")
        return value

    def moment(self, field: str, *, number: bool = False) -> datetime | None:
        """A time in ISO 8601, or with ``number`` in seconds or milliseconds since 1970; None if it is missing."""
        value = self.values.get(field)
        numbered = number and isinstance(value, (int, float)) and not isinstance(value, bool)
        text = None if numbered else self.text(field, needed=False)
        try:
            if numbered:
                seconds = cast("float", value)
                return datetime.fromtimestamp(seconds / 1000 if seconds >= _MILLISECONDS else seconds, UTC)
            return None if text is None else datetime.fromisoformat(text)
        except (ValueError, OverflowError, OSError) as error:
            raise self.fault(
                field, f"is {value!r:.60}, not a time in ISO 8601 such as 2026-03-01T18:05+01:00"
            ) from error

    def inside(self, field: str) -> Fields:
        """The object in a field."""
        value = self.values.get(field)
        if value is None:
            raise self.fault(field, "is missing")
        return fields_of(value, f"{self.place}.{field}")

    def maybe(self, field: str) -> Fields:
        """The object in a field; empty if it is missing."""
        value = self.values.get(field)
        return fields_of({} if value is None else value, f"{self.place}.{field}")

    def said(self, field: str, *, kind: str = "type", joint: str = "\n") -> tuple[str, tuple[str, ...]]:
        """The text of a string or list of parts, and the kinds of parts that are not text: see ``join_parts``."""
        value = self.values.get(field)
        if value is None and field not in self.values:
            raise self.fault(field, "is missing")
        return join_parts(value, f"{self.place}.{field}", kind=kind, joint=joint)


def fields_of(value: object, place: str) -> Fields:
    """A JSON object with its place."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{place} must be an object, not {json_type(value)}.")
    return Fields(cast("Mapping[str, object]", value), place)


def mapping(value: object) -> Mapping[str, object]:
    """A JSON object; empty for any other value."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def objects(data: object, place: str = "") -> list[Fields]:
    """The objects of a list; a single object is a list of one."""
    items = cast("list[object]", data) if isinstance(data, list) else [data]
    return [fields_of(item, f"{place}[{number}]") for number, item in enumerate(items)]
