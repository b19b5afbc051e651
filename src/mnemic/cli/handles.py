"""Opening the memory of the options, reading text from stdin, and progress bars."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.cli.output import warn
from mnemic.errors import ConfigurationError, InvalidInput, StoreUnavailable
from mnemic.memory import Memory
from mnemic.runtime.projects import project
from mnemic.stores.sqlite.store import FILE_NAME
from mnemic.transfer import backup

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.runtime.settings import RetentionPolicy

__all__ = [
    "SERVERS",
    "bytes_of_record",
    "open_memory",
    "progress_bar",
    "read_text",
    "record_file",
    "require_record",
]  # fmt: skip

SERVERS = ("postgresql://", "postgres://")


def record_file(folder: str) -> Path:
    """The path of the record file of a folder, whether or not it exists.

    Raises:
        ConfigurationError: the folder is ``:memory:`` or a server.
    """
    if folder == ":memory:":
        raise ConfigurationError("A memory in RAM ends with the command. Set --dir to a folder.")
    if folder.startswith(SERVERS):  # not quoted: it may contain a password
        raise ConfigurationError("This memory is on a server and has no file. Set --dir to a folder for this command.")
    return Path(folder).expanduser() / FILE_NAME


def bytes_of_record(folder: str) -> int | None:
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


def require_record(folder: str) -> None:
    """Check that the memory exists.

    Raises:
        StoreUnavailable: there is none, or its location cannot be accessed.
        MissingExtra: the driver of the server is not installed.
    """
    begin = "create one with mnemic add, mnemic remember or mnemic import."
    if folder.startswith(SERVERS):
        name, there = backup.probe_server(folder)
        if not there:
            raise StoreUnavailable(f"There is no memory in {name}. Name its URL with --dir or MNEMIC_DIR, or {begin}")
        return
    size = bytes_of_record(folder)
    if size is None:
        raise StoreUnavailable(f"There is no memory in {folder}. Name its folder with --dir or MNEMIC_DIR, or {begin}")
    if not size and not record_file(folder).with_name(f"{FILE_NAME}-wal").exists():  # with a log the record is damaged
        raise StoreUnavailable(f"There is no memory in {folder}: {FILE_NAME} is empty. Restore a backup, or {begin}")


def open_memory(arguments: Namespace, *, make: bool = False, retention: RetentionPolicy | None = None) -> Memory:
    """Open the memory of the options.

    Args:
        arguments: the parsed command line.
        make: create a missing memory; reading commands never do.
        retention: the retention policy.

    Raises:
        StoreUnavailable: there is no memory, and ``make`` is not set.
    """
    if not make:
        require_record(arguments.dir)
    if not arguments.dir.startswith(SERVERS):
        record_file(arguments.dir)  # raises for a memory in RAM
    return Memory(
        arguments.dir,
        user=arguments.user,
        project=_project(arguments.project),
        session=arguments.session,
        timezone=arguments.timezone,
        embedder=arguments.embedder,
        llm=arguments.llm,
        retention=retention,
    )


def _project(name: str | None) -> str | None:
    """The project of the option; ``auto`` is that of the working folder, ``off`` is none."""
    if name == "auto":
        here = project()
        if not here.marker:
            warn(f"{here.root} is not a project (no git repository, CLAUDE.md or AGENTS.md); continuing without one.")
        return here.id if here.marker else None
    return None if name == "off" else name


@contextmanager
def progress_bar(unit: str) -> Generator[Callable[[int, int], None]]:
    """A progress bar on stderr if it is a terminal; yields a function to call with (done, total)."""
    from tqdm import tqdm

    with tqdm(unit=unit, file=sys.stderr, disable=None, leave=False) as bar:

        def step(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)
            bar.refresh()  # steps are rare: show each

        yield step


def read_text(text: str | None) -> str:
    """The text argument, or all of stdin without the final line end.

    Raises:
        InvalidInput: there is neither, or stdin is not text.
    """
    if text is not None and text != "-":
        return text
    if text is None and sys.stdin.isatty():
        raise InvalidInput("There is no text. Give it in quotes, pipe it in, or type it after -.")
    try:
        given = sys.stdin.read().rstrip("\r\n")
        given.encode()  # in the C locale, invalid UTF-8 is read as surrogates
        return given
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise InvalidInput(f"The piped input is not text ({error.reason}). Convert it to UTF-8 first.") from error
