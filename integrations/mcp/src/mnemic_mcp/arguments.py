"""The arguments of the tools: a model for each, its JSON schema, and how loosely written values are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast, get_args

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)

from mnemic import Emotion, InvalidInput, types
from mnemic.text.dates import named_time
from mnemic.types import LinkType, MemoryType, Reach, Status
from mnemic.types.literals import CATEGORIES
from mnemic.validation import category


def _moment(given: object, info: ValidationInfo) -> object:
    """The time that a text names: ISO 8601, "yesterday", "3 days ago", "March"; of a period, its beginning."""
    if not isinstance(given, str):
        return given
    return named_time(given, datetime.now(info.context)) if given.strip() else None


def _from_text(otherwise: Callable[[str], object]) -> BeforeValidator:
    """Reads a text as the JSON list or object that it is; another text is what ``otherwise`` says."""

    def read(given: object) -> object:
        if not isinstance(given, str):
            return given
        try:
            return json.loads(given) if given.lstrip()[:1] in ("[", "{") else otherwise(given)
        except (ValueError, RecursionError):
            return otherwise(given)

    return BeforeValidator(read)


def _category(given: object) -> str | None:
    """The category of Mnemic's that a word means."""
    found = category(given) if isinstance(given, str) else None
    return found if found in CATEGORIES else None


def _without_quadrant(given: object) -> object:
    """A mood without its quadrant, which its numbers say."""
    if not isinstance(given, dict):
        return given
    return {name: value for name, value in cast("dict[str, object]", given).items() if name != "quadrant"}


def _time(description: str) -> Any:
    return BeforeValidator(_moment), WithJsonSchema({"type": "string", "description": description})


_ONE_OR_MORE = _from_text(lambda text: [text] if text.strip() else None)
_SEPARATED = _from_text(lambda text: [word.strip() for word in text.split(",") if word.strip()])
_MEMORY_TYPE = Field(validation_alias=AliasChoices("type", "memory_type"))
_OBJECT = _from_text(lambda text: text)


def _choice(*words: str) -> Any:
    """One or more of these words; the schema is shorter for one."""
    return _ONE_OR_MORE, WithJsonSchema({"type": "string", "enum": [*words]})


Types: TypeAlias = Annotated[
    list[MemoryType] | None, _MEMORY_TYPE, *_choice("episodic", "semantic", "procedural", "emotional")
]
Statuses: TypeAlias = Annotated[list[Status] | None, *_choice("short_term", "long_term", "archived")]
Words: TypeAlias = Annotated[list[str] | None, _SEPARATED]
Importance: TypeAlias = Annotated[float | None, Field(ge=0, le=1, description="0 to 1; default: computed.")]
Tenths: TypeAlias = Annotated[int, Field(ge=1, le=10), AfterValidator(lambda tenths: tenths / 10)]
"""1 to 10, read as 0 to 1."""
LeastTenths: TypeAlias = Annotated[
    int, Field(ge=1, le=10), AfterValidator(lambda tenths: (tenths - 0.5) / 10 if tenths > 1 else 0.0)
]
"""1 to 10, read as the least importance that is shown as that: rounded to tenths, and at least 1."""
Threshold: TypeAlias = Annotated[float | None, Field(ge=0, le=1)]
Content: TypeAlias = Annotated[
    str, Field(description="One statement that stands by itself: names instead of pronouns, dates instead of today.")
]
Query: TypeAlias = Annotated[str, Field(description="What you want to know, in plain words.")]
Links: TypeAlias = Annotated[
    dict[str, LinkType | None] | None, _OBJECT,
    Field(description=f"Ids of other memories, each with {', '.join(get_args(LinkType))}, or null to remove its links."),
]  # fmt: skip

Mood: TypeAlias = Annotated[
    Emotion | str,
    Field(validation_alias=AliasChoices("mood", "emotional_context")),
    BeforeValidator(_without_quadrant),
    _OBJECT,
    WithJsonSchema({"type": "string", "description": "How the user feels, in words."}),
]
"""Words, ``session``, or an object with ``valence`` and ``arousal``."""


