"""What the tools take: types with their ranges and the words that explain them to a model."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field

__all__ = [
    "Category",
    "Content",
    "Depth",
    "Description",
    "DryRun",
    "Ids",
    "Importance",
    "Kind",
    "Limit",
    "MaxTokens",
    "Mood",
    "OneId",
    "Query",
    "Since",
    "Tags",
    "Task",
    "Tenths",
    "Threshold",
    "Until",
]

Content: TypeAlias = Annotated[
    str,
    Field(description="One statement that stands by itself: whole names instead of pronouns, dates instead of today."),
]
Kind: TypeAlias = Annotated[
    Literal["episodic", "semantic", "procedural", "emotional"],
    Field(
        description="episodic: what happened; semantic: what is so; procedural: how to do it; emotional: how it felt."
    ),
]
Category: TypeAlias = Annotated[
    str | None,
    Field(
        description="A word such as preference, architecture_decision, code_pattern, bug_fix, configuration, constraint."
    ),
]
Key: TypeAlias = Annotated[
    str | None, Field(description="A fixed name of what it is a value of, such as 'meetings.time'.")
]
Tags: TypeAlias = Annotated[list[str] | None, Field(description="Words to find it by.")]
Importance: TypeAlias = Annotated[
    float | None, Field(ge=0, le=1, description="0 to 1; leave it out to have it computed.")
]
Tenths: TypeAlias = Annotated[int | None, Field(ge=1, le=10, description="1 to 10; leave it out to have it computed.")]
Query: TypeAlias = Annotated[str, Field(description="What you want to know, in plain words.")]
Task: TypeAlias = Annotated[
    str,  # and not "or none": the SDK reads texts for these as JSON, and a task may be one
    BeforeValidator(lambda given: "" if given is None else given),
    Field(description="What you want to know, in plain words."),
]
Limit: TypeAlias = Annotated[int, Field(ge=1, le=100, description="At most so many.")]
Since: TypeAlias = Annotated[datetime | None, Field(description="Said at this time or later, ISO 8601.")]
Until: TypeAlias = Annotated[datetime | None, Field(description="Said before this time, ISO 8601.")]
Mood: TypeAlias = Annotated[str, Field(description="How the user feels now, in their words; may be left out.")]
MaxTokens: TypeAlias = Annotated[int, Field(ge=1, le=100_000, description="The budget of the text.")]
Description: TypeAlias = Annotated[
    str | None, Field(description='What to forget, in words: "my salary", "everything about Eva".')
]
DryRun: TypeAlias = Annotated[
    bool, Field(description="Only show what the description takes and what stays; nothing is changed.")
]
Ids: TypeAlias = Annotated[
    list[str] | None, Field(max_length=1_000, description="The records themselves, by ids as other tools gave them.")
]
OneId: TypeAlias = Annotated[str, Field(description="An id as other tools gave it.")]
Depth: TypeAlias = Annotated[int, Field(ge=1, le=10, description="How many links to follow.")]
Threshold: TypeAlias = Annotated[float | None, Field(ge=0, le=1, description="0 to 1; left out, the usual one.")]
