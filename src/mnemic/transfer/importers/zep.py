"""Zep and Graphiti: the facts of a graph (its edges), and the messages of a thread, in the names of any of their clients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mnemic.ingest import role_of
from mnemic.transfer.importers.fields import (
    Damage,
    Fields,
    ParsedMemory,
    identifier,
    metadata_of,
    names_in,
    read_each,
    snake_case,
    statement,
)
from mnemic.types import Message

_FIELDS = ("uuid", "fact", "created_at", "valid_at", "invalid_at", "expired_at", "fact_embedding", "relevance", "score")


def memories(item: Fields) -> Iterable[ParsedMemory]:
    """One fact, with the time when it was true; none for a message.

    Raises:
        InvalidInput: a field is missing or malformed.
    """
    item = _snake_cased(item)
    if "role" in item.values:
        return
    created = item.moment("created_at")
    rest = {name: value for name, value in item.values.items() if name not in _FIELDS}
    yield ParsedMemory(
        path=item.path,
        id=identifier("zep", item.word("uuid")),
        content=statement(item, "fact", item.text("fact") or ""),
        names=names_in(item.values),
        metadata=metadata_of({}, rest, "zep"),
        created=created,
        changed=item.moment("valid_at") or created,
        ended=item.moment("invalid_at") or item.moment("expired_at"),
    )


def messages(data: object, session: str | None) -> Iterator[Message | Damage]:
    """The messages of a thread; nothing for facts."""

    def read(item: Fields) -> Iterator[Message]:
        item = _snake_cased(item)
        if "role" in item.values:
            yield Message(
                id=identifier("zep", item.word("uuid")),
                role=role_of(item.word("role")),
                content=item.text("content") or "",
                name=item.text("name", needed=False),
                session=item.text("thread_uuid", needed=False) or session,
                sent_at=item.moment("reference_time") or item.moment("created_at"),
                metadata=item.maybe("metadata").values,
            )

    return read_each(data, read)


def _snake_cased(item: Fields) -> Fields:
    """An object of the TypeScript client (``createdAt``) under the names of the others."""
    return Fields({snake_case(name): value for name, value in item.values.items()}, item.path)
