"""Preferences: exact keys with values, stored as memories with a history."""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from datetime import tzinfo
from typing import Any

from mnemic import validation
from mnemic.emotion.estimate import with_emotion
from mnemic.errors import Conflict, InvalidInput
from mnemic.ingest import new_id
from mnemic.runtime.runtime import Runtime
from mnemic.secrets.policy import refuse_secrets
from mnemic.text.terms import clean
from mnemic.text.values import now, shown, to_json
from mnemic.types import AddMemory, Archive, Change, MemoryRecord, RecordFilter, Scope, Supersede
from mnemic.types.literals import PREFERENCE as KEY
from mnemic.types.literals import UNTRUSTED
from mnemic.validation import redact_errors

VALUE = "value"
"""Metadata key of a preference's value."""
LONGEST_KEY = 200


@redact_errors
class Preferences(MutableMapping[str, Any]):
    """The preferences of a handle's user, or of its project if it has one; a mapping.

    Keys are strings, values are any JSON. Setting a key again expires the earlier
    value, which is kept in the history and can be found with
    ``memory.search(..., at=...)``. A key that is not set in the project is looked up
    among those of the user.
    """

    def __init__(self, runtime: Runtime, scope: Scope, zone: tzinfo) -> None:
        self._runtime, self._scope, self._zone = runtime, scope, zone

    def _all(self) -> list[MemoryRecord]:
        """The live preferences, the project's after the user's, the newest last."""
        reach = "project+global" if self._scope.project is not None else "project"
        filters = RecordFilter(kinds=("memory",), reach=reach, project=self._scope.project, min_trust=UNTRUSTED)
        records = self._runtime.store.relations.with_key(self._scope.user, KEY, filters)
        return sorted(records, key=lambda record: (record.project is not None, record.created_at))

    def _name(self, key: object) -> str:
        """The stored, redacted form of a key."""
        return self._runtime.secrets.redacted(_checked_key(key))[0]

    def _current(self) -> dict[str, MemoryRecord]:
        return {str(record.metadata[KEY]): record for record in self._all()}

    def _at_level(self, key: str) -> list[MemoryRecord]:
        """The values of a key at the handle's own level: several where an earlier version set it in two processes at once."""
        return [r for r in self._all() if r.metadata[KEY] == key and r.project == self._scope.project]

    def __getitem__(self, key: str) -> Any:
        return _value(self._current()[self._name(key)])

    def __setitem__(self, key: str, value: Any) -> None:
        given = validation.json_object("A preference", {_checked_key(key): value})
        redacted, kinds = self._runtime.secrets.within(given)
        refuse_secrets(self._runtime.secrets, "A preference", kinds)
        ((name, value),) = redacted.items()
        moment = now().astimezone(self._zone)
        encoded, old = to_json(value), self._at_level(name)
        if old and to_json(_value(old[-1])) == encoded:
            return
        # The earlier value ends first: its text may be the same, as for 1 and "1".
        reason = f"preference {name} was set again"
        changes: list[Change] = [Supersede(id=r.id, by=None, at=moment, reason=reason) for r in old]
        record = MemoryRecord(
            id=new_id("pref_"), content=_statement(name, value),
            category="preference", importance=0.8, salience=0.8, key=name, metadata={KEY: name, VALUE: value},
            project=self._scope.project, tags=("preference",), valid_at=moment, created_at=moment, updated_at=moment,
        )  # fmt: skip
        ((_, index),) = self._runtime.indexer.indexed([record])
        changes.append(AddMemory(record=with_emotion(record, index), indexing=index, settle=True))
        changes += [Supersede(id=r.id, by=record.id, at=moment, reason=reason) for r in old]
        stored = self._runtime.store.apply(self._scope.user, changes)
        if not stored[len(old)].changed and to_json(_value(self._at_level(name)[-1])) != encoded:
            raise Conflict(f"The preference {name!r} was not stored: {stored[len(old)].reason}. Set it again.")

    def __delitem__(self, key: str) -> None:
        """Remove a preference at the handle's level; one of the user's level becomes visible again.

        Raises:
            KeyError: nothing is set at this level.
        """
        records = self._at_level(self._name(key))
        if not records:
            raise KeyError(key)
        changes = [Archive(id=record.id, reason="preference removed") for record in records]
        self._runtime.store.apply(self._scope.user, changes)

    def update(self, other: Any = (), /, **values: Any) -> None:
        """Set every key of a mapping, or of a list of keys with their values.

        Raises:
            InvalidInput: it is neither, or a key or value is not valid; what was set before it stays.
        """
        try:
            items = dict(other, **values)
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"update() takes a mapping, or a list of keys with their values, not {shown(other)}. Nothing was done."
            ) from error
        for key, value in items.items():
            self[key] = value

    def clear(self) -> None:
        """Remove every preference at the handle's level."""
        for key in {str(r.metadata[KEY]) for r in self._all() if r.project == self._scope.project}:
            del self[key]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._current()))

    def __len__(self) -> int:
        return len(self._current())

    def __repr__(self) -> str:
        return f"Preferences({dict(self)!r})"


def _statement(name: str, value: object) -> str:
    return f"Preference {name}: {value if isinstance(value, str) else to_json(value)}"


def _value(record: MemoryRecord) -> Any:
    """The value that was set; once the memory was edited or corrected, what its text says."""
    name, value = str(record.metadata[KEY]), record.metadata.get(VALUE)
    if record.content == _statement(name, value):
        return value
    text = record.content.removeprefix(_statement(name, ""))
    with suppress(ValueError):
        return text if isinstance(value, str) else json.loads(text)
    return text


def _checked_key(key: object) -> str:
    if not isinstance(key, str) or not key.strip() or len(key) > LONGEST_KEY:
        raise InvalidInput(
            f"The key of a preference must be a string of 1 to {LONGEST_KEY} characters, not {shown(key, 60)}."
        )
    return clean(key)
