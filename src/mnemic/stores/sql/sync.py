"""The records of one user as two devices compare them, and the transaction that writes what was merged.

Compared are outlines, which hold no text. Rows are read whole where outlines differ.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mnemic.errors import StoreCorrupt
from mnemic.stores.schema import LINKS, OUTCOMES, PROMOTIONS, RECORDS
from mnemic.stores.sql import changes, queries, rows, trails
from mnemic.stores.sql.changes import Transaction
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.queries import AMONG, Reader
from mnemic.stores.sql.tombstones import Tombstones, digest, last_erased, put_tombstones, tombstones
from mnemic.stores.sql.trails import RecordState
from mnemic.text.terms import analyse
from mnemic.types import Indexing, TextVectors, searchable

if TYPE_CHECKING:
    from mnemic.protocols import Model

Row = Mapping[str, Any]
Ends = tuple[str, str, str]
"""Source, target and type of a link."""
LinkValue = tuple[int, float, str, str]
"""When a link was created, its strength and reason, and the consolidation that gave it to a representative, or nothing."""
_LINK_VALUE = ("created_at", "strength", "reason", "consolidation")
_OUTLINE = (
    "doc", "id", "kind", "project", "session", "hash", "key", "status", "tier_before", "version", "created_at", "said_at",
    "valid_at", "expired_at", "invalid_at", "delete_after", "trust", "valence", "arousal", "emotion_confidence", "waits",
)  # fmt: skip
PAGE = 500
_NONE = frozenset[str]()
"""One for all records: an empty set of its own would be a tenth of an outline."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """The undo data of a consolidation: when it was made and undone, and its rows by table, with ids instead of docs."""

    at: int
    undone_at: int | None
    rows: Mapping[str, Sequence[Row]]


@dataclass(frozen=True, slots=True)
class UserRows:
    """A user of a record at one event: outlines by id, links, undo data by consolidation, and tombstones."""

    event: int
    model: Model | None
    outlines: Mapping[str, RecordState]
    links: Mapping[Ends, LinkValue]
    consolidations: Mapping[str, Consolidation]
    tombstones: Tombstones


class Merged(NamedTuple):
    """A record as one side has it, None if it has not, and as it becomes; with its vector, if the other side has it."""

    before: RecordState | None
    after: RecordState
    vectors: TextVectors | None

    @property
    def only_used(self) -> bool:
        """Whether nothing but its uses is new."""
        return self.before is not None and replace(self.before, uses=self.after.uses) == self.after


@dataclass(frozen=True, slots=True)
class MergedRows:
    """What one side takes over; ``model`` is that of the vectors."""

    records: Sequence[Merged] = ()
    model: str = ""
    links: Mapping[Ends, LinkValue] = field(default_factory=dict[Ends, LinkValue])
    unlinked: Collection[Ends] = ()
    consolidations: Mapping[str, Consolidation] = field(default_factory=dict[str, Consolidation])

    def __bool__(self) -> bool:
        return bool(self.records or self.links or self.unlinked or self.consolidations)


class SyncedRows(Reader[Database]):
    """Reads and writes the records of a user that two devices share."""

    def read(self, user: str) -> UserRows:
        """The user at one moment."""
        with self._snapshot(user) as (db, user_id):
            states = _states(db, user_id, None)
            return UserRows(
                event=queries.last_event(db, user_id), model=queries.model_of(db), outlines=states, links=_links(db, user_id),
                consolidations=_consolidations(db, user_id), tombstones=tombstones(db, digest(user)),
            )  # fmt: skip

    def states(self, user: str, ids: Sequence[str]) -> dict[str, RecordState]:
        """Records with their texts, by id."""
        states: dict[str, RecordState] = {}
        for start in range(0, len(ids), PAGE):
            with self._snapshot(user) as (db, user_id):
                docs = queries.docs_of(db, user_id, ids[start : start + PAGE])
                states |= _states(db, user_id, [*docs.values()])
        return states

    def erased(self, user: str, ids: Iterable[str]) -> dict[str, int]:
        """The time of the last erasure of each id that has one, alone or with its user (microseconds since 1970)."""
        with self._snapshot(user) as (db, _):
            times = {id_: last_erased(db, digest(user), id_) for id_ in ids}
        return {id_: moment for id_, moment in times.items() if moment}

    def add_tombstones(self, user: str, new: Tombstones) -> None:
        """Add the tombstones of another device."""
        with self._db.write() as db:
            put_tombstones(db, digest(user), new)

    def check_writable(self) -> None:
        """Check that the record can be written.

        Raises:
            StoreReadOnly: it was opened read-only.
        """
        with self._db.write():
            pass

    def put(self, user: str, event: int, merged: MergedRows) -> bool:
        """Take over what was merged, in one transaction; False, without a write, if the user changed since the event."""

        def work(db: Connection) -> bool:
            user_id = changes.lock_known_user(db, user)
            if (0 if user_id is None else queries.last_event(db, user_id)) != event:
                return False
            user_id = changes.lock_user(db, user) if user_id is None else user_id
            _Writer(Transaction(db, user_id)).write(merged)
            return True

        return self._db.apply(work)


# Read


def _states(db: Connection, user_id: int, docs: Sequence[int] | None) -> dict[str, RecordState]:
    """The records of a user: outlines of all, or some of them with their texts."""
    condition, values = ("", ()) if docs is None else (f"AND doc IN {AMONG}", (docs,))
    names = _OUTLINE if docs is None else RECORDS.names
    selected = rows.select(db, RECORDS, f"WHERE user_id = ? {condition}", (user_id, *values), names=names)
    dependents = _Dependents(db, user_id, condition, values)
    texts = {} if docs is None else _texts(db, selected)
    return {row["id"]: dependents.state(row, texts.get(row["doc"])) for row in selected}


def _texts(db: Connection, selected: Sequence[Row]) -> dict[int, dict[int, str]]:
    """The texts of records by doc and version."""
    kinds = {row["doc"]: row["kind"] for row in selected}
    texts = {row["doc"]: {row["version"]: trails.text_of(row, row["kind"])} for row in selected}
    sql = f"SELECT doc, version, row FROM versions WHERE doc IN {AMONG}"
    for doc, version, text in db.execute(sql, ([*kinds],)).fetchall():
        texts[doc][version] = trails.text_of(rows.version_row(text), kinds[doc])
    return texts


class _Dependents:
    """The rows that refer to records, by doc."""

    def __init__(self, db: Connection, user_id: int, condition: str, values: tuple[Any, ...]) -> None:
        def of(columns: str, table: str, extra: str = "", key: str = "doc") -> Mapping[int, list[Any]]:
            where = condition.replace("doc", key, 1)
            sql = f"SELECT {key}, {columns} FROM {table} t WHERE user_id = ? {where} {extra}"
            return rows.group_values((doc, rest) for doc, *rest in db.execute(sql, (user_id, *values)))

        name = "(SELECT id FROM records r WHERE r.doc = t.{})"
        watched = f"AND operation NOT IN {trails.UNWATCHED} AND doc IS NOT NULL"
        self._events = of("at, operation, detail, version", "events", watched)
        self._parents = of(name.format("parent"), "lineage", key="child")
        self._episodes = of(name.format("episode"), "records", "AND episode IS NOT NULL")
        self._uses, self._tasks = of("count, last_at", "access"), of("task", "pending", "AND task != 'embed'")

    def state(self, row: Row, texts: Mapping[int, str] | None) -> RecordState:
        """The state of a row; without texts its outline."""
        doc, kind = row["doc"], row["kind"]
        events = sorted(self._events.get(doc, ()))
        by_time = {moment: version for moment, operation, _, version in events if operation in trails.WRITING}
        outline = ((row["version"], bytes(row["hash"]).hex()),)
        if not events or (texts is not None and {*by_time.values()} != {*texts}):
            raise StoreCorrupt(
                f"The audit trail of {row['id']!r} does not tell of all its versions: the record is damaged. Nothing was "
                "changed. Check it with mnemic doctor --deep, or restore a backup."
            )
        by_event = tuple((moment, texts[version]) for moment, version in by_time.items()) if texts else None
        since = next(value for value in (row["valid_at"], row["said_at"], row["created_at"]) if value is not None)
        return RecordState(
            id=row["id"], kind=kind, project=row["project"], session=row["session"],
            trail=tuple(dict.fromkeys(trails.TrailEvent(*event[:3]) for event in events)), texts=by_event or outline,
            tier=rows.tier_of(row), hash=bytes(row["hash"]).hex(), key=row["key"],
            since=since, created_at=row["created_at"], expired_at=row["expired_at"], invalid_at=row["invalid_at"],
            delete_after=row["delete_after"], trust=row["trust"], waits=row["waits"],
            episode=next((id_ for (id_,) in self._episodes.get(doc, ())), None),
            emotion=(None, None, None) if kind == "memory" else (row["valence"], row["arousal"], row["emotion_confidence"]),
            parents=frozenset(parent for (parent,) in self._parents.get(doc, ())) or _NONE,
            uses=cast("tuple[int, int]", tuple(next(iter(self._uses.get(doc, ())), (0, 0)))),
            tasks=frozenset(task for (task,) in self._tasks.get(doc, ())) or _NONE,
        )  # fmt: skip


def _links(db: Connection, user_id: int) -> dict[Ends, LinkValue]:
    sql = f"""SELECT s.id, t.id, l.type, {", ".join(f"l.{name}" for name in _LINK_VALUE)} FROM links l
        JOIN records s ON s.doc = l.source JOIN records t ON t.doc = l.target WHERE l.user_id = ?"""
    return {(source, target, kind): tuple(rest) for source, target, kind, *rest in db.execute(sql, (user_id,))}


def _consolidations(db: Connection, user_id: int) -> dict[str, Consolidation]:
    """The undo data of a user."""
    outcomes: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    named = "(SELECT id FROM records r WHERE r.doc = {0}.{1}) AS {1}"
    for table in OUTCOMES:
        columns = ", ".join(named.format(table.name, name) if name in table.docs else name for name in table.names)
        for row in db.execute(f"SELECT {columns} FROM {table.name} WHERE user_id = ?", (user_id,)):
            outcome = dict(zip(table.names, row, strict=True))
            outcomes[outcome["consolidation"]][table.name].append(outcome)
    consolidations = db.execute("SELECT id, at, undone_at FROM consolidations WHERE user_id = ?", (user_id,)).fetchall()
    return {id_: Consolidation(moment, undone_at, outcomes[id_]) for id_, moment, undone_at in consolidations}


# Write


def numbered(state: RecordState) -> trails.Versions:
    """The versions of a state with texts."""
    return trails.versions(state.trail, dict(state.texts))


class _Writer:
    """Writes records of another device, or those merged with it, inside a transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._t, self._db, self._user_id = transaction, transaction.db, transaction.user_id
        sql = "SELECT id, doc FROM records WHERE user_id = ?"
        self._docs = dict(self._db.execute(sql, (self._user_id,)).fetchall())

    def write(self, merges: MergedRows) -> None:
        """Write everything; references last, when all records are there."""
        self._model = merges.model
        changed = [merge for merge in merges.records if not merge.only_used]
        docs = [self._docs[merge.after.id] for merge in changed if merge.before is not None]
        # Out of the way: two memories may exchange a text.
        self._db.execute(f"UPDATE records SET status = 'archived' WHERE doc IN {AMONG}", (docs,))
        events = [event for merge in changed for event in self._put_record(merge)]
        for merge in changed:
            self._put_references(merge)
        for event in sorted(events, key=lambda event: event["at"]):  # new events, which caches follow
            changes.insert(self._db, "events", event)
        for merge in merges.records:
            self._put_uses(merge)
        for source, target, kind in merges.unlinked:
            changes.delete_link(self._db, self._docs[source], self._docs[target], kind)
        for (source, target, kind), value in merges.links.items():
            self._put_link(self._docs[source], self._docs[target], kind, value)
        for id_, consolidation in merges.consolidations.items():
            self._put_consolidation(id_, consolidation)

    def _put_record(self, merge: Merged) -> Iterator[Row]:
        """Write a record; yields its events."""
        before, after, versions = merge.before, merge.after, numbered(merge.after)
        row = self._row(after, versions)
        doc = row["doc"]
        earlier = None if before is None else numbered(before)
        if earlier is None:
            self._t.insert(row)
        else:
            self._t.update(doc, **row, **self._db.dialect.filter_columns(row))
        if earlier is None or earlier.texts[-1] != versions.texts[-1]:
            self._index(row, merge.vectors)
        self._put_versions(after, row, versions)
        if earlier is not None:
            self._renumber(doc, earlier, versions)
        self._put_tasks(before, after, doc)
        self._db.execute(f"DELETE FROM events WHERE doc = ? AND operation NOT IN {trails.UNWATCHED}", (doc,))
        for event, version in zip(after.trail, trails.event_versions(after.trail, versions.numbers), strict=True):
            yield {"user_id": self._user_id, **event._asdict(), "doc": doc, "id": after.id, "version": version}

    def _row(self, after: RecordState, versions: trails.Versions) -> dict[str, Any]:
        """The row of a record."""
        if after.id not in self._docs:
            self._docs[after.id] = self._db.dialect.next_docs(self._db)
        text = dict.fromkeys(trails.text_columns(after.kind)) | json.loads(versions.texts[-1])
        live = after.standing == "live"
        row = text | {
            "doc": self._docs[after.id], "user_id": self._user_id, "id": after.id, "kind": after.kind, "project": after.project,
            "session": after.session, "hash": bytes.fromhex(after.hash), "trust": after.trust, "waits": after.waits,
            "status": after.tier if live else after.standing, "tier_before": None if live else after.tier,
            "version": len(versions.texts), "created_at": after.created_at, "expired_at": after.expired_at,
            "invalid_at": after.invalid_at,
        }  # fmt: skip
        if after.kind != "memory":
            row |= dict(zip(("valence", "arousal", "emotion_confidence"), after.emotion, strict=True))
        return row

    def _index(self, row: Row, vectors: TextVectors | None) -> None:
        """Full text and vector of a new text."""
        terms, length = analyse(searchable(rows.record_from(row)))
        vector, passages = vectors or (None, None)
        self._t.unindex(row["doc"])
        index = Indexing(terms=terms, length=length, traits=0, vector=vector, passages=passages, model=self._model)
        self._t.index(row["doc"], index)

    def _put_versions(self, after: RecordState, row: dict[str, Any], versions: trails.Versions) -> None:
        """The earlier versions; each ended when the next one was written."""
        doc = row["doc"]
        since = {number: moment for moment, number in sorted(versions.numbers.items(), reverse=True)}
        self._db.execute("DELETE FROM versions WHERE doc = ?", (doc,))
        for number, text in enumerate(versions.texts[:-1], start=1):
            earlier = row | dict.fromkeys(trails.text_columns(after.kind)) | json.loads(text) | {"version": number}
            values = (self._user_id, doc, number, since[number + 1], rows.version_json(earlier))
            self._db.execute("INSERT INTO versions VALUES(?, ?, ?, ?, ?)", values)

    def _renumber(self, doc: int, old: trails.Versions, new: trails.Versions) -> None:
        """Let the undo data name the same version as before."""
        numbers = {old.numbers[moment]: new.numbers[moment] for moment in sorted({*old.numbers} & {*new.numbers})}
        for before, after in sorted(numbers.items(), reverse=True):
            if before != after:
                sql = "UPDATE promotions SET revised = ? WHERE doc = ? AND revised = ?"
                self._db.execute(sql, (after, doc, before))

    def _put_uses(self, merge: Merged) -> None:
        if merge.after.uses != (merge.before.uses if merge.before else (0, 0)):
            doc = self._docs[merge.after.id]
            self._db.execute("DELETE FROM access WHERE doc = ?", (doc,))
            self._t.add_uses(doc, *merge.after.uses)
            if merge.only_used:
                self._t.event("use")

    def _put_tasks(self, before: RecordState | None, after: RecordState, doc: int) -> None:
        tasks = before.tasks if before else frozenset[str]()
        for task in tasks - after.tasks:
            changes.drop_pending(self._db, task, doc)
        for task in after.tasks - tasks:
            self._t.add_pending(task, doc)

    def _put_references(self, merge: Merged) -> None:
        doc, parents = self._docs[merge.after.id], merge.before.parents if merge.before else frozenset[str]()
        for parent in parents - merge.after.parents:
            self._t.drop_parent(doc, self._docs[parent])
        for parent in merge.after.parents - parents:
            self._t.add_parent(doc, self._docs[parent])
        if merge.after.kind == "message":
            self._t.update(doc, episode=self._docs[merge.after.episode] if merge.after.episode else None)

    def _put_link(self, source: int, target: int, kind: str, value: LinkValue) -> None:
        ends = {"user_id": self._user_id, "source": source, "target": target, "type": kind}
        row = ends | dict(zip(_LINK_VALUE, value, strict=True))
        assignments = ", ".join(f"{name} = excluded.{name}" for name in _LINK_VALUE)
        changes.insert(self._db, LINKS.name, row, f"ON CONFLICT({LINKS.key}) DO UPDATE SET {assignments}")

    def _put_consolidation(self, id: str, consolidation: Consolidation) -> None:
        """Undo data as far as its records are there; of what is known only whether it was undone."""
        row = {"user_id": self._user_id, "id": id, "at": consolidation.at, "undone_at": consolidation.undone_at}
        rest = "ON CONFLICT(user_id, id) DO NOTHING RETURNING 1"
        if not changes.insert(self._db, "consolidations", row, rest).fetchall():
            sql = "UPDATE consolidations SET undone_at = ? WHERE user_id = ? AND id = ?"
            self._db.execute(sql, (consolidation.undone_at, self._user_id, id))
            return
        promotions = consolidation.rows.get(PROMOTIONS.name, ())
        numbers = {None, *(promotion["number"] for promotion in promotions if promotion["doc"] in self._docs)}
        for table in OUTCOMES:
            for outcome in consolidation.rows.get(table.name, ()):
                if all(outcome[name] in self._docs for name in table.docs) and outcome.get("number") in numbers:
                    docs = {name: self._docs[outcome[name]] for name in table.docs}
                    changes.insert(self._db, table.name, {**outcome, **docs, "user_id": self._user_id})
