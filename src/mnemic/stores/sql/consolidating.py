"""Changes of tier: what consolidation decided, carried out or taken back in one transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mnemic.errors import Conflict, NotFound
from mnemic.stores.sql import relating, writing
from mnemic.stores.sql.transaction import Transaction
from mnemic.stores.sql.writing import last_fate
from mnemic.text.canonical import to_json
from mnemic.text.clock import from_micros
from mnemic.types import Consolidate, Link, Promotion, PutLink, Receipt, Supersede, Touch, Undo, Work

__all__ = ["consolidate", "demote", "last_fate", "put_back", "touch", "twin", "undo", "work"]

_LINK = "source, target, type, strength, reason, created_at"
_MADE_FROM = """WITH RECURSIVE up(doc) AS (SELECT parent FROM lineage WHERE child = ?
    UNION SELECT parent FROM lineage JOIN up ON child = up.doc) SELECT 1 FROM up WHERE doc = ?"""


def work(t: Transaction, change: Work) -> Receipt:
    """Mark memories as being worked on, or as no longer; those that are not in the tier it expects are left alone."""
    begun, after = ("consolidating", "short_term") if change.done else ("short_term", "consolidating")
    sql = "UPDATE memories SET status = ? WHERE user_id = ? AND status = ? AND id IN (SELECT value FROM json_each(?))"
    t.db.execute(sql, (after, t.user, begun, t.many(change.ids)))
    if not change.done:  # what is rewritten from here on is not what the outcome was decided on
        began = "INSERT INTO events(user_id, at, operation) VALUES(?, ?, 'consolidate')"
        t.db.execute(began, (t.user, t.at))
    return Receipt(id=change.ids[0] if change.ids else "", outcome="stored")


def touch(t: Transaction, change: Touch) -> Receipt:
    """Count uses; only records of this user have any."""
    sql = """INSERT INTO access(doc, count, last_at) SELECT doc, ?, ? FROM memories WHERE doc = ? AND user_id = ?
        ON CONFLICT(doc) DO UPDATE SET count = access.count + excluded.count,
        last_at = CASE WHEN access.last_at > excluded.last_at THEN access.last_at ELSE excluded.last_at END"""
    for doc, uses in change.uses.items():
        t.db.execute(sql, (uses, change.at, doc, t.user))
    return Receipt(id="", outcome="stored")


def consolidate(t: Transaction, change: Consolidate) -> Receipt:
    """Promote, archive, link and weigh, and keep what is needed to take it back.

    A link of the type ``supersedes`` among the contradictions also ends the time of its target.
    """
    sql = "SELECT 1 FROM consolidations WHERE user_id = ? AND id = ?"
    if t.db.execute(sql, (t.user, change.id)).fetchall():
        return Receipt(id=change.id, outcome="duplicate", reason="this consolidation is stored")
    sql = "SELECT sequence FROM events WHERE user_id = ? AND operation = 'consolidate' ORDER BY sequence DESC LIMIT 1"
    began = t.db.execute(sql, (t.user,)).fetchone()
    plan = [_promoted(t, promotion, change.id, began[0] if began else None) for promotion in change.promotions]
    linked = [_contradicted(t, link) for link in change.contradictions if link.type != "supersedes"]
    ended = [_ended(t, link) for link in change.contradictions if link.type == "supersedes"]
    weighed = [_weigh(t, id_, importance) for id_, importance in change.weighed.items()]
    kept = {
        "promotions": plan,
        "contradictions": [pair for pair in linked if pair],
        "ended": [end for end in ended if end],
        "weighed": [held for held in weighed if held],
    }
    t.db.execute(
        "INSERT INTO consolidations(user_id, id, at, plan) VALUES(?, ?, ?, ?)", (t.user, change.id, t.at, to_json(kept))
    )
    return Receipt(id=change.id, outcome="stored")


def _contradicted(t: Transaction, link: Link) -> list[int] | None:
    """Link two memories that differ, unless somebody did before; a link of the user's own is never overwritten."""
    ends = [t.required(link.source)[1], t.required(link.target)[1]]
    sql = """SELECT 1 FROM links WHERE type = 'contradicts' AND
        ((source = ?1 AND target = ?2) OR (source = ?2 AND target = ?1))"""
    if t.db.execute(sql, ends).fetchall():
        return None
    return ends if relating.put_link(t, PutLink(link=link)).outcome == "stored" else None


