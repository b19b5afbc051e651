"""The join of two states of one record: commutative, associative and idempotent, and no texts are lost.

A state is a product of registers. What is read from the trail alone follows from the union of two trails; of every other
register the value that was written last wins, by the events that write it. Constraints on all records of the user together
are enforced afterwards: each is a function of the joined states, and for corrections of what neither side had seen, so that
every order of syncs comes to the same end. What one changes is an event right after the last one of its record, with the same
time on every device.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

from mnemic.knowledge.remember import REPLACED
from mnemic.lifecycle.maintenance import EXPIRED, OLD
from mnemic.lifecycle.revision import EMPTY
from mnemic.lifecycle.sessions import summary_id
from mnemic.stores.sql.sync import Consolidation, Ends, LinkValue, numbered
from mnemic.stores.sql.trails import UNCHANGED, RecordState, TrailEvent, current, statements
from mnemic.text.values import LATEST, to_json
from mnemic.types import Scope
from mnemic.types.literals import TRANSITIONS

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
    return max((event.operation == "update" and not event.describes, event.at) for event in state.trail if event.writes)


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


def _with_changes(fields: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Fields with what has changed between two versions, where they are as before the change."""
    names = {name for name in {*old, *new} if old.get(name) != new.get(name) and fields.get(name) == old.get(name)}
    merged = {**fields, **{name: new.get(name) for name in names}}
    return {name: value for name, value in merged.items() if value is not None}


# Constraints

Unseen = Mapping[str, Sequence[TrailEvent]]
"""The events of a side that the other one had not seen, by record."""

LATER = "another device has a later correction"


def corrections(events: Iterable[TrailEvent]) -> list[tuple[int, str]]:
    """What was put in the place of a record as a correction, by its events: times and ids, in order."""
    ends = (event for event in events if event.operation == "supersede")
    named = ((event.at, about["by"]) for event in ends if (about := event.about).get("reason") in (REPLACED, LATER))
    return sorted(named)


