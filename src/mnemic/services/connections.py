"""Clients of remote services, each on an event loop in a background thread; their failures and retries.

No message holds a secret.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
import time
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import AsyncExitStack
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from mnemic import paths
from mnemic.errors import ConfigurationError, MnemicError
from mnemic.services.processes import PerProcess
from mnemic.services.threads import BackgroundLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Iterator, Mapping


C = TypeVar("C")
T = TypeVar("T")

CLOSING_TIME = 5.0  # seconds for open connections to end


class Connection(Generic[C]):
    """A client that is created on first use. The coroutines run on its loop.

    Args:
        kind: what the service is, for the name of the thread and in errors: ``"language model"``.
        service: the name of the service.
        unavailable: the error of a client that cannot be created.

    Attributes:
        keys: keys of the service, to mask in errors.
        opened: closes what the client needs.
    """

    def __init__(self, kind: str, service: str, unavailable: type[MnemicError]) -> None:
        self.loop = BackgroundLoop(f"mnemic-{kind.replace(' ', '-')}")
        self.service = service
        self.keys: list[str] = []
        self.opened = AsyncExitStack()
        self._kind = kind
        self._unavailable = unavailable
        self._client: C | None = None
        self._lock = asyncio.Lock()

    @property
    def secrets(self) -> list[str]:
        """Strings to mask in errors."""
        return [*paths.environment_secrets(), *self.keys]

    async def client(self) -> C:
        """The client.

        Raises:
            MnemicError: it cannot be created; the error is of the type ``unavailable``.
        """
        problem = ""
        try:
            async with self._lock:
                if self._client is None:
                    self._client = await self.create_client()
                return self._client
        except Exception as error:  # noqa: BLE001 - unknown provider, missing package, missing key: all differ
            problem = scrubbed(str(error), self.secrets, keep=self.service)
        # Raised here so that the error does not carry the original, which may quote a key.
        raise self._unavailable(f"The {self._kind} {self.service} cannot be set up: {problem}")

    async def create_client(self) -> C:
        """Create the client."""
        raise NotImplementedError


K = TypeVar("K", bound=Connection[Any])


class Connections(Generic[K]):
    """One connection per process, made on first use; they end with the owner of this object, or with ``close``.

    Args:
        make: makes a connection.
        error: the type of the error of a call after ``close``.
        message: the text of that error.
    """

    def __init__(self, make: Callable[[], K], error: type[MnemicError], message: str) -> None:
        self._made = PerProcess(make)
        self._error, self._message = error, message
        self._closed = False
        weakref.finalize(self, _close, self._made)

    def run(self, call: Callable[[K], Coroutine[Any, Any, T]]) -> T:
        """Run a call on the loop of the connection, and wait for it.

        Raises:
            MnemicError: the connection was closed, perhaps during the call.
        """
        self.check()
        connection = self._made.get()
        try:
            return connection.loop.run(lambda: call(connection))
        except CancelledError:
            pass
        raise self._error(self._message)

    def check(self) -> None:
        """Raise the error of a closed connection, if it is closed."""
        if self._closed:
            raise self._error(self._message)

    def close(self) -> None:
        """End running calls with an error, close the client and stop the thread. May be called twice."""
        self._closed = True
        _close(self._made)


def _close(made: PerProcess[Any]) -> None:
    connection = made.pop()
    if connection is not None:
        connection.loop.stop(connection.opened.aclose, CLOSING_TIME)


def service_name(model: object, kinds: str, *, method: str | None = None) -> str:
    """``provider:model`` of a name, or of a model of pydantic-ai.

    Args:
        model: the name or the model.
        kinds: the accepted classes, for the error.
        method: a method that the model must have.

    Raises:
        ConfigurationError: it is neither.
    """
    if isinstance(model, str):
        if not all(model.partition(":")):
            raise ConfigurationError(f'{model!r} does not name a provider and a model. Write "provider:model".')
        return model
    provider, name = (getattr(model, attribute, None) for attribute in ("system", "model_name"))
    if not (isinstance(provider, str) and isinstance(name, str) and (method is None or hasattr(model, method))):
        raise ConfigurationError(f'{type(model).__name__} is not a pydantic-ai {kinds}. Give one, or "provider:model".')
    return f"{provider}:{name}"


Meaning = Literal["refused", "rejected", "transient", "other"]
"""Access denied; request rejected; a retry may help; anything else."""

ErrorTypes: TypeAlias = tuple[type[MnemicError], type[MnemicError]]
"""The errors of a service that is unavailable, and of one that failed."""
ErrorTexts: TypeAlias = "Mapping[Meaning, str]"
"""The text of the error for each meaning, with ``{service}``, ``{label}`` and ``{detail}``."""

# Errors are recognized by class name: the provider packages need not be imported, and not every version of pydantic-ai has
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