def _ended(t: Transaction, link: Link) -> list[int | None] | None:
    """End the time of what another memory replaces, from when that one is true."""
    source, target = t.required(link.source)[1], t.required(link.target)[1]
    _live(t, link.source)
    _live(t, link.target)
    (since,) = t.db.execute(
        "SELECT coalesce(valid_at, said_at, created_at) FROM memories WHERE doc = ?", (source,)
    ).fetchone()
    (invalid,) = t.db.execute("SELECT invalid_at FROM memories WHERE doc = ?", (target,)).fetchone()
    end = Supersede(id=link.target, by=link.source, at=from_micros(since), reason=link.reason)
    return [source, target, invalid] if relating.supersede(t, end).outcome == "stored" else None


def _weigh(t: Transaction, id: str, importance: float) -> list[float] | None:
    """A seed that was looked at: its importance as it is now, back from the workbench unless it was promoted.

    Returns doc, importance before and after, where it was changed and the memory is in the short-term tier.
    """
    sql = "SELECT doc, version, status, importance, pinned FROM memories WHERE user_id = ? AND id = ?"
    found = t.db.execute(sql, (t.user, id)).fetchone()
    if found is None:
        return None
    doc, version, status, before, pinned = found
    now = before if pinned else importance
    t.db.execute("UPDATE memories SET status = ?, importance = ? WHERE doc = ?", (_tier(status), now, doc))
    # A clock that was set back must not leave a use in the future: the memory would be looked at for ever.
    used = t.db.execute("SELECT last_at FROM access WHERE doc = ?", (doc,)).fetchone()
    at = max(t.at, used[0]) if used else t.at
    t.db.execute("INSERT INTO judged(doc, at) VALUES(?, ?) ON CONFLICT(doc) DO UPDATE SET at = excluded.at", (doc, at))
    t.event("weigh", doc, id, version)
    return [doc, before, now] if _tier(status) == "short_term" else None


def _live(t: Transaction, id: str, began: int | None = None) -> tuple[int, str, float, int]:
    """Doc, status, importance and version of a memory that is still as consolidation read it."""
    sql = "SELECT doc, status, importance, version, expired_at FROM memories WHERE user_id = ? AND id = ?"
    row = t.db.execute(sql, (t.user, id)).fetchone()
    if row is None or row[1] == "archived" or row[4] is not None:
        raise Conflict(
            f"The memory {id!r} was forgotten or replaced during consolidation. Nothing was stored; try again."
        )
    sql = "SELECT 1 FROM events WHERE doc = ? AND sequence > ? AND operation IN ('update', 'enrich')"
    if began is not None and t.db.execute(sql, (row[0], began)).fetchall():
        raise Conflict(f"The memory {id!r} changed during consolidation. Nothing was stored; try again.")
    return row[0], row[1], row[2], row[3]


def _promoted(t: Transaction, promotion: Promotion, consolidation: str, began: int | None) -> dict[str, Any]:
    """One memory promoted over those it stands for; returns what undoing it takes."""
    doc, status, importance, version = _live(t, promotion.id, began)
    members = [(id_, *_live(t, id_, began)) for id_ in promotion.absorbed]
    docs = [member[1] for member in members]
    undo: dict[str, Any] = {"doc": doc, "status": _tier(status), "importance": importance, "absorbed": []}
    if promotion.revised is not None:
        if writing.revise(t, promotion.revised).outcome != "stored":
            raise Conflict(f"The memory {promotion.id!r} changed during consolidation. Nothing was stored; try again.")
        version = promotion.revised.record.version
    undo["revised"] = None if promotion.revised is None else version
    for id_, member, tier, held, its_version in members:
        undo["absorbed"].append({"doc": member, "status": _tier(tier), "importance": held})
        t.db.execute("UPDATE memories SET tier_before = ?, status = 'archived' WHERE doc = ?", (_tier(tier), member))
        t.event("absorb", member, id_, its_version, into=promotion.id, consolidation=consolidation)
    undo["turned"] = [member for id_, member, *_ in members if _turned(t, doc, member, id_)]
    undo["lineage"] = [member for member in docs if _descends(t, doc, member)]
    undo["links"], undo["moved"] = _move_links(t, doc, docs)
    t.db.execute(
        """UPDATE memories SET status = 'long_term',
        importance = CASE pinned WHEN 0 THEN ? ELSE importance END WHERE doc = ?""",
        (promotion.importance, doc),
    )
    t.event("promote", doc, promotion.id, version, consolidation=consolidation, sources=list(promotion.absorbed))
    return undo


