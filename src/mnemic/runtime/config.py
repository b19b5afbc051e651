"""Settings of a memory from a TOML file, which the commands ``mnemic`` and ``mnemic-mcp`` read."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from mnemic.errors import ConfigurationError
from mnemic.paths import environment, is_address, path_of
from mnemic.runtime.settings import Consolidator, Idle, Processing, RetentionPolicy
from mnemic.text.values import json_type, shown

FILE_NAME = "mnemic.toml"
"""The file that is read from the folder of a memory."""

KEYRING_ENTRY = "mnemic"
"""The entry of the keyring that holds the key of encrypted records: ``mnemic keys set mnemic``."""

RECIPE = "recipe"
"""The key that is an argument of searches, not of ``Memory``."""

_WORDS: Mapping[str, str | None] = {
    "embedder": None,
    "llm": None,
    "reranker": None,
    "secrets": "redact",
    "timezone": "UTC",
    "session": None,
    RECIPE: "conversation",
}
"""Keys with a text as their value, and their defaults."""
_TABLES: Mapping[str, type[Any]] = {
    "processing": Processing,
    "consolidator": Consolidator,
    "idle": Idle,
    "retention": RetentionPolicy,
}

Origin: TypeAlias = Literal["argument", "file", "environment", "default"]


@dataclass(frozen=True, slots=True)
class Setting:
    """An effective setting: its name, its value, and where that comes from."""

    name: str
    value: object
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The settings of a file.

    Attributes:
        path: the file; None if there is none.
        values: by key: a text, or the settings of a table.
        keys: what the file sets, in tables as ``table.key``.
    """

    path: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keys: frozenset[str] = frozenset()

    @property
    def recipe(self) -> str:
        """The ranking of searches that name none."""
        return self.values.get(RECIPE) or str(_WORDS[RECIPE])

    def arguments(self, **given: object) -> dict[str, Any]:
        """The arguments of ``Memory``: those given, where they are not None, else those of the file."""
        arguments = {name: value for name, value in given.items() if value is not None}
        return {name: value for name, value in {**self.values, **arguments}.items() if name != RECIPE}

    def effective(self, **given: object) -> Generator[Setting]:
        """Every setting, with ``given`` before the file."""
        for name, default in _WORDS.items():
            if given.get(name) is not None:
                yield Setting(name, given[name], "argument")
            elif name in self.keys:
                yield Setting(name, self.values[name], "file")
            else:
                yield Setting(name, default, "default")
        for table, kind in _TABLES.items():
            settings = self.values.get(table, kind())
            for entry in fields(kind):
                value, name = getattr(settings, entry.name), f"{table}.{entry.name}"
                value = value.total_seconds() if isinstance(value, timedelta) else value
                yield Setting(name, value, "file" if name in self.keys else "default")


def read_config(file: str | Path | None, folder: str | Path) -> Config:
    """The settings that a file gives.

    Keys are ``embedder``, ``llm``, ``reranker``, ``secrets``, ``timezone``, ``session`` and ``recipe``; tables are
    ``processing``, ``consolidator``, ``idle`` and ``retention``, with the names of their classes' attributes. ``time_gap``
    is in seconds.

    Args:
        file: a path; None for ``mnemic.toml`` in the folder, if it exists.
        folder: the folder of the memory; a server has none.

    Raises:
        ConfigurationError: the file cannot be read, is not TOML, or a key or value is wrong.
    """
    path = path_of(Path(folder, FILE_NAME) if file is None else file, error=ConfigurationError)
    if file is None and ("://" in str(folder) or not os.path.isfile(path)):  # noqa: PTH113 - is_file may raise
        return Config()
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:  # of TOML and of UTF-8 as well
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"The settings in {path} cannot be read: {reason}.") from error
    try:
        _check_names(table, (*_WORDS, *_TABLES), "")
        values = {name: _setting(name, value) for name, value in table.items()}
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    return Config(path=path, values=values, keys=frozenset(_keys(table)))


def record_key(location: str | Path) -> str | None:
    """The key of a record: ``MNEMIC_KEY``, or for an encrypted folder the key in the keyring; None if there is none."""
    from mnemic.llm.keys import keyring_key
    from mnemic.stores import SqliteStore

    if (key := environment("MNEMIC_KEY")) or is_address(location):
        return key
    return keyring_key(KEYRING_ENTRY) if SqliteStore.encrypted(path_of(location)) else None


def _keys(table: Mapping[str, Any]) -> Generator[str]:
    for name, value in table.items():
        yield from (f"{name}.{key}" for key in value) if name in _TABLES else (name,)


def _check_names(values: Mapping[str, Any], names: tuple[str, ...], table: str) -> None:
    for name in values:
        if name not in names:
            matches = get_close_matches(name, names, n=1)
            hint = f"Did you mean {matches[0]!r}?" if matches else f"It takes {', '.join(names)}."
            raise ConfigurationError(f"{table or 'the file'} has no key {name!r}. {hint}")


def _setting(name: str, value: object) -> object:
    """The value of a key: a text, or the settings of a table."""
    if name in _WORDS:
        if not isinstance(value, str):
            raise ConfigurationError(f"{name} must be a string, not {json_type(value)}.")
        return value
    if not isinstance(value, dict):
        raise ConfigurationError(f"{name} must be a table, [{name}], not {json_type(value)}.")
    values, kind = cast("dict[str, Any]", value), _TABLES[name]
    _check_names(values, tuple(f.name for f in fields(kind)), f"[{name}]")
    if "time_gap" in values:
        values = {**values, "time_gap": _seconds(values["time_gap"])}
    for key, setting in values.items():
        if isinstance(getattr(kind(), key), bool) and not isinstance(setting, bool):
            raise ConfigurationError(f"{key} must be true or false, not {shown(setting)}.")
    return kind(**values)


def _seconds(value: object) -> timedelta:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigurationError(f"time_gap must be a number of seconds, not {shown(value)}.")
    try:
        return timedelta(seconds=value)
    except (OverflowError, ValueError) as error:
        raise ConfigurationError(
            f"time_gap must be a number of seconds that is a span of time, not {value}."
        ) from error
