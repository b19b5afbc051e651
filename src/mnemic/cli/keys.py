"""``mnemic keys``: API keys in the operating system's keyring, and nowhere else."""

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
    """Add what stands after ``mnemic keys``."""
    parser.add_argument(
        "action", choices=("set",), metavar="set", help="store a key, in place of the one that is there"
    )
    parser.add_argument("provider", metavar="PROVIDER", help="openai, anthropic, mistral ...")


def keys(arguments: Namespace) -> bool:
    """Ask for the key and store it."""
    provider = str(arguments.provider)
    store_key(provider, _asked(provider))
    if arguments.json:
        say_json({"provider": provider, "stored": True})
    else:
        say(f"The key for {provider} is in the keyring.")
    return True


def _asked(provider: str) -> str:
    """The secret from the terminal without echo, or the first line of what is piped in."""
    if not sys.stdin.isatty():
        return sys.stdin.readline()
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)  # it would go on and show what is typed
        try:
            return getpass.getpass(f"API key for {provider} (not shown): ")
        except getpass.GetPassWarning:
            shown = True
        except EOFError:
            shown = False
    raise ConfigurationError(
        "This terminal cannot hide what is typed. Nothing was stored: pipe the key in."
        if shown
        else "No key was typed. Nothing was stored."
    )


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {"keys": keys}
