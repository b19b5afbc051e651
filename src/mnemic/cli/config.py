"""The settings of a command and the memory that they name, and the commands ``config`` and ``keys``.

Settings come from options, ``mnemic.toml`` and the environment; keys are in the keyring of the operating system.
"""

from __future__ import annotations

import getpass
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic import paths
from mnemic.cli.output import Answer, plain_value, table, warn
from mnemic.cli.parser import command, option
from mnemic.errors import ConfigurationError, StoreUnavailable
from mnemic.paths import IN_MEMORY, is_address, path_of
from mnemic.runtime.projects import Project, chosen_project

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.memory import Memory
    from mnemic.runtime.runtime import Runtime

HOOKS = "~/.mnemic"
"""The folder of hooks, which is that of ``mnemic-mcp``."""
FROM_FILE = ("embedder", "llm", "timezone", "session", "recipe")
"""Options that a file may give, where a command has them."""


def resolve(args: Namespace) -> None:
    """Replace the options that were not given by those of the file, and the rest by their defaults.

    Sets ``config``, and ``sources``: every effective setting.

    Raises:
        ConfigurationError: the file cannot be used.
    """
    from mnemic.runtime.config import Setting, read_config

    options, hook = dict(vars(args)), args.command == "hook"
    if args.dir is None:
        args.dir = paths.memory_dir(HOOKS) if hook else paths.memory_dir()
    args.user = "default" if args.user is None else args.user
    settings = read_config(args.config, args.dir)
    origin = "environment" if paths.environment("MNEMIC_DIR") else "default"
    args.sources = [
        Setting("dir", shown_place(args.dir), "argument" if options["dir"] is not None else origin),
        Setting("config", str(settings.path) if settings.path else None, "argument" if args.config else "default"),
        Setting("user", args.user, "default" if options["user"] is None else "argument"),
        Setting("project", args.project, "default" if args.project is None else "argument"),
        *settings.effective(**{name: options.get(name) for name in FROM_FILE}),
    ]
    args.config = settings
    for name in FROM_FILE:
        if options.get(name, "absent") is None and not (hook and name == "session"):  # agents name their session
            setattr(args, name, settings.recipe if name == "recipe" else settings.values.get(name))
    if args.session == "new":
        from mnemic.text.values import new_session

        args.session = new_session()
        warn(f"the session is {args.session}")


# The memory


def record_file(folder: str) -> Path:
    """The path of the record file of a folder, whether or not it exists.

    Raises:
        ConfigurationError: the folder is ``:memory:`` or a server.
    """
    from mnemic.stores.sqlite.store import FILE_NAME

    if folder == IN_MEMORY:
        raise ConfigurationError("A memory in RAM ends with the command. Set --dir to a folder.")
    if is_address(folder):  # not quoted: it may contain a password
        raise ConfigurationError("This memory is on a server and has no file. Set --dir to a folder for this command.")
    return path_of(folder) / FILE_NAME


def shown_place(location: str) -> str:
    """A folder as it is, an address without its password."""
    if not is_address(location):
        return location
    try:
        from mnemic.stores.postgres.connection import address_of
    except ImportError:  # without the extra
        return "postgresql://..."
    return address_of(location).name


def has_record(location: str) -> bool:
    """Whether there is a memory, in a file that is not empty; creates nothing.

    Raises:
        ConfigurationError: the place is ``:memory:``.
        StoreError: the server cannot be reached, or the folder cannot be accessed.
        MissingExtra: the driver of the server is not installed.
    """
    from mnemic.stores import SqliteStore, postgres_store

    return postgres_store().at(location)[1] if is_address(location) else SqliteStore.at(record_file(location).parent)


def is_missing(location: str) -> bool:
    """Whether there is neither a memory nor an empty file of one; see `has_record`."""
    return not has_record(location) and not _has_file(location)


def _has_file(location: str) -> bool:
    return not is_address(location) and record_file(location).exists()


def require_record(location: str) -> None:
    """Check that the memory exists; see `has_record`.

    Raises:
        StoreUnavailable: there is none.
    """
    if has_record(location):
        return
    begin = "create one with mnemic add, mnemic remember or mnemic import."
    if not _has_file(location):
        where = "URL" if is_address(location) else "folder"
        place = shown_place(location)
        raise StoreUnavailable(f"There is no memory in {place}. Name its {where} with --dir or MNEMIC_DIR, or {begin}")
    file = record_file(location)
    if not file.with_name(f"{file.name}-wal").exists():  # with a log the record is damaged
        raise StoreUnavailable(f"There is no memory in {location}: {file.name} is empty. Restore a backup, or {begin}")


