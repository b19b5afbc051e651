"""Commands declared beside their functions, and the parser made of them.

On argparse, not click: options of the memory stand before or after a command, and click is no dependency of the core install.
"""

from __future__ import annotations

import re
from argparse import SUPPRESS, Action, ArgumentError, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, NoReturn, get_args

import mnemic
from mnemic import cli
from mnemic.cli.output import masked
from mnemic.types import MemoryType, Reach

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.cli.output import Answer

Run = Callable[["Namespace"], "Answer"]


Option = tuple[str, dict[str, Any]]
"""The name of an argument of a command, and the settings of ``ArgumentParser.add_argument``."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its function, the line that lists it, and its own options."""

    run: Run
    summary: str
    options: Sequence[Option]


COMMANDS: dict[str, Command] = {}
"""Every command by name, in the order of the help."""


def command(summary: str, *options: Option, name: str | None = None) -> Callable[[Run], Run]:
    """Declare a command: the decorated function runs it and names it, and its docstring is the help."""

    def declare(run: Run) -> Run:
        COMMANDS[name or run.__name__.replace("_", "-")] = Command(run, summary, options)
        return run

    return declare


def arguments(args: Namespace, *without: str) -> dict[str, Any]:
    """The values of a command's own options, all but some: they are named as the arguments of the method that it calls."""
    names = map(_argument, COMMANDS[args.command].options)
    return {name: getattr(args, name) for name in names if name not in without}


def _argument(option: Option) -> str:
    name, settings = option
    return settings.get("dest") or name.lstrip("-").replace("-", "_")


_ARGUMENT = re.compile(
    r"(?<!\w)'[^']*'(?!\w)|(?:memory\.(?:\w+\.)*)?(?P<method>\w+)\((?P<given>[^()]*)\)"
    r"|(?<![\w.-])(?P<name>\w+)(?P<equals>=)?(?P<value>\[[^\]]*\]|'[^']*'|\.{3}|(?<==)\w+)?"
)
"""What an error quotes, a call of a method, and the name of an argument with its value."""


def in_options(text: str, command: str) -> str:
    """An error of a method, in the options of the command that calls it: those are named as the arguments.

    ``min_importance must be ...`` is about ``--min-importance``, and ``forget(ids=[...])`` is ``mnemic forget --id ID``.
    """
    options = {_argument(option): option for option in (*MEMORY_OPTIONS, *COMMANDS[command].options)}

    def shown(match: re.Match[str]) -> str:
        method, name = match["method"], match["name"]
        if method in COMMANDS:
            return f"mnemic {method} {in_options(match['given'], method)}".replace(", ", " ").rstrip()
        if method == "scoped":
            return in_options(match["given"], command)
        is_named = match["equals"] or "_" in (name or "") or text.startswith(" must ", match.end())
        return _with_value(options[name], match["value"]) if is_named and name in options else match[0]

    return _ARGUMENT.sub(shown, text)


def _with_value(option: Option, value: str | None) -> str:
    name, settings = option
    metavar = str(settings.get("metavar") or _argument(option).upper())
    if not name.startswith("-"):
        return metavar
    if value is None or settings.get("action") == "store_true":
        return name
    values = (metavar if one == "..." else one.strip("'") for one in value.strip("[]").split(", "))
    return " ".join(f"{name} {one}" for one in values)


def option(name: str, help: str, **settings: Any) -> Option:
    """An argument or an option with a value."""
    return name, {"help": help, **settings}


def flag(name: str, help: str) -> Option:
    """An option without a value."""
    return option(name, help, action="store_true")


def time_option(name: str, help: str) -> Option:
    """An option whose value is a time."""
    return option(name, help, type=_time, metavar="ISO")


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a time; write 2026-03-01 or 2026-03-01T18:00+01:00") from error


# Options of several commands


def limit(default: int | None, what: str) -> Option:
    """The option ``--limit``."""
    shown = "all" if default is None else default
    return option("--limit", f"{what} (default: {shown})", type=int, default=default, metavar="N")


EXPIRED = flag("--include-expired", "also memories that are no longer true or were superseded")
MEMORY_FILTERS = (
    option("--type", "memories of this type; repeatable", dest="types", action="append", choices=get_args(MemoryType)),
    option("--tag", "memories with this tag; repeatable: any of them", dest="tags", action="append", metavar="TAG"),
    option("--category", "memories of this category", metavar="WORD"),
    option("--min-importance", "memories at least this important, 0 to 1", type=float, metavar="N"),
)
FILTERS = (
    time_option("--since", "said at this time or later: 2026-03-01T18:00"),
    time_option("--until", "said before this time"),
    time_option("--at", "only what was true at that time (default: now)"),
    time_option("--known-at", "the state of knowledge at that time"),
    option(
        "--reach", "the levels to read, relative to --project and --session (default: project+global)",
        choices=get_args(Reach), default="project+global",
    ),
)  # fmt: skip
MEMORY_OPTIONS = (
    option("--dir", "the memory folder (default: $MNEMIC_DIR, else ./memory)"),
    option("--config", "settings as TOML (default: mnemic.toml in the folder, if it exists)", metavar="FILE"),
    option("--user", "the user (default: default)"),
    option("--project", 'the project; "auto": the project of the current folder'),
    option("--session", 'the conversation to store in; "new" starts one (to search it alone: --reach session)'),
    option(
        "--embedder", '"multilingual", a model folder, "provider:model" or "hashing" (default: all-MiniLM-L6-v2)',
        metavar="NAME",
    ),
    option(
        "--llm", 'a language model for process, consolidate and forget, "provider:model" (default: none)', metavar="NAME"
    ),
    option("--timezone", "time zone for times that have none (default: UTC)", metavar="ZONE"),
    flag("--json", "print the result as one JSON document"),
)  # fmt: skip


class _Parser(ArgumentParser):
    """A parser whose errors repeat no secret, and suggest the choice nearest to what was given."""

    def _check_value(self, action: Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except ArgumentError as error:
            if near := get_close_matches(str(value), map(str, action.choices or ()), n=1):
                error.message = f"invalid choice: {value!r}; did you mean {near[0]!r}?"
            raise

    def error(self, message: str) -> NoReturn:
        super().error(masked(message))


def make_parser() -> ArgumentParser:
    """The parser of ``mnemic``; the result has ``command`` (None if missing) and the options of that command."""
    style: Any = {"allow_abbrev": False, "formatter_class": RawDescriptionHelpFormatter}
    parser = _Parser(prog="mnemic", description=cleandoc(cli.__doc__ or ""), **style)
    parser.add_argument("--version", action="version", version=f"mnemic {mnemic.__version__}")
    _add_memory_options(parser)
    shared = _Parser(add_help=False)
    _add_memory_options(shared, default=SUPPRESS)  # without defaults, so that options before the command are kept
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, declared in COMMANDS.items():
        about = cleandoc(declared.run.__doc__ or declared.summary)
        subparser = subparsers.add_parser(name, help=declared.summary, description=about, parents=[shared], **style)
        for flag_, settings in declared.options:
            subparser.add_argument(flag_, **settings)
    return parser


def _add_memory_options(parser: ArgumentParser, **default: Any) -> None:
    group = parser.add_argument_group("memory")
    for name, settings in MEMORY_OPTIONS:
        group.add_argument(name, **{**settings, **default})
