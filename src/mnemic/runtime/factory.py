"""Opens a runtime from the arguments of a handle."""

from __future__ import annotations

import warnings
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mnemic.embedders import embedder_from
from mnemic.errors import ConfigurationError, StoreError, StoreReadOnly, StoreUnavailable
from mnemic.indexes.vector.chroma.index import Chroma, ChromaIndex
from mnemic.paths import IN_MEMORY, is_address
from mnemic.protocols import Embedder, Reranker, TokenCounter, VectorIndex
from mnemic.rerankers import reranker_from
from mnemic.runtime.indexer import Indexer, RedactingStore
from mnemic.runtime.notices import Notices
from mnemic.runtime.runtime import Runtime, SearchGate, Uses
from mnemic.runtime.scheduler import IndexUpdater, Scheduler
from mnemic.runtime.settings import Consolidator, Idle, Processing, RetentionPolicy, Settings
from mnemic.runtime.views import Views
from mnemic.stores import InMemoryStore, SqliteStore, postgres_store
from mnemic.text.values import shown

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from mnemic.llm import LanguageModel
    from mnemic.secrets.policy import SecretPolicy
    from mnemic.stores import Store
    from mnemic.stores.postgres.store import PostgresStore
    from mnemic.stores.sql.connection import Durability


def location_of(runtime: Runtime) -> str:
    """The location that opens a record again; of one in memory, an empty one."""
    location = runtime.store.location
    return location if location == IN_MEMORY or is_address(location) else str(Path(location).parent)


def time_zone(value: str | tzinfo | None) -> tzinfo:
    """The time zone of naive datetimes; UTC by default.

    Raises:
        ConfigurationError: there is no such zone on this machine.
    """
    if value is None:
        return UTC
    if isinstance(value, tzinfo):
        if datetime(2000, 1, 1, tzinfo=value).utcoffset() is None:
            raise ConfigurationError(f"timezone={shown(value, 60)} gives no offset. Give a zone that has one.")
        return value
    try:
        return ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError) as error:
        raise ConfigurationError(
            f'timezone={shown(value, 60)} is not a zone this machine knows. Use a name such as "Europe/Lisbon", or a tzinfo '
            "(on systems without a zone database: pip install tzdata)."
        ) from error


def _language_model(llm: str | Model | LanguageModel) -> LanguageModel:
    from mnemic.llm import LanguageModel

    return llm if isinstance(llm, LanguageModel) else LanguageModel(llm)


def open_store(
    location: str | Path, durability: Durability, vectors: object, key: str | bytes | None
) -> tuple[Store, VectorIndex | None]:
    """Open the store at a location, and its vector index if it has one.

    Raises:
        ConfigurationError: it cannot be encrypted, and there is a key.
        WrongKey: it is encrypted under another key, or not at all.
        StoreError: it cannot be opened.
    """
    index = index_from(vectors)
    if key is not None:
        check_encryptable(location, indexed=index is not None)
    if is_address(location):
        store = postgres_store()(str(location), durability=durability)
    else:
        store = InMemoryStore() if str(location) == IN_MEMORY else SqliteStore(location, durability=durability, key=key)
    return store, None if index is None else _open_index(store, index)


def check_encryptable(location: str | Path, *, indexed: bool) -> None:
    """Check that all of a record can be encrypted.

    Raises:
        ConfigurationError: it cannot.
    """
    if is_address(location):
        raise ConfigurationError(
            "key encrypts a folder; a record on a server is encrypted by the server. Leave key out (the commands: unset "
            "MNEMIC_KEY), and put the database on an encrypted volume."
        )
    if str(location) == IN_MEMORY:
        raise ConfigurationError(
            "A record in RAM is never written, and so not encrypted. Leave key out, or give a folder."
        )
    if indexed:
        raise ConfigurationError(
            "Chroma and other vector indexes keep vectors and texts in plain files of their own. Leave vectors out: an "
            "encrypted record is searched exactly."
        )


def _open_index(store: SqliteStore | PostgresStore, index: VectorIndex) -> VectorIndex | None:
    """Attach a vector index to the store; None if it cannot be used: for a read-only record, or beside another process."""
    try:
        try:
            index.open(store.feed())
        except StoreReadOnly:
            return None
        except StoreUnavailable as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=6)
            return None
    except BaseException:  # the warning may be one
        store.close()
        raise
    return index


