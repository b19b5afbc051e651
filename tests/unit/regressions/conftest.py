"""Handles for tests that each hold one fault that was found and mended."""

import pytest

from mnemic import Memory


@pytest.fixture
def memory():
    with Memory(":memory:", embedder="hashing") as memory:
        yield memory


@pytest.fixture(params=["folder", "ram"])
def either(request, tmp_path):
    """A memory in a folder and one in RAM."""
    with Memory(tmp_path / "memory" if request.param == "folder" else ":memory:", embedder="hashing") as memory:
        yield memory
