"""Mapping of errors of PostgreSQL and psycopg to mnemic errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from mnemic import errors
from mnemic.stores.postgres.address import scrubbed

if TYPE_CHECKING:
    from mnemic.stores.postgres.address import Address

__all__ = ["BUSY_SECONDS", "closed", "is_locked", "is_lost", "is_transient", "translate"]

BUSY_SECONDS = 30.0
"""Seconds that a call waits for a lock or a connection."""

# SQLSTATE codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
_TRANSIENT = frozenset(
    {"40001", "40P01"}
)  # serialization failure, deadlock: rolled back as a whole, and may be repeated
_READ_ONLY = frozenset({"25006", "42501"})
_LOCKED = frozenset({"55P03", "57014"})
_FULL = frozenset({"53100", "53200"})
_DAMAGED = frozenset({"XX001", "XX002", "42P01", "42703"})
_AWAY = ("08", "28", "3D", "53", "57P")


def is_transient(error: Exception) -> bool:
    """Whether the same transaction, repeated, is likely to succeed."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _TRANSIENT


def is_locked(error: BaseException | None) -> bool:
    """Whether the wait for a lock of another session timed out."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _LOCKED


def is_lost(error: Exception) -> bool:
    """Whether a connection was lost before it was used; timeouts of the pool do not count."""
    return isinstance(error, psycopg.OperationalError) and not isinstance(
        error, (PoolClosed, PoolTimeout, TooManyRequests)
    )


def closed() -> errors.StoreClosed:
    """The error of a closed handle."""
    return errors.StoreClosed("This memory was closed. Open it again: Memory(...).")


def translate(error: Exception, address: Address) -> errors.StoreError:
    """The mnemic error for a driver error; the transaction was rolled back."""
    where, said = address.name, scrubbed(_server_message(error))
    state = (error.sqlstate or "") if isinstance(error, psycopg.Error) else ""
    if isinstance(error, PoolClosed):
        return errors.StoreClosed(
            "This memory was closed by another thread during the call. Open it again: Memory(...)."
        )
    if isinstance(error, (PoolTimeout, TooManyRequests)):
        return errors.StoreUnavailable(
            f"{where} gave no connection within {BUSY_SECONDS:.0f} s: the server is down, or every connection of this "
            "process is in use. Check the server and repeat the call."
        )
    if state in _FULL:
        return errors.StoreFull(
            f"The server of {where} is full: {said} The write was rolled back; free some space and repeat it."
        )
    if state in _READ_ONLY:
        return errors.StoreReadOnly(
            f"{where} cannot be written: {said} Check the privileges of the user, and that the server is not a standby."
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
    if state in _TRANSIENT:
        return errors.StoreUnavailable(f"{where} is busy: {said} Nothing was stored. Repeat the call.")
    if state.startswith(_AWAY) or (not state and isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))):
        return errors.StoreUnavailable(f"{where} cannot be reached: {said} Check the address and the server.")
    return errors.StoreError(f"{where}: PostgreSQL refused the operation: {type(error).__name__}: {said}")


def _server_message(error: Exception) -> str:
    """The first line of the server's message: further lines may quote values."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    text = " ".join((primary or str(error)).split())[:300]
    return text if text.endswith((".", "?", "!")) else f"{text}."
