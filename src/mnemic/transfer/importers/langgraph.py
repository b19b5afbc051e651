"""Items of a LangGraph store, including memories of LangMem."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from mnemic.text.values import json_type
from mnemic.transfer.importers.fields import Fields, ParsedMemory, identifier, mapping, metadata_of, statement
from mnemic.types import MemoryType

_TEXTS = ("content", "text", "memory", "data", "fact", "statement")
"""Fields with the text of a value, the most common first; all others are metadata."""

_TRIPLE = ("subject", "predicate", "object")
_TYPES: Mapping[str, MemoryType] = {"episode": "episodic", "procedure": "procedural", "instructions": "procedural"}
"""Memory types of LangMem's kinds; all others are semantic."""

_FIELDS = (
    "namespace", "prefix", "key", "value", "created_at", "updated_at", "expires_at", "score", "ttl", "ttl_minutes",
)  # fmt: skip


def memory(item: Fields) -> ParsedMemory:
    """One item.

    Raises:
        InvalidInput: a field is missing or malformed.
    """
    namespace = _namespace(item)
    value = _value(item)
    kind = value.get("kind")
    inner = value["content"] if isinstance(kind, str) and "content" in value else value
    text, value_fields = _text_of(inner)
    created = item.moment("created_at")
    rest = {name: entry for name, entry in item.values.items() if name not in _FIELDS}
    return ParsedMemory(
        path=item.path,
        id=identifier("langgraph", ".".join([*namespace, item.word("key")])),
        content=statement(item, "value", text),
        names={f"namespace.{position}": label for position, label in enumerate(namespace)},
        type=_TYPES.get(kind.lower(), "semantic") if isinstance(kind, str) else "semantic",
        category=kind if isinstance(kind, str) and kind != "Memory" else None,
        metadata=metadata_of({**value_fields, "namespace": list(namespace)}, rest, "langgraph"),
        created=created,
        changed=item.moment("updated_at") or created,
        until=item.moment("expires_at"),
    )


def _namespace(item: Fields) -> Sequence[str]:
    """A list of labels, or a dotted string as in the tables of LangGraph."""
    field = "namespace" if "namespace" in item.values else "prefix"
    value = item.values.get(field)
    if isinstance(value, str) and value:
        return value.split(".")
    if not isinstance(value, list) or not all(isinstance(label, str) for label in cast("list[object]", value)):
        raise item.fault(field, f"must be a list of strings, not {json_type(cast('object', value))}")
    return cast("list[str]", value)


def _value(item: Fields) -> Mapping[str, object]:
    """The value of an item; the tables of LangGraph store it as text."""
    value = item.values.get("value")
    if isinstance(value, str):
        try:
            value = cast("object", json.loads(value))
        except ValueError as error:
            raise item.fault("value", f"is not JSON: {error}") from error
    if not isinstance(value, Mapping):
        raise item.fault("value", f"must be an object, not {json_type(value)}")
    return cast("Mapping[str, object]", value)


def _text_of(value: object) -> tuple[str, Mapping[str, object]]:
    """The text of a value, and its other fields; all fields if the text is made of several."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), {}
    fields = mapping(cast("object", value))
    if all(isinstance(fields.get(name), str) for name in _TRIPLE):
        text = " ".join(str(fields[name]) for name in _TRIPLE)
        return text, {name: entry for name, entry in fields.items() if entry is not None}
    for name_ in _TEXTS:
        if isinstance(fields.get(name_), str):
            return str(fields[name_]), {name: entry for name, entry in fields.items() if name != name_}
    lines = [f"{name}: {_as_text(entry)}" for name, entry in fields.items() if entry not in (None, "", [], {})]
    return "\n".join(lines), {"value": fields}


def _as_text(value: object) -> str:
    if isinstance(value, list) and all(isinstance(word, str) for word in cast("list[object]", value)):
        return ", ".join(cast("list[str]", value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
