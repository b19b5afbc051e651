"""The words of the command line, with nothing but argparse."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mnemic_mcp

__all__ = ["PROFILES", "Options", "parsed"]

PROFILES = {
    "default": "remember, recall, forget, context, consolidate",
    "memory-server": "store_memory, search_memories, consolidate_memories, should_consolidate, get_memory_context",
    "ooda": "recall, list, graph, context, remember, consolidate, update, delete; importance from 1 to 10",
}
"""The tools of each profile."""

HOME = "~/.mnemic"
"""The folder when nothing names one."""

DESCRIPTION = "Serve the memory in one folder over MCP, on stdin and stdout."

ENDING = """\
profiles:
{profiles}

Several servers may share one folder. The user and the project are set here and nowhere else: no tool can change them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says.

    Attributes:
        persist_dir: the folder.
        user: whose memory is served.
        project: the level that is remembered at: a name, ``auto`` for the project of the working directory where it is one,
            or ``off`` for the user's own.
        profile: which tools there are.
        embedder: as ``Memory`` takes it; None for the default model, loaded in the background.
        timezone: of times that are given without one.
        consolidate: whether quiet moments are used.
    """

    persist_dir: Path
    user: str = "default"
    project: str = "auto"
    profile: str = "default"
    embedder: str | None = None
    timezone: str | None = None
    consolidate: bool = True


def _parser() -> ArgumentParser:
    listed = "\n".join(f"  {name:<15}{tools}" for name, tools in PROFILES.items())
    parser = ArgumentParser(
        prog="mnemic-mcp", description=DESCRIPTION, epilog=ENDING.format(profiles=listed), allow_abbrev=False,
        formatter_class=RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"mnemic-mcp {mnemic_mcp.__version__}")
    parser.add_argument(
        "--persist-dir", "--dir", dest="persist_dir", type=_folder, default=os.environ.get("MNEMIC_DIR") or HOME,
        metavar="DIR", help=f"the folder of the memory, made when missing (default: $MNEMIC_DIR, else {HOME})",
    )  # fmt: skip
    parser.add_argument("--user", default="default", help="whose memory (default: default)")
    parser.add_argument(
        "--project", metavar="NAME", default="auto",
        help="remember for this project; what the user knows everywhere is seen as well. auto (the default): that of the "
        "working directory, if it is a git repository or has a CLAUDE.md or AGENTS.md; off: none",
    )  # fmt: skip
    parser.add_argument("--profile", choices=[*PROFILES], default="default", help="which tools there are")
    parser.add_argument(
        "--embedder", metavar="NAME",
        help='a model folder, "provider:model" or "hashing" (default: all-MiniLM-L6-v2 on this machine)',
    )  # fmt: skip
    parser.add_argument("--timezone", metavar="ZONE", help="of times without one (default: UTC)")
    parser.add_argument(
        "--no-consolidation", dest="consolidate", action="store_false",
        help="do nothing in quiet moments; consolidating when asked still works",
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


def parsed(arguments: Sequence[str] | None = None) -> Options:
    """The options of a command line; None is that of the process. ``MNEMIC_DIR`` is where the folder comes from without one."""
    return Options(**vars(_parser().parse_args(arguments)))
