"""Clients of remote services, each on an event loop in a background thread."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import AsyncExitStack
from typing import Any, Generic, TypeVar

from mnemic import paths
from mnemic.errors import ConfigurationError, MnemicError
from mnemic.services.failures import scrubbed
from mnemic.services.processes import PerProcess
from mnemic.services.threads import BackgroundLoop

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
