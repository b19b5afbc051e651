"""Whose the records of a file are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from mnemic.errors import InvalidInput
from mnemic.runtime import scopes
from mnemic.transfer.importers.fields import CHAT_STORE_KEY, USER_FIELDS, Damage, Found, names_in, snake_case
from mnemic.types import Message

NOBODY = "none"
"""Value of ``user_from``: no field names the user, all records belong to one."""

NAMED = 5
"""Maximum number of users named in an error."""


class _Named(NamedTuple):
    """A record with its place and the fields that may name its user."""

    record: Found | Message
    place: str
    names: Mapping[str, str]


def by_user(
    memories: Sequence[Found], messages: Sequence[Message], *, user: str, field: str | None, only: str | None
) -> tuple[dict[str, list[Found | Message]], list[Damage], int]:
    """Records by user, in their order; records without a valid user; and the number of those of other users.

    Args:
        memories: those of the file.
        messages: those of the file; a field of their metadata can name the user.
        user: the user if no field names one.
        field: the field that names the user; ``NOBODY``: none; None: none, and the file must have a single user.
        only: take only the records of this user.

    Raises:
        InvalidInput: the file has several users, but no field is given, or no record has the field.
    """
    found = [*_named(memories, messages)]
    if field is None:
        _one_user(found)
    if only is not None and field in (None, NOBODY):
        raise InvalidInput("--only selects one of the users named by --user-from. Give both.")
    if field not in (None, NOBODY) and found and not any(field in one.names for one in found):
        raise InvalidInput(_unknown(field, found))
    mine: dict[str, list[Found | Message]] = {}
    damaged: list[Damage] = []
    others = 0
    for record, place, names in found:
        owner = user if field in (None, NOBODY) else names.get(field)
        if owner is None:
            damaged.append(Damage(place, f"{place} has no {field}: its user is unknown."))
        elif only is not None and owner != only:
            others += 1
        elif (wrong := _user_error(owner)) is not None:
            damaged.append(Damage(place, f"{place}.{field} {owner!r:.60} cannot be a user: {wrong}"))
        else:
            mine.setdefault(owner, []).append(_owned(record, owner, field))
    return mine, damaged, others


def _named(memories: Sequence[Found], messages: Sequence[Message]) -> Iterator[_Named]:
    for memory in memories:
        yield _Named(memory, memory.place, memory.names)
    for number, message in enumerate(messages, start=1):
        yield _Named(message, f"message {number}", names_in(message.metadata))


def _owned(record: Found | Message, owner: str, field: str | None) -> Found | Message:
    """A record whose metadata does not repeat its user."""
    named = names_in(record.metadata).items()
    same = {name for name, value in named if value == owner and (name == field or snake_case(name) in USER_FIELDS)}
    return replace(record, metadata={name: value for name, value in record.metadata.items() if name not in same})


def _unknown(field: str | None, found: Sequence[_Named]) -> str:
    """The error for a field that no record has."""
    known = ", ".join(sorted({name for one in found for name in one.names}))
    return (
        f"No record of the file has a field {field!r} that names its user; "
        f"{f'known are: {known}' if known else 'its records name none'}. Leave user_from (--user-from) out to import all of "
        "them for one user."
    )


def _one_user(found: Sequence[_Named]) -> None:
    """Refuse a file with several users."""
    fields = {name for one in found for name in one.names}
    known = sorted(
        (name for name in fields if snake_case(name) in USER_FIELDS), key=lambda n: USER_FIELDS.index(snake_case(n))
    )
    if known:
        field, what = known[0], "users"
        sure = ([one.names[name] for name in known if name in one.names] for one in found)
        names = dict.fromkeys(named[0] for named in sure if named)
    else:
        field, what = _distinguishing_field(found), "namespaces"
        names = dict.fromkeys(".".join(one.names.values()) for one in found if "namespace.0" in one.names)
    if field == CHAT_STORE_KEY:
        what = "keys of a chat store, which may be users or sessions"
    if len(names) > 1:
        some = ", ".join([*names][:NAMED]) + (", ..." if len(names) > NAMED else "")
        raise InvalidInput(
            f"The file holds records of {len(names)} {what} ({some}). Choose by the field that names users: user_from="
            f"{field!r} takes those of this user, {NOBODY!r} all of them for this user. On the command line "
            f"--user-from {field} makes a user for each name, with --only NAME for one of them."
        )


def _distinguishing_field(found: Sequence[_Named]) -> str:
    """The first field of the namespaces that differs between memories."""
    for place in range(max((len(one.names) for one in found), default=0)):
        if len({one.names.get(f"namespace.{place}") for one in found}) > 1:
            return f"namespace.{place}"
    return "namespace.0"


def _user_error(user: str) -> str | None:
    try:
        scopes.scope(user)
    except InvalidInput as error:
        return str(error)
    return None
