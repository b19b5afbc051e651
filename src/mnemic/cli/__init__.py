"""Long-term memory in a folder, from the shell.

examples:
  mnemic add "I moved to Lisbon." --session s1   store one message
  mnemic import chat.json                        import a conversation
  mnemic remember "Prefers tea" --tag drinks     store one statement
  mnemic process                                 extract episodes and memories from messages
  mnemic search "where does she live?" -k 5      find messages and memories
  mnemic context "where does she live?"          the same as text for a prompt
  mnemic list --order importance                 list memories
  mnemic correct "my dentist" "It is Dr. Bianchi."   replace what is wrong
  mnemic forget "my schedule preferences"        forget them; mnemic restore undoes it
  mnemic doctor --deep                           check everything

The options of the memory (--dir, --user ...) may stand before or after the command. Exit codes: 0 success; 1 nothing
found, something not imported, or problems that doctor found; 2 wrong usage or an error explained on stderr;
130 interrupted; 141 broken pipe.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from mnemic.cli.config import resolve
from mnemic.cli.output import Answer, say, say_json, stdout, warn
from mnemic.cli.parser import COMMANDS, in_options, make_parser
from mnemic.errors import MnemicError

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["main"]

for _module in "ingest records lifecycle admin doctor hooks web".split():  # in the order of the help
    import_module(f"mnemic.cli.{_module}")

FINE, NOT_FINE, FAILED, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        argv: the arguments after ``mnemic``; default: those of this process.
    """
    parser, words = make_parser(), sys.argv[1:] if argv is None else argv
    try:
        args = parser.parse_args(argv)
    except SystemExit as end:  # argparse exits after --help and wrong usage
        if next((word for word in words if word in COMMANDS), None) == "hook":
            return FINE  # agents interpret the exit code of wrong usage as an order to stop
        return end.code if isinstance(end.code, int) else FAILED
    if args.command is None:
        parser.print_help(sys.stderr)
        return FAILED
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _run_guarded(args)


def _run_guarded(args: Namespace) -> int:
    """Run a command, with expected errors printed as messages; returns the exit code."""
    try:
        resolve(args)
        answer = COMMANDS[args.command].run(args)
        _print(answer, as_json=bool(args.json))
    except MnemicError as error:
        warn(in_options(str(error), args.command))
        return FINE if args.command == "hook" else FAILED
    except KeyboardInterrupt:
        warn("interrupted. Acknowledged writes are stored.")
        return INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return NO_READER
    except OSError as error:  # a full disk, a closed stdout
        warn(f"the output or a file cannot be written: {error.strerror or error}.")
        _discard_stdout()
        return FINE if args.command == "hook" else FAILED
    return FINE if answer.fine else NOT_FINE


def _print(answer: Answer, *, as_json: bool) -> None:
    if as_json and answer.document is not None:
        say_json(answer.document)
    if not as_json:
        say(*answer.lines)
        for note in answer.notes:
            warn(note)
    stdout().flush()


def _discard_stdout() -> None:
    """Discard stdout after a broken pipe: otherwise Python fails again when it flushes at exit."""
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
    except (AttributeError, OSError, ValueError):  # stdout is not a file: nothing to flush
        return


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    warn(f"warning: {message}")