def _turned(t: Transaction, doc: int, member: int, id: str) -> bool:
    """Whether a member had stood for its representative, before that was restored: then their lineage turns round.

    Not where it was made of it before, by whoever stored it.
    """
    sql = "SELECT detail FROM events WHERE doc = ? AND operation = 'absorb'"
    if not any(json.loads(detail).get("into") == id for (detail,) in t.db.execute(sql, (doc,)).fetchall()):
        return False
    sql = "SELECT plan FROM consolidations WHERE user_id = ? AND undone_at IS NULL"
    held = [p for (plan,) in t.db.execute(sql, (t.user,)).fetchall() for p in json.loads(plan)["promotions"]]
    if not any(p["doc"] == member and doc in p["lineage"] for p in held):
        return False
    sql = "DELETE FROM lineage WHERE child = ? AND parent = ? RETURNING 1"
    return bool(t.db.execute(sql, (member, doc)).fetchall())


def _descends(t: Transaction, doc: int, member: int) -> bool:
    """Note that a memory now stands for a member; not where that was made from it itself: lineage has no circles."""
    if t.db.execute(_MADE_FROM, (member, doc)).fetchall():
        return False
    sql = "INSERT INTO lineage(child, parent) VALUES(?, ?) ON CONFLICT DO NOTHING RETURNING 1"
    return bool(t.db.execute(sql, (doc, member)).fetchall())


def _tier(status: str) -> str:
    return "short_term" if status == "consolidating" else status


