"""What a file holds, and whose its records are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import NamedTuple

from mnemic import validation
from mnemic.errors import InvalidInput
from mnemic.transfer.importers.fields import CHAT_STORE_KEY, USER_FIELDS, Damage, ParsedMemory, names_in, snake_case
from mnemic.types import Message

NOBODY = "none"
"""Value of ``user_from``: no field names the user, all records belong to one."""

NAMED = 5
"""Maximum number of users named in an error."""


Record = ParsedMemory | Message


class _NamedRecord(NamedTuple):
    """A record with its place and the fields that may name its user."""

    record: Record
    path: str
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: messages, memories or an export.

    Attributes:
        file: its path.
        format: an ``ImportFormat``, never ``auto``, or the name of an installed importer.
        records: memories, the oldest first, and messages.
        damaged: the parts that cannot be read.
        remarks: how dates and columns were read, and what is left out.
        export: the text of an export.
    """

    file: str
    format: str
    records: Sequence[Record] = ()
    damaged: Sequence[Damage] = ()
    remarks: Sequence[str] = ()
    export: str = ""

    @property
    def memories(self) -> list[ParsedMemory]:
        """Those of a store of memories."""
        return [record for record in self.records if isinstance(record, ParsedMemory)]

    @property
    def messages(self) -> list[Message]:
        """Those of a history."""
        return [record for record in self.records if isinstance(record, Message)]


def by_user(reading: Reading, *, user: str, field: str | None, only: str | None) -> tuple[Reading, dict[str, Reading]]:
    """What is taken of a file, with what has no valid user as damaged, and the part of each user.

    Args:
        reading: what the file holds; a field of a message's metadata can name its user.
        user: the user if no field names one.
        field: the field that names the user; ``NOBODY``: none; None: none, and the file must have a single user.
        only: take only the records of this user.

    Raises:
        InvalidInput: it is not known whose the records are, or the file is an export, which names no users.
    """
    if only is not None and field in (None, NOBODY):
        raise InvalidInput("only= selects one of the users that user_from= names. Give both.")
    if reading.export:
        if field is not None:
            raise InvalidInput(
                f"{reading.file} is an export of one user. Leave user_from= out, and name the user that it is for."
            )
        return reading, {user: reading}
    named = [*_named_records(reading.records)]
    if field is None:
        _require_one_user(named)
    elif field != NOBODY and named and not any(field in record.names for record in named):
        raise InvalidInput(_unknown_field_error(field, named))
    mine: dict[str, list[Record]] = {}
    damaged, others = [*reading.damaged], 0
    for record, path, names in named:
        owner = user if field in (None, NOBODY) else names.get(field)
        if owner is None:
            damaged.append(Damage(path, f"{path} has no {field}: its user is unknown."))
        elif only is not None and owner != only:
            others += 1
        elif (wrong := _user_error(owner)) is not None:
            damaged.append(Damage(path, f"{path}.{field} {owner!r:.60} cannot be a user: {wrong}"))
        else:
            mine.setdefault(owner, []).append(_without_user(record, owner, field))
    left_out = [f"{others} of other users left out"] if others else []
    taken = [*chain.from_iterable(mine.values())]
    whole = replace(reading, records=taken, damaged=damaged, remarks=[*reading.remarks, *left_out])
    return whole, {owner: replace(reading, records=records) for owner, records in mine.items()}


def _named_records(records: Sequence[Record]) -> Iterator[_NamedRecord]:
    number = count(1)
    for record in records:
        if isinstance(record, Message):
            yield _NamedRecord(record, f"message {next(number)}", names_in(record.metadata))
        else:
            yield _NamedRecord(record, record.path, record.names)


def _without_user(record: Record, owner: str, field: str | None) -> Record:
    """A record whose metadata does not repeat its user."""
    fields = names_in(record.metadata).items()
    repeated = {name for name, value in fields if value == owner and (name == field or snake_case(name) in USER_FIELDS)}
    return replace(record, metadata={name: value for name, value in record.metadata.items() if name not in repeated})


def _unknown_field_error(field: str | None, records: Sequence[_NamedRecord]) -> str:
    """The error for a field that no record has."""
    names = ", ".join(sorted({name for record in records for name in record.names}))
    return (
        f"No record of the file has a field {field!r} that names its user; "
        f"{f'known are: {names}' if names else 'its records name none'}. Leave user_from= out to import all of them for one "
        "user."
    )


def _require_one_user(records: Sequence[_NamedRecord]) -> None:
    """Refuse a file with several users."""
    fields = {name for record in records for name in record.names}
    user_fields = sorted(
        (name for name in fields if snake_case(name) in USER_FIELDS), key=lambda n: USER_FIELDS.index(snake_case(n))
    )
    if user_fields:
        field, what = user_fields[0], "users"
        surest = ([record.names[name] for name in user_fields if name in record.names] for record in records)
        names = dict.fromkeys(values[0] for values in surest if values)
    else:
        field, what = _distinguishing_field(records), "namespaces"
        names = dict.fromkeys(".".join(record.names.values()) for record in records if "namespace.0" in record.names)
    if field == CHAT_STORE_KEY:
        what = "keys of a chat store, which may be users or sessions"
    if len(names) > 1:
        some = ", ".join([*names][:NAMED]) + (", ..." if len(names) > NAMED else "")
        raise InvalidInput(
            f"The file holds records of {len(names)} {what} ({some}). Name the field by which they are told "
            f"apart: user_from={field!r}, or user_from={NOBODY!r} if all of them are for one user."
        )


def _distinguishing_field(records: Sequence[_NamedRecord]) -> str:
    """The first field of the namespaces that differs between memories."""
    for position in range(max((len(record.names) for record in records), default=0)):
        if len({record.names.get(f"namespace.{position}") for record in records}) > 1:
            return f"namespace.{position}"
    return "namespace.0"


def _user_error(user: str) -> str | None:
    try:
        validation.scope(user)
    except InvalidInput as error:
        return str(error)
    return None
