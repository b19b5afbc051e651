"""The words of the command line. Nothing heavier than argparse is imported here: ``--help`` answers at once."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable
from datetime import datetime

import mnemic
from mnemic import paths
from mnemic.cli.keys import KEYS, add_keys

__all__ = ["FORMATS", "make_parser"]

FORMATS = ("auto", "locomo", "messages", "langchain", "llama-index")

OVERVIEW = """\
Long-term memory in a folder, from the shell.

examples:
  mnemic import chat.json                     take a conversation in
  mnemic search "where does she live?" -k 5   find what was said
  mnemic context "where does she live?"       the same as text for a prompt
  mnemic stats                                what is there
  mnemic doctor --deep                        is everything in order?
"""

ENDING = """\
The options of the memory (--dir, --user ...) may stand before or after the command.
exit codes: 0 fine; 1 nothing found, something not taken in, or findings; 2 wrong usage or an error.
"""

IMPORT = """\
Take the messages of a JSON or JSONL file in, verbatim, with their dates.

formats (told by their shape, unless --format names one):
  messages     a list, or lines, of {"role", "content", "name"?, "sent_at"?, "id"?, "session"?, "metadata"?}
  langchain    messages_to_dict(messages), or a list of dumpd(message)
  llama-index  a list of ChatMessage.model_dump(mode="json"), or a stored SimpleChatStore
  locomo       one LoCoMo conversation, or a list of them

Importing the same file twice stores nothing twice: messages without an id get one made of their text, speaker, time and
session. Messages that name no session belong to --session, else to one named after the file.

examples:
  mnemic import chat.json --user ana
  mnemic --dir ./notes import export.jsonl --format messages --timezone Europe/Lisbon
"""

SEARCH = """\
Find messages and memories, best first. Exit code 1 when nothing is found.

examples:
  mnemic search "what does Ana drink?"
  mnemic search "the lease" --since 2026-03-01 --until 2026-04-01 -k 3
  mnemic search "the lease" --session s5 --json
  mnemic search "her shoe size" --min-evidence weak || echo "I do not know"
"""

CONTEXT = """\
Print what is remembered as text for a prompt, within a budget of tokens. Without a query: what a new session
should know.

examples:
  mnemic context "plan her birthday" --max-tokens 500
  mnemic context > memory.txt
"""

STATS = """\
Count what one user has, and the size of the whole record.

example:
  mnemic stats --user ana
"""

DOCTOR = """\
Check the installation and the record: versions, embedder and its weights, tokenizer, every invariant of the memory.
Exit code 1 when something is wrong. Works without a memory, too.

examples:
  mnemic doctor
  mnemic doctor --deep        also reads every page and every text, and runs the embedder once
"""


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
    for name, summary, description, options in _COMMANDS:
        command = commands.add_parser(
            name, help=summary, description=description, parents=[shared], allow_abbrev=False,
            formatter_class=RawDescriptionHelpFormatter,
        )  # fmt: skip
        options(command)
    return parser


def _memory_options(parser: ArgumentParser, *, given_only: bool) -> None:
    """The options every command has. ``given_only``: no defaults, so that a command keeps what stood before it."""

    def default(value: str | None) -> str | None:
        return SUPPRESS if given_only else value

    folder = paths.environment("MNEMIC_DIR") or "./memory"
    group = parser.add_argument_group("memory")
    group.add_argument("--dir", default=default(folder), help="its folder (default: $MNEMIC_DIR, else ./memory)")
    group.add_argument("--user", default=default("default"), help="whose memory (default: default)")
    group.add_argument("--project", default=default(None), help="the project")
    group.add_argument("--session", default=default(None), help="the conversation: what to search, where to import to")
    group.add_argument(
        "--embedder", metavar="NAME", default=default(None),
        help='a model folder, "provider:model" or "hashing" (default: all-MiniLM-L6-v2 on this machine)',
    )  # fmt: skip
    group.add_argument("--timezone", metavar="ZONE", default=default(None), help="of times without one (default: UTC)")
    group.add_argument("--json", action="store_true", default=default(None), help="answer with one JSON document")


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a JSON or JSONL file in UTF-8")
    parser.add_argument("--format", choices=FORMATS, default="auto", help="what the file holds (default: auto)")


def _search(parser: ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="what to look for, in plain words")
    parser.add_argument("-k", type=int, default=10, metavar="N", help="at most so many (default: 10)")
    parser.add_argument(
        "--min-evidence", choices=("none", "weak", "strong"), default="none",
        help="find nothing rather than something graded lower (default: none)",
    )  # fmt: skip
    _asking(parser)


def _context(parser: ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="?", help="what it is for (default: the start of a session)")
    parser.add_argument("--max-tokens", type=int, default=2000, metavar="N", help="the budget (default: 2000)")
    _asking(parser)


def _asking(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--recipe", metavar="NAME", default="conversation",
        help="how to rank: conversation (default), facts, rrf, vector ...",
    )  # fmt: skip
    parser.add_argument("--since", type=_moment, metavar="ISO", help="said at this time or later: 2026-03-01T18:00")
    parser.add_argument("--until", type=_moment, metavar="ISO", help="said before this time")


def _doctor(parser: ArgumentParser) -> None:
    parser.add_argument("--deep", action="store_true", help="read everything, and run the embedder once")


def _nothing(_: ArgumentParser) -> None:
    return


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a time; write 2026-03-01 or 2026-03-01T18:00+01:00") from error


_COMMANDS: tuple[tuple[str, str, str, Callable[[ArgumentParser], None]], ...] = (
    ("import", "take a file of messages in", IMPORT, _import),
    ("search", "find what was said", SEARCH, _search),
    ("context", "text for a prompt", CONTEXT, _context),
    ("stats", "count what is there", STATS, _nothing),
    ("doctor", "check installation and record", DOCTOR, _doctor),
    ("keys", "store API keys", KEYS, add_keys),
)
