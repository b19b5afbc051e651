"""``mnemic keys``: API keys in the keyring of the operating system."""

from __future__ import annotations

import getpass
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mnemic.cli.output import say, say_json
from mnemic.errors import ConfigurationError
from mnemic.llm.keys import store_key

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

__all__ = ["COMMANDS", "add_keys", "keys"]


def add_keys(parser: ArgumentParser) -> None:
    """Add the arguments of ``mnemic keys``."""
    parser.add_argument("action", choices=("set",), metavar="set", help="store a key, replacing an existing one")
    parser.add_argument("provider", metavar="PROVIDER", help="openai, anthropic, mistral ...")


def keys(arguments: Namespace) -> bool:
    """Read the key and store it."""
    provider = str(arguments.provider)
    store_key(provider, _read_secret(provider))
    if arguments.json:
        say_json({"provider": provider, "stored": True})
    else:
        say(f"The key for {provider} is in the keyring.")
    return True


def _read_secret(provider: str) -> str:
    """The secret from the terminal without echo, or the first line of piped input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline()
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)  # else it would echo the input
        try:
            return getpass.getpass(f"API key for {provider} (not shown): ")
        except getpass.GetPassWarning:
            shown = True
        except EOFError:
            shown = False
    raise ConfigurationError(
        "This terminal cannot hide the input. Nothing was stored: pipe the key in."
        if shown
        else "No key was entered. Nothing was stored."
    )


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {"keys": keys}
