"""Trying again, with bounds: how long one attempt may take, how many follow it and how far apart they are."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from mnemic.errors import MnemicError
from mnemic.services.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["LONGEST_WAIT", "Patience", "persistently"]

T = TypeVar("T")
F = TypeVar("F", bound=Failure)

LONGEST_WAIT = 30.0
"""Seconds: a service that asks for more is given up."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds for one attempt, attempts after the first, seconds before the second (doubled each time).

    ``jitter`` in 0..1 is the share of a wait that is left to chance, so that callers who failed together do not come
    back together; a wait that the service asked for is never cut short.
    """

    timeout: float
    retries: int
    backoff: float
    jitter: float = 0.0


async def persistently(
    request: Callable[[], Awaitable[T]],
    patience: Patience,
    judge: Callable[[Exception], F],
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    again: Callable[[], None] | None = None,
) -> T | F:
    """The result of a request that is tried as often as `patience` allows, or its last failure.

    Args:
        request: makes one attempt.
        patience: the bounds.
        judge: what an error means; its text must hold no secrets. Errors of Mnemic itself are raised as they are.
        sleep: waits between attempts; seconds.
        again: called before each attempt after the first.
    """
    attempt = 0
    while True:
        failure: F
        try:
            async with asyncio.timeout(patience.timeout):
                return await request()
        except MnemicError:
            raise
        except Exception as error:  # noqa: BLE001 - every provider raises errors of its own; `judge` sorts them
            failure = judge(error)
        if not failure.transient or attempt >= patience.retries or failure.wait > LONGEST_WAIT:
            return failure
        wait = patience.backoff * 2**attempt * (1 - patience.jitter * random.random())  # noqa: S311 - not for secrets
        await sleep(max(wait, failure.wait))
        attempt += 1
        if again is not None:
            again()
