"""Classification of errors of remote services, messages without secrets, and retries."""

from __future__ import annotations

import asyncio
import math
import random
import re
import time
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from mnemic.errors import MnemicError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping

Meaning = Literal["refused", "rejected", "transient", "other"]
"""Access denied; request rejected; a retry may help; anything else."""

ErrorTypes: TypeAlias = tuple[type[MnemicError], type[MnemicError]]
"""The errors of a service that is unavailable, and of one that failed."""
ErrorTexts: TypeAlias = "Mapping[Meaning, str]"
"""The text of the error for each meaning, with ``{service}``, ``{label}`` and ``{detail}``."""

# Errors are recognised by class name: the provider packages need not be imported, and not every version of pydantic-ai has
# all of these.
_MEANINGS: Mapping[Meaning, tuple[Collection[str], Collection[int]]] = {
    "refused": ({"ModelAuthenticationError", "ModelNotFoundError", "ModelQuotaExceededError"}, {401, 402, 403, 404}),
    "rejected": ({"ModelRequestRejectedError"}, {400, 413, 422}),
    "transient": (
        {
            "ModelConnectionError",
            "ModelRateLimitError",
            "ModelRequestTimeout",
            "ModelServerError",
            "ModelUnavailableError",
            "OSError",  # refused and broken connections, unknown hosts, time-outs
            "TransportError",  # the same in HTTP clients
        },
        {408, 409, 425, 429, *range(500, 600)},
    ),
}
"""The classes and the HTTP statuses of errors, in the order in which they are looked up."""

LONGEST_DETAIL = 300
DEEPEST_CAUSE = 5
MASK = "***"
SECRETS = re.compile(
    r"""(?ix)
    (?: bearer | basic ) \s+ [^\s"',}]+
    | (?: key | token | secret | password | authorization ) ["']? \s* [:=] \s* ["']? (?:bearer \s+)? [^\s"',}]+
    | \b (?: sk | pk | rk ) - \S+
    | (?<=//) [^/\s@]+ @
    | (?= [\w*./+=-]* \d ) [\w*./+=-]{20,}
    """
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt: the error to raise, what it means, and the minimum wait in seconds before a retry."""

    error: MnemicError
    meaning: Meaning
    wait: float = 0.0


def classify(
    error: Exception, service: str, texts: ErrorTexts, kinds: ErrorTypes, secrets: Collection[str] = ()
) -> Failure:
    """Classify an error of a request to `service`.

    Args:
        error: the exception.
        service: the name of the service; its words are not masked in the text.
        texts: the texts of the errors to raise.
        kinds: their types.
        secrets: strings to mask in the text.
    """
    status = getattr(error, "status_code", None)
    names = _names(error) if isinstance(status, int) else _names(error, *_causes(error))
    meaning = _meaning(names, status)
    label = type(error).__name__.lstrip("_") + (f", status {status}" if isinstance(status, int) else "")
    # A refusal is not quoted: services repeat an invalid key.
    detail = "" if meaning == "refused" else scrubbed(str(error), secrets, keep=service)
    unavailable, failed = kinds
    kind = unavailable if meaning in ("refused", "transient") else failed
    message = texts[meaning].format(service=service, label=label, detail=detail)
    return Failure(kind(message), meaning, _retry_after(error) if meaning == "transient" else 0.0)


def _meaning(names: set[str], status: object) -> Meaning:
    for meaning, (classes, statuses) in _MEANINGS.items():
        if not names.isdisjoint(classes) or status in statuses:
            return meaning
    return "other"


def scrubbed(text: str, secrets: Collection[str] = (), *, keep: str = "") -> str:
    """`text` with everything that could be a key masked, cut to 300 characters; words of `keep` are not masked."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    words = {keep, *re.split(r"[:@]", keep)}
    text = SECRETS.sub(lambda match: match[0] if match[0].strip(".") in words else MASK, text)
    text = " ".join(text.split()) or "no details."
    return text[:LONGEST_DETAIL] + ("..." if len(text) > LONGEST_DETAIL else "" if text.endswith(".") else ".")


def _names(*errors: BaseException) -> set[str]:
    return {base.__name__ for error in errors for base in type(error).__mro__}


def _causes(error: BaseException) -> list[BaseException]:
    """The chain of causes: older versions of pydantic-ai wrap connection errors."""
    causes: list[BaseException] = []
    while (cause := error.__cause__) is not None and len(causes) < DEEPEST_CAUSE:
        causes.append(cause)
        error = cause
    return causes


def _retry_after(error: Exception) -> float:
    """The requested wait in seconds, from the error or, with older clients, from the header of its response."""
    wish = getattr(error, "retry_after", None)
    if wish is None:
        headers: Any = getattr(getattr(error.__cause__, "response", None), "headers", None)
        wish = _seconds_of(str(headers.get("retry-after", ""))) if headers is not None else None
    return float(wish) if isinstance(wish, (int, float)) and math.isfinite(wish) and wish > 0 else 0.0


def _seconds_of(header: str) -> float | None:
    """Parse a Retry-After header: seconds or a date."""
    if re.fullmatch(r"\d{1,9}(?:\.\d+)?", header.strip()):
        return float(header)
    moment = parsedate_tz(header)
    return mktime_tz(moment) - time.time() if moment else None


T = TypeVar("T")
F = TypeVar("F", bound=Failure)

LONGEST_WAIT = 30.0
"""Seconds; a service that requests a longer wait is not retried."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds for one attempt, attempts after the first, seconds before the second (doubled each time).

    ``jitter`` in 0..1 is the random share of a wait, so that callers that failed together do not retry together; a wait that
    the service requested is never shortened.
    """

    timeout: float
    retries: int
    backoff: float
    jitter: float = 0.0

    def waits(self) -> Iterator[float]:
        """The seconds before each retry."""
        for attempt in range(self.retries):
            yield self.backoff * 2**attempt * (1 - self.jitter * random.random())  # noqa: S311 - not for secrets


async def retry(
    request: Callable[[], Awaitable[T]],
    timeout: float,
    waits: Iterator[float],
    judge: Callable[[Exception], F],
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T | F:
    """Retry a request as long as there are waits left; returns its result, or the last failure.

    Args:
        request: makes one attempt.
        timeout: seconds for one attempt.
        waits: the seconds before each retry; what is left over serves the next request.
        judge: classifies an error; its text must contain no secrets. Errors of Mnemic are raised unchanged.
        sleep: waits between attempts, in seconds.
    """
    while True:
        try:
            async with asyncio.timeout(timeout):
                return await request()
        except MnemicError:
            raise
        except Exception as error:  # noqa: BLE001 - providers raise different errors; `judge` classifies them
            failure = judge(error)
        if failure.meaning != "transient" or failure.wait > LONGEST_WAIT or (wait := next(waits, None)) is None:
            return failure
        await sleep(max(wait, failure.wait))
