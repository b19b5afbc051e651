"""Finding and opening the memory of the options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.cli.output import warn
from mnemic.errors import ConfigurationError, StoreUnavailable
from mnemic.paths import is_address
from mnemic.runtime.projects import Project, chosen_project

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.memory import Memory
    from mnemic.runtime.runtime import Runtime
    from mnemic.runtime.settings import RetentionPolicy


def record_file(folder: str) -> Path:
    """The path of the record file of a folder, whether or not it exists.

    Raises:
        ConfigurationError: the folder is ``:memory:`` or a server.
    """
    from mnemic.stores.sqlite.store import FILE_NAME

    if folder == ":memory:":
        raise ConfigurationError("A memory in RAM ends with the command. Set --dir to a folder.")
    if is_address(folder):  # not quoted: it may contain a password
        raise ConfigurationError("This memory is on a server and has no file. Set --dir to a folder for this command.")
    return Path(folder).expanduser() / FILE_NAME


def _bytes_of_record(folder: str) -> int | None:
    """The size of the record file of a folder in bytes; None if there is no file.

    Raises:
        ConfigurationError: the folder is ``:memory:`` or a server.
        StoreUnavailable: the folder cannot be accessed.
    """
    file = record_file(folder)
    try:
        return file.stat().st_size
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: an invalid path
        return None
    except OSError as error:
        raise StoreUnavailable(
            f"The folder {folder} cannot be accessed: {error.strerror or error}. Check its permissions, or name "
            "another one with --dir or MNEMIC_DIR."
        ) from error


def probe(location: str) -> tuple[str, bool]:
    """A folder, or an address without its secrets, and whether there is a memory or at least an empty file; creates nothing.

    Raises:
        ConfigurationError: the place is ``:memory:``.
        StoreError: the server cannot be reached, or the folder cannot be accessed.
        MissingExtra: the driver of the server is not installed.
    """
    from mnemic.transfer import backup

    return backup.probe_server(location) if is_address(location) else (location, _bytes_of_record(location) is not None)


def has_record(location: str) -> bool:
    """Whether there is a memory, in a file that is not empty; see `probe`."""
    return probe(location)[1] if is_address(location) else bool(_bytes_of_record(location))


def require_record(location: str) -> None:
    """Check that the memory exists; see `probe`.

    Raises:
        StoreUnavailable: there is none.
    """
    name, exists = probe(location)
    begin = "create one with mnemic add, mnemic remember or mnemic import."
    if not exists:
        where = "URL" if is_address(location) else "folder"
        raise StoreUnavailable(f"There is no memory in {name}. Name its {where} with --dir or MNEMIC_DIR, or {begin}")
    if is_address(location) or _bytes_of_record(location):
        return
    file = record_file(location)
    if not file.with_name(f"{file.name}-wal").exists():  # with a log the record is damaged
        raise StoreUnavailable(f"There is no memory in {location}: {file.name} is empty. Restore a backup, or {begin}")


def open_memory(args: Namespace, *, make: bool = False, retention: RetentionPolicy | None = None) -> Memory:
    """Open the memory of the options.

    Args:
        args: the parsed command line, with its settings.
        make: create a missing memory; reading commands never do.
        retention: the retention policy, before that of the settings.

    Raises:
        StoreUnavailable: there is no memory, and ``make`` is not set.
    """
    from mnemic.memory import Memory
    from mnemic.runtime.config import record_key

    if not make:
        require_record(args.dir)
    elif not is_address(args.dir):
        record_file(args.dir)  # raises for a memory in RAM
    settings = args.config.arguments(timezone=args.timezone, embedder=args.embedder, retention=retention)
    settings |= {
        "session": args.session,
        "llm": args.llm,
        "key": record_key(args.dir),
    }  # without one, where a command needs none
    return Memory(args.dir, user=args.user, project=_project(args.project), **settings)


def open_runtime(args: Namespace, *, in_memory: bool = False) -> Runtime:
    """Open the record of the options for all its users, or an empty one in RAM; created if missing."""
    from mnemic.runtime import factory
    from mnemic.runtime.config import record_key
    from mnemic.runtime.redaction import policy_from

    secrets = policy_from(args.config.values.get("secrets", "redact"))
    if in_memory:
        return factory.open_runtime(factory.IN_MEMORY, embedder="hashing", secrets=secrets)
    return factory.open_runtime(args.dir, embedder=args.embedder, secrets=secrets, key=record_key(args.dir))


def _project(name: str | None) -> Project | str | None:
    """The project of the option."""
    chosen = chosen_project(name)
    if name == "auto" and chosen is None:
        warn(f"{Path.cwd()} is not a project (no git repository, CLAUDE.md or AGENTS.md); continuing without one.")
    return chosen
