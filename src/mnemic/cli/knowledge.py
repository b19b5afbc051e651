"""The commands ``list``, ``episodes``, ``show``, ``graph``, ``link`` and ``unlink``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from mnemic.cli.handles import open_memory
from mnemic.cli.output import (
    counted,
    event_line,
    heading,
    indented,
    jsonable,
    moment,
    one_line,
    plain,
    say,
    say_json,
    table,
    warn,
)
from mnemic.errors import InvalidInput
from mnemic.memory import Memory
from mnemic.types import Episode, Event, Graph, Link, MemoryRecord, Message, Status

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["COMMANDS"]

Record = Message | Episode | MemoryRecord

LONGEST = 100
"""Maximum characters of a text on one line."""


# list, episodes


def _list(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        if arguments.kind != "memory":
            found = _others(memory, arguments)
            return _print_list(memory, f"{arguments.kind}s", found, as_json=arguments.json)
        found = memory.list(
            order=arguments.order, limit=arguments.limit, offset=arguments.offset, reach=arguments.reach,
            types=arguments.type, tags=arguments.tag, status=arguments.status, since=arguments.since,
            until=arguments.until, at=arguments.at, known_at=arguments.known_at,
            include_expired=arguments.include_expired,
        )  # fmt: skip
        return _print_list(memory, "memories", found, as_json=arguments.json)


def _others(memory: Memory, arguments: Namespace) -> Sequence[Message | Episode]:
    """Messages or episodes in chronological order.

    Raises:
        InvalidInput: an option applies to memories only.
    """
    given = [
        name for name in ("type", "tag", "status", "at", "known_at", "include_expired") if getattr(arguments, name)
    ]
    if given or arguments.order == "importance":
        option = f"--{given[0].replace('_', '-')}" if given else "--order importance"
        raise InvalidInput(f"{option} is for memories; leave --kind {arguments.kind} out, or leave it out.")
    if min(arguments.offset, arguments.limit) < 0:
        raise InvalidInput("--limit and --offset are whole numbers from 0.")
    ask = memory.messages if arguments.kind == "message" else memory.episodes
    first, most = arguments.offset, arguments.limit
    wanted = first + most if arguments.order == "newest" else None  # a limit keeps the latest
    found = ask(
        session=arguments.session, since=arguments.since, until=arguments.until, reach=arguments.reach, limit=wanted
    )
    return (found[::-1] if arguments.order == "newest" else found)[first : first + most]


def _episodes(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        found = memory.episodes(
            session=arguments.session, since=arguments.since, until=arguments.until, reach=arguments.reach,
            limit=arguments.limit,
        )  # fmt: skip
        return _print_list(memory, "episodes", found, as_json=arguments.json)


def _print_list(memory: Memory, name: str, found: Sequence[Record], *, as_json: bool) -> bool:
    if as_json:
        say_json({name: found})
    elif not found:
        warn(_empty_reason(memory, name))
    else:
        for record in found:
            say(heading(record), indented(record.content))
    return bool(found)


def _empty_reason(memory: Memory, name: str) -> str:
    """Why a list is empty, and what to do if messages are unprocessed."""
    stats = memory.stats()
    waiting = stats.pending.get("process", 0)
    if not waiting or {"episodes": stats.episodes, "memories": sum(stats.memories.values())}.get(name, 1):
        return "nothing found."
    wait = "waits" if waiting == 1 else "wait"
    said = "mnemic list --kind message"
    return f"no {name} yet. {counted({'message': waiting})} {wait}: mnemic process. What was said: {said}."


# show


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """A record with its context."""

    record: Record
    sources: Sequence[Record]
    made: Sequence[Episode | MemoryRecord]
    links: Sequence[Link]
    linked: Mapping[str, MemoryRecord]
    history: Sequence[Event]


def _show(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        shown = _view(memory, arguments.id)
    if arguments.json:
        say_json(_document(shown))
        return True
    say(heading(shown.record), indented(shown.record.content), "")
    say(*table(_facts(shown.record)))
    _section("made from", [_short(record) for record in shown.sources])
    _section("made from it", [_short(record) for record in shown.made])
    _section("links", [_link_line(link, shown) for link in shown.links])
    _section("history", [event_line(event, named=False) for event in shown.history])
    return True


def _view(memory: Memory, id: str) -> _View:
    record = memory.get(id)
    graph = (
        memory.links.graph(id, depth=1) if isinstance(record, MemoryRecord) else Graph(memories=(), links=(), depths={})
    )
    return _View(
        record=record,
        sources=[memory.get(source) for source in _sources(record)],
        made=_derived_from(memory, id),
        links=[link for link in graph.links if id in (link.source, link.target)],
        linked={other.id: other for other in graph.memories},
        history=memory.history(id),
    )


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


def _document(shown: _View) -> dict[str, object]:
    """The JSON of a view: the record under the name of its kind, and its context."""
    return {
        "kind": _kind(shown.record),
        _kind(shown.record): jsonable(shown.record),
        "made_from": [{"id": record.id, "kind": _kind(record), "content": record.content} for record in shown.sources],
        "made_into": [{"id": record.id, "kind": _kind(record), "content": record.content} for record in shown.made],
        "links": shown.links,
        "history": shown.history,
    }


def _kind(record: Record) -> str:
    match record:
        case Message():
            return "message"
        case Episode():
            return "episode"
        case MemoryRecord():
            return "memory"


def _facts(record: Record) -> list[tuple[str, object]]:
    """The non-empty fields, except those shown elsewhere."""
    fields = plain(record)
    for name in ("id", "content", "title", "source_ids", "message_ids"):
        fields.pop(name, None)
    for name, value in _moments(record).items():
        fields[name] = value
    return [(name, _format(value)) for name, value in fields.items() if value not in (None, "", [], {}, False)]


def _moments(record: Record) -> dict[str, str]:
    """The times of a record, formatted."""
    names = ("sent_at", "started_at", "ended_at", "said_at", "valid_at", "invalid_at", "created_at", "updated_at")
    more = ("expired_at", "delete_after")
    return {name: moment(value) for name in (*names, *more) if (value := getattr(record, name, None)) is not None}


def _format(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())  # pyright: ignore[reportUnknownVariableType]
    return one_line(str(value))


def _section(title: str, lines: Sequence[str]) -> None:
    if lines:
        say("", f"{title}:", *(f"  {line}" for line in lines))


def _short(record: Record) -> str:
    return f"[{one_line(str(record.id))}]  {_cut(record.content)}"


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def _link_line(link: Link, shown: _View) -> str:
    out = link.source == shown.record.id
    other = link.target if out else link.source
    return f"{_arrow(link, out=out)}  {_short(shown.linked[other])}{_why(link)}"


def _arrow(link: Link, *, out: bool) -> str:
    return f"-- {link.type} {link.strength:.2g} ->" if out else f"<- {link.type} {link.strength:.2g} --"


def _why(link: Link) -> str:
    return f"  ({one_line(link.reason)})" if link.reason else ""


# graph, link, unlink


def _graph(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        graph = memory.links.graph(arguments.id, depth=arguments.depth, types=arguments.type)
    if arguments.json:
        say_json(graph)
    else:
        say(*_tree(graph, arguments.id))
        warn(f"{counted({'memory': len(graph.memories), 'link': len(graph.links)})}.")
    return True


def _tree(graph: Graph, root: str) -> list[str]:
    """The graph as lines: every memory once, on a shortest path from the root; every link once.

    A link to a memory elsewhere in the tree shows only its id.
    """
    memories = {record.id: record for record in graph.memories}
    touching: dict[str, list[Link]] = {id_: [] for id_ in memories}
    for link in graph.links:
        touching[link.source].append(link)
        if link.target != link.source:
            touching[link.target].append(link)
    under = _parents(graph, touching)
    lines = [_short(memories[root])]
    drawn: set[tuple[str, str, str]] = set()

    def branch(id_: str, depth: int) -> None:
        for link in touching[id_]:
            key = (link.source, link.target, link.type)
            if key in drawn:
                continue
            drawn.add(key)
            out = link.source == id_
            other = link.target if out else link.source
            begins = under.get(other) == key
            text = _short(memories[other]) if begins else f"[{one_line(other)}]  (elsewhere in this tree)"
            lines.append(f"{'    ' * depth}{_arrow(link, out=out)}  {text}{_why(link)}")
            if begins:
                branch(other, depth + 1)

    branch(root, 1)
    return lines


def _parents(graph: Graph, touching: Mapping[str, Sequence[Link]]) -> dict[str, tuple[str, str, str]]:
    """For each memory but the root, the link to its parent in the tree."""
    found: dict[str, tuple[str, str, str]] = {}
    for record in graph.memories:
        depth = graph.depths[record.id]
        for link in touching[record.id]:
            other = link.target if link.source == record.id else link.source
            if graph.depths[other] == depth - 1:
                found[record.id] = (link.source, link.target, link.type)
                break
    return found


def _link(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        receipt = memory.links.add(
            arguments.source, arguments.target, arguments.type, strength=arguments.strength, reason=arguments.reason
        )
    if arguments.json:
        say_json(receipt)
    else:
        word = "linked" if receipt.outcome == "stored" else receipt.reason
        say(f"{word}  [{one_line(arguments.source)}] {arguments.type} -> [{one_line(arguments.target)}]")
    return True


def _unlink(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        receipt = memory.links.remove(arguments.source, arguments.target, arguments.type)
    gone = receipt.outcome == "stored"
    if arguments.json:
        say_json(receipt)
    elif gone:
        say(f"unlinked  [{one_line(arguments.source)}] from [{one_line(arguments.target)}]")
    else:
        warn(f"{receipt.reason}.")
    return gone


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {
    "episodes": _episodes,
    "graph": _graph,
    "link": _link,
    "list": _list,
    "show": _show,
    "unlink": _unlink,
}
