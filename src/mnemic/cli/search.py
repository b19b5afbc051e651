"""The commands ``search``, ``context`` and ``stats``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mnemic.cli.handles import open_memory
from mnemic.cli.output import hit_lines, one_line, plain, say, say_json, size, table, warn
from mnemic.cli.users import names_in

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.memory import Memory
    from mnemic.types import Stats

__all__ = ["COMMANDS"]


def _search(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        result = memory.search(
            arguments.query, k=arguments.k, min_evidence=arguments.min_evidence,
            include_expired=arguments.include_expired, **_search_options(arguments, memory),
        )  # fmt: skip
    if arguments.json:
        say_json({"query": arguments.query, "recipe": arguments.recipe, **plain(result)})
        return bool(result)
    for rank, hit in enumerate(result, start=1):
        say(*hit_lines(rank, hit))
    found = f"evidence: {result.evidence}, probability {result.probability:.2f}" if result else "nothing found"
    warn(f"{found}.")
    return bool(result)


def _context(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        found = memory.get_memory_context(
            arguments.query, max_tokens=arguments.max_tokens, **_search_options(arguments, memory)
        )
    if arguments.json:
        say_json({"query": arguments.query, **plain(found)})
    elif not found:
        warn("nothing found.")
    else:
        say(found.text)
        rest = ", more was found than fits" if found.truncated else ""
        warn(f"{found.token_count} tokens from {len(found.hits)} records{rest}; evidence: {found.evidence}.")
    return bool(found)


def _search_options(arguments: Namespace, memory: Memory) -> dict[str, Any]:
    mood = arguments.mood
    return {
        "mood": memory.emotion(mood) if mood not in (None, "session") else mood,
        "recipe": arguments.recipe,
        "kinds": arguments.kinds,
        "types": arguments.type,
        "tags": arguments.tag,
        "since": arguments.since,
        "until": arguments.until,
        "at": arguments.at,
        "known_at": arguments.known_at,
        "reach": arguments.reach,
        "session": arguments.session,
    }


def _stats(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        stats = memory.stats()
    _suggest_users(arguments, stats)
    if arguments.plot is not None:
        from mnemic.cli import plot

        plot.plot(arguments)
    if arguments.json:
        say_json({"user": arguments.user, **plain(stats)})
        return True
    model = f"{stats.embedding_model}, {stats.dimension} numbers each" if stats.embedding_model else "none yet"
    rows: list[tuple[str, object]] = [
        ("memory", f"{stats.location} (schema {stats.schema_version}, {size(stats.bytes_on_disk)})"),
        ("user", arguments.user),
        ("messages", f"{stats.messages} in {stats.sessions} sessions"),
        ("episodes", stats.episodes),
        ("memories", _counts(stats.memories)),
        ("links", stats.links),
        ("projects", stats.projects),
        ("pending", _counts(stats.pending)),
        ("vectors", model),
    ]
    say(*table(rows))
    return True


def _suggest_users(arguments: Namespace, stats: Stats) -> None:
    """If the user has no records, mention the number of others: perhaps another name was meant."""
    if stats.messages or stats.episodes or stats.memories:
        return
    names = names_in(arguments.dir)
    if arguments.user not in names and (others := len(names)):
        has = "user has" if others == 1 else "users have"
        warn(f"the user {one_line(arguments.user)} has no records; {others} other {has} some: mnemic users.")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {"context": _context, "search": _search, "stats": _stats}
