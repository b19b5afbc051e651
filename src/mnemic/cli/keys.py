"""``mnemic keys``: API keys in the keyring of the operating system."""

from __future__ import annotations

import getpass
import sys
import warnings
from typing import TYPE_CHECKING

from mnemic.cli.output import Answer
from mnemic.cli.parser import command, option
from mnemic.errors import ConfigurationError

if TYPE_CHECKING:
    from argparse import Namespace


@command(
    "store API keys",
    option("action", "store a key, replacing an existing one", choices=("set",), metavar="set"),
    option("provider", "openai, anthropic, mistral ...", metavar="PROVIDER"),
)
def keys(given: Namespace) -> Answer:
    """Store the API key of a provider of language models in the keyring of this machine. The key is entered without
    echo, or read from a pipe; it is never written to a file, logged or shown. A key in the environment
    (OPENAI_API_KEY etc.) takes precedence. Needs: pip install "mnemic[keyring]"

    examples:
      mnemic keys set anthropic
      pass show openai | mnemic keys set openai
    """
    from mnemic.llm.keys import store_key

    provider = str(given.provider)
    store_key(provider, _read_secret(provider))
    return Answer({"provider": provider, "stored": True}, [f"The key for {provider} is in the keyring."])


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
