"""Changes of tier: what consolidation decided, carried out or taken back in one transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mnemic.errors import Conflict, NotFound
from mnemic.stores.sqlite import relating, writing
from mnemic.stores.sqlite.transaction import Transaction
from mnemic.text.canonical import to_json
from mnemic.types import Consolidate, Promotion, PutLink, Receipt, Touch, Undo, Work

__all__ = ["consolidate", "touch", "undo", "work"]

_LINK = "source, target, type, strength, reason, created_at"


def work(t: Transaction, change: Work) -> Receipt:
    """Mark memories as being worked on, or as no longer; those that are not in the tier it expects are left alone."""
    begun, after = ("consolidating", "short_term") if change.done else ("short_term", "consolidating")
    sql = "UPDATE memories SET status = ? WHERE user = ? AND status = ? AND id IN (SELECT value FROM json_each(?))"
    t.db.execute(sql, (after, t.user, begun, json.dumps(list(change.ids))))
    return Receipt(id=change.ids[0] if change.ids else "", outcome="stored")


def touch(t: Transaction, change: Touch) -> Receipt:
    """Count uses; only records of this user have any."""
    sql = """INSERT INTO access(doc, count, last_at) SELECT doc, ?, ? FROM memories WHERE doc = ? AND user = ?
        ON CONFLICT(doc) DO UPDATE SET count = count + excluded.count, last_at = max(last_at, excluded.last_at)"""
    for doc, uses in change.uses.items():
        t.db.execute(sql, (uses, change.at, doc, t.user))
    return Receipt(id="", outcome="stored")


def consolidate(t: Transaction, change: Consolidate) -> Receipt:
    """Promote, archive, link and weigh, and keep what is needed to take it back."""
    sql = "SELECT 1 FROM consolidations WHERE user = ? AND id = ?"
    if t.db.execute(sql, (t.user, change.id)).fetchall():
        return Receipt(id=change.id, outcome="duplicate", reason="this consolidation is stored")
    plan = [_promoted(t, promotion, change.id) for promotion in change.promotions]
    linked = [
        (t.required(link.source)[1], t.required(link.target)[1])
        for link in change.contradictions
        if relating.put_link(t, PutLink(link=link)).outcome == "stored"
    ]
    for id_, importance in change.weighed.items():
        _weigh(t, id_, importance)
    kept = to_json({"promotions": plan, "contradictions": linked})
    t.db.execute("INSERT INTO consolidations(user, id, at, plan) VALUES(?, ?, ?, ?)", (t.user, change.id, t.at, kept))
    return Receipt(id=change.id, outcome="stored")


def _weigh(t: Transaction, id: str, importance: float) -> None:
    """A seed that was looked at: its importance as it is now, back from the workbench unless it was promoted."""
    found = t.db.execute(
        """UPDATE memories SET status = CASE status WHEN 'consolidating' THEN 'short_term' ELSE status END,
        importance = CASE pinned WHEN 0 THEN ? ELSE importance END WHERE user = ? AND id = ? RETURNING doc, version""",
        (importance, t.user, id),
    ).fetchall()
    for doc, version in found:
        t.db.execute("INSERT OR REPLACE INTO judged(doc, at) VALUES(?, ?)", (doc, t.at))
        t.event("weigh", doc, id, version)


def _live(t: Transaction, id: str) -> tuple[int, str, float, int]:
    """Doc, status, importance and version of a memory that is still as consolidation read it."""
    sql = "SELECT doc, status, importance, version, expired_at FROM memories WHERE user = ? AND id = ?"
    row = t.db.execute(sql, (t.user, id)).fetchone()
    if row is None or row[1] == "archived" or row[4] is not None:
        raise Conflict(
            f"The memory {id!r} was forgotten or replaced during consolidation. Nothing was stored; try again."
        )
    return row[0], row[1], row[2], row[3]


def _promoted(t: Transaction, promotion: Promotion, consolidation: str) -> dict[str, Any]:
    """One memory promoted over those it stands for; returns what undoing it takes."""
    doc, status, importance, _ = _live(t, promotion.id)
    members = [(id_, *_live(t, id_)) for id_ in promotion.absorbed]
    docs = [member[1] for member in members]
    undo: dict[str, Any] = {
        "doc": doc,
        "status": _tier(status),
        "importance": importance,
        "absorbed": [],
        "revised": False,
    }
    if promotion.revised is not None:
        undo["revised"] = writing.revise(t, promotion.revised).outcome == "stored"
        if not undo["revised"]:
            raise Conflict(f"The memory {promotion.id!r} changed during consolidation. Nothing was stored; try again.")
    version = t.required(promotion.id)[3]
    for id_, member, tier, held, its_version in members:
        undo["absorbed"].append({"doc": member, "status": _tier(tier), "importance": held})
        t.db.execute("UPDATE memories SET tier_before = ?, status = 'archived' WHERE doc = ?", (_tier(tier), member))
        t.event("absorb", member, id_, its_version, into=promotion.id, consolidation=consolidation)
    sql = "INSERT OR IGNORE INTO lineage(child, parent) VALUES(?, ?) RETURNING parent"
    undo["lineage"] = [parent for member in docs for (parent,) in t.db.execute(sql, (doc, member)).fetchall()]
    undo["links"], undo["moved"] = _move_links(t, doc, docs)
    t.db.execute(
        """UPDATE memories SET status = 'long_term',
        importance = CASE pinned WHEN 0 THEN ? ELSE importance END WHERE doc = ?""",
        (promotion.importance, doc),
    )
    t.event("promote", doc, promotion.id, version, consolidation=consolidation, sources=list(promotion.absorbed))
    return undo


def _tier(status: str) -> str:
    return "short_term" if status == "consolidating" else status


def _move_links(t: Transaction, doc: int, members: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """Links of the members now begin and end at their representative; returns them as they were and as they are."""
    named = json.dumps(list(members))
    among = "(SELECT value FROM json_each(?))"
    sql = f"SELECT {_LINK} FROM links WHERE source IN {among} OR target IN {among}"
    old = t.db.execute(sql, (named, named)).fetchall()
    t.db.execute(f"DELETE FROM links WHERE source IN {among} OR target IN {among}", (named, named))
    inside = set(members)
    moved: list[Any] = []
    for source, target, kind, strength, reason, at in old:
        ends = (doc if source in inside else source, doc if target in inside else target)
        put = f"INSERT OR IGNORE INTO links(user, {_LINK}) VALUES(?, ?, ?, ?, ?, ?, ?) RETURNING 1"
        if ends[0] != ends[1] and t.db.execute(put, (t.user, *ends, kind, strength, reason, at)).fetchall():
            moved.append([*ends, kind])
    return [list(row) for row in old], moved


def undo(t: Transaction, change: Undo) -> Receipt:
    """Put everything back that a consolidation changed and nobody has changed since."""
    sql = "SELECT plan, undone_at FROM consolidations WHERE user = ? AND id = ?"
    row = t.db.execute(sql, (t.user, change.id)).fetchone()
    if row is None:
        raise NotFound(f"This user has no consolidation with the id {change.id!r}.")
    if row[1] is not None:
        return Receipt(id=change.id, outcome="duplicate", reason="it was taken back before")
    plan = json.loads(row[0])
    for promotion in reversed(plan["promotions"]):
        _demote(t, promotion, change.id)
    for source, target in plan["contradictions"]:
        t.db.execute("DELETE FROM links WHERE source = ? AND target = ? AND type = 'contradicts'", (source, target))
    t.db.execute("UPDATE consolidations SET undone_at = ? WHERE user = ? AND id = ?", (t.at, t.user, change.id))
    return Receipt(id=change.id, outcome="stored")


def _demote(t: Transaction, promotion: dict[str, Any], consolidation: str) -> None:
    doc = promotion["doc"]
    for source, target, kind in promotion["moved"]:
        t.db.execute("DELETE FROM links WHERE source = ? AND target = ? AND type = ?", (source, target, kind))
    for link in promotion["links"]:
        t.db.execute(f"INSERT OR IGNORE INTO links(user, {_LINK}) VALUES(?, ?, ?, ?, ?, ?, ?)", (t.user, *link))
    for parent in promotion["lineage"]:
        t.db.execute("DELETE FROM lineage WHERE child = ? AND parent = ?", (doc, parent))
    sql = """UPDATE memories SET status = ?, importance = ?, tier_before = NULL WHERE doc = ? AND status = ?
        RETURNING id, version"""
    back = [(promotion, "long_term"), *((member, "archived") for member in promotion["absorbed"])]
    for held, expected in back:
        found = t.db.execute(sql, (held["status"], held["importance"], held["doc"], expected)).fetchall()
        for id_, version in found:
            t.event("undo", held["doc"], id_, version, consolidation=consolidation)
