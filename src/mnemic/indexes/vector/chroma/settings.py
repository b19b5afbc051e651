"""Where Chroma is, and for whom it is asked."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from urllib.parse import SplitResult, urlsplit

from mnemic.errors import ConfigurationError, MissingExtra

__all__ = ["Chroma"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chroma:
    """Chroma as the vector index of a memory: ``Memory(folder, vectors=Chroma(...))``.

    Attributes:
        url: a Chroma server, such as ``"http://localhost:8000"``; ``None`` keeps the index in the folder of the memory.
        client: a chromadb client that is ready, such as ``chromadb.CloudClient(...)``, in the place of a server.
        exact_below: users with at most so many records are searched exactly, without Chroma, which is faster up to some 50,000;
            0 asks Chroma from the first record on.
        batch: at most so many records are sent at once, 1 to 5,000.
        most_results: at most so many results are asked for, 10 or more.

    Raises:
        ConfigurationError: a value cannot be used.
        MissingExtra: chromadb is not installed.
    """

    url: str | None = None
    client: Any = field(default=None, repr=False)
    exact_below: int = 0
    batch: int = 500
    most_results: int = 100_000

    def __post_init__(self) -> None:
        if find_spec("chromadb") is None:
            raise MissingExtra("Chroma as the vector index", "chroma")
        if self.url is not None and self.client is not None:
            raise ConfigurationError("Chroma takes url= or client=, not both.")
        if self.url is not None:
            _server(self.url)
        if self.client is not None:
            _check_client(self.client)
        for name, least, most in (("exact_below", 0, 2**53), ("batch", 1, 5_000), ("most_results", 10, 2**31)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise ConfigurationError(f"{name} must be a whole number from {least} to {most:,}, not {value!r:.40}.")

    @property
    def embedded(self) -> bool:
        """Whether the index lives in the folder of the memory."""
        return self.url is None and self.client is None

    @property
    def server(self) -> tuple[str, int, bool]:
        """Host, port and whether it speaks TLS."""
        parts = _server(self.url or "")
        secure = parts.scheme == "https"
        return parts.hostname or "", parts.port or (443 if secure else 8000), secure


def _server(url: object) -> SplitResult:
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        usable = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, usable = None, False
    if parts is None or not usable:
        raise ConfigurationError(
            f'{url!r:.60} is not the address of a Chroma server. Use "http://host:port" or "https://host".'
        )
    if parts.username or parts.password or parts.query or parts.path not in ("", "/"):
        raise ConfigurationError(
            "The address of a Chroma server is only its host and port. For keys, tenants and paths give a client that is "
            "ready: vectors=chromadb.HttpClient(...)."
        )
    return parts


def _check_client(client: object) -> None:
    if not all(callable(getattr(client, name, None)) for name in ("heartbeat", "create_collection", "get_collection")):
        raise ConfigurationError(f"client must be a chromadb client, not {type(client).__name__}.")
    if inspect.iscoroutinefunction(getattr(client, "heartbeat", None)):
        raise ConfigurationError("An asynchronous chromadb client cannot be used: give a chromadb.HttpClient.")
