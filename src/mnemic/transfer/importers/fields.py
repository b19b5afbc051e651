"""Typed access to parsed JSON, with errors that name the place, and the memories that are read from it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, cast

from mnemic.errors import InvalidInput
from mnemic.ingest import join_parts
from mnemic.text.markup import is_blank
from mnemic.text.terms import clean
from mnemic.text.values import MAX_NAME, json_type, written_time
from mnemic.types import MemoryType
from mnemic.validation import MAX_CONTENT, json_object

LEFT_OUT = "left_out"
"""Metadata key that lists the parts of a message that could not be imported."""


ACCOUNT, CHAT_STORE_KEY = "account_uuid", "chat_store_key"
"""What names the users of exports of Claude, and may name those of a chat store of LlamaIndex."""
CLAUDE_MEMORY = frozenset(("conversations_memory", "project_memories"))
"""What Claude wrote down about an account: its export has it beside the conversations."""
USER_FIELDS = ("user_id", "userid", "user", "customer_id", ACCOUNT, "group_id", CHAT_STORE_KEY)
"""Fields that name the user of a record, in snake case, the surest first."""
_OTHER_NAMES = ("agent_id", "run_id", "app_id", "actor_id")
"""Fields that name the user only if somebody says so."""
_CAPITAL = re.compile("(?<=[a-z])([A-Z])")


def snake_case(name: str) -> str:
    """``userId`` or ``User ID`` as ``user_id``."""
    return _CAPITAL.sub(r"_\1", name.strip()).lower().replace(" ", "_")


def may_name_user(field: str, value: object) -> bool:
    """Whether a field may name the user of a record, or says that it has none."""
    return snake_case(field) in (*USER_FIELDS, *_OTHER_NAMES) and (value is None or isinstance(value, (str, int)))


def names_in(values: Mapping[str, object]) -> dict[str, str]:
    """The fields of an object that may name its user, under the names that they have there."""
    named = ((field, value) for field, value in values.items() if may_name_user(field, value))
    return {field: str(value) for field, value in named if value not in (None, "")}


@dataclass(frozen=True, slots=True)
class Damage:
    """A part of a file that is not imported: its place and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object with its place in the file, for errors."""

    values: Mapping[str, object]
    path: str

    def fault(self, field: str, problem: str) -> InvalidInput:
        """The error for a field."""
        return InvalidInput(f"{self.path}.{field} {problem}.")

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

    def moment(self, field: str) -> datetime | None:
        """A time in ISO 8601, or in seconds or milliseconds since 1970; None if it is missing."""
        value = self.values.get(field)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            value = self.text(field, needed=False)
        return None if value is None else written_time(value, f"{self.path}.{field}")

    def inside(self, field: str) -> Fields:
        """The object in a field."""
        value = self.values.get(field)
        if value is None:
            raise self.fault(field, "is missing")
        return fields_of(value, f"{self.path}.{field}")

    def maybe(self, field: str) -> Fields:
        """The object in a field; empty if it is missing."""
        value = self.values.get(field)
        return fields_of({} if value is None else value, f"{self.path}.{field}")

    def listed(self, field: str) -> list[object]:
        """The list in a field."""
        value = self.values.get(field)
        if not isinstance(value, list):
            raise self.fault(field, "is missing" if value is None else f"must be a list, not {json_type(value)}")
        return cast("list[object]", value)

    def texts(self, *fields: str) -> tuple[list[str | None], list[Damage]]:
        """Strings that may be missing, and the damage of those that are something else, for what can do without them."""
        texts, damaged = list[str | None](), list[Damage]()
        for field in fields:
            try:
                texts.append(self.text(field, needed=False))
            except InvalidInput as error:
                texts.append(None)
                damaged.append(Damage(f"{self.path}.{field}", str(error)))
        return texts, damaged

    def said(self, field: str, *, kind: str = "type", joint: str = "\n") -> tuple[str, tuple[str, ...]]:
        """The text of a string or list of parts, and the kinds of parts that are not text: see ``join_parts``."""
        value = self.values.get(field)
        if value is None and field not in self.values:
            raise self.fault(field, "is missing")
        return join_parts(value, f"{self.path}.{field}", kind=kind, joint=joint)

    def without(self, *fields: str) -> dict[str, object]:
        """The values of all other fields."""
        return {name: value for name, value in self.values.items() if name not in fields}


def fields_of(value: object, path: str) -> Fields:
    """A JSON object with its place."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{path} must be an object, not {json_type(value)}.")
    return Fields(cast("Mapping[str, object]", value), path)