def _move_links(t: Transaction, doc: int, members: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """Links of the members now begin and end at their representative; returns them as they were and as they are."""
    if not members:
        return [], []
    named = t.many(members)
    among = "(SELECT value FROM json_each(?))"
    sql = f"SELECT {_LINK} FROM links WHERE source IN {among} OR target IN {among}"
    old = t.db.execute(sql, (named, named)).fetchall()
    t.db.execute(f"DELETE FROM links WHERE source IN {among} OR target IN {among}", (named, named))
    inside = set(members)
    moved: list[Any] = []
    for source, target, kind, strength, reason, at in old:
        ends = (doc if source in inside else source, doc if target in inside else target)
        if ends[0] != ends[1] and put_back(t, (*ends, kind, strength, reason, at)):
            moved.append([*ends, kind])
    return [list(row) for row in old], moved


def put_back(t: Transaction, link: Sequence[Any]) -> bool:
    """Write a link unless there is one; whether it was written."""
    sql = f"INSERT INTO links(user_id, {_LINK}) VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1"
    return bool(t.db.execute(sql, (t.user, *link)).fetchall())


def undo(t: Transaction, change: Undo) -> Receipt:
    """Put everything back that a consolidation changed and nobody has changed since."""
    sql = "SELECT plan, undone_at FROM consolidations WHERE user_id = ? AND id = ?"
    row = t.db.execute(sql, (t.user, change.id)).fetchone()
    if row is None:
        raise NotFound(f"This user has no consolidation with the id {change.id!r}.")
    if row[1] is not None:
        return Receipt(id=change.id, outcome="duplicate", reason="it was taken back before")
    plan = json.loads(row[0])
    _check_newest(t, change.id, plan)
    left = sum([demote(t, promotion, change.id) for promotion in reversed(plan["promotions"])])
    for end in reversed(plan["ended"]):
        left += _believe(t, *end)
    for source, target in plan["contradictions"]:
        t.db.execute("DELETE FROM links WHERE source = ? AND target = ? AND type = 'contradicts'", (source, target))
    for doc, before, after in plan["weighed"]:
        sql = "UPDATE memories SET importance = ? WHERE doc = ? AND importance = ? AND pinned = 0 AND status = 'short_term'"
        t.db.execute(sql, (before, doc, after))
    t.db.execute("UPDATE consolidations SET undone_at = ? WHERE user_id = ? AND id = ?", (t.at, t.user, change.id))
    reason = f"{left} of its memories were forgotten or replaced since, and stay as they are" if left else ""
    return Receipt(id=change.id, outcome="stored", reason=reason)


def _check_newest(t: Transaction, id: str, plan: dict[str, Any]) -> None:
    """Refuse to take a text back while a later consolidation made another of it.

    Raises:
        Conflict: there is one.
    """
    reworded = {promotion["doc"]: promotion["revised"] for promotion in plan["promotions"] if promotion["revised"]}
    if not reworded:
        return
    sql = "SELECT id, plan FROM consolidations WHERE user_id = ? AND id != ? AND undone_at IS NULL"
    for later, text in t.db.execute(sql, (t.user, id)).fetchall():
        for promotion in json.loads(text)["promotions"]:
            doc, revised = promotion["doc"], promotion["revised"]
            if doc in reworded and revised and revised > reworded[doc]:
                raise Conflict(
                    f"What the consolidation {id!r} made went into a text that {later!r} made. Nothing was changed; undo that "
                    "one first."
                )


def _believe(t: Transaction, source: int, target: int, invalid: int | None) -> int:
    """Give a memory the time back that a decision had ended; 1 if something else ended it as well, or says the same."""
    t.db.execute("DELETE FROM links WHERE source = ? AND target = ? AND type = 'supersedes'", (source, target))
    if t.db.execute("SELECT 1 FROM links WHERE target = ? AND type = 'supersedes'", (target,)).fetchall():
        return 1
    if twin(t, target):
        return 1
    sql = "UPDATE memories SET expired_at = NULL, invalid_at = ? WHERE doc = ? RETURNING id, version"
    for id_, version in t.db.execute(sql, (invalid, target)).fetchall():
        t.event("undo", target, id_, version)
    return 0


def twin(t: Transaction, doc: int) -> bool:
    """Whether another live memory of the same level says the same by now."""
    sql = """SELECT 1 FROM memories m JOIN memories o ON o.user_id = m.user_id AND o.hash = m.hash AND o.doc != m.doc
        AND coalesce(o.project, '') = coalesce(m.project, '') AND coalesce(o.session, '') = coalesce(m.session, '')
        WHERE m.doc = ? AND o.status != 'archived' AND o.expired_at IS NULL"""
    return bool(t.db.execute(sql, (doc,)).fetchall())


def demote(t: Transaction, promotion: dict[str, Any], consolidation: str, *, texts_back: bool = False) -> int:
    """Take one promotion back; returns how many memories stay as they are, because they were changed since.

    What was forgotten or replaced since was so for all that it stood for: its members do not come back by themselves.

    Args:
        t: the transaction.
        promotion: as the plan of its consolidation holds it.
        consolidation: its id.
        texts_back: a text that it was given is taken back, whoever changed it since.

    Raises:
        Conflict: a later consolidation rests on this one.
    """
    doc, revised = promotion["doc"], promotion["revised"]
    sql = "SELECT id, status, expired_at, version FROM memories WHERE doc = ?"
    id_, status, expired, version = t.db.execute(sql, (doc,)).fetchone()
    if status == "archived" and (fate := last_fate(t, doc))[0] == "absorb":
        raise Conflict(
            f"The memory {id_!r} went into another one by the consolidation {fate[1]!r}. Nothing was changed; undo that "
            "one first."
        )
    gone = status == "archived" or expired is not None
    if texts_back or not revised or (version == revised and not gone):
        _part(t, promotion)  # else its text still tells what they told: it is made of them, and is erased with them
    if gone:
        for held in promotion["absorbed"]:
            if last_fate(t, held["doc"]) == ("absorb", consolidation):
                _left_alone(t, held["doc"], "what stood for it was forgotten")
        return 1 + len(promotion["absorbed"])
    for source, target, kind in promotion["moved"]:
        t.db.execute("DELETE FROM links WHERE source = ? AND target = ? AND type = ?", (source, target, kind))
    for link in promotion["links"]:
        put_back(t, link)
    _put_back(t, promotion, "long_term", consolidation)
    return sum(not _speaks_again(t, member, consolidation) for member in promotion["absorbed"])


def _part(t: Transaction, promotion: dict[str, Any]) -> None:
    """A memory is no longer made of those it stood for."""
    doc = promotion["doc"]
    for parent in promotion["lineage"]:
        t.db.execute("DELETE FROM lineage WHERE child = ? AND parent = ?", (doc, parent))
    for child in promotion["turned"]:
        t.db.execute("INSERT INTO lineage(child, parent) VALUES(?, ?) ON CONFLICT DO NOTHING", (child, doc))


def _left_alone(t: Transaction, doc: int, reason: str) -> None:
    """What nothing stands for any more and does not come back by itself is forgotten."""
    id_, version = t.db.execute("SELECT id, version FROM memories WHERE doc = ?", (doc,)).fetchone()
    t.event("archive", doc, id_, version, reason=reason)


def _speaks_again(t: Transaction, member: dict[str, Any], consolidation: str) -> bool:
    """Whether a member comes back: not one that was changed since, and not where somebody says the same by now."""
    doc = member["doc"]
    if last_fate(t, doc) != ("absorb", consolidation):
        return False
    if twin(t, doc):
        _left_alone(t, doc, "another memory says the same")
        return False
    _put_back(t, member, "archived", consolidation)
    return True


def _put_back(t: Transaction, held: dict[str, Any], expected: str, consolidation: str) -> None:
    sql = """UPDATE memories SET status = ?, importance = CASE pinned WHEN 0 THEN ? ELSE importance END,
        tier_before = NULL WHERE doc = ? AND status = ? RETURNING id, version"""
    for id_, version in t.db.execute(sql, (held["status"], held["importance"], held["doc"], expected)).fetchall():
        t.event("undo", held["doc"], id_, version, consolidation=consolidation)
