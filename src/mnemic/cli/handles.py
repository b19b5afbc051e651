"""From the options of the command line to a memory, and what long work shows meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.cli.output import complain
from mnemic.errors import ConfigurationError, InvalidInput, StoreUnavailable
from mnemic.memory import Memory
from mnemic.runtime.projects import project
from mnemic.stores.sqlite.store import FILE_NAME
from mnemic.transfer import backup

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.runtime.settings import RetentionPolicy

__all__ = [
    "SERVERS", "bytes_of_record", "open_memory", "progress_bar", "record_file", "require_record", "text_given",
]  # fmt: skip

SERVERS = ("postgresql://", "postgres://")


def record_file(folder: str) -> Path:
    """Where the record of a folder is, whether or not there is one.

    Raises:
        ConfigurationError: the folder is ``:memory:`` or a server.
    """
    if folder == ":memory:":
        raise ConfigurationError("A memory in RAM is gone when the command ends. Give --dir a folder.")
    if folder.startswith(SERVERS):  # not quoted: it may hold a password
        raise ConfigurationError(
            "This memory is kept by a server and has no file. Give --dir a folder for this command."
        )
    return Path(folder).expanduser() / FILE_NAME


def bytes_of_record(folder: str) -> int | None:
    """How large the file of the record in a folder is; None where there is no file.

    Raises:
        ConfigurationError: the folder is ``:memory:`` or a server.
        StoreUnavailable: the folder may not be entered.
    """
    file = record_file(folder)
    try:
        return file.stat().st_size
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last: no path at all
        return None
    except OSError as error:
        raise StoreUnavailable(
            f"The folder {folder} cannot be accessed: {error.strerror or error}. Check its permissions, or name "
            "another one with --dir or MNEMIC_DIR."
        ) from error


def require_record(folder: str) -> None:
    """Refuse to go on where there is no memory.

    Raises:
        StoreUnavailable: there is none, or it cannot be looked for.
        MissingExtra: what speaks to the server is not installed.
    """
    begin = "begin one with mnemic add, mnemic remember or mnemic import."
    if folder.startswith(SERVERS):
        name, there = backup.on_server(folder)
        if not there:
            raise StoreUnavailable(
                f"There is no memory in {name}. Name its address with --dir or MNEMIC_DIR, or {begin}"
            )
        return
    size = bytes_of_record(folder)
    if size is None:
        raise StoreUnavailable(f"There is no memory in {folder}. Name its folder with --dir or MNEMIC_DIR, or {begin}")
    if not size and not record_file(folder).with_name(f"{FILE_NAME}-wal").exists():  # with a log it is damaged
        raise StoreUnavailable(f"There is no memory in {folder}: {FILE_NAME} is empty. Restore a backup, or {begin}")


def open_memory(arguments: Namespace, *, make: bool = False, retention: RetentionPolicy | None = None) -> Memory:
    """The memory that the options name.

    Args:
        arguments: the parsed command line.
        make: begin a new one when the folder holds none; reading commands never do.
        retention: how long things are kept.

    Raises:
        StoreUnavailable: there is none, and none may be made.
    """
    if not make:
        require_record(arguments.dir)
    if not arguments.dir.startswith(SERVERS):
        record_file(arguments.dir)  # refuses RAM
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
    """The project an option names; ``auto`` is that of the working folder, ``off`` is none."""
    if name == "auto":
        here = project()
        if not here.marker:
            complain(f"{here.root} is no project (no git repository, no CLAUDE.md or AGENTS.md); going on without one.")
        return here.id if here.marker else None
    return None if name == "off" else name


@contextmanager
def progress_bar(unit: str) -> Generator[Callable[[int, int], None]]:
    """A bar on stderr where that is a terminal; what it gives is told (done, total)."""
    from tqdm import tqdm

    with tqdm(unit=unit, file=sys.stderr, disable=None, leave=False) as bar:

        def step(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)
            bar.refresh()  # the steps are far apart: each is shown

        yield step


def text_given(text: str | None) -> str:
    """The text of the command line, or all of stdin; the line end that a pipe leaves is no part of it.

    Raises:
        InvalidInput: there is neither, or stdin is not text.
    """
    if text is not None and text != "-":
        return text
    if text is None and sys.stdin.isatty():
        raise InvalidInput("There is no text. Give it in quotes, pipe it in, or type it after -.")
    try:
        given = sys.stdin.read().rstrip("\r\n")
        given.encode()  # in the locale C, bytes that are no UTF-8 are read as surrogates
        return given
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise InvalidInput(f"What was piped in is not text ({error.reason}). Convert it to UTF-8 first.") from error
