"""The argument parser. It imports nothing heavier than argparse, so that ``--help`` is fast."""

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
    """The parser of ``mnemic``; the result has ``command`` (None if missing) and the options of that command."""
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
    """The options of every command. ``given_only``: no defaults, so that options before the command are kept."""

    def default(value: str | None) -> str | None:
        return SUPPRESS if given_only else value

    group = parser.add_argument_group("memory")
    group.add_argument("--dir", default=default(None), help="the memory folder (default: $MNEMIC_DIR, else ./memory)")
    group.add_argument("--user", default=default("default"), help="the user (default: default)")
    group.add_argument("--project", default=default(None), help="the project; auto: that of the working folder")
    group.add_argument(
        "--session", default=default(None),
        help="the conversation to search or store in; new: a new one",
    )  # fmt: skip
    group.add_argument(
        "--embedder", metavar="NAME", default=default(None),
        help='a model folder, "provider:model" or "hashing" (default: all-MiniLM-L6-v2 on this machine)',
    )  # fmt: skip
    group.add_argument(
        "--llm", metavar="NAME", default=default(None),
        help='a language model for process and consolidate, "provider:model" (default: none)',
    )  # fmt: skip
    group.add_argument("--timezone", metavar="ZONE", default=default(None), help="of times without one (default: UTC)")
    group.add_argument("--json", action="store_true", default=default(None), help="answer with one JSON document")


# Options that several commands share


def _reach(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--reach", choices=get_args(Reach), default="project+global",
        help="the reach of a search around --project and --session (default: project+global)",
    )  # fmt: skip


def _time_range(parser: ArgumentParser, what: str) -> None:
    parser.add_argument("--since", type=_moment, metavar="ISO", help=f"{what} at this time or later: 2026-03-01T18:00")
    parser.add_argument("--until", type=_moment, metavar="ISO", help=f"{what} before this time")


def _clocks(parser: ArgumentParser) -> None:
    parser.add_argument("--at", type=_moment, metavar="ISO", help="memories true at that time (default: now)")
    parser.add_argument("--known-at", type=_moment, metavar="ISO", help="the state of knowledge at that time")


def _type_and_tag(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--type", action="append", choices=get_args(MemoryType), help="memories of this type; repeatable"
    )
    parser.add_argument("--tag", action="append", metavar="TAG", help="memories with this tag; repeatable: any of them")


def _expired(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--include-expired", action="store_true", help="also memories that are no longer valid or were superseded"
    )


def _search_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--recipe", metavar="NAME", default="conversation",
        help="how to rank: conversation (default), facts, coding, rrf, vector",
    )  # fmt: skip
    parser.add_argument(
        "--kinds", type=_kinds, metavar="KINDS", default=("message", "memory"),
        help="kinds to find: message, memory, episode, comma-separated (default: message,memory)",
    )  # fmt: skip
    parser.add_argument(
        "--mood", metavar="WORDS", help='rank records of a similar mood first: "session", or a text that shows the mood'
    )
    _type_and_tag(parser)
    _time_range(parser, "said")
    _clocks(parser)
    _reach(parser)


def _limit(parser: ArgumentParser, default: int | None, what: str) -> None:
    shown = "all" if default is None else default
    parser.add_argument("--limit", type=int, default=default, metavar="N", help=f"{what} (default: {shown})")


def _text(parser: ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="?", help="the text to store (default or -: read from stdin)")


# The commands


def _add(parser: ArgumentParser) -> None:
    _text(parser)
    parser.add_argument("--role", default="user", help="user (default), assistant, system, tool or another role")
    parser.add_argument("--name", help="the speaker")
    parser.add_argument("--sent-at", type=_moment, metavar="ISO", help="when it was said (default: now)")
    parser.add_argument("--id", help="an id of your choice; the same id and text is stored once")


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a JSON or JSONL file in UTF-8; - is stdin")
    parser.add_argument("--format", choices=FORMATS, default="auto", help="the format of the file (default: auto)")
    parser.add_argument(
        "--user-from", metavar="FIELD",
        help="for memories: the field that names their user, such as user_id or namespace.1; none: all belong to --user",
    )  # fmt: skip
    parser.add_argument("--only", metavar="NAME", help="with --user-from: import only this user")
    parser.add_argument("--dry-run", action="store_true", help="preview without changes")


