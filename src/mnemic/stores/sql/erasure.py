"""Erasing: rows that go for good, with every row that speaks of them, in one transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar, cast

from mnemic.errors import Conflict
from mnemic.stores.schema import LIVE, RECORDS, TABLES, VIEWS
from mnemic.stores.sql import changes, consolidation, queries, rows
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.consolidation import MovedLink, Promoted, promotions, put_links
from mnemic.stores.sql.rows import kept, select, shown
from mnemic.stores.sql.transaction import Transaction, set_header
from mnemic.text.canonical import to_json
from mnemic.types import Absorption, AddEpisode, Erase, EraseUser, Family, Kin, MemoryRecord, Receipt

__all__ = ["MARK", "ErasedRows", "erase", "erase_user", "erased", "erased_user", "family"]

MARK = "erasing"
"""The key of the header that says: bytes of erased rows may still be on disk."""

_TABLES = {view.kind: view.name for view in VIEWS}
_REFERRING = {
    table.name: "(" + " OR ".join(f"{name} IN (SELECT value FROM json_each(?2))" for name in sorted(table.docs)) + ")"
    for table in TABLES
    if table is not RECORDS and any(reference.table == "records" for reference in table.references)
}
"""What is removed with a record, and how its rows are found."""
CHUNK = 500


def erased(t: Transaction, change: Erase) -> Receipt:
    """Erase records, as one change among others."""
    counts = erase(t, change)
    return Receipt(id=change.ids[0] if change.ids else "", outcome="stored" if counts else "duplicate")


def erased_user(t: Transaction, change: EraseUser) -> Receipt:
    """Erase a user, as one change among others."""
    return Receipt(id="", outcome="stored" if erase_user(t, change) else "duplicate")


def erase(t: Transaction, change: Erase) -> dict[str, int]:
    """Remove records and what speaks of them; returns the rows that went, by table. A second time there is nothing to do.

    Raises:
        Conflict: something was made of one of them meanwhile that the change does not name.
    """
    victims = {found[1]: id_ for id_ in change.ids if (found := t.held(id_))}
    if not victims:
        return {}
    restored = {t.required(revise.record.id)[1] for revise in change.restored}
    reworded = _take_back(t, set(victims), restored)
    for revise in change.restored:
        if changes.revise(t, revise).outcome != "stored":
            raise Conflict(f"The memory {revise.record.id!r} changed meanwhile. Nothing was erased; try again.")
        _overwrite(t, t.required(revise.record.id)[1], reworded)
    told = [_told_again(t, episode) for episode in change.remade]
    _nothing_else(t, victims, {*told, *restored})
    counts = _removed(t, list(victims))
    _scrub_events(t, set(victims.values()))
    _mark(t, list(victims))
    return counts


def erase_user(t: Transaction, _: EraseUser) -> dict[str, int]:
    """Remove all that a user has, and the user; returns the rows that went, by table."""
    docs = [doc for (doc,) in t.db.execute("SELECT doc FROM records WHERE user_id = ?", (t.user,)).fetchall()]
    counts = Counter(_removed(t, docs))
    for table in ("events", "consolidations", "users"):
        gone = t.db.execute(f"DELETE FROM {table} WHERE user_id = ? RETURNING 1", (t.user,)).fetchall()
        counts[table] += len(gone)
    _mark(t, docs)
    return {table: count for table, count in counts.items() if count}


def _mark(t: Transaction, docs: Sequence[int]) -> None:
    """Note what is left to do, and that records are gone: without a text, for the indexes and caches that follow events."""
    set_header(t.db, **{MARK: t.at})
    t.db.execute("UPDATE pending SET error = NULL WHERE error IS NOT NULL")  # may quote any text of its batch
    for doc in docs:
        t.db.execute("INSERT INTO events(user_id, at, operation, doc) VALUES(?, ?, 'erase', ?)", (t.user, t.at, doc))


def _told_again(t: Transaction, change: AddEpisode) -> int:
    """The next version of an episode, which is also all that is left of the ones before; its number."""
    record = change.record
    receipt = changes.add_episode(t, change)
    doc = t.required(record.id)[1]
    held = t.db.execute("SELECT title, content FROM episodes WHERE doc = ?", (doc,)).fetchone()
    if receipt.outcome != "stored" and held != (record.title, record.content):
        raise Conflict(f"The episode {record.id!r} changed meanwhile. Nothing was erased; try again.")
    _overwrite(t, doc, {doc: 1})
    return doc


def _overwrite(t: Transaction, doc: int, since: Mapping[int, int]) -> None:
    """Earlier versions say what the present one says, from the first on that may tell of something erased."""
    (row,) = select(t.db, RECORDS, "WHERE doc = ?", (doc,))
    t.db.execute("UPDATE versions SET row = ? WHERE doc = ? AND version >= ?", (kept(row), doc, since.get(doc, 1)))


def _nothing_else(t: Transaction, victims: Mapping[int, str], remade: Collection[int]) -> None:
    """Refuse while something is left that was made of what goes."""
    for part in _chunks(victims):
        sql = f"SELECT child FROM lineage WHERE parent IN {_AMONG}"
        left = {row[0] for row in t.db.execute(sql, (t.many(part),)).fetchall()} - set(victims) - set(remade)
        if left:
            raise Conflict(
                f"Of what is to be erased, {len(left)} more records were made meanwhile. Nothing was erased; try again."
            )


def _removed(t: Transaction, docs: Sequence[int]) -> dict[str, int]:
    """Delete records, and with them all rows that refer to them; how many went, by table."""
    counts: Counter[str] = Counter()
    for part in _chunks(docs):
        named = t.many(part)
        for table, condition in _REFERRING.items():
            sql = f"SELECT count(*) FROM {table} WHERE user_id = ?1 AND {condition}"
            counts[table] += t.db.execute(sql, (t.user, named)).fetchone()[0]
        counts["events"] += _gone(t, f"events WHERE doc IN {_AMONG}", named)
        for doc in part:
            t.db.dialect.unindex(t.db, doc)
        counts["fulltext"] += len(part)
        gone = t.db.execute(f"DELETE FROM records WHERE doc IN {_AMONG} RETURNING kind", (named,)).fetchall()
        counts.update(_TABLES[kind] for (kind,) in gone)
    return {table: count for table, count in counts.items() if count}


def _gone(t: Transaction, where: str, *values: object) -> int:
    return len(t.db.execute(f"DELETE FROM {where} RETURNING 1", values).fetchall())


def _chunks(docs: Iterable[int]) -> list[list[int]]:
    held = list(docs)
    return [held[start : start + CHUNK] for start in range(0, len(held), CHUNK)]


def _scrub_events(t: Transaction, ids: Collection[str]) -> None:
    """The audit trail of other records no longer names what is gone, nor why."""
    sql = "SELECT sequence, detail FROM events WHERE user_id = ? AND detail != '{}'"
    for sequence, text in t.db.execute(sql, (t.user,)).fetchall():
        detail = json.loads(text)
        kept = _without_ids(detail, ids)
        if kept != detail:
            kept.pop("reason", None)
            t.db.execute("UPDATE events SET detail = ? WHERE sequence = ?", (to_json(kept), sequence))


def _without_ids(detail: dict[str, Any], ids: Collection[str]) -> dict[str, Any]:
    """The detail of an event without some ids, however deep they stand."""
    return {name: _kept(value, ids) for name, value in detail.items() if not _is_named(value, ids)}


def _kept(value: Any, ids: Collection[str]) -> Any:
    if isinstance(value, dict):
        return _without_ids(cast("dict[str, Any]", value), ids)
    if isinstance(value, list):
        return [_kept(item, ids) for item in cast("list[Any]", value) if not _is_named(item, ids)]
    return value


def _is_named(value: Any, ids: Collection[str]) -> bool:
    return isinstance(value, str) and value in ids


# Consolidations that the records were part of


def _take_back(t: Transaction, victims: set[int], restored: set[int]) -> dict[int, int]:
    """Take victims out of every consolidation: members of a victim come back, and what took one in stands for it no more.

    Returns:
        For each memory to be restored the first version that a consolidation wrote.
    """
    since: dict[int, int] = {}
    held = _cut_links(t, promotions(t.db, t.user), victims)
    telling = _telling(held, victims)
    for promotion in reversed(held):
        doc = promotion.doc
        if doc in restored and not promotion.undone:
            since[doc] = promotion.revised or since.get(doc, 1)
            if consolidation.demote(t, promotion, texts_back=True) > len(promotion.members):
                raise Conflict("A memory that was to be restored changed meanwhile. Nothing was erased; try again.")
            sql = "DELETE FROM promotions WHERE user_id = ? AND consolidation = ? AND number = ?"
            t.db.execute(sql, (t.user, promotion.consolidation, promotion.number))
        elif doc in victims:
            if not promotion.undone:
                _release(t, promotion, victims)
        elif promotion.undone and promotion.revised:
            _unsay(t, promotion, telling)
        elif not promotion.undone:
            _part_from(t, promotion, victims)
    return since


def _cut_links(t: Transaction, held: Iterable[Promoted], victims: set[int]) -> list[Promoted]:
    """Take links of victims out of promotions, oldest first, and out of what stands for the victims, however often they were
    moved on.

    Where another member had a link to the same end, that one takes its place.
    """
    cut: dict[tuple[Any, ...], MovedLink | None] = {}
    found: list[Promoted] = []
    for promotion in held:
        gone = [link for link in promotion.links if link.ends_at(victims) or link.known in cut]
        links = [link for link in promotion.links if link not in gone]
        links += [
            replace(link, strength=other.strength, reason=other.reason, created_at=other.created_at)
            for link in gone
            if (other := cut.get(link.known)) and not link.ends_at(victims)
        ]
        others = {promotion.ends(link): link for link in reversed(links)}
        for link in gone:
            ends = promotion.ends(link)
            cut[*ends, link.reason, link.created_at] = others.get(ends)
        moved = {promotion.ends(link) for link in promotion.links if link.moved}
        links = [
            replace(link, moved=int(others[ends] is link and ends in moved))
            for link in links
            if (ends := promotion.ends(link))
        ]
        found.append(replace(promotion, links=tuple(links)))
        if gone:
            put_links(t.db, t.user, found[-1])
    for (source, target, kind, *rest), other in cut.items():
        sql = "links WHERE user_id = ? AND source = ? AND target = ? AND type = ? AND reason = ? AND created_at = ?"
        if _gone(t, sql, t.user, source, target, kind, *rest) and other:
            consolidation.put_back(t, other, (source, target, kind))
    return found


def _release(t: Transaction, promotion: Promoted, victims: set[int]) -> None:
    """The members of a memory that goes: they speak for themselves again, unless it had been forgotten for all of them."""
    sql = "SELECT status, expired_at FROM records WHERE doc = ?"
    status, expired = t.db.execute(sql, (promotion.doc,)).fetchone()
    fate = consolidation.last_fate(t, promotion.doc)[0] if shown(status) == "archived" else ""
    for member in promotion.members:
        doc = member.doc
        if doc in victims or consolidation.last_fate(t, doc) != ("absorb", promotion.consolidation):
            continue
        sql = "SELECT id, version FROM records WHERE doc = ? AND status = 'archived'"
        for id_, version in t.db.execute(sql, (doc,)).fetchall():
            if fate == "archive" or expired is not None or consolidation.twin(t, doc):
                t.event("archive", doc, id_, version, reason="what stood for it was forgotten")
                continue
            sql = "UPDATE records SET status = ?, tier_before = NULL WHERE doc = ?"
            t.db.execute(sql, (member.status, doc))
            t.event("undo", doc, id_, version, consolidation=promotion.consolidation)
    for link in promotion.links:
        if not link.ends_at(victims):
            consolidation.put_back(t, link)


def _part_from(t: Transaction, promotion: Promoted, victims: set[int]) -> None:
    """A memory no longer stands for the victims among its members, so that it need not go with them."""
    for member in promotion.members:
        if member.descends and member.doc in victims:
            t.db.execute("DELETE FROM lineage WHERE child = ? AND parent = ?", (promotion.doc, member.doc))


def _telling(held: Iterable[Promoted], victims: set[int]) -> set[int]:
    """The victims, and what consolidations, oldest first, ever made a text of theirs for."""
    telling = set(victims)
    for promotion in held:
        if promotion.revised and promotion.docs & telling:
            telling.add(promotion.doc)
    return telling


def _unsay(t: Transaction, promotion: Promoted, telling: set[int]) -> None:
    """The version that told what victims told, by a consolidation that was taken back, says what the one before it says."""
    if promotion.docs & telling:
        sql = """UPDATE versions SET row = (SELECT v.row FROM versions v WHERE v.doc = versions.doc
            AND v.version = versions.version - 1) WHERE doc = ? AND version = ?"""
        t.db.execute(sql, (promotion.doc, promotion.revised))


_AMONG = "(SELECT value FROM json_each(?))"
_KIN = f"""SELECT doc, id, kind, CASE WHEN {LIVE} THEN 1 ELSE 0 END, category, project, session FROM records
    WHERE user_id = ? AND doc IN {_AMONG}"""
_DOWN = f"""WITH RECURSIVE down(doc) AS (SELECT child FROM lineage WHERE parent IN {_AMONG}
    UNION SELECT child FROM lineage JOIN down ON parent = down.doc) SELECT doc FROM down"""


def family(db: Connection, user: int, ids: Sequence[str]) -> Family:
    """Records with all that was made from them at any remove, and the consolidations they were part of."""
    named = list(queries.docs_of(db, user, ids, None).values())
    docs = {*named, *(row[0] for row in db.execute(_DOWN, (db.dialect.many(named),)).fetchall())}
    absorptions, more = _absorptions(db, user, docs)
    docs |= more
    listed = db.dialect.many(sorted(docs))
    sources: dict[int, list[int]] = {}
    for child, parent in db.execute(f"SELECT child, parent FROM lineage WHERE child IN {_AMONG}", (listed,)).fetchall():
        sources.setdefault(child, []).append(parent)
    names = _ids(db, user, {*docs, *(parent for parents in sources.values() for parent in parents)})
    kin = {
        row[1]: Kin(
            id=row[1], kind=row[2], live=bool(row[3]), category=row[4], project=row[5], session=row[6],
            sources=tuple(names[parent] for parent in sources.get(row[0], ()) if parent in names),
        )
        for row in db.execute(_KIN, (user, listed)).fetchall()
    }  # fmt: skip
    return Family(kin=kin, absorptions=tuple(_named(db, user, absorptions, names)))


def _ids(db: Connection, user: int, docs: Collection[int]) -> dict[int, str]:
    sql = f"SELECT doc, id FROM records WHERE user_id = ? AND doc IN {_AMONG}"
    return dict(db.execute(sql, (user, db.dialect.many(sorted(docs)))).fetchall())


def _absorptions(db: Connection, user: int, docs: set[int]) -> tuple[list[Promoted], set[int]]:
    """The promotions in force that any of the records had a part in, oldest first, and the records of these."""
    named = db.dialect.many(sorted(docs))
    heads = f"""SELECT p.doc FROM promotions p LEFT JOIN members m
        ON m.user_id = p.user_id AND m.consolidation = p.consolidation AND m.number = p.number
        JOIN consolidations c ON c.user_id = p.user_id AND c.id = p.consolidation AND c.undone_at IS NULL
        WHERE p.user_id = ? AND (p.doc IN {_AMONG} OR m.doc IN {_AMONG})"""
    whole = f"AND c.undone_at IS NULL AND p.doc IN ({heads})"  # all that made the text of one of them what it is
    found = promotions(db, user, whole, (user, named, named))
    return found, {doc for p in found for doc in (p.doc, *p.docs)}


def _named(db: Connection, user: int, found: Sequence[Promoted], names: dict[int, str]) -> list[Absorption]:
    of_head: dict[int, list[Promoted]] = {}
    for promotion in found:
        of_head.setdefault(promotion.doc, []).append(promotion)
    before = {doc: _before(db, user, doc, own) for doc, own in of_head.items()}
    return [
        Absorption(
            id=names[p.doc],
            members=tuple(names[member.doc] for member in p.members if member.doc in names),
            edges=tuple(names[member.doc] for member in p.members if member.descends and member.doc in names),
            reworded=bool(p.revised),
            before=before.get(p.doc),
        )
        for p in found
        if p.doc in names
    ]


def _before(db: Connection, user: int, doc: int, found: Sequence[Promoted]) -> MemoryRecord | None:
    """A memory as it was before consolidations reworded it; None where somebody else has changed it since."""
    versions = [p.revised for p in found if p.revised]
    sql = f"SELECT version FROM memories WHERE user_id = ? AND doc = ? AND {LIVE} AND expired_at IS NULL"
    row = db.execute(sql, (user, doc)).fetchone()
    if row is None or not versions or versions != list(range(versions[0], row[0] + 1)):
        return None
    held = db.execute("SELECT row FROM versions WHERE doc = ? AND version = ?", (doc, versions[0] - 1)).fetchone()
    if held is None:
        return None
    record = rows.memory_from(rows.earlier(held[0]))
    status: Any = found[0].status
    return replace(record, version=row[0] + 1, status=status, importance=found[0].importance)


D = TypeVar("D", bound=Database)


class ErasedRows(Generic[D]):
    """Erasing rows."""

    def __init__(self, database: D) -> None:
        self._db = database

    def family(self, user: str, ids: Sequence[str]) -> Family:
        """Records of a user with all that was made from them."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            return Family(kin={}) if number is None else family(db, number, ids)

    def erase(self, user: str, change: Erase | EraseUser, *, model: str = "") -> dict[str, int]:
        """Apply the change; rows removed, by table.

        Raises:
            Conflict: something was made of the records meanwhile; nothing was erased.
        """

        def work(db: Connection) -> dict[str, int]:
            number = db.dialect.known(db, user)
            if number is None:  # erased meanwhile: the name is not written again
                return {}
            t = Transaction(db, number, model)
            return erase(t, change) if isinstance(change, Erase) else erase_user(t, change)

        return self._db.apply(work)

    def unfinished(self) -> bool:
        """Whether bytes of erased rows may still be on disk."""
        with self._db.read() as db:
            return bool(db.execute("SELECT 1 FROM header WHERE key = ?", (MARK,)).fetchall())
