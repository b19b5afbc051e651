"""Folders, caches and environment variables. Only ``llm/keys.py`` reads the environment by itself."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from typing import cast

from mnemic.errors import InvalidInput, MnemicError

_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_SHORTEST_SECRET = 8


def environment(name: str) -> str | None:
    """The value of an environment variable; None if it is unset or empty."""
    return os.environ.get(name) or None


def environment_default(name: str, value: str) -> str:
    """The value of an environment variable, which is set first if nobody has."""
    return os.environ.setdefault(name, value)


def environment_secrets() -> list[str]:
    """Values of environment variables with names of secrets, to be masked in errors."""
    return [value for name, value in os.environ.items() if name.endswith(_SECRET) and len(value) >= _SHORTEST_SECRET]


@contextmanager
def environment_set(name: str, value: str) -> Generator[None]:
    """Set an environment variable inside the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


LONGEST_PATH = 32_767
"""Characters of a path, more than which no system takes."""


def path_of(value: object, *, error: type[MnemicError] = InvalidInput) -> Path:
    """The path that a caller names, with the folder of a user in place of ``~``; whether something is there is not looked up.

    Raises:
        MnemicError: it can be no path on this system; it is an ``error``.
    """
    if not isinstance(value, (str, os.PathLike)):
        raise error(f"A path must be a string or a Path, not {type(value).__name__}.")
    given = cast("str | os.PathLike[str]", value)
    name = str(given)
    if not name or "\0" in name or len(name) > LONGEST_PATH:
        raise error(
            f"{name!r:.80} cannot be a path: one has no NUL, and 1 to {LONGEST_PATH:,} characters. Name another."
        )
    try:
        path = Path(given).expanduser()
        os.fsencode(path)
    except (TypeError, ValueError, RuntimeError) as problem:  # bytes, no such character, no such user
        raise error(f"{name!r:.80} cannot be a path: {str(problem).rstrip('.')}. Name another.") from problem
    return path


IN_MEMORY = ":memory:"
"""The location of a memory in RAM."""


def is_address(place: str | Path) -> bool:
    """Whether a memory is in a database on a server, and not in a folder."""
    return str(place).startswith(("postgresql://", "postgres://"))


def memory_dir(otherwise: str = "./memory") -> str:
    """Where a memory is when no place is named: ``MNEMIC_DIR``, a folder or an address, or else a folder."""
    return environment("MNEMIC_DIR") or otherwise


def cache_dir(*parts: str) -> Path:
    """The folder for files that can be fetched again (models of the hub): ``MNEMIC_CACHE`` or the user's cache folder.

    It is not created here.
    """
    root = environment("MNEMIC_CACHE")
    if root is None:
        import platformdirs

        root = platformdirs.user_cache_dir("mnemic", appauthor=False)
    return Path(root, *parts)


def hub_offline() -> bool:
    """Whether ``HF_HUB_OFFLINE`` forbids access to the model hub."""
    return (environment("HF_HUB_OFFLINE") or "").upper() in {"1", "ON", "YES", "TRUE"}


def wheel_folder(module: str) -> Path | None:
    """The folder of an installed top-level package, found without importing it."""
    spec = util.find_spec(module)
    locations = spec.submodule_search_locations if spec else None
    return Path(next(iter(locations))) if locations else None


def tiktoken_cache(file_name: str) -> Path | None:
    """A folder that contains tiktoken's file of that (hashed) name, so that nothing is downloaded.

    Searched in ``TIKTOKEN_CACHE_DIR`` and in packages that ship such a cache: llama-index-core and litellm.
    """
    from importlib import metadata

    candidates = [Path(value) for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR") if (value := environment(name))]
    for distribution in ("llama-index-core", "litellm"):
        try:
            files = metadata.files(distribution) or ()
        except metadata.PackageNotFoundError:
            continue
        candidates += [Path(str(f.locate())).parent for f in files if f.name == file_name]
    return next((folder for folder in candidates if (folder / file_name).is_file()), None)