def _remember(parser: ArgumentParser) -> None:
    _text(parser)
    parser.add_argument(
        "--key", metavar="NAME", help="its attribute, such as meetings.time: supersedes the earlier value"
    )
    parser.add_argument("--type", choices=get_args(MemoryType), default="semantic", help="default: semantic")
    parser.add_argument("--category", metavar="WORD", help="preference, architecture_decision, bug_fix ...")
    parser.add_argument("--tag", action="append", metavar="TAG", default=[], help="repeatable")
    parser.add_argument("--importance", type=float, metavar="N", help="0 to 1; pins the importance")
    parser.add_argument(
        "--source-id", action="append", metavar="ID", default=[], help="a record it is derived from; repeatable"
    )
    parser.add_argument("--valid-at", type=_moment, metavar="ISO", help="start of its validity (default: now)")
    parser.add_argument("--delete-after", type=_moment, metavar="ISO", help="end of its lifetime (default: never)")
    parser.add_argument(
        "--source", choices=get_args(Source), default="direct_user", help="its origin (default: direct_user)"
    )
    parser.add_argument("--id", help="an id of your choice")


def _process(parser: ArgumentParser) -> None:
    _limit(parser, None, "approximate number of messages, whole episodes at a time")


def _search(parser: ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="the query in natural language")
    parser.add_argument("-k", type=int, default=10, metavar="N", help="maximum number of hits (default: 10)")
    parser.add_argument(
        "--min-evidence", choices=("none", "weak", "strong"), default="none",
        help="the minimum grade of evidence (default: none)",
    )  # fmt: skip
    _search_options(parser)
    _expired(parser)


def _context(parser: ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="?", help="the query (default: the start of a session)")
    parser.add_argument("--max-tokens", type=int, default=2000, metavar="N", help="the budget (default: 2000)")
    _search_options(parser)


def _list(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--kind", choices=get_args(Kind), default="memory", help="message, episode or memory (default: memory)"
    )
    parser.add_argument("--order", choices=("newest", "oldest", "importance"), default="newest", help="default: newest")
    _limit(parser, 20, "maximum number")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="number to skip (default: 0)")
    _type_and_tag(parser)
    parser.add_argument("--status", action="append", choices=get_args(Status), help="default: all but archived")
    _time_range(parser, "created")
    _clocks(parser)
    _expired(parser)
    _reach(parser)


def _episodes(parser: ArgumentParser) -> None:
    _limit(parser, 20, "maximum number of latest ones")
    _time_range(parser, "started")
    _reach(parser)


def _one(what: str) -> Callable[[ArgumentParser], None]:
    def options(parser: ArgumentParser) -> None:
        parser.add_argument("id", metavar="ID", help=what)

    return options


