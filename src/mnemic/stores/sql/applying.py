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


def apply(db: Connection, user: str, changes: Sequence[Change], model: str) -> tuple[Receipt, ...]:
    """Apply changes in order; the caller's transaction makes them all or nothing."""
    transaction = Transaction(db, db.dialect.begin(db, user), model)
    return tuple(_APPLIED[type(change)](transaction, change) for change in changes)
