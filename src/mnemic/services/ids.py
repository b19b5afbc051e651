"""Ids for records stored without one."""

from __future__ import annotations

import os
import time

from mnemic.services.processes import process_lock

__all__ = ["new_id"]

_lock = process_lock()
_last = 0


def new_id(prefix: str) -> str:
    """A new id, such as ``msg_019aab...``.

    Ids of one process sort in the order of creation, so that texts of the same millisecond keep their order. UUID version 7
    of RFC 9562, with the twelve bits of ``rand_a`` as fractions of a millisecond.
    """
    global _last  # noqa: PLW0603 - the order holds for the whole process
    with _lock:
        _last = tick = max(_last + 1, time.time_ns() * 4096 // 1_000_000)
    rest = int.from_bytes(os.urandom(8)) >> 2 | 1 << 63
    return f"{prefix}{tick >> 12:012x}7{tick & 4095:03x}{rest:016x}"
