"""Records with all that was made from them: what erasing has to decide on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from mnemic.stores.schema import LIVE
from mnemic.stores.sql import reading, rows
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.promotions import Promoted, promotions
from mnemic.types import Absorption, Family, Kin, MemoryRecord

__all__ = ["family"]

_AMONG = "(SELECT value FROM json_each(?))"
_KIN = f"""SELECT doc, id, kind, CASE WHEN {LIVE} THEN 1 ELSE 0 END, category, project, session FROM records
    WHERE user_id = ? AND doc IN {_AMONG}"""
_DOWN = f"""WITH RECURSIVE down(doc) AS (SELECT child FROM lineage WHERE parent IN {_AMONG}
    UNION SELECT child FROM lineage JOIN down ON parent = down.doc) SELECT doc FROM down"""


def family(db: Connection, user: int, ids: Sequence[str]) -> Family:
    """Records with all that was made from them at any remove, and the consolidations they were part of."""
    named = list(reading.docs_of(db, user, ids, None).values())
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
