"""chromadb as it is used here, with types; and its errors as one of ours."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from mnemic.errors import MnemicError, StoreUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ChromaFailed",
    "Client",
    "Collection",
    "closed",
    "embedded_client",
    "missing",
    "refused",
    "server_client",
    "translated",
]

PATIENCE = 30.0
"""Seconds for one request to a server; chromadb itself waits for ever."""


class ChromaFailed(StoreUnavailable):
    """Chroma cannot do its work; never raised to callers, who are answered without it."""


class Collection(Protocol):
    """The part of a chromadb collection that is used here."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def metadata(self) -> dict[str, Any] | None: ...  # noqa: D102
    def count(self) -> int: ...  # noqa: D102
    def upsert(  # noqa: D102
        self,
        ids: list[str],
        embeddings: NDArray[np.float32],
        metadatas: list[dict[str, str | int | float | bool | None]],
        documents: list[str],
    ) -> None: ...
    def update(  # noqa: D102
        self,
        ids: list[str],
        *,
        embeddings: NDArray[np.float32] | None = None,
        metadatas: list[dict[str, str | int | float | bool | None]] | None = None,
    ) -> None: ...
    def delete(self, ids: list[str]) -> object: ...  # noqa: D102
    def get(  # noqa: D102
        self,
        ids: list[str] | None = None,
        *,
        limit: int | None = None,
        offset: int | None = None,
        include: Sequence[str] = (),
    ) -> dict[str, Any]: ...
    def query(  # noqa: D102
        self,
        *,
        query_embeddings: NDArray[np.float32],
        n_results: int,
        where: dict[str, Any] | None = None,
        include: Sequence[str] = (),
    ) -> dict[str, Any]: ...
    def modify(self, *, metadata: dict[str, str | int]) -> None: ...  # noqa: D102


class Client(Protocol):
    """The part of a chromadb client that is used here."""

    def heartbeat(self) -> int: ...  # noqa: D102
    def get_max_batch_size(self) -> int: ...  # noqa: D102
    def get_collection(self, name: str, *, embedding_function: None) -> Collection: ...  # noqa: D102
    def create_collection(  # noqa: D102
        self,
        name: str,
        *,
        configuration: dict[str, Any],
        metadata: dict[str, str | int],
        embedding_function: None,
    ) -> Collection: ...
    def delete_collection(self, name: str) -> None: ...  # noqa: D102
    def list_collections(self, *, limit: int, offset: int) -> Sequence[Collection]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


@contextmanager
def translated(what: str) -> Generator[None]:
    """Every error of Chroma is ChromaFailed: the record is searched without it."""
    try:
        yield
    except (MnemicError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # its own errors, those of its HTTP client, and panics, which are no Exception
        raise ChromaFailed(f"{what} failed: {type(error).__name__}: {str(error)[:200]}") from error


def missing(error: BaseException | None) -> bool:
    """Whether an error says that there is no such collection."""
    return type(error).__name__ == "NotFoundError"


def refused(error: Exception) -> bool:
    """Whether an error says that a value cannot be stored, whatever the state of the index."""
    return isinstance(error, (TypeError, ValueError)) or type(error).__name__ == "InvalidArgumentError"


def embedded_client(folder: Path) -> Client:
    """The client of a folder. There must never be two on one."""
    import chromadb
    from chromadb.config import Settings

    with translated("Opening Chroma's folder"):
        settings = Settings(anonymized_telemetry=False)
        return cast("Client", chromadb.PersistentClient(str(folder), settings=settings))


def server_client(host: str, port: int, *, secure: bool) -> Client:
    """The client of a server."""
    import chromadb
    from chromadb.config import Settings

    with translated(f"Reaching the Chroma server at {host}:{port}"):
        settings = Settings(anonymized_telemetry=False)
        client = chromadb.HttpClient(host, port, ssl=secure, settings=settings)
        for session in _sessions(client):
            session.timeout = PATIENCE
        return cast("Client", client)


def closed(client: Client) -> None:
    """Close a client of ours, with its connections: chromadb leaves those of HTTP open."""
    sessions = _sessions(client)
    with suppress(ChromaFailed), translated("Closing Chroma"):
        client.close()
        for session in sessions:
            session.close()


def _sessions(client: object) -> list[Any]:
    """The HTTP connections of a client, and of the second one inside it that looks after tenants."""
    holders = (client, getattr(client, "_admin_client", None))
    found = (getattr(getattr(holder, "_server", None), "_session", None) for holder in holders)
    return [session for session in found if session is not None]
