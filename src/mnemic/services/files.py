"""Files: text is read as UTF-8, and written atomically."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import IO

from mnemic.errors import InvalidInput, StoreUnavailable
from mnemic.paths import path_of


def read_text(path: str | Path) -> str:
    """The text of a file in UTF-8.

    Raises:
        InvalidInput: it cannot be read, or is not UTF-8.
    """
    try:
        content = path_of(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: an invalid file name
        raise InvalidInput(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    return decoded(content, str(path))


def decoded(content: bytes, name: str) -> str:
    """The text of a file, whose lines end with a line feed on every system."""
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is not UTF-8 ({error.reason} at byte {error.start}). Convert it first.") from error


@contextmanager
def atomic_write(file: str | Path | IO[str]) -> Generator[IO[str]]:
    """Open a file for writing; it replaces an existing one when everything is written. Streams are written directly.

    Raises:
        InvalidInput: `file` is neither a path of this system nor a text stream open for writing.
        StoreUnavailable: the file cannot be written.
    """
    if not isinstance(file, (str, Path)):
        _check(file)
        yield file
        return
    path = path_of(file)
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():  # pipes and devices must not be replaced
            with path.open("w", encoding="utf-8", newline="\n") as out:
                yield out
            return
    except (OSError, RuntimeError, ValueError) as error:  # a symlink loop before Python 3.13; an invalid file name
        raise _unwritable(path, error) from error
    with atomic_path(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as out:
        yield out


@contextmanager
def atomic_path(path: Path) -> Generator[Path]:
    """A new empty file, readable by its owner only, that replaces another one when everything is written.

    Raises:
        StoreUnavailable: the file cannot be written.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    _clear(path)
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        yield partial
        sync(partial)
        partial.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    if os.name == "nt" and path.is_dir():  # which opens no folders
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check(stream: IO[str]) -> None:
    """Check that text can be written to a stream; in general only a write shows it."""
    try:
        stream.write("")
    except (AttributeError, TypeError, ValueError) as error:  # not a stream, a binary one, or a closed one
        raise InvalidInput(
            f"The output must be a path or a text file open for writing, not a {type(stream).__name__} ({error})."
        ) from error


def _clear(path: Path) -> None:
    """Remove temporary files of killed processes that were writing this file."""
    for partial in path.parent.glob(f"{escape(path.name)}.*.part"):
        number = partial.name.removeprefix(f"{path.name}.").removesuffix(".part")
        if number.isdecimal() and not _runs(int(number)):
            with suppress(OSError):
                partial.unlink()


def _runs(process: int) -> bool:
    """Whether a process with this id runs, as far as can be determined."""
    if os.name == "nt":  # on Windows os.kill would terminate it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _unwritable(path: Path, error: Exception) -> StoreUnavailable:
    """The error for a file that cannot be written."""
    reason = (error.strerror if isinstance(error, OSError) else None) or error
    return StoreUnavailable(f"{path} cannot be written: {reason}. Name another file.")
