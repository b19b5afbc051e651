"""What is found in a file of memories."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from mnemic.errors import InvalidInput
from mnemic.text.canonical import to_json
from mnemic.text.terms import clean
from mnemic.transfer.importers.fields import Fields
from mnemic.types import MemoryType

__all__ = ["Damage", "Found", "identifier", "metadata_of", "statement"]

MAX_CONTENT = 1_000_000
MAX_ID = 1_000


@dataclass(frozen=True, slots=True)
class Damage:
    """A part of a file that is not taken in: where it stands, and why."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One memory of a file.

    ``names`` are the fields that may say whose it is. ``changed`` is when its text was last written. ``until`` is when it
    is to be deleted.
    """

    place: str
    id: str
    content: str
    names: Mapping[str, str]
    type: MemoryType = "semantic"
    category: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any]
    created: datetime | None = None
    changed: datetime | None = None
    until: datetime | None = None


def identifier(prefix: str, name: str) -> str:
    """An id under a prefix; a very long name becomes its hash."""
    made = f"{prefix}:{clean(name)}"
    return made if len(made) <= MAX_ID else f"{prefix}:{hashlib.sha256(name.encode(errors='replace')).hexdigest()}"


def statement(item: Fields, field: str, text: str) -> str:
    """A text that can be a memory.

    Raises:
        InvalidInput: it is empty or too long.
    """
    if not text.strip():
        raise item.fault(field, "is empty: there is nothing to remember")
    if len(text) > MAX_CONTENT:
        raise item.fault(field, f"has {len(text):,} characters, more than {MAX_CONTENT:,}")
    return clean(text)


def metadata_of(own: Mapping[str, object], beside: Mapping[str, object], prefix: str) -> dict[str, Any]:
    """The metadata of an item with its other fields; of two with one name, that of the item gets a prefix.

    Raises:
        InvalidInput: a value is no JSON.
    """
    kept = {name: value for name, value in beside.items() if value not in (None, "", [], {})}
    made = {**own, **{f"{prefix}_{name}" if name in own else name: value for name, value in kept.items()}}
    cleaned = {clean(name): _cleaned(value) for name, value in made.items()}
    try:
        to_json(cleaned)
    except InvalidInput as error:
        raise InvalidInput(f"its metadata cannot be kept. {error}") from error
    return cleaned


def _cleaned(value: object) -> object:
    """JSON with texts that can be written."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(name): _cleaned(held) for name, held in cast("Mapping[str, object]", value).items()}
    return [_cleaned(held) for held in cast("list[object]", value)] if isinstance(value, list) else value