class Arguments(BaseModel):
    """The arguments of a tool. ``null`` is the same as left out."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    @classmethod
    def read(cls, tool: str, given: Mapping[str, Any], zone: tzinfo = UTC) -> Self:
        """The arguments of a call; days in words are those of the zone.

        Raises:
            InvalidInput: one is unknown, missing or not valid.
        """
        values = {name: value for name, value in given.items() if value is not None}
        known = [*cls.model_fields]
        if "category" in known and "category" not in values and (meant := _category(values.get("type"))):
            values["category"] = meant
            del values["type"]
        try:
            return cls.model_validate(values, context=zone)
        except ValidationError as error:
            wrong = "; ".join(_complaint(one, known) for one in error.errors(include_url=False, include_context=False))
            raise InvalidInput(f"{tool}: {wrong}. Nothing was done.") from error

    @classmethod
    def published(cls, defaults: Mapping[str, object]) -> dict[str, Any]:
        """The JSON schema, without what says nothing to a model; ``defaults`` are those that settings change."""
        whole = cls.model_json_schema()
        required = whole.get("required", [])
        properties = {
            name: _compact(whole["properties"][name] | ({"default": defaults[name]} if name in defaults else {}))
            for name in dict.fromkeys([*required, *cls.model_fields])
        }
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}

    def given(self, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
        """The arguments that were given, by name."""
        names = sorted(self.model_fields_set - {*without})
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def _compact(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of one argument without the null of an optional one, and without what only programs read."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    whole: dict[str, Any] = {**(choices[0] if choices else {}), **schema}
    left_out = ("anyOf", "title", "maxItems", "additionalProperties", "minimum", "maximum")
    return {name: value for name, value in whole.items() if name not in left_out and value not in (None, "")}


def _complaint(error: Mapping[str, Any], known: list[str]) -> str:
    """One error of validation, in a sentence."""
    place = ".".join(map(str, cast("tuple[object, ...]", error["loc"]))) or "the arguments"
    if error["type"] == "missing":
        return f"{place} is required"
    if error["type"] == "extra_forbidden" and place not in known:
        near = get_close_matches(place, known, n=1)
        return f"{place!r} is unknown{f', did you mean {near[0]!r}' if near else ''} (there are {', '.join(known)})"
    said = str(error["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    return f"{place} {said}, not {error['input']!r}"


class Filters(Arguments):
    """What is searched or listed."""

    since: Annotated[datetime | None, *_time('Said then or later: "2026-03-01", "yesterday", "3 days ago".')] = None
    until: Annotated[datetime | None, *_time("Said before then.")] = None
    at: Annotated[datetime | None, *_time("What was true then.")] = None
    type: Types = None
    category: str | None = None
    tags: Words = None
    status: Statuses = None
    reach: Annotated[Reach | None, Field(description="Whose memories; default: this project's and the user's.")] = None

    def filters(self) -> dict[str, Any]:
        """The filters as the methods of ``Memory`` take them."""
        named = {"types" if name == "type" else name: value for name, value in self.given().items()}
        return {name: value for name, value in named.items() if name in types.Filters.__annotations__}


class Recall(Filters):
    """Arguments of a search."""

    query: Query
    mood: Mood = ""
    emotion_weight: Annotated[float, Field(ge=0, le=1)] = 0.3
    limit: Annotated[int, Field(ge=1, le=100)] = 8
    expand_links: Annotated[int, Field(ge=0, le=10, description="Links to follow from what was found.")] = 0


class ListMemories(Filters):
    """Arguments of a list."""

    order: Literal["newest", "oldest", "importance"] = "newest"
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    offset: Annotated[int, Field(ge=0)] = 0
    min_importance: Annotated[LeastTenths | None, Field(description="1 to 10.")] = None


class Remember(Arguments):
    """Arguments of remembering."""

    content: Content
    key: Annotated[str | None, Field(description="What it is a value of, such as 'meetings.time'.")] = None
    type: Annotated[
        MemoryType, _MEMORY_TYPE, Field(description="What happened, what is so, how to do it, how it felt.")
    ] = "semantic"
    category: Annotated[str | None, Field(description=f"{', '.join(CATEGORIES)} or another word.")] = None
    tags: Words = None
    importance: Importance = None
    summary: str | None = None


class RememberTenths(Remember):
    """Arguments of remembering, with importance from 1 to 10."""

    importance: Annotated[Tenths | None, Field(description="1 to 10; default: computed.")] = None  # pyright: ignore[reportIncompatibleVariableOverride]


class StoreMemory(Remember):
    """Arguments of remembering, with metadata and how it felt."""

    metadata: Annotated[dict[str, Any] | None, _OBJECT] = None
    mood: Mood = ""


class UpdateTenths(Arguments):
    """Arguments of a new version of a memory, with importance from 1 to 10."""

    id: str
    content: Content | None = None
    type: Annotated[MemoryType | None, _MEMORY_TYPE] = None
    category: str | None = None
    tags: Words = None
    importance: Annotated[Tenths | None, Field(description="1 to 10.")] = None
    summary: str | None = None
    valid_at: Annotated[datetime | None, *_time("Since when it is true.")] = None
    invalid_at: Annotated[datetime | None, *_time("Until when it was true.")] = None
    delete_after: Annotated[datetime | None, *_time("When it is to be archived.")] = None
    links: Links = None


class Correct(Arguments):
    """Arguments of a correction."""

    wrong: Annotated[str, Field(description='What is wrong: an id, or a description such as "my dentist".')]
    statement: Annotated[str, Field(description="What is true, as a full sentence.")]
    dry_run: Annotated[bool, Field(description="Only show what would be replaced.")] = False


class Forget(Arguments):
    """Arguments of forgetting."""

    description: Annotated[
        str | None, Field(description='What to forget, in words: "my salary", "everything about Eva".')
    ] = None
    ids: Annotated[Annotated[list[str], Field(max_length=1_000)] | None, _ONE_OR_MORE] = None
    dry_run: Annotated[bool, Field(description="Only show what would be forgotten and what would be kept.")] = False


class Context(Arguments):
    """Arguments of a context."""

    query: Query = ""
    max_tokens: Annotated[int, Field(ge=1, le=100_000)] = 2000
    mood: Mood = ""


class Graph(Arguments):
    """Arguments of a graph."""

    id: str
    depth: Annotated[int, Field(ge=1, le=10, description="How many links to follow.")] = 2


class Consolidate(Arguments):
    """Arguments of consolidation."""

    ids: Annotated[list[str] | None, _ONE_OR_MORE, Field(description="Merge only these; default: all.")] = None
    importance_threshold: Threshold = None
    similarity_threshold: Threshold = None


class NoArguments(Arguments):
    """No arguments."""
