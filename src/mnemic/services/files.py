"""A file is written whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import IO

from mnemic.errors import InvalidInput, StoreUnavailable

__all__ = ["whole"]


@contextmanager
def whole(file: str | Path | IO[str]) -> Generator[IO[str]]:
    """Open a file to be written: it takes the place of one of its name when all was written. A stream is what it is.

    Raises:
        InvalidInput: it is neither a path nor open for writing text.
        StoreUnavailable: it cannot be written.
    """
    if not isinstance(file, (str, Path)):
        _check(file)
        yield file
        return
    path = Path(file).expanduser()
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():  # nothing may take the place of a pipe or a device
            with path.open("w", encoding="utf-8", newline="\n") as out:
                yield out
            return
    except (OSError, RuntimeError, ValueError) as error:  # a link to itself, before Python 3.13; no name of a file
        raise _unwritable(path, error) from error
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    _clear(path)
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        beside.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _check(stream: IO[str]) -> None:
    """Whether text can be written to it, which only writing tells of streams in general."""
    try:
        stream.write("")
    except (AttributeError, TypeError, ValueError) as error:  # no stream; one of bytes; a closed one
        raise InvalidInput(
            f"What is written goes to a path or to a text file open for writing, not to a {type(stream).__name__} ({error})."
        ) from error


def _clear(path: Path) -> None:
    """Remove what processes left that were killed while they wrote this file."""
    for left in path.parent.glob(f"{escape(path.name)}.*.part"):
        number = left.name.removeprefix(f"{path.name}.").removesuffix(".part")
        if number.isdecimal() and not _runs(int(number)):
            with suppress(OSError):
                left.unlink()


def _runs(process: int) -> bool:
    """Whether a process of this number runs, as far as can be asked."""
    if os.name == "nt":  # there the question would end it
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
