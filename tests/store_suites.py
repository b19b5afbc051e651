"""The suites of LangGraph's own stores over ``MnemicStore``: ``make test-stores``, or this file in the environment of ``make test``.

The tests are those of the source distributions of langgraph-checkpoint and langgraph-checkpoint-sqlite, fetched each time:
none of them is kept here. This file is also the plugin that puts our store in the place of the stores they import. What is
left out looks at the inside of the other store, and is named below with the reason.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tarfile
import tempfile
import types
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

SUITES = {
    "langgraph-checkpoint==4.3.2": ["tests/test_store.py"],
    "langgraph-checkpoint-sqlite==3.1.2": ["tests/test_store.py", "tests/test_async_store.py", "tests/test_ttl.py"],
}
NEEDS = ("pytest-mock", "aiosqlite", "sqlite-vec")
"""What the tests import beside the framework and pytest."""

LEFT_OUT: dict[str, dict[str, str]] = {
    "langgraph-checkpoint-sqlite==3.1.2": {
        "tests/test_store.py::test_vector_store_initialization": "attributes of the other store",
        "tests/test_store.py::test_nonnull_migrations": "its tables",
        "tests/test_store.py::test_escape_glob_literal": "a function of its own",
        "tests/test_store.py::test_namespace_match_pattern": "a function of its own",
        "tests/test_store.py::test_list_namespaces_prefix_uses_indexable_condition": "its SQL",
        "tests/test_async_store.py::test_no_running_loop": "ours may be called from where a loop runs, so nothing is to be refused",
        "tests/test_ttl.py::test_ttl_override_default": "refresh_on_read left out: True says BaseStore, and ours; SqliteStore takes it for False",
    }
}


def _index(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The names that our store knows; those of SqliteStore include some for its tables."""
    if given is None:
        return None
    fields = given.get("text_fields") or given.get("fields")
    return {"dims": given["dims"], "embed": given["embed"], **({"fields": fields} if fields else {})}


def _stores() -> tuple[type, type, type]:
    """Ours as InMemoryStore, SqliteStore and AsyncSqliteStore are made."""
    from langchain_mnemic import MnemicStore

    class InMemory(MnemicStore):
        def __init__(self, *, index: Any = None) -> None:
            super().__init__(":memory:", index=index)

    class Sqlite(MnemicStore):
        @classmethod
        @contextlib.contextmanager
        def from_conn_string(cls, place: str, *, index: Any = None, ttl: Any = None) -> Iterator[Any]:
            where = place if place == ":memory:" else f"{place}.folder"
            with cls(where, index=_index(index), ttl=ttl) as store:
                yield store

        def nothing(self) -> None:
            """Ours needs no setting up, and sweeps by itself."""

        setup = start_ttl_sweeper = stop_ttl_sweeper = nothing

    class AsyncSqlite(Sqlite):
        @classmethod
        @contextlib.asynccontextmanager
        async def from_conn_string(cls, place: str, *, index: Any = None, ttl: Any = None) -> AsyncIterator[Any]:
            with super().from_conn_string(place, index=index, ttl=ttl) as store:
                yield store

        async def nothing(self) -> None:
            """As above."""

        async def sweep_ttl(self) -> int:
            return super().sweep_ttl()

        setup = start_ttl_sweeper = stop_ttl_sweeper = nothing

    return InMemory, Sqlite, AsyncSqlite


class _Inside(types.ModuleType):
    """The inside of the other store: importable, and nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def pytest_configure() -> None:
    """Put our store in the place of theirs, before the tests import it."""
    import langgraph.store.memory

    memory, sqlite, asynchronous = _stores()
    langgraph.store.memory.InMemoryStore = memory
    for name in ("langgraph.store.sqlite", "langgraph.store.sqlite.base", "langgraph.store.sqlite.aio"):
        module = _Inside(name)
        module.__path__ = []
        module.SqliteStore, module.AsyncSqliteStore = sqlite, asynchronous
        sys.modules[name] = module


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
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    print(requirement, flush=True)
    return subprocess.run([*command, *quiet], cwd=place, env=environment, check=False).returncode


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip("install", "--no-deps", "--target", str(folder / "more"), *NEEDS)
        return max([run(folder, requirement, files) for requirement, files in SUITES.items()])


if __name__ == "__main__":
    sys.exit(main())
