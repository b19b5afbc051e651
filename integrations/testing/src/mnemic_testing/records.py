"""The memory that a suite runs on: in a folder and, where there is a server, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.memory import Memory
from mnemic.runtime.settings import Idle

__all__ = ["OnEachStore"]


class OnEachStore:
    """A base of suites: each test runs on a folder and, with the mark ``engine``, on the server of ``postgres_url``."""

    @pytest.fixture(params=["folder", pytest.param("postgres", marks=pytest.mark.engine)])
    def memory(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
        """An empty memory of the user ``ana``."""
        place = tmp_path / "memory"
        if request.param == "postgres":
            try:
                place = request.getfixturevalue("postgres_url")
            except pytest.FixtureLookupError:
                pytest.skip("There is no fixture postgres_url.")
        with Memory(place, user="ana", embedder="hashing", idle=Idle(idle_seconds=3600)) as opened:
            yield opened
