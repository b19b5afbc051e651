"""Typed answers: JSON schemas for the model, and lenient validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, cast

from annotated_types import MaxLen
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    OnErrorOmit,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUseDefault

from mnemic.errors import LanguageModelError

S = TypeVar("S", bound="Schema")
T = TypeVar("T")

_OMITTED_KEYS = frozenset({"title", "default", "description", "minimum", "maximum", "minLength"})
"""Schema keys that only cost tokens; bounds of numbers are checked on reading."""

Items = list[OnErrorOmit[T]]
"""A list whose invalid items are dropped."""
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

    @field_validator("*", mode="wrap")
    @classmethod
    def _leniently(cls, value: Any, validate: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """Validate a field, without its invalid parts if the context is a counter of what is dropped."""
        field, dropped = cls.model_fields[str(info.field_name)], info.context
        if dropped is None:
            return validate(value)
        given = cast("list[Any]", value)[: _most_items(field)] if isinstance(value, list) else value
        try:
            kept = validate(given)
        except ValidationError:
            if field.is_required():
                raise
            dropped["values"] += 1
            raise PydanticUseDefault from None
        if isinstance(value, list):
            dropped["items"] += len(cast("list[Any]", value)) - len(kept)
        return kept


def _most_items(field: FieldInfo) -> int | None:
    return next((rule.max_length for rule in field.metadata if isinstance(rule, MaxLen)), None)


def json_schema(schema: type[Schema]) -> dict[str, Any]:
    """The JSON schema of an answer, without titles, defaults, references and number bounds."""
    from pydantic_ai.profiles import JsonSchemaTransformer

    class Minimal(JsonSchemaTransformer):
        def transform(self, schema: dict[str, Any]) -> dict[str, Any]:
            return {key: value for key, value in schema.items() if key not in _OMITTED_KEYS}

    return Minimal(schema.model_json_schema(mode="serialization"), prefer_inlined_defs=True).walk()


def validate_leniently(schema: type[S], data: Mapping[str, Any]) -> tuple[S, int]:
    """Validate an answer without its invalid parts; returns it and the number of parts dropped.

    An invalid list item is dropped, an invalid value is replaced by its default, a long list is truncated.

    Raises:
        LanguageModelError: the rest lacks a required value.
    """
    dropped = Counter[str]()
    try:
        return schema.model_validate(data, context=dropped), dropped.total()
    except (ValidationError, RecursionError) as error:
        raise LanguageModelError(
            "The answer of the language model does not have the form that was asked for."
        ) from error
