"""Changes as data to changes of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mnemic.stores.sql import consolidating, erasing, quarantining, relating, writing
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.transaction import Transaction
from mnemic.types import (
    AddEpisode,
    AddMemory,
    AddMessage,
    Archive,
    Change,
    Consolidate,
    DropLink,
    Erase,
    EraseUser,
    Feel,
    PutLink,
    Quarantine,
    Receipt,
    Release,
    Restore,
    Revise,
    Settle,
    Supersede,
    Touch,
    Undo,
    Work,
)

__all__ = ["apply"]

_APPLIED: Mapping[type[Change], Callable[[Transaction, Any], Receipt]] = {
    AddMessage: writing.add_message,
    AddMemory: writing.add_memory,
    AddEpisode: relating.add_episode,
    Settle: relating.settle,
    Revise: writing.revise,
    Supersede: relating.supersede,
    PutLink: relating.put_link,
    DropLink: relating.drop_link,
    Archive: writing.archive,
    Restore: writing.restore,
    Consolidate: consolidating.consolidate,
    Work: consolidating.work,
    Undo: consolidating.undo,
    Touch: consolidating.touch,
    Feel: relating.feel,
    Quarantine: quarantining.quarantine,
    Release: quarantining.release,
    Erase: erasing.erased,
    EraseUser: erasing.erased_user,
}

_OF_WHAT_IS_THERE = (Touch, Erase, EraseUser)
"""Changes that mean nothing for a user who has nothing: they must not write the name of one who was erased."""


def apply(db: Connection, user: str, changes: Sequence[Change], model: str) -> tuple[Receipt, ...]:
    """Apply changes in order; the caller's transaction makes them all or nothing."""
    number = db.dialect.known(db, user)
    if number is None:
        if all(isinstance(change, _OF_WHAT_IS_THERE) for change in changes):
            return tuple(Receipt(id="", outcome="duplicate", reason="this user has nothing") for _ in changes)
        number = db.dialect.begin(db, user)
    transaction = Transaction(db, number, model)
    return tuple(_APPLIED[type(change)](transaction, change) for change in changes)
