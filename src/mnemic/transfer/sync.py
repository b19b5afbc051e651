"""Sync of two records of one user, without a server: afterwards both have the same.

Erasures are carried over first, by the ordinary path on each side. Then the states of each record are joined, and each side
takes over in one transaction what is new to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING, Literal, cast

from mnemic.errors import Conflict, InvalidInput
from mnemic.lifecycle import erasure
from mnemic.paths import is_address
from mnemic.protocols import Progress
from mnemic.runtime.indexer import RedactingStore, unwrap_store
from mnemic.runtime.runtime import Runtime, Uses
from mnemic.runtime.views import Views
from mnemic.stores.sql.erasure import ERASURE
from mnemic.stores.sql.sync import Consolidation, Ends, LinkValue, Merged, MergedRows, UserRows, numbered
from mnemic.stores.sql.tombstones import EVERYTHING, Tombstones, covers
from mnemic.stores.sql.trails import RecordState, TrailEvent, content_and_title
from mnemic.text.values import from_micros
from mnemic.transfer.export import encryption_key
from mnemic.transfer.join import Constraints, Unseen, corrections, join, join_links, withdrawn
from mnemic.transfer.records import is_same, opened
from mnemic.types import Scope, SyncConflict, SyncedSide, SyncReport, TextVectors

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from mnemic.stores import Store

ATTEMPTS = 10
"""Attempts to merge records that are being written to."""
Pair = tuple[UserRows, UserRows]


@dataclass(slots=True)
class _Side:
    """One of the two records, and what it took over so far: ids of records, and the number of erased ones."""

    runtime: Runtime
    added: set[str] = field(default_factory=set[str])
    updated: set[str] = field(default_factory=set[str])
    erased: int = 0
    before: Mapping[str, RecordState] = field(default_factory=dict[str, RecordState])
    """The outlines before anything was erased."""

    def report(self, total: int) -> SyncedSide:
        return SyncedSide(
            location=self.runtime.store.location, added=len(self.added), updated=len(self.updated - self.added),
            erased=self.erased, unchanged=total - len(self.added | self.updated),
        )  # fmt: skip

    def has_rewritten(self, state: RecordState) -> bool:
        """Whether an erasure of this sync changed a record."""
        previous = self.before.get(state.id)
        return previous is not None and previous.trail != state.trail

    def count(self, merged: MergedRows) -> None:
        self.added |= {record.after.id for record in merged.records if record.before is None}
        self.updated |= {record.after.id for record in merged.records if record.before is not None}


@contextmanager
def beside(runtime: Runtime, location: str | Path, key: str | bytes | None) -> Generator[Runtime]:
    """The record in another place, with the models of a runtime; a folder has the same key, if none is given.

    Raises:
        ConfigurationError: the place is none of a record.
        InvalidInput: there is no record.
        WrongKey: it is encrypted under another key, or not at all.
        StoreError: it cannot be opened.
    """
    with opened(location, key or (None if is_address(str(location)) else encryption_key(runtime)), make=False) as store:
        guarded = cast("Store", RedactingStore(store, runtime.secrets, runtime.indexer))
        views = Views(guarded, in_memory=False, index=None)
        yield replace(
            runtime, store=guarded, fence=guarded.fence, views=views, uses=Uses(guarded), updater=None
        )  # fmt: skip


def sync(
    runtime: Runtime, other: Runtime, user: str, *, dry_run: bool = False, progress: Progress | None = None
) -> SyncReport:
    """Merge the records of a user in two places; see ``Admin.sync``."""
    stores = (unwrap_store(runtime.store), unwrap_store(other.store))
    if is_same(*stores):
        raise InvalidInput("Both are the same record. Name another one to sync with.")
    sides = (_Side(runtime), _Side(other))
    if not dry_run:
        for side in sides:
            side.runtime.store.synced.check_writable()
            side.runtime.uses.settle(user)
    conflicts: dict[str, SyncConflict] = {}
    for _ in range(ATTEMPTS):
        rows = _without_erased(sides, user, dry_run=dry_run)
        if not any(r.outlines or r.tombstones for r in rows) and not any(side.erased for side in sides):
            raise InvalidInput(
                f"Neither record has a user {user!r}. Name a user that one of them has; mnemic users lists them."
            )
        try:
            merge = _Merge(sides, user, rows)
        except _OutdatedError:
            continue
        conflicts |= merge.conflicts
        if merge.write(dry_run=dry_run, progress=progress):
            total = len(merge.states)
            return SyncReport(
                user=user, sides=(sides[0].report(total), sides[1].report(total)), conflicts=tuple(conflicts.values()),
                dry_run=dry_run,
            )  # fmt: skip
    raise Conflict(
        "A record was changed during every attempt to merge them. Both are whole; sync them when they are idle."
    )


# Erasures


def _without_erased(sides: tuple[_Side, _Side], user: str, *, dry_run: bool) -> Pair:
    """Both sides without what either has erased, down to what was derived from it there."""
    while True:
        rows = tuple(side.runtime.store.synced.read(user) for side in sides)
        tombstones = _union(rows[0].tombstones, rows[1].tombstones)
        erased = [[id_ for id_, state in r.outlines.items() if covers(tombstones, id_, state.began)] for r in rows]
        if dry_run:
            return cast("Pair", tuple(map(partial(_after_erasure, user), sides, rows, erased)))
        if not any(erased) and rows[0].tombstones == rows[1].tombstones:
            return cast("Pair", rows)
        for side, side_rows, ids in zip(sides, rows, erased, strict=True):
            if side_rows.tombstones != tombstones:
                side.runtime.store.synced.add_tombstones(user, tombstones)
            if ids:
                side.before = side.before or side_rows.outlines
                all_of_them = len(ids) == len(side_rows.outlines) and EVERYTHING in tombstones
                side.erased += _erase(side.runtime, user, ids, all_of_them=all_of_them)


def _union(a: Tombstones, b: Tombstones) -> Tombstones:
    return {record: max(a.get(record, 0), b.get(record, 0)) for record in {*a, *b}}


def _erase(runtime: Runtime, user: str, ids: Sequence[str], *, all_of_them: bool) -> int:
    """Erase records by the ordinary path; returns their number, with those derived from them."""
    scope = Scope(user=user)
    if all_of_them:
        erasure.erase_user(runtime, scope)
        return len(ids)
    return len(erasure.erase_records(runtime, scope, ids, UTC).ids)


def _after_erasure(user: str, side: _Side, rows: UserRows, erased_ids: Sequence[str]) -> UserRows:
    """A side as it would be after the erasure."""
    family = side.runtime.store.erasure.lineage(user, erased_ids)
    erased = erasure.plan_erasure(family, erased_ids).erased
    side.erased = len(erased)
    return replace(rows, outlines={id_: state for id_, state in rows.outlines.items() if id_ not in erased})


# Merge


class _OutdatedError(Exception):
    """A record was erased after its outline was read."""


class _Merge:
    """The records of both sides as one.

    Attributes:
        states: all records of the user afterwards.
        conflicts: those that both sides had changed, by id.
    """

    def __init__(self, sides: tuple[_Side, _Side], user: str, rows: Pair) -> None:
        self._sides, self._user, self._rows = sides, user, rows
        left, right = rows[0].outlines, rows[1].outlines
        differing = sorted(id_ for id_ in {*left, *right} if left.get(id_) != right.get(id_))
        self._states = tuple(self._read(side, r, differing) for side, r in zip(sides, rows, strict=True))
        self._unseen = (self._new_events(0), self._new_events(1))
        joined = {id_: self._join(id_) for id_ in differing}
        self.conflicts = {id_: conflict for id_, state in joined.items() if (conflict := self._conflict(state))}
        self._withdrawn = withdrawn([*self._undo_states(0).items(), *self._undo_states(1).items()])
        for id_ in differing:
            joined[id_] = replace(joined[id_], parents=self._parents(joined[id_]))
        constraints = Constraints(left, joined, self._load, self._unseen)
        constraints.enforce()
        self.states, self._joined, self._links = constraints.states, constraints.changed, constraints.links

    def _read(self, side: _Side, rows: UserRows, ids: Iterable[str]) -> dict[str, RecordState]:
        present = [id_ for id_ in ids if id_ in rows.outlines]
        states = side.runtime.store.synced.states(self._user, present)
        if len(states) < len(present):
            raise _OutdatedError
        return states

    def _new_events(self, index: int) -> Unseen:
        """What one side did that the other one has not seen."""
        unseen: dict[str, Sequence[TrailEvent]] = {}
        for id_, state in self._states[index].items():
            other = self._states[1 - index].get(id_)
            seen = {*other.trail} if other else ()
            if events := [event for event in state.trail if event not in seen] if seen else state.trail:
                unseen[id_] = events
        return unseen

    def _load(self, id: str) -> RecordState:
        """The texts of a record that is equal on both sides."""
        for side, rows, states in zip(self._sides, self._rows, self._states, strict=True):
            states.update(self._read(side, rows, [id]))
        return self._join(id)

    def _join(self, id: str) -> RecordState:
        a, b = (states.get(id) for states in self._states)
        if a is None or b is None:
            return cast("RecordState", a or b)
        if (a.kind, a.project, a.session) != (b.kind, b.project, b.session):
            raise Conflict(
                f"The id {id!r} names a {a.kind} on one side and a {b.kind} on the other, or one of another project or "
                "session. Nothing was merged. Store both under other ids, then erase this one."
            )
        fresh = [side.has_rewritten(state) for side, state in zip(self._sides, (a, b), strict=True)]
        first, second = fresh[1] and not fresh[0], fresh[0] and not fresh[1]
        return _state_after_erasure(a, b, first=first, second=second) or join(a, b)

    def _conflict(self, joined: RecordState) -> SyncConflict | None:
        """What both sides changed of a record, if a user sees a difference."""
        a, b = (states.get(joined.id) for states in self._states)
        if a is None or b is None or {*a.trail} <= {*b.trail} or {*a.trail} >= {*b.trail}:
            return None
        moments, said = zip(*(self._said(index, joined.id) for index in (0, 1)), strict=True)
        shown = [_shown(state, text) for state, text in zip((a, b), said, strict=True)]
        differs = tuple(name for name, mine, theirs in zip(_SHOWN, *shown, strict=True) if mine != theirs)
        kept = moments.index(max(moments)) if any(moments) else int(_text(a) != _text(joined))
        return SyncConflict(
            id=joined.id, differs=differs, kept=said[kept], other=said[1 - kept],
            kept_at=from_micros((a, b)[kept].trail[-1].at), other_at=from_micros((b, a)[kept].trail[-1].at),
        ) if differs else None  # fmt: skip

    def _said(self, index: int, id: str) -> tuple[int, str]:
        """The text of a record on one side, or that of its last correction, with the time, if the other side had seen none."""
        moment, outlines, passed = 0, self._rows[index].outlines, [id]
        while later := [c for c in corrections(self._unseen[index].get(passed[-1], ())) if c[1] in outlines]:
            at, by = later[-1]
            if by in passed:
                break
            moment = max(at, outlines[by].began)
            passed.append(by)
        return moment, _text(self._states[index].get(passed[-1]) or self._load(passed[-1]))

    def _undo_states(self, index: int) -> dict[str, Consolidation]:
        """The consolidations of one side, undone if they are on either."""
        other = self._rows[1 - index].consolidations
        return {
            id_: replace(cycle, undone_at=cycle.undone_at or (other[id_].undone_at if id_ in other else None))
            for id_, cycle in self._rows[index].consolidations.items()
        }

    def _parents(self, joined: RecordState) -> frozenset[str]:
        """What a record was made from, on either side."""
        a, b = (states[joined.id].parents if joined.id in states else joined.parents for states in self._states)
        present = (id_ for id_ in joined.parents if any(id_ in rows.outlines for rows in self._rows))
        return frozenset(id_ for id_ in present if id_ in a & b or (joined.id, id_) not in self._withdrawn.lineage)

    def write(self, *, dry_run: bool, progress: Progress | None) -> bool:
        """Write what is new to each side; False if one has changed since it was read."""
        links = self._links | join_links(
            (self._rows[0].links, self._rows[1].links), (self._rows[0].outlines, self._rows[1].outlines), self.states,
            self._withdrawn,
        )  # fmt: skip
        merges = [self._news(index, links) for index in (0, 1)]
        done, total = 0, sum(len(merged.records) for merged in merges)
        for side, rows, merged in zip(self._sides, self._rows, merges, strict=True):
            if merged and not dry_run:
                if not side.runtime.store.synced.put(self._user, rows.event, merged):
                    return False
                side.runtime.views.drop(self._user)
            side.count(merged)
            done += len(merged.records)
            if progress:
                progress(done, total)
        return True

    def _news(self, index: int, links: Mapping[Ends, LinkValue]) -> MergedRows:
        """What one side takes over."""
        rows, states, model = self._rows[index], self._states[index], self._rows[1 - index].model
        changed = [(states.get(id_), state) for id_, state in self._joined.items() if states.get(id_) != state]
        changed.sort(key=lambda pair: (pair[1].created_at, pair[1].id))
        vectors = self._vectors(index, [after for _, after in changed])
        return MergedRows(
            records=[Merged(before, after, vectors.get(after.id)) for before, after in changed],
            model=model.name if model else "",
            links={ends: value for ends, value in links.items() if rows.links.get(ends) != value},
            unlinked=[ends for ends in rows.links if ends not in links],
            consolidations=self._consolidations(index),
        )

    def _vectors(self, index: int, states: Sequence[RecordState]) -> dict[str, TextVectors]:
        """The vectors of texts that are those of the other side, if both sides use one model."""
        rows, other, theirs = self._rows[index], self._rows[1 - index], self._states[1 - index]
        side = self._sides[index].runtime
        model = rows.model or (other.model if other.model and other.model.name == side.indexer.embedder.id else None)
        if model is None or model != other.model:
            return {}
        same = [s.id for s in states if s.id in theirs and numbered(s).texts[-1] == numbered(theirs[s.id]).texts[-1]]
        return self._sides[1 - index].runtime.store.knowledge.vectors(self._user, same)

    def _consolidations(self, index: int) -> dict[str, Consolidation]:
        """The undo data of the other side, and what was undone there."""
        existing, new = self._rows[index].consolidations, dict[str, Consolidation]()
        for id_, cycle in self._rows[1 - index].consolidations.items():
            previous = existing.get(id_)
            if previous is None:
                promoted = [self._revised(1 - index, row) for row in cycle.rows.get("promotions", ())]
                new[id_] = replace(cycle, rows={**cycle.rows, "promotions": promoted})
            elif cycle.undone_at is not None and (previous.undone_at is None or previous.undone_at < cycle.undone_at):
                new[id_] = replace(previous, undone_at=cycle.undone_at)
        return new

    def _revised(self, source: int, row: Mapping[str, object]) -> Mapping[str, object]:
        """A promotion with the number that its new text has after the merge."""
        id_ = str(row["doc"])
        if row["revised"] is None or id_ not in self._states[source] or id_ not in self._joined:
            return row
        before, after = numbered(self._states[source][id_]).numbers, numbered(self._joined[id_]).numbers
        moments = (moment for moment, number in before.items() if number == row["revised"] and moment in after)
        return {**row, "revised": next((after[moment] for moment in moments), None)}


def _state_after_erasure(a: RecordState, b: RecordState, *, first: bool, second: bool) -> RecordState | None:
    """The state of one side, if the other one has nothing beyond it but what an erasure did to it there; else None.

    If that is so of both, ``first`` or ``second`` says which side did it before this sync.
    """
    extra = [[event for event in {*x.trail} - {*y.trail} if ERASURE not in event.about] for x, y in ((a, b), (b, a))]
    if all(extra) or {*a.trail} <= {*b.trail} or {*b.trail} <= {*a.trail}:
        return None
    erased, other = (a, b) if extra[0] or (not extra[1] and (first or (not second and a.trail > b.trail))) else (b, a)
    return join(erased, replace(erased, emotion=other.emotion, waits=other.waits, uses=other.uses))


_SHOWN: Sequence[Literal["text", "status", "validity"]] = ("text", "status", "validity")


def _text(state: RecordState) -> str:
    return content_and_title(numbered(state).texts[-1])[0]


def _shown(state: RecordState, said: str) -> tuple[object, ...]:
    """What a user sees of a record, with the text that stands in its place."""
    _, title = content_and_title(numbered(state).texts[-1])
    return (said, title), state.standing, (state.expired_at, state.invalid_at)