class Constraints:
    """The states of all records of a user, and those that changed.

    Args:
        outlines: the states that are equal on both sides.
        changed: the others, joined, with their texts.
        load: reads the texts of one that a rule changes.
        unseen: what each side did that the other one had not seen.

    Attributes:
        links: to the successors of memories that a rule ended.
    """

    def __init__(
        self, outlines: Mapping[str, RecordState], changed: dict[str, RecordState], load: Callable[[str], RecordState],
        unseen: tuple[Unseen, Unseen],
    ) -> None:  # fmt: skip
        self.changed, self.states, self._load, self._unseen = changed, {**outlines, **changed}, load, unseen
        self.links: dict[Ends, LinkValue] = {}

    def enforce(self) -> None:
        """Apply the rules."""
        self._break_cycles()
        self._keep_a_representative()
        self._keep_retained()
        self._forget_corrections()
        self._forget_derived()
        self._keep_one_correction()
        self._keep_fields()
        self._keep_one_text()
        self._keep_one_value()
        self._limit_trust()
        self._assign_messages()

    def _change(self, id: str, **values: Any) -> None:
        state = self.changed.get(id) or self._load(id)
        self.changed[id] = self.states[id] = replace(state, **values)

    def _add_event(self, id: str, operation: str, detail: Mapping[str, object], **values: Any) -> None:
        trail = self.states[id].trail
        event = TrailEvent(trail[-1].at + 1, operation, to_json(dict(detail)))
        self._change(id, trail=(*trail, event), **values)

    def _age(self, id: str) -> tuple[int, str]:
        return self.states[id].created_at, id

    def _break_cycles(self) -> None:
        """No record is made from itself: the oldest of a circle is made from none of it."""
        graph = {id_: sorted(state.parents) for id_, state in sorted(self.states.items()) if state.parents}
        while True:
            try:
                TopologicalSorter(graph).prepare()
            except CycleError as error:
                circle: list[str] = error.args[1]
                oldest = min(circle, key=self._age)
                child = circle[circle.index(oldest) + 1]
                self._change(child, parents=self.states[child].parents - {oldest})
                graph[child] = sorted(self.states[child].parents)
            else:
                return

    def _keep_a_representative(self) -> None:
        """Memories that stand for each other, by consolidations of two devices: the oldest comes back."""
        into = {id_: head for id_ in self.states if (head := self._absorbed_into(id_))}
        for id_ in sorted(into, key=self._age):
            seen, current = [id_], into.get(id_)
            while current is not None and current not in seen:
                seen.append(current)
                current = into.get(current)
            if current == id_:
                self._add_event(id_, "restore", {"reason": "it stands for another memory on another device"})
                del into[id_]

    def _keep_retained(self) -> None:
        """What one side retired comes back: a message that a memory cites, and a memory that holds longer by now."""
        cited = {parent for state in self.states.values() if state.holds for parent in state.parents}
        for id_ in sorted(self.changed):
            state = self.states[id_]
            if state.standing != "archived":
                continue
            last = next(event for event in reversed(state.trail) if event.operation in TRANSITIONS)
            reason, until = last.about.get("reason"), state.delete_after or LATEST
            if (reason == OLD and id_ in cited) or (reason == EXPIRED and until > last.at):
                self._add_event(id_, "restore", {"reason": "another device keeps it"})

    def _keep_fields(self) -> None:
        """The fields that one side changed of a text that the other one corrected hold for the new text as well."""
        for id_ in sorted(self.changed):
            state = self.changed[id_]
            events = {*self._unseen[0].get(id_, ()), *self._unseen[1].get(id_, ())} & {*state.trail}
            edits = sorted(event.at for event in events if event.describes and event.operation == "update")
            if not edits:
                continue
            texts, versions = dict(state.texts), numbered(state)
            stated, last = statements(state.trail, texts), max(versions.numbers, key=versions.numbers.__getitem__)
            fields = before = json.loads(texts[last])
            for edit in edits:
                group = [time for time, statement in stated.items() if statement == stated[edit] and time < edit]
                if stated[edit] != stated[last] and group:
                    fields = _with_changes(fields, json.loads(texts[max(group)]), json.loads(texts[edit]))
            if fields != before:
                at, text = state.trail[-1].at + 1, to_json(fields)
                derived = current(text, state.kind, state.created_at)
                self._add_event(id_, "update", {"text": UNCHANGED}, texts=(*state.texts, (at, text)), **derived)

    def _absorbed_into(self, id: str) -> str | None:
        state = self.states[id]
        if state.kind != "memory" or state.standing != "archived":
            return None
        moves = [event for event in state.trail if event.operation in ("absorb", "archive", "restore", "undo")]
        return moves[-1].about.get("into") if moves[-1].operation == "absorb" else None

    def _groups(self, by: Callable[[RecordState], object]) -> Iterator[list[str]]:
        """The memories of a level that are believed and have something in common, where there are several."""
        groups: dict[tuple[object, ...], list[str]] = defaultdict(list)
        for id_, state in self.states.items():
            if state.holds and (value := by(state)) is not None:
                groups[state.project or "", state.session or "", value].append(id_)
        yield from [ids for ids in groups.values() if len(ids) > 1]

    def _keep_one_text(self) -> None:
        """Of memories that say the same at a level, under one key or none, the oldest stays, and any that holds longer."""
        for ids in self._groups(lambda state: (state.hash, state.key)):
            retained = list[str]()
            for id_ in sorted(ids, key=self._age):
                first = next((other for other in retained if self.states[other].until >= self.states[id_].until), None)
                if first is None:
                    retained.append(id_)
                    continue
                reason = f"the memory {first!r} says the same, stored on another device"
                self._add_event(id_, "archive", {"reason": reason})

    def _keep_one_value(self) -> None:
        """Of memories with one key at a level, that with the last value holds; each other one ended when the next began."""
        for ids in self._groups(lambda state: state.key):
            order = sorted(ids, key=lambda id_: (self.states[id_].since, id_))
            for id_, after in pairwise(order):
                self._end(id_, after, "another device has a later value")

    def _end(self, id: str, after: str, reason: str) -> None:
        """End a memory when the next one began, unless it had ended before."""
        state, began = self.states[id], max(self.states[id].since, self.states[after].since)
        if state.until <= began:
            return
        moment, ended = state.trail[-1].at + 1, began if state.invalid_at is None else min(began, state.invalid_at)
        self._add_event(id, "supersede", {"by": after, "reason": reason}, expired_at=moment, invalid_at=ended)
        self.links[after, id, "supersedes"] = (moment, 1.0, reason, "")

    def _keep_one_correction(self) -> None:
        """Of what both sides put in the place of a memory the last holds, and each other one ended when the next began."""
        for id_ in sorted({*self._unseen[0]} & {*self._unseen[1]}):
            mine, theirs = ({by for _, by in corrections(unseen[id_])} for unseen in self._unseen)
            if self.states[id_].expired_at is None or not (mine - theirs and theirs - mine):
                continue
            order = self._successors(id_)
            for number, by in enumerate(order):
                others = (after for after in order[number + 1 :] if self.states[after].hash != self.states[by].hash)
                if self.states[by].holds and (after := next(others, None)):
                    self._end(by, after, LATER)

    def _successors(self, id: str) -> list[str]:
        """What was put in the place of a memory, and of that in turn, in order of time."""
        times, waiting = {id: 0}, [id]
        while waiting:
            for moment, by in corrections(self.states[waiting.pop()].trail):
                if by in self.states and by != id:
                    waiting += [] if by in times else [by]
                    times[by] = max(moment, times.get(by, 0), self.states[by].began)
        return sorted(times.keys() - {id}, key=lambda by: (times[by], by))

    def _forget_corrections(self) -> None:
        """What one side put in the place of a memory that the other one forgot is forgotten, too.

        Forgotten is it, the message that says it, or what the other side put in its place.
        """
        for mine, theirs in (self._unseen, self._unseen[::-1]):
            for id_ in sorted(id_ for id_, events in mine.items() if corrections(events)):
                related = {id_, *self.states[id_].parents, *self._successors(id_)}
                if any(self._is_forgotten(other, theirs) for other in related):
                    self._forget(id_, mine)

    def _forget_derived(self) -> None:
        """What one side made of messages that the other one forgot is forgotten, too, and comes back with these.

        An episode of which something is left is written again by the next processing.
        """
        for mine, theirs in (self._unseen, self._unseen[::-1]):
            gone = {id_ for id_ in theirs if self.states[id_].kind == "message" and self._is_forgotten(id_, theirs)}
            levels = {(self.states[id_].project, self.states[id_].session) for id_ in gone}
            scopes = (Scope(user="", project=project, session=session) for project, session in levels if session)
            summaries = {summary_id(scope) for scope in scopes}
            for id_ in sorted(mine):
                state = self.states[id_]
                is_made = id_ in summaries or not gone.isdisjoint(state.parents)
                is_left = state.kind == "episode" and not all(self._is_archived(parent) for parent in state.parents)
                if state.kind != "message" and state.standing == "live" and is_made and not is_left:
                    self._add_event(id_, "archive", {"reason": EMPTY})

    def _is_archived(self, id: str) -> bool:
        return id in self.states and self.states[id].standing == "archived"

    def _is_forgotten(self, id: str, unseen: Unseen) -> bool:
        """Whether a side forgot a record."""
        state = self.states[id]
        if state.kind == "episode" or state.standing != "archived":
            return False
        archived = [event.about for event in unseen.get(id, ()) if event.operation == "archive"]
        return any(
            about.get("everywhere")
            or (state.kind == "message" and "quarantine" not in about and about.get("reason") != OLD)
            for about in archived
        )

    def _forget(self, id: str, unseen: Unseen) -> None:
        """Archive a memory, and what was put in its place on the same side alone."""
        waiting, reached = [id], {id}
        while waiting:
            id_ = waiting.pop()
            if self.states[id_].standing == "live":
                self._add_event(id_, "archive", {"reason": "forgotten on another device", "everywhere": True})
            later = {by for _, by in corrections(unseen.get(id_, ())) if by in self.states} - reached
            reached |= later
            waiting += sorted(by for by in later if self.states[by].trail[0] in unseen.get(by, ()))

    def _limit_trust(self) -> None:
        """No record is trusted more than what it was made from."""
        children: dict[str, list[str]] = defaultdict(list)
        for id_, state in self.states.items():
            for parent in state.parents:
                children[parent].append(id_)
        lowered = [*self.changed]
        for id_ in self.changed:
            lowered += self.states[id_].parents
        while lowered:
            parent = lowered.pop()
            for child in children[parent]:
                if self.states[child].trust > self.states[parent].trust:
                    self._change(child, trust=self.states[parent].trust)
                    lowered.append(child)

    def _assign_messages(self) -> None:
        """A message belongs to an episode that has it: to a live one before others, that no later one was made from."""
        episodes: dict[str, list[str]] = defaultdict(list)
        for id_, state in self.states.items():
            for parent in state.parents if state.kind == "episode" else ():
                episodes[parent].append(id_)
        for id_ in [id_ for id_, state in self.changed.items() if state.kind == "message"]:
            latest = [episode for episode in episodes[id_] if not set(episodes[episode]) & set(episodes[id_])]
            chosen = min(latest, key=lambda e: (self.states[e].standing != "live", self._age(e)), default=None)
            self._change(id_, episode=chosen, waits=0 if chosen else self.states[id_].waits)
