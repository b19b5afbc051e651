"""From the options of the command line to a memory, and what long work shows meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.errors import ConfigurationError, InvalidInput, StoreUnavailable
from mnemic.memory import Memory

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["open_memory", "progress_bar", "record_file", "require_record", "text_given"]


def record_file(folder: str) -> Path:
    """Where the record of a folder is, whether or not there is one.

    Raises:
        ConfigurationError: the folder is ``:memory:``.
    """
    if folder == ":memory:":
        raise ConfigurationError("A memory in RAM is gone when the command ends. Give --dir a folder.")
    from mnemic.stores.sqlite.store import FILE_NAME

    return Path(folder).expanduser() / FILE_NAME


def require_record(folder: str) -> None:
    """Refuse to go on where there is no memory.

    Raises:
        StoreUnavailable: there is none.
    """
    if not record_file(folder).exists():
        raise StoreUnavailable(
            f"There is no memory in {folder}. Name its folder with --dir or MNEMIC_DIR, or begin one with mnemic add, "
            "mnemic remember or mnemic import."
        )


def open_memory(arguments: Namespace, *, make: bool = False) -> Memory:
    """The memory that the options name.

    Args:
        arguments: the parsed command line.
        make: begin a new one when the folder holds none; reading commands never do.

    Raises:
        StoreUnavailable: there is none, and none may be made.
    """
    if not make:
        require_record(arguments.dir)
    record_file(arguments.dir)  # refuses RAM
    return Memory(
        arguments.dir,
        user=arguments.user,
        project=arguments.project,
        session=arguments.session,
        timezone=arguments.timezone,
        embedder=arguments.embedder,
        llm=arguments.llm,
    )


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
        return sys.stdin.read().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"What was piped in is not text ({error.reason}). Convert it to UTF-8 first.") from error
