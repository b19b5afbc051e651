"""The command ``users``: the users of a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, get_args

from mnemic.cli.handles import SERVERS, open_memory, record_file, require_record
from mnemic.cli.output import counted, moment, one_line, say, say_json, table, warn
from mnemic.errors import MissingExtra
from mnemic.stores import SqliteStore
from mnemic.types import Kind

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.memory import Memory
    from mnemic.stores.postgres import PostgresStore

__all__ = ["COMMANDS", "names_in"]


def names_in(place: str) -> list[str]:
    """The users of a record, oldest first.

    Args:
        place: the folder, or the URL of the server.

    Raises:
        StoreError: there is no record, or it cannot be read.
        MissingExtra: the driver of the server is not installed.
    """
    require_record(place)
    with closing(_store(place)) as store:
        return [name for name in store.transfer.users() if store.transfer.extent(name)]


def _store(place: str) -> SqliteStore | PostgresStore:
    if not place.startswith(SERVERS):
        return SqliteStore(record_file(place).parent)
    try:
        from mnemic.stores.postgres import PostgresStore
    except ImportError as error:
        raise MissingExtra("A memory in PostgreSQL", "postgres") from error
    return PostgresStore(place)


@dataclass(frozen=True, slots=True, kw_only=True)
class _User:
    """Counts of a user: live records, unprocessed messages, and the time of the last write."""

    user: str
    messages: int
    memories: int
    waiting: int
    last_write: datetime | None


def _users(arguments: Namespace) -> bool:
    names = names_in(arguments.dir)
    with open_memory(arguments) as memory:
        found = [_counts(memory.scoped(user=name), name) for name in names]
    if arguments.json:
        say_json({"users": found})
    elif not found:
        warn("the record has no users.")
    else:
        say(*table((one_line(user.user), _format(user)) for user in found))
    return bool(found)


def _counts(memory: Memory, name: str) -> _User:
    stats, last = memory.stats(), memory.admin.log(kinds=get_args(Kind), limit=1)
    return _User(
        user=name,
        messages=stats.messages,
        memories=sum(count for status, count in stats.memories.items() if status != "archived"),
        waiting=stats.pending.get("process", 0),
        last_write=last[0].at if last else None,
    )


def _format(user: _User) -> str:
    counts = counted({"message": user.messages, "memory": user.memories})
    return f"{counts}, last write {moment(user.last_write)}"


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {"users": _users}
