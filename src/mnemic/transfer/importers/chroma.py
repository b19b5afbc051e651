"""The documents of a Chroma collection, as ``collection.get()`` returns them."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from mnemic.errors import InvalidInput
from mnemic.transfer.importers.fields import (
    Fields,
    ParsedMemory,
    array,
    identifier,
    mapping,
    metadata_of,
    names_in,
    statement,
)


def rows(data: object) -> list[object]:
    """One object for each id: ``id``, ``document`` and ``metadata``.

    Raises:
        InvalidInput: it is the result of a query, or its lists differ in length.
    """
    ids, documents, metadatas = (array(mapping(data).get(field)) for field in ("ids", "documents", "metadatas"))
    if ids and isinstance(ids[0], list):
        raise InvalidInput("This is the result of collection.query(). Export the collection with collection.get().")
    metadatas = metadatas or [None] * len(ids)
    if not len(ids) == len(documents) == len(metadatas):
        raise InvalidInput(
            f"The collection has {len(ids)} ids, {len(documents)} documents and {len(metadatas)} metadatas. Export it with "
            'collection.get(include=["documents", "metadatas"]).'
        )
    return [{"id": i, "document": d, "metadata": m} for i, d, m in zip(ids, documents, metadatas, strict=True)]


def memory(item: Fields) -> ParsedMemory:
    """One document.

    Raises:
        InvalidInput: it has no id or text.
    """
    metadata = item.maybe("metadata")
    return ParsedMemory(
        path=item.path,
        id=identifier("chroma", item.word("id")),
        content=statement(item, "document", item.text("document", needed=False) or ""),
        names=names_in(metadata.values),
        metadata=metadata_of({}, metadata.values, "chroma"),
        changed=_time(metadata),
    )


def _time(metadata: Fields) -> datetime | None:
    """The time in ``created_at``; None where a collection means something else by it."""
    with suppress(InvalidInput):
        return metadata.moment("created_at")
    return None
