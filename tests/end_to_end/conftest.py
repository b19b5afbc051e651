"""The same scenarios through both faces and all stores."""

import asyncio
import inspect
import zlib
from typing import Any

import pytest
from tests.battery import long

from mnemic import AsyncMemory, Memory


class Blocking:
    """AsyncMemory, or a part of it, driven from synchronous code, each call in an event loop of its own."""

    def __init__(self, memory: Any) -> None:
        self._wrapped = memory

    def __getattr__(self, name):
        value = getattr(self._wrapped, name)
        if name == "scoped":
            return lambda **scope: Blocking(value(**scope))
        if name in ("admin", "links", "sessions"):
            return Blocking(value)
        if not inspect.iscoroutinefunction(value):
            return value

        async def call(args, kwargs):
            return await value(*args, **kwargs)

        return lambda *args, **kwargs: asyncio.run(call(args, kwargs))


SHARE = 4
"""One scenario in so many also runs on the asynchronous face, in RAM and encrypted: all are the same code and the same SQLite."""


def pytest_collection_modifyitems(config, items):
    """Keep the variants of a fixed share of the scenarios; the battery has all of them."""
    left_out = [
        item for item in items if not long() and _is_variant(item) and zlib.crc32(item.originalname.encode()) % SHARE
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = {*left_out}
        items[:] = [item for item in items if item not in gone]


def _is_variant(item):
    spec = getattr(item, "callspec", None) if "/end_to_end/" in item.path.as_posix() else None
    return spec is not None and spec.params.get("opened") in (
        ("folder", "async"),
        ("ram", "sync"),
        ("encrypted", "sync"),
    )


@pytest.fixture(
    params=[
        ("folder", "sync"),
        ("folder", "async"),
        pytest.param(("encrypted", "sync"), marks=pytest.mark.encrypted),
        ("ram", "sync"),  # the face knows nothing of the place, so not every pair is tried
        pytest.param(("postgres", "sync"), marks=pytest.mark.engine),
    ],
    ids="-".join,
)
def opened(request, tmp_path):
    """Opens a memory in the place under test; the folder or database is the same for every call of one test."""
    place, face = request.param
    handles = []

    def make(**options):
        options.setdefault("embedder", "hashing")
        location = {"ram": ":memory:", "folder": tmp_path / "memory", "encrypted": tmp_path / "memory"}.get(place)
        if place == "encrypted":
            options.setdefault("key", bytes(range(32)))
        location = location or request.getfixturevalue("postgres_url")
        memory = Memory(location, **options) if face == "sync" else Blocking(AsyncMemory(location, **options))
        handles.append(memory)
        return memory

    make.persistent = place != "ram"
    yield make
    for memory in handles:
        memory.close()


@pytest.fixture
def memory(opened):
    return opened(user="ana")
