"""The suites of LangGraph's own stores over ``MnemicStore``: ``make test-stores``, or this file in the environment of ``make test``.

They show that LangGraph's ``SqliteStore`` works over the connection that we give it, with our embedding and in both kinds of
calls. The tests are those of the source distributions, fetched each time: none of them is kept here. This file is also the
plugin that puts our store in the place of the stores they import. What is left out is named below with the reason.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SUITES = {
    "langgraph-checkpoint==4.3.2": ["tests/test_store.py"],
    "langgraph-checkpoint-sqlite==3.1.2": ["tests/test_store.py", "tests/test_async_store.py", "tests/test_ttl.py"],
}
NEEDS = ("pytest-mock",)
"""What the tests import beside the framework and pytest."""

LEFT_OUT = {
    "langgraph-checkpoint==4.3.2": {
        "tests/test_store.py::test_vector_store_initialization": "an attribute of InMemoryStore",
        "tests/test_store.py::test_async_batch_store_deduplication": "replaces a method of InMemoryStore",
        "tests/test_store.py::test_embed_with_path": "items without a text: InMemoryStore appends them, SqliteStore does not",
    },
    "langgraph-checkpoint-sqlite==3.1.2": {
        "tests/test_store.py::test_vector_store_initialization": "attributes of SqliteStore",
        "tests/test_store.py::test_nonnull_migrations": "an attribute of SqliteStore",
        "tests/test_async_store.py::test_vector_store_initialization": "attributes of AsyncSqliteStore",
        "tests/test_async_store.py::test_no_running_loop": "ours may be called from where a loop runs, so nothing is refused",
        "tests/test_ttl.py::test_async_asearch_refresh_ttl": "fails half the time over SqliteStore, too: it counts whole seconds",
    },
}


class _Embedder:
    """Embeddings of LangChain as an embedder of Mnemic."""

    id = "suite"

    def __init__(self, index: Mapping[str, Any]) -> None:
        from langgraph.store.base import ensure_embeddings

        self.dimension, self._embeddings = index["dims"], ensure_embeddings(index["embed"])

    def embed(self, texts: Sequence[str], *, kind: str = "document") -> Any:
        return np.array(self._embeddings.embed_documents([*texts]), dtype=np.float32)


def _stores() -> tuple[type, type, type]:
    """Ours as InMemoryStore, SqliteStore and AsyncSqliteStore are made."""
    from langchain_mnemic import MnemicStore

    def opened(cls: type, place: str, index: Any, ttl: Any) -> Any:
        if index is None:
            return cls(place, fields=(), ttl=ttl, secrets="allow")
        fields = index.get("text_fields") or index.get("fields") or ["$"]
        return cls(place, embedder=_Embedder(index), fields=fields, ttl=ttl, secrets="allow")

    class Sqlite(MnemicStore):
        @classmethod
        @contextlib.contextmanager
        def from_conn_string(cls, place: str, *, index: Any = None, ttl: Any = None) -> Iterator[Any]:
            with opened(cls, place if place == ":memory:" else f"{place}.folder", index, ttl) as store:
                yield store

        def setup(self) -> None:
            """Done when it was opened."""

        def stop_ttl_sweeper(self, *_: Any, **__: Any) -> bool:
            return self._store.stop_ttl_sweeper()

    class AsyncSqlite(Sqlite):
        @classmethod
        @contextlib.asynccontextmanager
        async def from_conn_string(cls, place: str, *, index: Any = None, ttl: Any = None) -> AsyncIterator[Any]:
            with super().from_conn_string(place, index=index, ttl=ttl) as store:
                yield store

        async def setup(self) -> None:
            """As above."""

        async def start_ttl_sweeper(self, sweep_interval_minutes: Any = None) -> Any:
            super().start_ttl_sweeper(sweep_interval_minutes)

        async def stop_ttl_sweeper(self, *_: Any, **__: Any) -> bool:
            return super().stop_ttl_sweeper()

        async def sweep_ttl(self) -> int:
            return super().sweep_ttl()

    class InMemory(MnemicStore):
        def __new__(cls, *, index: Any = None) -> Any:
            return opened(MnemicStore, ":memory:", index, None)

    return InMemory, Sqlite, AsyncSqlite


def pytest_configure() -> None:
    """Put our store in the place of theirs, before the tests import it."""
    import langgraph.store.memory
    import langgraph.store.sqlite.aio

    memory, sqlite, asynchronous = _stores()
    langgraph.store.memory.InMemoryStore = memory
    for module in (langgraph.store.sqlite, langgraph.store.sqlite.base, langgraph.store.sqlite.aio):
        module.SqliteStore, module.AsyncSqliteStore = sqlite, asynchronous


def pip(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words], check=True)


def run(folder: Path, requirement: str, files: list[str]) -> int:
    """Fetch one source distribution and run its tests of stores; pytest's exit code."""
    pip("download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "-d", str(folder), requirement)
    (archive,) = folder.glob(f"{requirement.partition('=')[0].replace('-', '_')}-[0-9]*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    place = folder / archive.name.removesuffix(".tar.gz")
    without = [word for name in LEFT_OUT.get(requirement, ()) for word in ("--deselect", name)]
    paths = [str(Path(__file__).parent), str(folder / "more")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "store_suites", "-p", "no:cacheprovider", *files, *without]
    quiet = ["-o", "asyncio_mode=auto", "-o", "addopts=", "-o", "filterwarnings="]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])}
    print(requirement, flush=True)
    return subprocess.run([*command, *quiet], cwd=place, env=environment, check=False).returncode


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip("install", "--no-deps", "--target", str(folder / "more"), *NEEDS)
        return max([run(folder, requirement, files) for requirement, files in SUITES.items()])


if __name__ == "__main__":
    sys.exit(main())
