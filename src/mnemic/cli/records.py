"""The commands ``search``, ``context``, ``procedures``, ``list``, ``show``, ``graph``, ``link``, ``unlink``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from mnemic.cli.config import open_memory
from mnemic.cli.output import (
    LONGEST,
    Answer,
    event_line,
    explained,
    facts,
    found,
    heading,
    hit_lines,
    indented,
    procedure_lines,
    table,
)
from mnemic.cli.parser import EXPIRED, FILTERS, MEMORY_FILTERS, arguments, command, flag, limit, option
from mnemic.errors import InvalidInput
from mnemic.text.values import as_object, counted, one_line
from mnemic.types import Episode, Kind, Link, LinkType, MemoryRecord, Message, Record, Status, kind_of

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.memory import Memory


def _kinds(text: str) -> Sequence[str]:
    return [word.strip() for word in text.split(",")]


SEARCH_OPTIONS = (
    option("--recipe", "how to rank: conversation (default), facts, coding, rrf, vector", metavar="NAME"),
    option(
        "--kinds", "what to find, comma-separated: message, memory, episode (default: message,memory)", type=_kinds,
        metavar="KINDS", default=("message", "memory"),
    ),
    option(
        "--mood", 'rank records of a similar mood first: a text that shows it, or "session"', metavar="WORDS"
    ),
    option("--min-relevance", "minimum relevance of a hit, 0 to 1", type=float, metavar="N"),
    option("--emotion-weight", "weight of --mood, 0 to 1 (default: 0.3)", type=float, default=0.3, metavar="N"),
    *MEMORY_FILTERS,
    *FILTERS,
)  # fmt: skip


@command(
    "find messages and memories",
    option("query", "the query in natural language", metavar="QUERY"),
    option("-k", "maximum number of hits (default: 10)", type=int, default=10, metavar="N"),
    option(
        "--min-evidence", "print nothing if the evidence has a lower grade (default: none)", choices=("none", "weak", "strong"),
        default="none",
    ),
    flag("--explain", "show what each signal adds to the rank of a hit"),
    *SEARCH_OPTIONS,
    EXPIRED,
)  # fmt: skip
def search(args: Namespace) -> Answer:
    """Find messages and memories, best first. Exit code 1 if nothing is found.

    examples:
      mnemic search "what does Ana drink?"
      mnemic search "the lease" --since 2026-03-01 --until 2026-04-01 -k 3
      mnemic search "where does Ana live?" --kinds memory --at 2024-06-01      true at that time
      mnemic search "which port?" --known-at 2026-01-01                        known at that time
      mnemic search "the lease" --session s5 --reach session --json
      mnemic search "the lease" --min-relevance 0.1                            leave out what is unlikely to help
      mnemic search "the lease" --explain                                      what each signal adds
      mnemic search "her shoe size" --min-evidence weak || echo "I do not know"
    """
    with open_memory(args) as memory:
        result = memory.search(**arguments(args, "explain"))
    lines: list[str] = []
    for rank, hit in enumerate(result, start=1):
        lines += [*hit_lines(rank, hit), *(explained(hit) if args.explain else ())]
    note = f"evidence: {result.evidence}, probability {result.probability:.2f}" if result else "nothing found"
    document = {"query": args.query, "recipe": args.recipe, **as_object(result)}
    return Answer(document, lines, [f"{note}."], fine=bool(result))


@command(
    "text for a prompt",
    option("query", "the query (default: the start of a session)", metavar="QUERY", nargs="?"),
    option("--max-tokens", "the budget (default: 2000)", type=int, default=2000, metavar="N"),
    *SEARCH_OPTIONS,
)
def context(args: Namespace) -> Answer:
    """Print memories as text for a prompt, within a token budget. Without a query: the context for a new session.

    examples:
      mnemic context "plan her birthday" --max-tokens 500
      mnemic context > memory.txt
    """
    with open_memory(args) as memory:
        result = memory.get_memory_context(**arguments(args))
    document = {"query": args.query, **as_object(result)}
    if not result:
        return found(document, [])
    rest = ", more was found than fits" if result.truncated else ""
    size = f"{counted({'token': result.token_count})} from {counted({'record': len(result.hits)})}"
    note = f"{size}{rest}; evidence: {result.evidence}."
    return Answer(document, [result.text], [note])


@command(
    "what agents did for similar requests",
    option("request", "what is to be done, in words", metavar="REQUEST"),
    option("-k", "maximum number of procedures (default: 3)", type=int, default=3, metavar="N"),
    *FILTERS,
)
def procedures(args: Namespace) -> Answer:
    """Print which tools agents used for requests like this one, in order, and how often that worked. Exit code 1 if
    nothing is known.

    examples:
      mnemic procedures "book a flight to Oslo"
      mnemic procedures "deploy the api" --since 2026-01-01 --json
    """
    with open_memory(args) as memory:
        result = memory.procedures(**arguments(args))
    lines = [line for rank, procedure in enumerate(result, start=1) for line in procedure_lines(rank, procedure)]
    return found({"request": args.request, "procedures": [*map(as_object, result)]}, lines)


# list


@command(
    "list memories, in order",
    option("--kind", "message, episode or memory (default: memory)", choices=get_args(Kind), default="memory"),
    option("--order", "default: newest", choices=("newest", "oldest", "importance"), default="newest"),
    limit(20, "maximum number"),
    option("--offset", "number to skip (default: 0)", type=int, default=0, metavar="N"),
    *MEMORY_FILTERS,
    option("--status", "default: all but archived", action="append", choices=get_args(Status)),
    *FILTERS,
    EXPIRED,
    name="list",
)
def list_records(args: Namespace) -> Answer:
    """List memories in order, with their ids; with --kind message or --kind episode, those instead. Exit code 1 if there
    are none.

    examples:
      mnemic list                                    the newest
      mnemic list --order importance --limit 10
      mnemic list --type procedural --tag release
      mnemic list --kind message --order oldest      messages, oldest first
      mnemic list --include-expired                  also memories that are no longer valid or were superseded
      mnemic list --status archived                  forgotten and merged memories
    """
    name = "memories" if args.kind == "memory" else f"{args.kind}s"
    with open_memory(args) as memory:
        records = memory.list(**arguments(args, "kind")) if args.kind == "memory" else _by_time(memory, args)
        lines = [line for record in records for line in (heading(record), indented(record.content))]
        return found({name: records}, lines, "" if records else _empty_reason(memory, name))


def _by_time(memory: Memory, args: Namespace) -> Sequence[Message | Episode]:
    """Messages or episodes in order of time.

    Raises:
        InvalidInput: they have no importance, or a number is negative.
    """
    if args.order == "importance":
        raise InvalidInput("Only memories have an importance: use --order newest or oldest, or leave out --kind.")
    if min(args.offset, args.limit) < 0:
        raise InvalidInput("--limit and --offset are whole numbers from 0.")
    read = memory.messages if args.kind == "message" else memory.episodes
    first, end, newest = args.offset, args.offset + args.limit, args.order == "newest"
    filters = arguments(args, "kind", "order", "limit", "offset")
    records = read(session=args.session, limit=end if newest else None, **filters)  # a limit keeps the latest
    return (records[::-1] if newest else records)[first:end]


def _empty_reason(memory: Memory, name: str) -> str:
    """Why a list is empty, and what to do if messages are unprocessed."""
    stats = memory.stats()
    waiting = stats.pending.get("process", 0)
    if not waiting or {"episodes": stats.episodes, "memories": sum(stats.memories.values())}.get(name, 1):
        return "nothing found."
    wait = "waits" if waiting == 1 else "wait"
    hint = "mnemic list --kind message lists what was said"
    return f"no {name} yet. {counted({'message': waiting})} {wait} to be processed: run mnemic process. {hint}."


# show


SHOWN_ELSEWHERE = ("id", "content", "title", "source_ids", "message_ids")
"""Fields of a record that ``show`` does not repeat in its table."""


@command("show one record with its sources and links", option("id", "the record", metavar="ID"))
def show(args: Namespace) -> Answer:
    """Show one record, forgotten or not: a message, an episode or a memory, with its sources, the records derived from
    it, its links and its history.

    examples:
      mnemic show m17
      mnemic show mem_0f8fad5bd9cb469fa16570867728950e --json
    """
    with open_memory(args) as memory:
        record = memory.get(args.id)
        sources, derived = [memory.get(source) for source in _sources(record)], _derived_from(memory, args.id)
        links, linked = _links(memory, record)
        history = memory.history(args.id)
    kind = kind_of(record)
    document = {
        "kind": kind, kind: record, "made_from": [_brief(source) for source in sources],
        "made_into": [_brief(other) for other in derived], "links": links, "history": history,
    }  # fmt: skip
    lines = [
        *(heading(record), indented(record.content), "", *table(facts(record, *SHOWN_ELSEWHERE))),
        *_section("made from", [_short(source) for source in sources]),
        *_section("made from it", [_short(other) for other in derived]),
        *_section("links", [_link_line(link, args.id, _short(linked[_other_end(link, args.id)])) for link in links]),
        *_section("history", [event_line(event, named=False) for event in history]),
    ]
    return Answer(document, lines)


def _links(memory: Memory, record: Record) -> tuple[list[Link], dict[str, MemoryRecord]]:
    """The links of a record, and the linked memories by id."""
    if not isinstance(record, MemoryRecord):
        return [], {}
    graph = memory.links.graph(record.id, depth=1)
    links = [link for link in graph.links if record.id in (link.source, link.target)]
    return links, {other.id: other for other in graph.memories}


def _sources(record: Record) -> tuple[str, ...]:
    match record:
        case Message():
            return ()
        case Episode():
            return (*record.source_ids, *record.message_ids)
        case MemoryRecord():
            return record.source_ids


def _derived_from(memory: Memory, id: str) -> list[Episode | MemoryRecord]:
    """The records derived from a record, including expired and archived ones."""
    memories = memory.list(order="oldest", limit=None, reach="user", status=get_args(Status), include_expired=True)
    return [record for record in [*memory.episodes(reach="user"), *memories] if id in _sources(record)]


def _brief(record: Record) -> dict[str, object]:
    return {"id": record.id, "kind": kind_of(record), "content": record.content}


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _short(record: Record) -> str:
    return f"[{one_line(str(record.id))}]  {one_line(record.content, LONGEST)}"


def _link_line(link: Link, id: str, text: str) -> str:
    """A link as seen from one of its ends, with the text of the other."""
    what = f"{link.type} {link.strength:.2g}"
    arrow = f"-- {what} ->" if link.source == id else f"<- {what} --"
    return f"{arrow}  {text}{f'  ({one_line(link.reason)})' if link.reason else ''}"


def _other_end(link: Link, id: str) -> str:
    return link.target if link.source == id else link.source


# graph, link, unlink


@command(
    "show the memories linked with one",
    option("id", "the memory to start at", metavar="ID"),
    option("--depth", "how many links to follow, 0 to 10 (default: 2)", type=int, default=2, metavar="N"),
    option("--type", "links of this type; repeatable", dest="types", action="append", choices=get_args(LinkType)),
)
def graph(args: Namespace) -> Answer:
    """Show the memories within --depth links of one, the nearest first, each with its links to others of them.

    examples:
      mnemic graph mem_0f8f
      mnemic graph mem_0f8f --depth 1 --type contradicts --type supersedes
      mnemic graph mem_0f8f --json
    """
    with open_memory(args) as memory:
        result = memory.links.graph(**arguments(args))
    lines: list[str] = []
    for record in result.memories:
        links = [link for link in result.links if link.source == record.id]
        lines += [
            _short(record),
            *(f"    {_link_line(link, record.id, f'[{one_line(link.target)}]')}" for link in links),
        ]
    counts = counted({"memory": len(result.memories), "link": len(result.links)})
    return Answer(result, lines, [f"{counts}."])


LINK_ENDS = (
    option("source", "id of the source of the link", metavar="SOURCE"),
    option("target", "id of the target of the link", metavar="TARGET"),
)


@command(
    "link one memory to another",
    *LINK_ENDS,
    option("type", ", ".join(get_args(LinkType)), metavar="TYPE", choices=get_args(LinkType)),
    option("--strength", "0 to 1 (default: 1)", type=float, default=1.0, metavar="N"),
    option("--reason", "the reason", default="", metavar="TEXT"),
)
def link(args: Namespace) -> Answer:
    """Link one memory to another; an existing link gets the new strength and reason. supersedes also expires TARGET.

    examples:
      mnemic link mem_0f8f mem_77aa extends
      mnemic link mem_0f8f mem_77aa contradicts --strength 0.8 --reason "two ports for one service"
    """
    with open_memory(args) as memory:
        receipt = memory.links.add(**arguments(args))
    word = "linked" if receipt.outcome == "stored" else receipt.reason
    return Answer(receipt, [f"{word}  [{one_line(args.source)}] {args.type} -> [{one_line(args.target)}]"])


@command("remove links", *LINK_ENDS, option("--type", "links of this type (default: all)", choices=get_args(LinkType)))
def unlink(args: Namespace) -> Answer:
    """Remove the links from one memory to another, of one type or of all. Exit code 1 if there were none.

    examples:
      mnemic unlink mem_0f8f mem_77aa
      mnemic unlink mem_0f8f mem_77aa --type contradicts
    """
    with open_memory(args) as memory:
        receipt = memory.links.remove(**arguments(args))
    if receipt.outcome != "stored":
        return Answer(receipt, notes=[f"{receipt.reason}."], fine=False)
    return Answer(receipt, [f"unlinked  [{one_line(args.source)}] from [{one_line(args.target)}]"])
