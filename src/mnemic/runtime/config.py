"""Settings of a memory from a TOML file, as the MCP server reads them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from mnemic.errors import ConfigurationError
from mnemic.runtime.settings import Consolidator, Idle, Processing, RetentionPolicy
from mnemic.text.display import json_type, shown

__all__ = ["FILE_NAME", "read_config"]

FILE_NAME = "mnemic.toml"
"""The file that is read from the folder of a memory."""

_WORDS = ("embedder", "llm", "reranker", "secrets", "timezone")
"""Arguments of ``Memory`` that a file may give."""
_TABLES: Mapping[str, type[Any]] = {
    "processing": Processing,
    "consolidator": Consolidator,
    "idle": Idle,
    "retention": RetentionPolicy,
}


def read_config(file: str | Path | None, folder: str | Path) -> dict[str, Any]:
    """The arguments of ``Memory`` that a file of settings gives.

    Keys are ``embedder``, ``llm``, ``reranker``, ``secrets`` and ``timezone``; tables are ``processing``, ``consolidator``,
    ``idle`` and ``retention``, with the names of their classes' attributes. ``time_gap`` is in seconds.

    Args:
        file: a path; None for ``mnemic.toml`` in the folder, if it exists.
        folder: the folder of the memory; a server has none.

    Raises:
        ConfigurationError: the file cannot be read, is not TOML, or a key or value is wrong.
    """
    path = Path(folder, FILE_NAME) if file is None else Path(file)
    path = path.expanduser()
    if file is None and ("://" in str(folder) or not path.is_file()):
        return {}
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # of TOML and of UTF-8 as well
        why = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"The settings in {path} cannot be read: {why}.") from error
    try:
        _check_names(given, (*_WORDS, *_TABLES), "")
        return {name: _argument(name, value) for name, value in given.items()}
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def _check_names(given: Mapping[str, Any], known: tuple[str, ...], table: str) -> None:
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"It takes {', '.join(known)}."
            raise ConfigurationError(f"{table or 'the file'} has no key {name!r}. {hint}")


def _argument(name: str, value: object) -> object:
    """One argument of ``Memory``: a text, or the settings of a table."""
    if name in _WORDS:
        if not isinstance(value, str):
            raise ConfigurationError(f"{name} must be a string, not {json_type(value)}.")
        return value
    if not isinstance(value, dict):
        raise ConfigurationError(f"{name} must be a table, [{name}], not {json_type(value)}.")
    given, kind = cast("dict[str, Any]", value), _TABLES[name]
    _check_names(given, tuple(field.name for field in fields(kind)), f"[{name}]")
    if "time_gap" in given:
        given = {**given, "time_gap": _seconds(given["time_gap"])}
    for key, setting in given.items():
        if isinstance(getattr(kind(), key), bool) and not isinstance(setting, bool):
            raise ConfigurationError(f"{key} must be true or false, not {shown(setting)}.")
    return kind(**given)


def _seconds(value: object) -> timedelta:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigurationError(f"time_gap must be a number of seconds, not {shown(value)}.")
    return timedelta(seconds=value)