def open_memory(args: Namespace, *, make: bool = False) -> Memory:
    """Open the memory of the options.

    Args:
        args: the parsed command line, with its settings.
        make: create a missing memory; reading commands never do.

    Raises:
        StoreUnavailable: there is no memory, and ``make`` is not set.
    """
    from mnemic.memory import Memory
    from mnemic.runtime.config import record_key

    if not make:
        require_record(args.dir)
    elif not is_address(args.dir):
        record_file(args.dir)  # raises for a memory in RAM
    settings = args.config.arguments(timezone=args.timezone, embedder=args.embedder)
    settings |= {"session": args.session, "llm": args.llm}  # without one, where a command needs none
    return Memory(args.dir, user=args.user, project=_project(args.project), key=record_key(args.dir), **settings)


def open_runtime(args: Namespace, *, in_memory: bool = False) -> Runtime:
    """Open the record of the options for all its users, or an empty one in RAM; created if missing."""
    from mnemic.runtime import factory
    from mnemic.runtime.config import record_key
    from mnemic.secrets.policy import policy_from

    secrets = policy_from(args.config.values.get("secrets", "redact"))
    if in_memory:
        return factory.open_runtime(IN_MEMORY, embedder="hashing", secrets=secrets)
    return factory.open_runtime(args.dir, embedder=args.embedder, secrets=secrets, key=record_key(args.dir))


def _project(name: str | None) -> Project | str | None:
    """The project of the option."""
    chosen = chosen_project(name)
    if name == "auto" and chosen is None:
        warn(f"{Path.cwd()} is not a project (no git repository, CLAUDE.md or AGENTS.md); continuing without one.")
    return chosen


# Commands


@command("show the settings and where they come from")
def config(args: Namespace) -> Answer:
    """Show the effective settings, as mnemic and mnemic-mcp use them, and where each comes from: an argument, the file
    (--config, else mnemic.toml in the folder of the memory), the environment, or the default. Creates nothing.

    examples:
      mnemic config
      mnemic --dir ~/.mnemic config --json
      mnemic config --config staging.toml --llm openai:gpt-5-mini
    """
    document = {setting.name: {"value": setting.value, "from": setting.origin} for setting in args.sources}
    values = ["-" if setting.value is None else plain_value(setting.value) for setting in args.sources]
    width = max(map(len, values))
    rows = zip(args.sources, values, strict=True)
    lines = table((setting.name, f"{value:<{width}}  {setting.origin}") for setting, value in rows)
    return Answer({"settings": document}, lines)


@command(
    "store API keys",
    option("action", "store a key, replacing an existing one", choices=("set",), metavar="set"),
    option("provider", "openai, anthropic, mistral ...; mnemic: the key of encrypted memories", metavar="PROVIDER"),
)
def keys(args: Namespace) -> Answer:
    """Store the API key of a provider of language models in the keyring of this machine, or, as mnemic, the key of
    encrypted memories. The key is entered without echo, or read from a pipe; it is never written to a file, logged or
    shown. A key in the environment (OPENAI_API_KEY etc., MNEMIC_KEY) takes precedence. Needs: pip install "mnemic[keyring]"

    examples:
      mnemic keys set anthropic
      pass show openai | mnemic keys set openai
      mnemic keys set mnemic
    """
    from mnemic.llm.keys import store_key

    provider = str(args.provider)
    store_key(provider, read_secret(f"API key for {provider}"))
    return Answer({"provider": provider, "stored": True}, [f"The key for {provider} is in the keyring."])


def read_secret(what: str, *, repeat: bool = False) -> str:
    """A secret from the terminal without echo, typed twice if it is to ``repeat``, or the first line of piped input.

    Raises:
        ConfigurationError: the terminal cannot hide it, nothing was entered, or something else the second time.
    """
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - it was closed before the program began
        raise ConfigurationError("stdin is closed. Nothing was stored: pipe the secret in.")
    if not sys.stdin.isatty():
        return sys.stdin.readline()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # else it would echo the input
            entered = getpass.getpass(f"{what} (not shown): ")
            again = getpass.getpass("Once more: ") if repeat else entered
    except getpass.GetPassWarning:
        why = "This terminal cannot hide the input. Nothing was stored: pipe the key in."
    except EOFError:
        why = "No key was entered. Nothing was stored."
    else:
        if entered == again:
            return entered
        why = "The two differ. Nothing was changed: try again."
    raise ConfigurationError(why)
