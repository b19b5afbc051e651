"""Erasure: records are deleted with all rows that refer to them, in one transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from mnemic.errors import Conflict
from mnemic.stores.schema import LIVE, RECORDS, TABLES, VIEWS
from mnemic.stores.sql import changes, consolidation, queries, rows
from mnemic.stores.sql.changes import Transaction, set_header
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.consolidation import Ends, StoredPromotion
from mnemic.stores.sql.queries import AMONG, Reader
from mnemic.stores.sql.tombstones import leave_tombstones, leave_user_tombstone
from mnemic.text.values import to_json
from mnemic.types import Absorption, AddEpisode, Erase, EraseUser, Lineage, LineageNode

D = TypeVar("D", bound=Database)

MARK = "erasing"
"""The header key that means: bytes of erased rows may still be on disk."""

ERASURE = "erasure"
"""In the detail of what an erasure did to the records that stay: every device does it on its own."""

_TABLES = {view.kind: view.name for view in VIEWS}
_REFERRING = {
    table.name: "(" + " OR ".join(f"{name} IN (SELECT value FROM json_each(?2))" for name in sorted(table.docs)) + ")"
    for table in TABLES
    if table is not RECORDS and any(reference.table == "records" for reference in table.references)
}
"""Tables with rows that refer to records, and the condition that finds them."""
CHUNK = 500


def _erase(t: Transaction, change: Erase) -> dict[str, int]:
    """Delete records and everything that refers to them; returns the deleted rows by table (none on repetition).

    Raises:
        Conflict: a record was derived from them in the meantime that the change does not name.
    """
    erased = {record.doc: id_ for id_ in change.ids if (record := t.find_stored(id_))}
    if not erased:
        return {}
    t.shared_detail = {ERASURE: True}
    restored = {t.get(revise.record.id).doc for revise in change.restored}
    promotions = consolidation.promotions(t.db, t.user_id)
    since = _detach(t, promotions, set(erased), restored)
    for revise in change.restored:
        if changes.revise(t, revise).outcome != "stored":
            raise Conflict(f"The memory {revise.record.id!r} changed in the meantime. Nothing was erased; try again.")
        _overwrite_versions(t, t.get(revise.record.id).doc, since)
    rewritten = [_rewrite_episode(t, episode) for episode in change.remade]
    _check_descendants(t, erased, {*rewritten, *restored})
    leave_tombstones(t.db, t.user_id, erased, t.now)
    counts = _delete_records(t, list(erased))
    _recopy_links(t, promotions, set(erased))
    for table in ("questions", "contexts"):  # they may contain what is erased
        if count := _delete(t, f"{table} WHERE user_id = ?", t.user_id):
            counts[table] = count
    _scrub_events(t, set(erased.values()))
    t.shared_detail = {}
    _mark(t, list(erased))
    return counts


def _erase_user(t: Transaction) -> dict[str, int]:
    """Delete a user with all records; returns the deleted rows by table."""
    docs = [doc for (doc,) in t.db.execute("SELECT doc FROM records WHERE user_id = ?", (t.user_id,)).fetchall()]
    leave_user_tombstone(t.db, t.user_id, t.now)
    counts = Counter(_delete_records(t, docs))
    for table in ("events", "consolidations", "questions", "contexts", "users"):
        counts[table] += _delete(t, f"{table} WHERE user_id = ?", t.user_id)
    _mark(t, docs)
    return {table: count for table, count in counts.items() if count}


def _mark(t: Transaction, docs: Sequence[int]) -> None:
    """Set the mark for the purge, and write erase events without content for indexes and caches."""
    set_header(t.db, **{MARK: t.now})
    t.db.execute("UPDATE pending SET error = NULL WHERE error IS NOT NULL")  # may quote any text of its batch
    for doc in docs:
        t.event("erase", doc)


def _rewrite_episode(t: Transaction, change: AddEpisode) -> int:
    """Store the next version of an episode, and overwrite the earlier ones with it; returns its doc."""
    record = change.record
    receipt = changes.add_episode(t, change)
    doc = t.get(record.id).doc
    current = t.db.execute("SELECT title, content FROM episodes WHERE doc = ?", (doc,)).fetchone()
    if receipt.outcome != "stored" and current != (record.title, record.content):
        raise Conflict(f"The episode {record.id!r} changed in the meantime. Nothing was erased; try again.")
    _overwrite_versions(t, doc, {doc: 1})
    return doc


def _overwrite_versions(t: Transaction, doc: int, since: Mapping[int, int]) -> None:
    """Overwrite earlier versions with the current row, from the first one that may contain erased content."""
    (row,) = rows.select(t.db, RECORDS, "WHERE doc = ?", (doc,))
    t.db.execute(
        "UPDATE versions SET row = ? WHERE doc = ? AND version >= ?", (rows.version_json(row), doc, since.get(doc, 1))
    )


def _check_descendants(t: Transaction, erased: Mapping[int, str], remade: Collection[int]) -> None:
    """Refuse to erase records while others that derive from them would stay."""
    for chunk in _chunks(erased):
        sql = f"SELECT child FROM lineage WHERE parent IN {AMONG}"
        remaining = {row[0] for row in t.db.execute(sql, (chunk,)).fetchall()} - set(erased) - set(remade)
        if remaining:
            raise Conflict(
                f"{len(remaining)} records were derived from the erased ones in the meantime. Nothing was erased; try again."
            )


def _delete_records(t: Transaction, docs: Sequence[int]) -> dict[str, int]:
    """Delete records and all rows that refer to them; returns the counts by table."""
    counts: Counter[str] = Counter()
    for chunk in _chunks(docs):
        for table, condition in _REFERRING.items():
            sql = f"SELECT count(*) FROM {table} WHERE user_id = ?1 AND {condition}"
            counts[table] += t.db.execute(sql, (t.user_id, chunk)).fetchone()[0]
        counts["events"] += _delete(t, f"events WHERE doc IN {AMONG}", chunk)
        for doc in chunk:
            t.db.dialect.unindex(t.db, doc)
        counts["fulltext"] += len(chunk)
        deleted = t.db.execute(f"DELETE FROM records WHERE doc IN {AMONG} RETURNING kind", (chunk,)).fetchall()
        counts.update(_TABLES[kind] for (kind,) in deleted)
    return {table: count for table, count in counts.items() if count}


def _delete(t: Transaction, where: str, *values: object) -> int:
    return len(t.db.execute(f"DELETE FROM {where} RETURNING 1", values).fetchall())


def _chunks(docs: Iterable[int]) -> list[list[int]]:
    ordered = list(docs)
    return [ordered[start : start + CHUNK] for start in range(0, len(ordered), CHUNK)]


def _scrub_events(t: Transaction, ids: Collection[str]) -> None:
    """Remove erased ids, and reasons that may quote them, from the audit trail of other records."""
    sql = "SELECT sequence, detail FROM events WHERE user_id = ? AND detail != '{}'"
    for sequence, text in t.db.execute(sql, (t.user_id,)).fetchall():
        detail = json.loads(text)
        scrubbed = _without_ids(detail, ids)
        if scrubbed != detail:
            scrubbed.pop("reason", None)
            t.db.execute("UPDATE events SET detail = ? WHERE sequence = ?", (to_json(scrubbed), sequence))


def _without_ids(value: Any, ids: Collection[str]) -> Any:
    """The detail of an event, or a part of it, without some ids."""

    def is_kept(item: object) -> bool:
        return not (isinstance(item, str) and item in ids)

    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: _without_ids(item, ids) for name, item in fields.items() if is_kept(item)}
    if isinstance(value, list):
        return [_without_ids(item, ids) for item in cast("list[Any]", value) if is_kept(item)]
    return value


# Consolidations of erased records


def _detach(
    t: Transaction, promotions: Sequence[StoredPromotion], erased: set[int], restored: set[int]
) -> dict[int, int]:
    """Remove erased records from every consolidation: members are restored, and representatives lose their lineage to them.

    Returns:
        For each memory to be restored, the first version that a consolidation wrote.
    """
    since: dict[int, int] = {}
    tainted = _tainted_docs(promotions, erased)
    for promotion in reversed(promotions):
        doc = promotion.doc
        if doc in restored and not promotion.undone:
            since[doc] = promotion.revised or since.get(doc, 1)
            if consolidation.undo_promotion(t, promotion, restore_text=True) > len(promotion.members):
                raise Conflict("A memory to be restored was changed in the meantime. Nothing was erased; try again.")
            sql = "DELETE FROM promotions WHERE user_id = ? AND consolidation = ? AND number = ?"
            t.db.execute(sql, (t.user_id, promotion.consolidation, promotion.number))
        elif doc in erased:
            if not promotion.undone:
                _release_members(t, promotion, erased)
        elif not promotion.undone:
            for member in erased & promotion.members.keys():
                if promotion.members[member]:
                    t.drop_parent(doc, member)
        elif promotion.revised and promotion.members.keys() & tainted:
            t.db.execute(_REVERTED, (doc, promotion.revised))
    return since


_REVERTED = """UPDATE versions SET row = (SELECT v.row FROM versions v WHERE v.doc = versions.doc
    AND v.version = versions.version - 1) WHERE doc = ? AND version = ?"""
"""A version that an undone consolidation made from erased texts becomes the one before it."""


def _release_members(t: Transaction, promotion: StoredPromotion, erased: set[int]) -> None:
    """Restore the members of an erased memory, unless they were forgotten with it."""
    head = t.by_doc(promotion.doc)
    gone = head.expired_at is not None or (head.is_archived and changes.last_transition(t, head.doc)[0] == "archive")
    members = [doc for doc in promotion.members if doc not in erased]
    consolidation.release_members(t, members, promotion.consolidation, gone=gone)


def _recopy_links(t: Transaction, promotions: Iterable[StoredPromotion], changed: set[int]) -> None:
    """Make the links that representatives have of others anew, without those that came from erased memories."""
    among: set[Ends] = set()
    for promotion in promotions:  # oldest first: a later one may have copies of copies
        if promotion.members.keys() & changed:
            among |= (ends := consolidation.drop_copies(t, promotion))
            changed |= {doc for source, target, _ in ends for doc in (source, target)}
    for promotion in consolidation.promotions(t.db, t.user_id, "AND c.undone_at IS NULL") if among else ():
        if promotion.doc in changed:
            consolidation.copy_links(t, promotion, among)


def _tainted_docs(promotions: Iterable[StoredPromotion], erased: set[int]) -> set[int]:
    """The erased records, and all memories whose text a consolidation ever made from theirs."""
    tainted = set(erased)
    for promotion in promotions:
        if promotion.revised and promotion.members.keys() & tainted:
            tainted.add(promotion.doc)
    return tainted


_NODES = f"""SELECT doc, id, kind, CASE WHEN {LIVE} THEN 1 ELSE 0 END, category, project, session FROM records
    WHERE user_id = ? AND doc IN {AMONG}"""


def _ids(db: Connection, user_id: int, docs: Collection[int]) -> dict[int, str]:
    sql = f"SELECT doc, id FROM records WHERE user_id = ? AND doc IN {AMONG}"
    return dict(db.execute(sql, (user_id, docs)).fetchall())


def _related_promotions(db: Connection, user_id: int, docs: set[int]) -> tuple[list[StoredPromotion], set[int]]:
    """The active promotions that involve any of the records, oldest first, and the docs of all their records."""
    heads = f"""SELECT p.doc FROM {consolidation.PROMOTION_ROWS} WHERE p.user_id = ? AND c.undone_at IS NULL
        AND (p.doc IN {AMONG} OR m.doc IN {AMONG})"""
    whole = f"AND c.undone_at IS NULL AND p.doc IN ({heads})"  # all that contributed to its text
    promotions = consolidation.promotions(db, user_id, whole, (user_id, docs, docs))
    return promotions, {doc for p in promotions for doc in (p.doc, *p.members)}


def _absorptions(db: Connection, promotions: Sequence[StoredPromotion], names: dict[int, str]) -> list[Absorption]:
    heads = {p.doc for p in promotions}
    originals = {doc: consolidation.original(db, [p for p in promotions if p.doc == doc]) for doc in heads}
    return [
        Absorption(
            id=names[p.doc],
            members=tuple(names[member] for member in p.members if member in names),
            edges=tuple(names[member] for member, descends in p.members.items() if descends and member in names),
            reworded=bool(p.revised),
            before=originals[p.doc],
        )
        for p in promotions
        if p.doc in names
    ]


class ErasedRows(Reader[D]):
    """Erasure of rows; engines add the purge of bytes."""

    def lineage(self, user: str, ids: Sequence[str]) -> Lineage:
        """Records of a user with all their descendants, and the consolidations that any of them was part of."""
        with self._snapshot(user) as (db, user_id):
            docs = {*changes.descendants(db, [*queries.docs_of(db, user_id, ids).values()])}
            promotions, related = _related_promotions(db, user_id, docs)
            docs |= related
            sql = f"SELECT child, parent FROM lineage WHERE child IN {AMONG}"
            sources = rows.group_values(db.execute(sql, (docs,)))
            names = _ids(db, user_id, {*docs, *(parent for parents in sources.values() for parent in parents)})
            nodes = {
                row[1]: LineageNode(
                    id=row[1], kind=row[2], live=bool(row[3]), category=row[4], project=row[5], session=row[6],
                    sources=tuple(names[parent] for parent in sources.get(row[0], ()) if parent in names),
                )
                for row in db.execute(_NODES, (user_id, docs)).fetchall()
            }  # fmt: skip
            return Lineage(nodes=nodes, absorptions=tuple(_absorptions(db, promotions, names)))

    def erase(self, user: str, change: Erase | EraseUser) -> dict[str, int]:
        """Apply the change; returns the deleted rows by table.

        Raises:
            Conflict: more records were derived from them in the meantime; nothing was erased.
        """

        def work(db: Connection) -> dict[str, int]:
            user_id = changes.lock_known_user(db, user)
            if user_id is None:  # already erased: the name must not be written again
                return {}
            t = Transaction(db, user_id)
            return _erase(t, change) if isinstance(change, Erase) else _erase_user(t)

        return self._db.apply(work)

    def unfinished(self) -> bool:
        """Whether bytes of erased rows may still be on disk."""
        with self._db.read() as db:
            return self._mark(db) is not None

    def remains(self) -> str:
        """Where earlier erasures left bytes, as far as that is known; empty for nowhere."""
        return ""

    @staticmethod
    def _mark(db: Connection) -> object:
        """The mark, by the time of the last erasure; None without one."""
        row = db.execute("SELECT value FROM header WHERE key = ?", (MARK,)).fetchone()
        return row[0] if row else None

    def _clear_mark(self, mark: object) -> None:
        """Clear the mark, unless more was erased since it was read."""
        if mark is not None:
            with self._db.write() as db:
                db.execute("DELETE FROM header WHERE key = ? AND value = ?", (MARK, mark))
