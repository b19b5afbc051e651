"""The words of the command line. Nothing heavier than argparse is imported here: ``--help`` answers at once."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import get_args

import mnemic
from mnemic.cli.help import ENDING, HELP, OVERVIEW, SUMMARIES
from mnemic.cli.keys import add_keys
from mnemic.types import Kind, LinkType, MemoryType, Reach, Source, Status

__all__ = ["FORMATS", "make_parser"]

FORMATS = ("auto", "locomo", "messages", "langchain", "llama-index", "mem0", "langgraph", "mnemic")


MOMENTS = ("session-start", "pre-compact", "post-commit", "instructions")


def make_parser() -> ArgumentParser:
    """The parser of ``mnemic``; its result has ``command`` (None when left out) and the options of that command."""
    parser = ArgumentParser(
        prog="mnemic",
        description=OVERVIEW,
        epilog=ENDING,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"mnemic {mnemic.__version__}")
    _memory_options(parser, given_only=False)
    shared = ArgumentParser(add_help=False)
    _memory_options(shared, given_only=True)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary in SUMMARIES.items():
        command = commands.add_parser(
            name, help=summary, description=HELP[name], parents=[shared], allow_abbrev=False,
            formatter_class=RawDescriptionHelpFormatter,
        )  # fmt: skip
        _OPTIONS[name](command)
    return parser


def _memory_options(parser: ArgumentParser, *, given_only: bool) -> None:
    """The options every command has. ``given_only``: no defaults, so that a command keeps what stood before it."""

    def default(value: str | None) -> str | None:
        return SUPPRESS if given_only else value

    group = parser.add_argument_group("memory")
    group.add_argument("--dir", default=default(None), help="its folder (default: $MNEMIC_DIR, else ./memory)")
    group.add_argument("--user", default=default("default"), help="whose memory (default: default)")
    group.add_argument("--project", default=default(None), help="the project; auto: that of the working folder")
    group.add_argument(
        "--session", default=default(None),
        help="the conversation: what to search, where to store to; new: one that has not been yet",
    )  # fmt: skip
    group.add_argument(
        "--embedder", metavar="NAME", default=default(None),
        help='a model folder, "provider:model" or "hashing" (default: all-MiniLM-L6-v2 on this machine)',
    )  # fmt: skip
    group.add_argument(
        "--llm", metavar="NAME", default=default(None),
        help='a language model for process and consolidate, "provider:model" (default: none, by rule)',
    )  # fmt: skip
    group.add_argument("--timezone", metavar="ZONE", default=default(None), help="of times without one (default: UTC)")
    group.add_argument("--json", action="store_true", default=default(None), help="answer with one JSON document")


# Options that several commands share


def _reach(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--reach", choices=get_args(Reach), default="project+global",
        help="how far to look from --project and --session (default: project+global)",
    )  # fmt: skip


def _span(parser: ArgumentParser, what: str) -> None:
    parser.add_argument("--since", type=_moment, metavar="ISO", help=f"{what} at this time or later: 2026-03-01T18:00")
    parser.add_argument("--until", type=_moment, metavar="ISO", help=f"{what} before this time")


def _clocks(parser: ArgumentParser) -> None:
    parser.add_argument("--at", type=_moment, metavar="ISO", help="what was true then (default: what is true now)")
    parser.add_argument(
        "--known-at", type=_moment, metavar="ISO", help="what was believed then, whatever came to be known later"
    )


def _marks(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--type", action="append", choices=get_args(MemoryType), help="memories of this type; give it again for more"
    )
    parser.add_argument("--tag", action="append", metavar="TAG", help="memories with this tag; again: or with that one")


def _expired(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--include-expired", action="store_true", help="also memories that are no longer true or no longer believed"
    )


def _asking(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--recipe", metavar="NAME", default="conversation",
        help="how to rank: conversation (default), facts, coding, rrf, vector",
    )  # fmt: skip
    parser.add_argument(
        "--kinds", type=_kinds, metavar="KINDS", default=("message", "memory"),
        help="what may be found: message, memory, episode, with commas (default: message,memory)",
    )  # fmt: skip
    _marks(parser)
    _span(parser, "said")
    _clocks(parser)
    _reach(parser)


def _limit(parser: ArgumentParser, default: int | None, what: str) -> None:
    shown = "all" if default is None else default
    parser.add_argument("--limit", type=int, default=default, metavar="N", help=f"{what} (default: {shown})")


def _text(parser: ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="?", help="what to store (default, and with -: read from stdin)")


# The commands


def _add(parser: ArgumentParser) -> None:
    _text(parser)
    parser.add_argument("--role", default="user", help="user (default), assistant, system, tool or another word")
    parser.add_argument("--name", help="who says it")
    parser.add_argument("--sent-at", type=_moment, metavar="ISO", help="when it was said (default: now)")
    parser.add_argument("--id", help="a name of your own; the same id and text again is stored once")


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a JSON or JSONL file in UTF-8; - is stdin")
    parser.add_argument("--format", choices=FORMATS, default="auto", help="what the file holds (default: auto)")
    parser.add_argument(
        "--user-from", metavar="FIELD",
        help="memories of others: the field that says whose each is, such as user_id or namespace.1; none: they are --user's",
    )  # fmt: skip
    parser.add_argument("--only", metavar="NAME", help="with --user-from: take only what is this user's")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def _remember(parser: ArgumentParser) -> None:
    _text(parser)
    parser.add_argument(
        "--key", metavar="NAME", help="what it is a value of, such as meetings.time: it replaces the earlier value"
    )
    parser.add_argument("--type", choices=get_args(MemoryType), default="semantic", help="default: semantic")
    parser.add_argument("--category", metavar="WORD", help="preference, architecture_decision, bug_fix ...")
    parser.add_argument("--tag", action="append", metavar="TAG", default=[], help="give it again for more")
    parser.add_argument("--importance", type=float, metavar="N", help="0 to 1; given, it is pinned")
    parser.add_argument(
        "--source-id", action="append", metavar="ID", default=[], help="what it was made from; give it again for more"
    )
    parser.add_argument("--valid-at", type=_moment, metavar="ISO", help="since when it is true (default: now)")
    parser.add_argument(
        "--delete-after", type=_moment, metavar="ISO", help="its lifetime, until then (default: for good)"
    )
    parser.add_argument(
        "--source", choices=get_args(Source), default="direct_user", help="where it comes from (default: direct_user)"
    )
    parser.add_argument("--id", help="a name of your own")


def _process(parser: ArgumentParser) -> None:
    _limit(parser, None, "about so many messages, whole episodes at a time")


def _search(parser: ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="what to look for, in plain words")
    parser.add_argument("-k", type=int, default=10, metavar="N", help="at most so many (default: 10)")
    parser.add_argument(
        "--min-evidence", choices=("none", "weak", "strong"), default="none",
        help="find nothing rather than something graded lower (default: none)",
    )  # fmt: skip
    _asking(parser)
    _expired(parser)


def _context(parser: ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="?", help="what it is for (default: the start of a session)")
    parser.add_argument("--max-tokens", type=int, default=2000, metavar="N", help="the budget (default: 2000)")
    _asking(parser)


def _list(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--kind", choices=get_args(Kind), default="memory", help="message, episode or memory (default: memory)"
    )
    parser.add_argument("--order", choices=("newest", "oldest", "importance"), default="newest", help="default: newest")
    _limit(parser, 20, "at most so many")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="leave out so many first (default: 0)")
    _marks(parser)
    parser.add_argument(
        "--status", action="append", choices=get_args(Status), help="default: everything that is not archived"
    )
    _span(parser, "made")
    _clocks(parser)
    _expired(parser)
    _reach(parser)


def _episodes(parser: ArgumentParser) -> None:
    _limit(parser, 20, "the latest so many")
    _span(parser, "begun")
    _reach(parser)


def _one(what: str) -> Callable[[ArgumentParser], None]:
    def options(parser: ArgumentParser) -> None:
        parser.add_argument("id", metavar="ID", help=what)

    return options


def _graph(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the memory to begin at")
    parser.add_argument(
        "--depth", type=int, default=2, metavar="N", help="how many links to follow, 0 to 10 (default: 2)"
    )
    parser.add_argument(
        "--type", action="append", choices=get_args(LinkType), help="links of this type; give it again for more"
    )


def _ends(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="id of the memory the link begins at")
    parser.add_argument("target", metavar="TARGET", help="id of the memory it leads to")


def _link(parser: ArgumentParser) -> None:
    _ends(parser)
    parser.add_argument("type", metavar="TYPE", choices=get_args(LinkType), help=", ".join(get_args(LinkType)))
    parser.add_argument("--strength", type=float, default=1.0, metavar="N", help="0 to 1 (default: 1)")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, in a few words")


def _unlink(parser: ArgumentParser) -> None:
    _ends(parser)
    parser.add_argument("--type", choices=get_args(LinkType), help="links of this type (default: all)")


def _forget(parser: ArgumentParser) -> None:
    parser.add_argument("description", metavar="DESCRIPTION", nargs="?", help="what to forget, in words")
    parser.add_argument("--id", action="append", metavar="ID", help="this record; give it again for more")
    parser.add_argument("--reason", default="", metavar="TEXT", help="kept in the history of what goes")
    parser.add_argument("--dry-run", action="store_true", help="only say what a description takes, and what stays")
    parser.add_argument(
        "--hard", action="store_true", help="erase for good, with all that was made from it: nothing brings it back"
    )
    parser.add_argument("--everything", action="store_true", help="all that the user has; needs --hard and --yes")
    parser.add_argument("--yes", action="store_true", help="really everything")


def _restore(parser: ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="what was forgotten")


def _consolidate(parser: ArgumentParser) -> None:
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--dry-run", action="store_true", help="only say what would be done")
    only.add_argument("--advice", action="store_true", help="only say whether there is enough to do")
    parser.add_argument(
        "--importance-threshold", type=float, metavar="N", help="from which a memory becomes long-term (default: 0.6)"
    )
    parser.add_argument(
        "--similarity-threshold", type=float, metavar="N", help="cosine from which two say the same (default: 0.85)"
    )
    parser.add_argument("--min-age-hours", type=float, metavar="N", help="leave younger ones in peace (default: 1)")


def _log(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="the record (default: all memories)")
    _limit(parser, 20, "the newest so many")
    parser.add_argument("--all", action="store_true", help="messages and episodes too")


def _prefer(parser: ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="which preference (default: all of them)")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="its new value: JSON, or else a text")
    parser.add_argument("--remove", action="store_true", help="remove it")


def _retire(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--message-days", type=float, metavar="N", help="also messages that are older (default: keep them)"
    )
    parser.add_argument(
        "--memory-limit",
        type=int,
        metavar="N",
        help="keep so many memories; the least important go (default: keep all)",
    )
    parser.add_argument(
        "--session-summary-days", type=float, metavar="N", help="for summaries made from now on (default: 7)"
    )


def _stats(parser: ArgumentParser) -> None:
    parser.add_argument("--plot", metavar="FILE", help="draw tiers over time, and feelings: .svg, .png or .pdf")


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="where to write to; - is stdout")
    parser.add_argument("--vectors", action="store_true", help="take the vectors along: bigger, and nothing to embed")
    parser.add_argument("--force", action="store_true", help="write over a file that exists")


def _doctor(parser: ArgumentParser) -> None:
    parser.add_argument("--deep", action="store_true", help="read everything, and run the embedder once")
    parser.add_argument("--fix", action="store_true", help="put right what is safe, after a backup; implies --deep")


def _backup(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="where to: a folder that does not exist yet")


def _restore_backup(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="what mnemic backup made")


def _migrate(parser: ArgumentParser) -> None:
    parser.add_argument("--from", dest="source", required=True, metavar="PLACE", help="a folder or postgresql://...")
    parser.add_argument("--to", dest="target", required=True, metavar="PLACE", help="the same; made when missing")


def _hook(parser: ArgumentParser) -> None:
    parser.add_argument("moment", metavar="MOMENT", choices=MOMENTS, help=", ".join(MOMENTS))
    parser.add_argument(
        "--max-tokens", type=int, default=1500, metavar="N", help="of what session-start prints (default: 1500)"
    )
    parser.add_argument("--timeout", type=float, default=30.0, metavar="S", help="seconds at most (default: 30)")


def _nothing(_: ArgumentParser) -> None:
    return


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a time; write 2026-03-01 or 2026-03-01T18:00+01:00") from error


def _kinds(text: str) -> Sequence[str]:
    kinds = tuple(word.strip() for word in text.split(","))
    if unknown := [word for word in kinds if word not in get_args(Kind)]:
        raise ArgumentTypeError(f"{unknown[0]!r} is not a kind; there are {', '.join(get_args(Kind))}")
    return kinds


_OPTIONS: Mapping[str, Callable[[ArgumentParser], None]] = {
    "add": _add,
    "import": _import,
    "remember": _remember,
    "process": _process,
    "search": _search,
    "context": _context,
    "list": _list,
    "episodes": _episodes,
    "show": _one("the record"),
    "graph": _graph,
    "link": _link,
    "unlink": _unlink,
    "forget": _forget,
    "restore": _restore,
    "consolidate": _consolidate,
    "undo": _one("of the consolidation"),
    "log": _log,
    "prefer": _prefer,
    "end-session": _nothing,
    "retire": _retire,
    "stats": _stats,
    "users": _nothing,
    "reembed": _nothing,
    "export": _export,
    "backup": _backup,
    "restore-backup": _restore_backup,
    "migrate": _migrate,
    "doctor": _doctor,
    "hook": _hook,
    "keys": add_keys,
}
