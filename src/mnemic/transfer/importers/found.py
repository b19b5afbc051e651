"""Memories parsed from files of other products."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mnemic.errors import InvalidInput
from mnemic.text.markup import is_blank
from mnemic.text.terms import clean
from mnemic.text.values import MAX_NAME
from mnemic.transfer.importers.fields import Fields
from mnemic.types import MemoryType
from mnemic.validation import MAX_CONTENT, json_object


@dataclass(frozen=True, slots=True)
class Damage:
    """A part of a file that is not imported: its place and the reason."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One memory of a file.

    ``names`` are the fields that may name its user. ``changed`` is the time of the last change of its text, ``until`` the end
    of its lifetime.
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
    """An id with a prefix; a very long name is hashed."""
    made = f"{prefix}:{clean(name)}"
    if len(made.encode(errors="replace")) <= MAX_NAME:
        return made
    return f"{prefix}:{hashlib.sha256(name.encode(errors='replace')).hexdigest()}"


def statement(item: Fields, field: str, text: str) -> str:
    """A text that is valid as a memory.

    Raises:
        InvalidInput: the text is empty or too long.
    """
    if is_blank(text):
        raise item.fault(field, "is empty: there is nothing to remember")
    if len(text) > MAX_CONTENT:
        raise item.fault(field, f"has {len(text):,} characters, more than {MAX_CONTENT:,}")
    return clean(text)


def metadata_of(own: Mapping[str, object], extra: Mapping[str, object], prefix: str) -> dict[str, Any]:
    """The metadata of an item with its other fields; on a name conflict the field of the item gets a prefix.

    Raises:
        InvalidInput: a value is not JSON.
    """
    kept = {name: value for name, value in extra.items() if value not in (None, "", [], {})}
    made = {**own, **{f"{prefix}_{name}" if name in own else name: value for name, value in kept.items()}}
    try:
        return json_object("its metadata", made)
    except InvalidInput as error:
        raise InvalidInput(f"its metadata cannot be kept. {error}") from error
