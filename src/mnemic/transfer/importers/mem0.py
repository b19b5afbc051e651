"""Memories of mem0: results of ``get_all``, exports of its platform, and points of its Qdrant collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

from mnemic.errors import InvalidInput
from mnemic.transfer.importers.fields import Damage, Fields, ParsedMemory, identifier, metadata_of, names_in, statement

_FIELDS = ("id", "memory", "data", "metadata", "created_at", "updated_at", "expiration_date", "categories")
_INDEX = ("text_lemmatized", "score")
"""Fields that mem0 derives from a text for its search."""


def memory(item: Fields) -> ParsedMemory:
    """One memory.

    Raises:
        InvalidInput: a field is missing or malformed.
    """
    if "new_memory" in item.values:
        raise InvalidInput(
            f"{item.path} is a row of mem0's history, which has no user and contains outdated texts. Import the result of "
            "get_all()."
        )
    number = item.values.get("id")
    name = str(number) if isinstance(number, int) and not isinstance(number, bool) else item.word("id")
    if "payload" in item.values:  # a point of Qdrant: the same fields, with the text under "data"
        item = item.inside("payload")
    field = "memory" if item.values.get("memory") is not None or "data" not in item.values else "data"
    content = statement(item, field, item.text(field) or "")
    created = item.moment("created_at")
    rest = {key: value for key, value in item.values.items() if key not in {*_FIELDS, *_INDEX}}
    return ParsedMemory(
        path=item.path,
        id=identifier("mem0", name),
        content=content,
        names=names_in(item.values),
        tags=_categories(item),
        metadata=metadata_of(item.maybe("metadata").values, rest, "mem0"),
        created=created,
        changed=item.moment("updated_at") or created,
        until=_expiration(item),
    )


def _categories(item: Fields) -> tuple[str, ...]:
    value = item.values.get("categories")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(word, str) for word in cast("list[object]", value)):
        raise item.fault("categories", "must be a list of strings")
    return tuple(dict.fromkeys(word for word in cast("list[str]", value) if word))


def _expiration(item: Fields) -> datetime | None:
    """The expiration time; for a date the end of that day."""
    until = item.moment("expiration_date")
    if until is None or until.tzinfo is not None or (until.hour, until.minute, until.second) != (0, 0, 0):
        return until
    return until.replace(tzinfo=UTC) + timedelta(days=1)


def unsupported(data: Mapping[str, object]) -> Iterable[Damage]:
    """Parts of the file that are not imported: further pages, and relations of a graph."""
    if data.get("next"):
        count = data.get("count")
        many = f" of {count} memories" if isinstance(count, int) else ""
        yield Damage("next", f"The file is one page{many}; export the others from mem0 and import them as well.")
    relations = data.get("relations")
    if isinstance(relations, list) and relations:
        yield Damage("relations", f"{len(cast('list[object]', relations))} relations of mem0's graph are not imported.")
