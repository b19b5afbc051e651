"""Our errors for those of PostgreSQL and of its driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from mnemic import errors
from mnemic.stores.postgres.address import scrubbed

if TYPE_CHECKING:
    from mnemic.stores.postgres.address import Address

__all__ = ["BUSY_SECONDS", "closed", "is_locked", "is_lost", "is_passing", "translate"]

BUSY_SECONDS = 30.0
"""How long a call waits for a lock, or for a connection."""

# States of SQL by what they mean: https://www.postgresql.org/docs/current/errcodes-appendix.html
_PASSING = frozenset({"40001", "40P01"})  # serialization failure, deadlock: rolled back as a whole, and may be repeated
_READ_ONLY = frozenset({"25006", "42501"})
_LOCKED = frozenset({"55P03", "57014"})
_FULL = frozenset({"53100", "53200"})
_DAMAGED = frozenset({"XX001", "XX002", "42P01", "42703"})
_AWAY = ("08", "28", "3D", "53", "57P")


def is_passing(error: Exception) -> bool:
    """Whether the same transaction, repeated, is likely to succeed."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _PASSING


def is_locked(error: BaseException | None) -> bool:
    """Whether another session held what was asked for, for longer than it was waited for."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _LOCKED


def is_lost(error: Exception) -> bool:
    """Whether a connection was found to be gone before it was used; the pool itself has waited long enough."""
    return isinstance(error, psycopg.OperationalError) and not isinstance(
        error, (PoolClosed, PoolTimeout, TooManyRequests)
    )


def closed() -> errors.StoreClosed:
    """Of a handle that was closed."""
    return errors.StoreClosed("This memory was closed. Open it again: Memory(...).")


def translate(error: Exception, address: Address) -> errors.StoreError:
    """Our error for one of the driver's; nothing of the transaction was stored."""
    where, said = address.name, scrubbed(_told(error))
    state = (error.sqlstate or "") if isinstance(error, psycopg.Error) else ""
    if isinstance(error, PoolClosed):
        return errors.StoreClosed(
            "This memory was closed by another thread during the call. Open it again: Memory(...)."
        )
    if isinstance(error, (PoolTimeout, TooManyRequests)):
        return errors.StoreUnavailable(
            f"{where} gave no connection within {BUSY_SECONDS:.0f} s: the server is away, or every connection of this "
            "process is in use. Check the server and repeat the call."
        )
    if state in _FULL:
        return errors.StoreFull(
            f"No room left on the server of {where}: {said} The write was rolled back; free some space and repeat it."
        )
    if state in _READ_ONLY:
        return errors.StoreReadOnly(
            f"{where} cannot be written: {said} Check the rights of the user, and that the server is not a standby."
        )
    if state in _LOCKED:
        return errors.StoreUnavailable(
            f"{where} stayed locked by another session for {BUSY_SECONDS:.0f} s; nothing was written. Repeat the call, or "
            "look in pg_stat_activity for a session that holds a transaction open."
        )
    if state in _DAMAGED:
        return errors.StoreCorrupt(
            f"{where} is damaged or not a Mnemic record: {said} Nothing was changed. Restore a backup, or choose another "
            "schema: ?schema=name."
        )
    if state in _PASSING:
        return errors.StoreUnavailable(f"{where} is busy: {said} Nothing was stored. Repeat the call.")
    if state.startswith(_AWAY) or (not state and isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))):
        return errors.StoreUnavailable(f"{where} cannot be reached: {said} Check the address and the server.")
    return errors.StoreError(f"{where}: PostgreSQL refused the operation: {type(error).__name__}: {said}")


def _told(error: Exception) -> str:
    """What the server said first: further lines may quote values."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    text = " ".join((primary or str(error)).split())[:300]
    return text if text.endswith((".", "?", "!")) else f"{text}."
