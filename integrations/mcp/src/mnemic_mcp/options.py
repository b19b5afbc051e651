"""The command line of ``mnemic-mcp``, with nothing but argparse."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import mnemic_mcp

PROFILES = {
    "default": "remember, recall, correct, forget, context",
    "memory-server": "store_memory, search_memories, consolidate_memories, should_consolidate, get_memory_context",
    "ooda": "recall, list, graph, context, remember, consolidate, update, delete; importance from 1 to 10",
}
"""The tools of each profile."""

HOME = "~/.mnemic"
"""The default folder."""
TOKEN = "MNEMIC_MCP_TOKEN"  # noqa: S105 - the name of a variable
SHORTEST_TOKEN = 16
LOOPBACK = ("127.0.0.1", "localhost", "::1")

DESCRIPTION = "Serve the memory in one folder over MCP, on stdin and stdout, or over HTTP."

ENDING = """\
profiles:
{profiles}

Several servers may share one folder. The user, the project and the session are set here: no tool can change them.
Settings of processing, consolidation, idle work, retention and ranking come from the file of --config, which the command
mnemic reads as well: mnemic --dir DIR config shows them.
"""


@dataclass(frozen=True, slots=True)
class Address:
    """Where HTTP is served, and to whom.

    Attributes:
        host: a name or an IP address.
        port: 0 for a free one.
        token: the bearer token of every request; None: none is asked for.
        names: further names that the server is reached by.
    """

    host: str
    port: int
    token: str | None = field(default=None, repr=False)
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a command line.

    Attributes:
        persist_dir: the folder.
        user: the owner of the memory.
        project: the level that is remembered at: a name, ``auto`` for the project of the working directory if it is one, or
            ``off`` for the user's own.
        session: the conversation of what is stored.
        profile: which tools there are.
        embedder: as ``Memory`` takes it; None for that of the settings, else the default model.
        llm: as ``Memory`` takes it; None for that of the settings.
        timezone: time zone for times that have none.
        config: a file of settings; None for ``mnemic.toml`` in the folder, if it exists.
        consolidate: whether quiet moments are used.
        http: where HTTP is served; None for stdio.
    """

    persist_dir: Path
    user: str = "default"
    project: str = "auto"
    session: str | None = None
    profile: str = "default"
    embedder: str | None = None
    llm: str | None = None
    timezone: str | None = None
    config: Path | None = None
    consolidate: bool = True
    http: Address | None = None


class _Parser(ArgumentParser):
    """A parser whose errors repeat no secret."""

    def error(self, message: str) -> NoReturn:
        from mnemic import SecretPolicy

        super().error(SecretPolicy().redacted(message)[0])


def _parser() -> ArgumentParser:
    listed = "\n".join(f"  {name:<15}{tools}" for name, tools in PROFILES.items())
    parser = _Parser(
        prog="mnemic-mcp", description=DESCRIPTION, epilog=ENDING.format(profiles=listed), allow_abbrev=False,
        formatter_class=RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"mnemic-mcp {mnemic_mcp.__version__}")
    parser.add_argument(
        "--persist-dir", "--dir", dest="persist_dir", type=_folder, default=os.environ.get("MNEMIC_DIR") or HOME,
        metavar="DIR", help=f"the memory folder, created if missing (default: $MNEMIC_DIR, else {HOME})",
    )  # fmt: skip
    parser.add_argument("--user", default="default", help="the owner of the memory (default: default)")
    parser.add_argument(
        "--project", metavar="NAME", default="auto",
        help="remember for this project; what the user knows everywhere is seen as well. auto (the default): that of the "
        "working directory, if it is a git repository or has a CLAUDE.md or AGENTS.md; off: none",
    )  # fmt: skip
    parser.add_argument(
        "--session", metavar="NAME", help="the conversation, for reach=session; new: a new one (default: none)"
    )
    parser.add_argument("--profile", choices=[*PROFILES], default="default", help="which tools there are")
    parser.add_argument(
        "--embedder", metavar="NAME",
        help='a model folder, "provider:model" or "hashing" (default: all-MiniLM-L6-v2 on this machine)',
    )  # fmt: skip
    parser.add_argument(
        "--llm", metavar="NAME", help='a language model for idle work and forgetting, "provider:model" (default: none)'
    )
    parser.add_argument("--timezone", metavar="ZONE", help="time zone for times that have none (default: UTC)")
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings as TOML (default: mnemic.toml in the folder, if it exists)",
    )
    parser.add_argument(
        "--no-consolidation", dest="consolidate", action="store_false",
        help="do nothing in quiet moments; consolidating when asked still works",
    )  # fmt: skip
    parser.add_argument(
        "--http", type=_address, metavar="HOST:PORT",
        help=f"serve streamable HTTP at http://HOST:PORT/mcp. With ${TOKEN} every request needs this bearer token; "
        "beyond this machine it is required",
    )  # fmt: skip
    parser.add_argument(
        "--http-name", action="append", default=[], metavar="NAME",
        help="another host name that HTTP requests may be for, such as that of a proxy; repeatable",
    )  # fmt: skip
    return parser


def _folder(text: str) -> Path:
    """A folder as a path; an address of a server is none, and is not quoted: it may hold a password."""
    if "://" in text:
        raise ArgumentTypeError(
            "this names a server; mnemic-mcp serves a folder. Name one with --persist-dir or MNEMIC_DIR, or serve the memory "
            "of a server from a program of your own: mnemic_mcp.memory_server(Memory(...))"
        )
    return Path(text).expanduser()


def _address(text: str) -> Address:
    """A host and a port, with the token of the environment."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise ArgumentTypeError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:8000")
    token = os.environ.get(TOKEN) or None
    if token is None and host not in LOOPBACK:
        raise ArgumentTypeError(f"{host} is reached from other machines: set {TOKEN} to a secret, or use 127.0.0.1")
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise ArgumentTypeError(f"{TOKEN} has fewer than {SHORTEST_TOKEN} characters, which can be guessed")
    return Address(host, int(port), token)


def parsed(arguments: Sequence[str] | None = None) -> Options:
    """The options of a command line; None is that of the process."""
    given = vars(_parser().parse_args(arguments))
    http, names = given.pop("http"), tuple(given.pop("http_name"))
    return Options(**given, http=None if http is None else Address(http.host, http.port, http.token, names))