def check_location(location: object) -> None:
    """Check that a location is a folder, ``":memory:"`` or the address of a database.

    Raises:
        ConfigurationError: it is not.
    """
    if not isinstance(location, (str, Path)) or not str(location):
        raise ConfigurationError(
            f'The location must be a folder, ":memory:" or postgresql://..., not {shown(location, 60)}.'
        )
    if isinstance(location, Path) and str(location).startswith(("postgresql:/", "postgres:/")):
        raise ConfigurationError(
            "A Path cannot hold the address of a database: it drops one of the slashes. Give the address as a string."
        )
    if "://" in str(location) and not is_address(location):
        raise ConfigurationError(
            f'{str(location).split("://")[0]}:// is not a kind of store. Give a folder, ":memory:" or postgresql://...'
        )


S = TypeVar("S")


def _setting(name: str, kind: type[S], value: S | None) -> S:
    """A setting, or its default."""
    if value is None:
        return kind()
    if not isinstance(value, kind):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"{name} must be a {kind.__name__}(...), not {type(value).__name__}.")
    return value


def _recover(store: Store) -> None:
    """Finish what an interrupted process left: a consolidation, and an erasure."""
    with suppress(StoreReadOnly):
        store.lifecycle.recover()
    with suppress(StoreError):
        if store.erasure.unfinished():
            store.erasure.purge()


def open_runtime(
    location: str | Path,
    *,
    embedder: str | Embedder | None,
    secrets: SecretPolicy,
    tokenizer: str | TokenCounter | None = None,
    reranker: str | PathLike[str] | Reranker | None = None,
    llm: str | Model | LanguageModel | None = None,
    processing: Processing | None = None,
    consolidator: Consolidator | None = None,
    idle: Idle | None = None,
    retention: RetentionPolicy | None = None,
    durability: Durability = "FULL",
    vectors: object = None,
    key: str | bytes | None = None,
) -> Runtime:
    """Open or make the record at a location.

    Raises:
        ConfigurationError: an argument is not understood.
        StoreError: the record cannot be opened.
    """
    check_location(location)
    if durability not in ("FULL", "NORMAL"):
        raise ConfigurationError(f'durability must be "FULL" or "NORMAL", not {shown(durability)}.')
    second = reranker_from(reranker)
    settings = Settings(
        processing=_setting("processing", Processing, processing),
        consolidator=_setting("consolidator", Consolidator, consolidator),
        idle=_setting("idle", Idle, idle),
        retention=_setting("retention", RetentionPolicy, retention),
    )
    model = None if llm is None else _language_model(llm)
    notices = Notices(secrets)
    indexer = Indexer(embedder_from(embedder), secrets, notices)
    in_memory = str(location) == IN_MEMORY
    opened, index = open_store(location, durability, vectors, key)
    _recover(opened)
    store = cast("Store", RedactingStore(opened, secrets, indexer))
    scheduler, search = Scheduler(), index
    if index is None and vectors != "exact":
        search = opened.index
    return Runtime(
        store=store,
        fence=store.fence,
        indexer=indexer,
        views=Views(store, in_memory=in_memory, index=search),
        settings=settings,
        secrets=secrets,
        notices=notices,
        gate=SearchGate(in_turns=search is None and isinstance(opened, SqliteStore | InMemoryStore)),
        uses=Uses(store),
        reranker=second,
        llm=model,
        owns_llm=model is not llm,
        updater=None if index is None else IndexUpdater(index, opened, scheduler),
        scheduler=scheduler,
        tokenizer=tokenizer,
    )


def index_from(vectors: object) -> VectorIndex | None:
    """The index named by ``vectors``; None for exact search.

    Raises:
        ConfigurationError: ``vectors`` is not a vector index.
        MissingExtra: an optional package is not installed.
    """
    if vectors is None or vectors == "exact":
        return None
    if isinstance(vectors, str):
        if vectors == "chroma":
            return ChromaIndex(Chroma())
        if vectors.startswith(("http://", "https://")):
            return ChromaIndex(Chroma(url=vectors))
    elif isinstance(vectors, Chroma):
        return ChromaIndex(vectors)
    elif isinstance(vectors, VectorIndex):
        return vectors
    elif callable(getattr(vectors, "get_or_create_collection", None)):
        return ChromaIndex(Chroma(client=vectors))
    missing = "" if isinstance(vectors, str) else _missing_methods(vectors)
    raise ConfigurationError(
        f'vectors={vectors!r:.60} is not a vector index. Use "exact", "chroma", the address of a Chroma server '
        f'("http://host:port"), Chroma(...), a chromadb client, or an object with the methods of VectorIndex{missing}.'
    )


def _missing_methods(vectors: object) -> str:
    names = [name for name in dir(VectorIndex) if not name.startswith("_")]
    missing = [name for name in names if not hasattr(vectors, name)]
    return f" (it lacks {', '.join(missing)})" if 0 < len(missing) < len(names) else ""
