"""Preferences: exact keys with values, kept as memories so that they have a history and are found."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from mnemic.errors import InvalidInput
from mnemic.flows.engine import Engine
from mnemic.text.canonical import to_json
from mnemic.text.clock import now
from mnemic.text.terms import clean
from mnemic.types import AddMemory, Archive, Change, Filters, MemoryRecord, Scope, Supersede

__all__ = ["KEY", "Preferences"]

KEY, VALUE = "preference", "value"
"""Where key and value stand in the metadata of a preference."""
LONGEST_KEY = 200


class Preferences(MutableMapping[str, Any]):
    """The preferences of a handle's user, at the level of its project if it has one.

    Keys are strings, values any JSON. Setting a key again ends the earlier value, which stays in the record: ask with
    ``memory.search(..., at=...)``. Reading falls back from the project to the user.
    """

    def __init__(self, engine: Engine, scope: Scope, zone: tzinfo) -> None:
        self._engine, self._scope, self._zone = engine, scope, zone

    def _held(self) -> dict[str, MemoryRecord]:
        """The live preferences by key, the project's before the user's."""
        reach = "project+global" if self._scope.project is not None else "project"
        filters = Filters(kinds=("memory",), reach=reach, project=self._scope.project)
        found = self._engine.store.relations.with_key(self._scope.user, KEY, filters)
        found.sort(key=lambda record: (record.project is not None, record.created_at))
        return {str(record.metadata[KEY]): record for record in found}

    def __getitem__(self, key: str) -> Any:
        return self._held()[_checked(key)].metadata.get(VALUE)

    def __setitem__(self, key: str, value: Any) -> None:
        name, moment = _checked(key), now().astimezone(self._zone)
        to_json(value)
        old = self._held().get(name)
        if old is not None and old.project == self._scope.project and old.metadata.get(VALUE) == value:
            return
        record = MemoryRecord(
            id=f"pref_{uuid.uuid4().hex}", content=f"Preference {name}: {_worded(value)}", category="preference",
            importance=0.8, salience=0.8, metadata={KEY: name, VALUE: value}, project=self._scope.project,
            tags=("preference",), valid_at=moment, created_at=moment, updated_at=moment,
        )  # fmt: skip
        embedder = self._engine.embedder
        index = self._engine.indexing([record], embedder)[0]
        changes: list[Change] = [AddMemory(record=record, indexing=replace(index, slots=(f"preference\x1f{name}",)))]
        if old is not None and old.project == self._scope.project:
            changes.append(Supersede(id=old.id, by=record.id, at=moment, reason=f"preference {name} was set again"))
        self._engine.store.apply(self._scope.user, changes, model=embedder.id)

    def __delitem__(self, key: str) -> None:
        record = self._held()[_checked(key)]
        self._engine.store.apply(self._scope.user, [Archive(id=record.id, reason="preference removed")])

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._held()))

    def __len__(self) -> int:
        return len(self._held())

    def __repr__(self) -> str:
        return f"Preferences({dict(self)!r})"


def _checked(key: object) -> str:
    if not isinstance(key, str) or not key.strip() or len(key) > LONGEST_KEY:
        raise InvalidInput(f"A preference is named by a string of 1 to {LONGEST_KEY} characters, not {key!r:.60}.")
    return clean(key)


def _worded(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)