def _graph(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the memory to start at")
    parser.add_argument(
        "--depth", type=int, default=2, metavar="N", help="how many links to follow, 0 to 10 (default: 2)"
    )
    parser.add_argument("--type", action="append", choices=get_args(LinkType), help="links of this type; repeatable")


def _link_ends(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="id of the source of the link")
    parser.add_argument("target", metavar="TARGET", help="id of the target of the link")


def _link(parser: ArgumentParser) -> None:
    _link_ends(parser)
    parser.add_argument("type", metavar="TYPE", choices=get_args(LinkType), help=", ".join(get_args(LinkType)))
    parser.add_argument("--strength", type=float, default=1.0, metavar="N", help="0 to 1 (default: 1)")
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason")


def _unlink(parser: ArgumentParser) -> None:
    _link_ends(parser)
    parser.add_argument("--type", choices=get_args(LinkType), help="links of this type (default: all)")


def _forget(parser: ArgumentParser) -> None:
    parser.add_argument("description", metavar="DESCRIPTION", nargs="?", help="a description of what to forget")
    parser.add_argument("--id", action="append", metavar="ID", help="this record; repeatable")
    parser.add_argument("--reason", default="", metavar="TEXT", help="stored in the history of the records")
    parser.add_argument("--dry-run", action="store_true", help="preview the effect of a description")
    parser.add_argument(
        "--hard", action="store_true", help="erase for good, with everything derived from it; cannot be undone"
    )
    parser.add_argument("--everything", action="store_true", help="all records of the user; needs --hard and --yes")
    parser.add_argument("--yes", action="store_true", help="confirm --everything")


def _restore(parser: ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="the records")


def _consolidate(parser: ArgumentParser) -> None:
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--dry-run", action="store_true", help="preview without changes")
    only.add_argument("--advice", action="store_true", help="only report whether there is enough to do")
    parser.add_argument(
        "--importance-threshold",
        type=float,
        metavar="N",
        help="minimum importance of long-term memories (default: 0.6)",
    )
    parser.add_argument(
        "--similarity-threshold", type=float, metavar="N", help="minimum cosine of equivalent memories (default: 0.85)"
    )
    parser.add_argument("--min-age-hours", type=float, metavar="N", help="minimum age of a memory (default: 1)")


def _log(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="the record (default: all memories)")
    _limit(parser, 20, "maximum number of newest ones")
    parser.add_argument("--all", action="store_true", help="messages and episodes too")


def _prefer(parser: ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="the preference (default: all)")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="its new value: JSON or text")
    parser.add_argument("--remove", action="store_true", help="remove it")


def _retire(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--message-days", type=float, metavar="N", help="also archive older messages (default: keep them)"
    )
    parser.add_argument(
        "--memory-limit",
        type=int,
        metavar="N",
        help="maximum number of memories; the least important are archived (default: keep all)",
    )
    parser.add_argument(
        "--session-summary-days", type=float, metavar="N", help="lifetime of new summaries (default: 7)"
    )


def _stats(parser: ArgumentParser) -> None:
    parser.add_argument("--plot", metavar="FILE", help="plot tiers over time, and emotions: .svg, .png or .pdf")


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the output file; - is stdout")
    parser.add_argument(
        "--vectors", action="store_true", help="include the vectors: larger, but the import needs no embedder"
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def _doctor(parser: ArgumentParser) -> None:
    parser.add_argument("--deep", action="store_true", help="read everything, and run the embedder once")
    parser.add_argument("--fix", action="store_true", help="repair what is safe, after a backup; implies --deep")


def _backup(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="the target: a new folder")


def _restore_backup(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="a folder written by mnemic backup")


def _migrate(parser: ArgumentParser) -> None:
    parser.add_argument("--from", dest="source", required=True, metavar="PLACE", help="a folder or postgresql://...")
    parser.add_argument("--to", dest="target", required=True, metavar="PLACE", help="the target; created if missing")


def _hook(parser: ArgumentParser) -> None:
    parser.add_argument("moment", metavar="MOMENT", choices=MOMENTS, help=", ".join(MOMENTS))
    parser.add_argument(
        "--max-tokens", type=int, default=1500, metavar="N", help="token budget of session-start (default: 1500)"
    )
    parser.add_argument("--timeout", type=float, default=30.0, metavar="S", help="maximum seconds (default: 30)")


def _no_options(_: ArgumentParser) -> None:
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
    "undo": _one("id of the consolidation"),
    "log": _log,
    "prefer": _prefer,
    "end-session": _no_options,
    "retire": _retire,
    "stats": _stats,
    "users": _no_options,
    "reembed": _no_options,
    "export": _export,
    "backup": _backup,
    "restore-backup": _restore_backup,
    "migrate": _migrate,
    "doctor": _doctor,
    "hook": _hook,
    "keys": add_keys,
}
