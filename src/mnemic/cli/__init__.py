"""The ``mnemic`` command: a memory folder from the shell.

Exit codes: 0 fine; 1 nothing found, something not taken in, or ``doctor`` has findings; 2 wrong usage or an error that
is explained on stderr; 130 interrupted; 141 the reader of the output went away.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

from mnemic.cli.output import complain
from mnemic.cli.parser import make_parser
from mnemic.errors import MnemicError

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["main"]

_MODULES = {
    "context": "asking", "search": "asking", "stats": "asking",
    "add": "storing", "import": "storing", "remember": "storing",
    "episodes": "knowledge", "graph": "knowledge", "link": "knowledge", "list": "knowledge", "show": "knowledge",
    "unlink": "knowledge",
    "consolidate": "lifecycle", "forget": "lifecycle", "log": "lifecycle", "process": "lifecycle",
    "restore": "lifecycle", "undo": "lifecycle",
    "export": "keeping", "reembed": "keeping",
    "doctor": "doctor", "keys": "keys",
}  # fmt: skip
"""The module of each command."""

FINE, NOT_FINE, FAILED, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        argv: the words after ``mnemic``; default those of this process.
    """
    parser = make_parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse ends the program after --help and after wrong usage
        return end.code if isinstance(end.code, int) else FAILED
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return FAILED
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _guarded(arguments)


def _guarded(arguments: Namespace) -> int:
    """The exit code of a command, with every expected way of failing turned into a message."""
    try:
        code = _command(arguments.command)(arguments)
        sys.stdout.flush()
    except MnemicError as error:
        complain(str(error))
        return FAILED
    except KeyboardInterrupt:
        complain("interrupted. What was acknowledged is stored.")
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return NO_READER
    return FINE if code else NOT_FINE


def _command(name: str) -> Callable[[Namespace], bool]:
    """The function behind a command; importing it loads the memory itself."""
    module = import_module(f"mnemic.cli.{_MODULES[name]}")
    return cast("Mapping[str, Callable[[Namespace], bool]]", module.COMMANDS)[name]


def _drop_output() -> None:
    """Nobody reads stdout any more: without this, Python fails again when it flushes at exit."""
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
    except (OSError, ValueError):  # stdout is not a file: nothing will be flushed to a pipe
        return


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    complain(f"warning: {message}")