def from_json(text: str | bytes, what: str = "This") -> object:
    """The value of a JSON text.

    Raises:
        InvalidInput: it is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is not JSON: {error}.") from error


def maybe_json(text: str | bytes) -> object:
    """The value of a JSON text; None if it is not JSON."""
    with suppress(InvalidInput):
        return from_json(text)
    return None


def mapping(value: object) -> Mapping[str, object]:
    """A JSON object; empty for any other value."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def array(value: object, default: Iterable[object] = ()) -> list[object]:
    """A JSON list; the default for any other value."""
    return cast("list[object]", value) if isinstance(value, list) else [*default]


def objects(data: object, path: str = "") -> list[Fields]:
    """The objects of a list; a single object is a list of one."""
    return [fields_of(item, f"{path}[{number}]") for number, item in enumerate(array(data, [data]))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedMemory:
    """One memory of a file.

    ``names`` are the fields that may name its user. ``changed`` is the time of the last change of its text, ``ended``
    when it stopped being true, ``until`` the end of its lifetime.
    """

    path: str
    id: str
    content: str
    names: Mapping[str, str]
    type: MemoryType = "semantic"
    category: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any]
    created: datetime | None = None
    changed: datetime | None = None
    ended: datetime | None = None
    until: datetime | None = None


def noted(about: Mapping[str, object], left_out: Iterable[str]) -> dict[str, object]:
    """The metadata of a message: what is known about it, and which of its parts are left out."""
    metadata = {**about, LEFT_OUT: sorted(left_out)}
    return {field: value for field, value in metadata.items() if value}


T = TypeVar("T")


def read_each(data: object, read: Callable[[Fields], Iterable[T | Damage]], path: str = "") -> Iterator[T | Damage]:
    """What is read of each object of a list, and the damage of those that cannot be read; see ``objects``."""
    for number, item in enumerate(array(data, [data])):
        yield from read_one(item, read, f"{path}[{number}]")


def read_one(value: object, read: Callable[[Fields], Iterable[T | Damage]], path: str) -> Iterator[T | Damage]:
    """What is read of an object, up to its damage; what is known as damage is that."""
    if isinstance(value, Damage):
        yield value
        return
    try:
        yield from read(fields_of(value, path))
    except InvalidInput as error:
        yield Damage(path, str(error))


def partition(read: Iterable[T | Damage]) -> tuple[list[T], list[Damage]]:
    """What was read, and what is damaged."""
    values, damaged = list[T](), list[Damage]()
    for item in read:
        if isinstance(item, Damage):
            damaged.append(item)
        else:
            values.append(item)
    return values, damaged


def identifier(prefix: str, name: str) -> str:
    """An id with a prefix; a very long name is hashed."""
    id_ = f"{prefix}:{clean(name)}"
    return id_ if len(id_.encode(errors="replace")) <= MAX_NAME else derived_id(prefix, name)


def derived_id(prefix: str, *texts: str) -> str:
    """The id of what has none of its own, the same at every import."""
    digest = hashlib.sha256("\n".join(texts).encode(errors="replace")).hexdigest()
    return f"{prefix}:{digest[:24]}"


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
    extra_values = {name: value for name, value in extra.items() if value not in (None, "", [], {})}
    metadata = {**own, **{f"{prefix}_{name}" if name in own else name: value for name, value in extra_values.items()}}
    try:
        return json_object("its metadata", metadata)
    except InvalidInput as error:
        raise InvalidInput(f"its metadata cannot be kept. {error}") from error
