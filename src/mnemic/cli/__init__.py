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

from mnemic import paths
from mnemic.cli.output import complain, stdout
from mnemic.cli.parser import make_parser
from mnemic.errors import MnemicError
from mnemic.runtime.scopes import new_session

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["main"]

_MODULES = {
    "context": "search", "search": "search", "stats": "search",
    "import": "importers",
    "episodes": "knowledge", "graph": "knowledge", "link": "knowledge", "list": "knowledge", "show": "knowledge",
    "unlink": "knowledge",
    "add": "lifecycle", "remember": "lifecycle", "consolidate": "lifecycle", "forget": "lifecycle", "log": "lifecycle",
    "process": "lifecycle", "restore": "lifecycle", "undo": "lifecycle", "end-session": "lifecycle",
    "prefer": "lifecycle", "retire": "lifecycle",
    "backup": "transfer", "restore-backup": "transfer", "migrate": "transfer", "export": "transfer",
    "reembed": "transfer",
    "doctor": "doctor", "hook": "hooks", "keys": "keys", "users": "users",
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
        return FINE if _for_a_hook(argv) else end.code if isinstance(end.code, int) else FAILED
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return FAILED
    _settle(arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _guarded(arguments)


def _settle(arguments: Namespace) -> None:
    """Options whose value hangs on more than the words."""
    if arguments.dir is None:
        folder = "~/.mnemic" if arguments.command == "hook" else "./memory"  # hooks: where mnemic-mcp keeps it
        arguments.dir = paths.environment("MNEMIC_DIR") or folder
    if arguments.session == "new":
        arguments.session = new_session()
        complain(f"the session is {arguments.session}")


def _for_a_hook(argv: Sequence[str] | None) -> bool:
    """Whether the words name ``hook``: an agent takes the exit code of wrong usage for an order to stop."""
    words = sys.argv[1:] if argv is None else argv
    return next((word for word in words if word in _MODULES), None) == "hook"


def _guarded(arguments: Namespace) -> int:
    """The exit code of a command, with every expected way of failing turned into a message."""
    try:
        code = _command(arguments.command)(arguments)
        stdout().flush()
    except MnemicError as error:
        complain(str(error))
        return FAILED
    except KeyboardInterrupt:
        complain("interrupted. What was acknowledged is stored.")
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return NO_READER
    except OSError as error:  # a full disk, a closed stdout
        complain(f"the answer or a file cannot be written: {error.strerror or error}.")
        _drop_output()
        return FINE if arguments.command == "hook" else FAILED
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
    except (AttributeError, OSError, ValueError):  # stdout is not a file: nothing will be flushed to a pipe
        return


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    complain(f"warning: {message}")
