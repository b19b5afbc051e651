"""Records with all that was made from them: what erasing has to decide on."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from mnemic.stores.sql import reading, rows
from mnemic.stores.sql.connection import Connection
from mnemic.types import Absorption, Family, Kin, Kind, MemoryRecord

__all__ = ["family"]

_AMONG = "(SELECT value FROM json_each(?))"
_DOWN = f"""WITH RECURSIVE down(doc) AS (SELECT child FROM lineage WHERE parent IN {_AMONG}
    UNION SELECT child FROM lineage JOIN down ON parent = down.doc) SELECT doc FROM down"""
_KIN: dict[Kind, str] = {
    "message": "SELECT doc, id, status, NULL, project, session FROM messages",
    "episode": "SELECT doc, id, status, NULL, project, session FROM episodes",
    "memory": "SELECT doc, id, status, category, project, session FROM memories",
}


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
            id=row[1], kind=kind, live=row[2] != "archived", category=row[3], project=row[4], session=row[5],
            sources=tuple(names[parent] for parent in sources.get(row[0], ()) if parent in names),
        )
        for kind, select in _KIN.items()
        for row in db.execute(f"{select} WHERE user_id = ? AND doc IN {_AMONG}", (user, listed)).fetchall()
    }  # fmt: skip
    return Family(kin=kin, absorptions=tuple(_named(db, user, absorptions, names)))


def _ids(db: Connection, user: int, docs: Collection[int]) -> dict[int, str]:
    listed = db.dialect.many(sorted(docs))
    found: dict[int, str] = {}
    for table in ("messages", "episodes", "memories"):
        sql = f"SELECT doc, id FROM {table} WHERE user_id = ? AND doc IN {_AMONG}"
        found |= dict(db.execute(sql, (user, listed)).fetchall())
    return found


def _absorptions(db: Connection, user: int, docs: set[int]) -> tuple[list[dict[str, Any]], set[int]]:
    """The promotions in force that any of the records had a part in, oldest first, and the records of these."""
    sql = "SELECT plan FROM consolidations WHERE user_id = ? AND undone_at IS NULL ORDER BY at, id"
    promotions = [p for (text,) in db.execute(sql, (user,)).fetchall() for p in json.loads(text)["promotions"]]
    found = [p for p in promotions if docs & {p["doc"], *(held["doc"] for held in p["absorbed"])}]
    heads = {p["doc"] for p in found}
    found = [p for p in promotions if p["doc"] in heads]  # all that made the text of one of them what it is
    return found, {p["doc"] for p in found} | {held["doc"] for p in found for held in p["absorbed"]}


def _named(db: Connection, user: int, promotions: Sequence[dict[str, Any]], names: dict[int, str]) -> list[Absorption]:
    of_head: dict[int, list[dict[str, Any]]] = {}
    for promotion in promotions:
        of_head.setdefault(promotion["doc"], []).append(promotion)
    before = {doc: _before(db, user, doc, own) for doc, own in of_head.items()}
    return [
        Absorption(
            id=names[p["doc"]],
            members=tuple(names[held["doc"]] for held in p["absorbed"] if held["doc"] in names),
            edges=tuple(names[member] for member in p["lineage"] if member in names),
            reworded=bool(p["revised"]),
            before=before.get(p["doc"]),
        )
        for p in promotions
        if p["doc"] in names
    ]


def _before(db: Connection, user: int, doc: int, promotions: Sequence[dict[str, Any]]) -> MemoryRecord | None:
    """A memory as it was before consolidations reworded it; None where somebody else has changed it since."""
    versions = [p["revised"] for p in promotions if p["revised"]]
    sql = "SELECT version FROM memories WHERE user_id = ? AND doc = ? AND status != 'archived' AND expired_at IS NULL"
    row = db.execute(sql, (user, doc)).fetchone()
    if row is None or not versions or versions != list(range(versions[0], row[0] + 1)):
        return None
    held = db.execute("SELECT row FROM versions WHERE doc = ? AND version = ?", (doc, versions[0] - 1)).fetchone()
    if held is None:
        return None
    old = json.loads(held[0])
    record = rows.memory_from(old)
    first = promotions[0]
    return replace(record, version=row[0] + 1, status=first["status"], importance=first["importance"])
