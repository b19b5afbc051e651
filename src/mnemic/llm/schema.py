"""Typed answers: JSON schemas for the model, and lenient validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from mnemic.errors import LanguageModelError

__all__ = ["Name", "Number", "Schema", "Share", "Text", "json_schema", "validate_leniently"]

S = TypeVar("S", bound="Schema")

LONGEST_LIST = 500
"""Most list items read; schema bounds are far lower."""

MOST_ROUNDS = 8
_DROP = object()
_OMITTED_KEYS = frozenset({"title", "default", "description", "$defs", "minimum", "maximum", "minLength"})
"""Schema keys that only cost tokens; bounds of numbers are checked on reading."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=60)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=400)]
Number = Annotated[int, Field(ge=0, le=9999)]
"""A number that stands for a message, a memory or a statement in the prompt."""
Share = Annotated[float, Field(ge=0, le=1)]


class Schema(BaseModel):
    """A typed answer; every string and list is bounded."""

    model_config = ConfigDict(
        str_strip_whitespace=True,
        coerce_numbers_to_str=True,
        allow_inf_nan=False,
        extra="ignore",
        # Fields with a default may be missing in an answer; models are asked for all of them.
        json_schema_serialization_defaults_required=True,
    )


def json_schema(schema: type[Schema]) -> dict[str, Any]:
    """The JSON schema of an answer, without titles, defaults, references and number bounds."""
    full = schema.model_json_schema(mode="serialization")
    return _minimal(full, full.get("$defs", {}))


def _minimal(node: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """Minimise a schema node; `parts` are the definitions it refers to."""
    if reference := node.get("$ref"):
        return _minimal(parts[reference.rpartition("/")[2]], parts)
    kept: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":
            kept[key] = {name: _minimal(inner, parts) for name, inner in value.items()}
        elif key in {"items", "additionalProperties"} and isinstance(value, dict):
            kept[key] = _minimal(cast("dict[str, Any]", value), parts)
        elif key == "anyOf":
            kept[key] = [_minimal(inner, parts) for inner in value]
        elif key not in _OMITTED_KEYS:
            kept[key] = value
    return kept


def validate_leniently(schema: type[S], data: Mapping[str, Any]) -> tuple[S, int]:
    """Validate an answer without its invalid parts; returns it and the number of parts dropped.

    A value out of bounds is dropped, a list item without a required value as a whole; a long list is truncated.

    Raises:
        LanguageModelError: the rest lacks a required value.
    """
    truncated, dropped = _truncate_lists(data)
    for _ in range(MOST_ROUNDS):
        try:
            return schema.model_validate(truncated), dropped
        except ValidationError as error:
            faults = [(fault["type"], fault["loc"]) for fault in error.errors(include_url=False, include_input=False)]
            limits = {fault["loc"]: fault.get("ctx", {}).get("max_length") for fault in error.errors(include_url=False)}
        removed = sum(_mark_faulty(truncated, kind, loc, limits.get(loc)) for kind, loc in faults)
        if not removed:
            break
        truncated, dropped = _without_marks(truncated), dropped + removed
    raise LanguageModelError("The answer of the language model does not have the form that was asked for.")


def _truncate_lists(value: Any) -> tuple[Any, int]:
    """The value with long lists truncated, and the number of items dropped."""
    if isinstance(value, Mapping):
        parts = {key: _truncate_lists(item) for key, item in cast("Mapping[str, Any]", value).items()}
        return {key: item for key, (item, _) in parts.items()}, sum(cut for _, cut in parts.values())
    if isinstance(value, list):
        items = cast("list[Any]", value)
        kept = [_truncate_lists(item) for item in items[:LONGEST_LIST]]
        return [item for item, _ in kept], sum(cut for _, cut in kept) + max(0, len(items) - LONGEST_LIST)
    return value, 0


def _mark_faulty(data: Any, kind: str, loc: tuple[int | str, ...], limit: int | None) -> int:
    """Mark the invalid part for removal; returns the number of parts, 0 if none can be removed."""
    if kind == "missing":
        indexes = [place for place, step in enumerate(loc) if isinstance(step, int)]
        if not indexes:
            return 0
        loc = loc[: indexes[-1] + 1]
    holder = data
    for step in loc[:-1]:
        holder = _item(holder, step)
    target = _item(holder, loc[-1]) if loc else _DROP
    if target is _DROP:
        return 0
    if kind == "too_long" and isinstance(target, list) and limit is not None:
        items = cast("list[Any]", target)
        cut = len(items) - limit
        del items[limit:]
        return cut
    holder[loc[-1]] = _DROP
    return 1


def _item(holder: Any, step: int | str) -> Any:
    """The item of a container, or the mark if missing."""
    if isinstance(holder, dict) and step in holder:
        return cast("dict[str, Any]", holder)[str(step)]
    if isinstance(holder, list) and isinstance(step, int) and step < len(cast("list[Any]", holder)):
        return cast("list[Any]", holder)[step]
    return _DROP


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        return {key: _without_marks(item) for key, item in parts.items() if item is not _DROP}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_marks(item) for item in cast("Sequence[Any]", value) if item is not _DROP]
    return value
