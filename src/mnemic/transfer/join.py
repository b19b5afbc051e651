"""The join of two states of one record: commutative, associative and idempotent, and no texts are lost.

A state is a product of registers. What is read from the trail alone follows from the union of two trails; of every other
register the value that was written last wins, by the events that write it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from mnemic.stores.sql.sync import Consolidation, Ends, LinkValue, numbered
from mnemic.stores.sql.trails import WRITING, RecordState, TrailEvent, current
from mnemic.text.values import to_json

Stamp = tuple[bool, int]


def join(a: RecordState, b: RecordState) -> RecordState:
    """Both states as one; see the module. They have one id, kind and level, and their texts."""
    trail = tuple(sorted({*a.trail, *b.trail}))
    texts = dict(sorted({*a.texts, *b.texts}))  # of two at one moment the later in order
    last = max((a, b), key=_ending)
    joined = replace(
        a,
        trail=trail,
        texts=tuple(texts.items()),
        tier=max((a, b), key=lambda state: (_last(state.trail, _moves_tier), state.tier)).tier,
        created_at=min(a.created_at, b.created_at),
        expired_at=last.expired_at,
        invalid_at=last.invalid_at,
        trust=max((a, b), key=lambda state: (_written(state), -state.trust)).trust,
        emotion=max((a.emotion, b.emotion), key=lambda emotion: (emotion[0] is not None, to_json(emotion))),
        waits=None if a.waits is None or b.waits is None else min(a.waits, b.waits),
        episode=max(a.episode or "", b.episode or "") or None,
        parents=a.parents | b.parents,
        uses=(max(a.uses[0], b.uses[0]), max(a.uses[1], b.uses[1])),
        tasks=_tasks(a, b),
    )
    return replace(joined, **current(numbered(joined).texts[-1], joined.kind, joined.created_at))


def _last(trail: Iterable[TrailEvent], writes: Callable[[TrailEvent], bool]) -> int:
    """The time of the last event that writes a register; 0 for the creation."""
    return max((event.at for event in trail if writes(event)), default=0)


def _written(state: RecordState) -> Stamp:
    """The last event that wrote its text: a correction outranks what was read from the same messages later."""
    return max((event.operation == "update", event.at) for event in state.trail if event.operation in WRITING)


def _tasks(a: RecordState, b: RecordState) -> frozenset[str]:
    """The tasks that the last text has; of one text, those that no side has done."""
    if _written(a) == _written(b):
        return a.tasks & b.tasks
    return max((a, b), key=_written).tasks


def _moves_tier(event: TrailEvent) -> bool:
    return event.operation == "promote" or (event.operation == "undo" and "consolidation" in event.about)


def _ends(event: TrailEvent) -> bool:
    """Whether an event ends the validity of a memory, or makes it hold again."""
    match event.operation:
        case "supersede":
            return True
        case "restore":
            return "after" in event.about
        case "undo":
            return "consolidation" not in event.about
        case _:
            return "invalid_at" in event.about


def _ending(state: RecordState) -> tuple[int, str]:
    return _last(state.trail, _ends), to_json([state.expired_at, state.invalid_at])


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Undone consolidations, and what they had added: lineage, as child and parent, and links. That goes without an event."""

    consolidations: Collection[str]
    lineage: Collection[tuple[str, str]]
    links: Collection[Ends]


def withdrawn(consolidations: Iterable[tuple[str, Consolidation]]) -> Withdrawn:
    """What consolidations, with their ids, had added, if they are undone."""
    undone, lineage, links = set[str](), set[tuple[str, str]](), set[Ends]()
    for id_, consolidation in consolidations:
        if consolidation.undone_at is not None:
            undone.add(id_)
            heads = {row["number"]: row["doc"] for row in consolidation.rows.get("promotions", ())}
            members = consolidation.rows.get("members", ())
            lineage.update((heads[row["number"]], row["doc"]) for row in members if row["descends"])
            decided = consolidation.rows.get("decided_links", ())
            links.update((row["source"], row["target"], row["type"]) for row in decided)
    return Withdrawn(undone, lineage, links)


# Links have no trail of their own: the events of their targets tell of them.


def join_links(
    sides: tuple[Mapping[Ends, LinkValue], Mapping[Ends, LinkValue]],
    states: tuple[Mapping[str, RecordState], Mapping[str, RecordState]],
    joined: Mapping[str, RecordState],
    undone: Withdrawn,
) -> dict[Ends, LinkValue]:
    """The links of both sides, except those that one side removed, and of a memory that holds those to successors."""
    links: dict[Ends, LinkValue] = {}
    for ends in {*sides[0], *sides[1]}:
        source, target, kind = ends
        if source in joined and target in joined and (kind != "supersedes" or joined[target].expired_at is not None):
            pairs = zip(sides, states, strict=True)
            values = [(_made(of_side.get(target), ends), side[ends]) for side, of_side in pairs if ends in side]
            same = len(values) == 2 and values[0][1] == values[1][1]
            value = max(values)[1]
            removed = _last(joined[target].trail, partial(_removes, ends))
            if len(values) == 1 and (ends in undone.links or value[-1] in undone.consolidations):
                continue
            changes = (_made(joined[target], ends), *(_promoted(joined[end], value[-1]) for end in (source, target)))
            if same or max(value[0], *changes) > removed:
                links[ends] = value
    return links


def _made(target: RecordState | None, ends: Ends) -> int:
    """The last event of a target that made or changed a link."""
    return _last(target.trail, partial(_makes, ends)) if target else 0


def _promoted(state: RecordState, consolidation: str) -> int:
    """When a consolidation promoted a record and gave it the links of its members; 0 if it did not."""

    def promotes(event: TrailEvent) -> bool:
        return event.operation == "promote" and event.about.get("consolidation") == consolidation

    return _last(state.trail, promotes)


def _makes(ends: Ends, event: TrailEvent) -> bool:
    source, _, kind = ends
    if event.operation == "supersede":
        return kind == "supersedes" and event.about.get("by") == source
    return event.operation == "link" and (event.about.get("source"), event.about.get("type")) == (source, kind)


def _removes(ends: Ends, event: TrailEvent) -> bool:
    source, _, kind = ends
    if event.operation == "restore":
        return kind == "supersedes" and source in event.about.get("after", ())
    return event.operation == "unlink" and event.about.get("source") == source and kind in event.about.get("types", ())
