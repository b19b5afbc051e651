"""Consolidation applied and undone, each in one transaction, and the undo data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mnemic import types
from mnemic.errors import Conflict, NotFound
from mnemic.stores.schema import DECIDED_LINKS, LINKS, LIVE, MEMBERS, PROMOTIONS, Table
from mnemic.stores.sql import changes, rows
from mnemic.stores.sql.changes import StoredRecord, Transaction
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.queries import AMONG
from mnemic.text.values import from_micros

Ends = tuple[int, int, str]
"""Source, target and type of a link."""


@dataclass(frozen=True, slots=True)
class StoredPromotion:
    """A promoted memory, the tier it had before, and the version that its new text got.

    ``members`` are the docs of what it absorbed, with 1 for those to which a lineage edge was added.
    """

    consolidation: str
    number: int
    doc: int
    status: str
    revised: int | None
    undone: bool
    members: dict[int, int]


PROMOTION_ROWS = """promotions p JOIN consolidations c ON c.user_id = p.user_id AND c.id = p.consolidation
    LEFT JOIN members m ON m.user_id = p.user_id AND m.consolidation = p.consolidation AND m.number = p.number"""
"""Promotions with their consolidation, and a row for each member."""


def promotions(db: Connection, user_id: int, where: str = "", values: Sequence[object] = ()) -> list[StoredPromotion]:
    """The promotions of a user, oldest first; ``where`` filters (aliases p: promotions, c: consolidations)."""
    sql = f"""SELECT p.consolidation, p.number, p.doc, p.status, p.revised, c.undone_at, m.doc, m.descends FROM {PROMOTION_ROWS}
        WHERE p.user_id = ? {where} ORDER BY c.at, c.id, p.number, m.doc"""
    stored: dict[tuple[str, int], StoredPromotion] = {}
    for *row, undone, member, descends in db.execute(sql, (user_id, *values)):
        promotion = stored.setdefault((row[0], row[1]), StoredPromotion(*row, undone=undone is not None, members={}))
        if member is not None:
            promotion.members[member] = descends
    return [*stored.values()]


def _put(db: Connection, table: Table, *values: object, rest: str = "") -> None:
    db.execute(f"INSERT INTO {table.name} VALUES({', '.join('?' * len(values))}) {rest}", values)


def _put_promotion(db: Connection, user_id: int, p: StoredPromotion) -> None:
    """Store a promotion; its consolidation must exist."""
    _put(db, PROMOTIONS, user_id, p.consolidation, p.number, p.doc, p.status, p.revised)
    for member in p.members.items():
        _put(db, MEMBERS, user_id, p.consolidation, p.number, *member)


DecisionRow = tuple[int, int, str, int | None]
"""Source, target and type of a new link, and the ``invalid_at`` that its target had before."""
_MADE_FROM = """WITH RECURSIVE up(doc) AS (SELECT parent FROM lineage WHERE child = ?
    UNION SELECT parent FROM lineage JOIN up ON child = up.doc) SELECT 1 FROM up WHERE doc = ?"""


def mark_consolidating(t: Transaction, change: types.MarkConsolidating) -> types.Receipt:
    """Move short-term memories to ``consolidating``; memories of other tiers stay unchanged."""
    sql = f"UPDATE records SET status = 'consolidating' WHERE user_id = ? AND status = 'short_term' AND id IN {AMONG}"
    t.db.execute(sql, (t.user_id, change.ids))
    t.event("consolidate")  # later edits conflict with the outcome
    return types.Receipt(id=change.ids[0] if change.ids else "", outcome="stored")


def record_access(t: Transaction, change: types.Touch) -> types.Receipt:
    """Add to the access counts of memories of this user; one event without a record tells caches of it."""
    for doc, uses in change.uses.items():
        t.add_uses(doc, uses, change.at)
    if change.uses:
        t.event("use")
    return types.Receipt(id="", outcome="stored")


def consolidate(t: Transaction, change: types.Consolidate) -> types.Receipt:
    """Apply a consolidation: promote, archive, link, and store the undo data.

    A ``supersedes`` link among the contradictions also ends the validity of its target.
    """
    sql = "SELECT 1 FROM consolidations WHERE user_id = ? AND id = ?"
    if t.db.execute(sql, (t.user_id, change.id)).fetchall():
        return types.Receipt(id=change.id, outcome="duplicate", reason="this consolidation is stored")
    sql = "SELECT sequence FROM events WHERE user_id = ? AND operation = 'consolidate' ORDER BY sequence DESC LIMIT 1"
    start = t.db.execute(sql, (t.user_id,)).fetchone()
    t.db.execute("INSERT INTO consolidations(user_id, id, at) VALUES(?, ?, ?)", (t.user_id, change.id, t.now))
    for number, promotion in enumerate(change.promotions):
        _put_promotion(t.db, t.user_id, _promote(t, promotion, change.id, number, start[0] if start else None))
    for link in change.contradictions:
        if ends := (_store_supersession if link.type == "supersedes" else _store_contradiction)(t, link):
            _put(t.db, DECIDED_LINKS, t.user_id, change.id, *ends, rest="ON CONFLICT DO NOTHING")
    for id_ in change.judged:
        _mark_judged(t, id_)
    return types.Receipt(id=change.id, outcome="stored")


def _store_contradiction(t: Transaction, link: types.Link) -> DecisionRow | None:
    """Link two contradicting memories, unless they are linked: a link of the user is never overwritten."""
    ends = (t.get(link.source).doc, t.get(link.target).doc)
    sql = """SELECT 1 FROM links WHERE type = 'contradicts' AND
        ((source = ?1 AND target = ?2) OR (source = ?2 AND target = ?1))"""
    if t.db.execute(sql, ends).fetchall():
        return None
    stored = changes.put_link(t, types.PutLink(link=link)).outcome == "stored"
    return (*ends, link.type, None) if stored else None


def _store_supersession(t: Transaction, link: types.Link) -> DecisionRow | None:
    """End the validity of a superseded memory when that of its successor begins."""
    source, target = _get_live_memory(t, link.source), _get_live_memory(t, link.target)
    end = types.Supersede(id=link.target, by=link.source, at=from_micros(source.since), reason=link.reason)
    stored = changes.supersede(t, end).outcome == "stored"
    return (source.doc, target.doc, link.type, target.invalid_at) if stored else None


def _mark_judged(t: Transaction, id: str) -> None:
    """Note when a seed was judged, and move it back from ``consolidating`` unless it was promoted."""
    seed = t.find_stored(id)
    if seed is None:
        return
    doc = seed.doc
    t.update(doc, status=_tier(seed.status))
    # After the clock was set back, an access may lie in the future: without max() the memory would stay a seed for ever.
    row = t.db.execute("SELECT last_at FROM access WHERE doc = ?", (doc,)).fetchone()
    moment = max(t.now, row[0]) if row else t.now
    sql = "INSERT INTO judged VALUES(?, ?, ?) ON CONFLICT(doc) DO UPDATE SET at = excluded.at"
    t.db.execute(sql, (t.user_id, doc, moment))
    t.event("weigh", doc, id, seed.version)


def _get_live_memory(t: Transaction, id: str, start: int | None = None) -> StoredRecord:
    """A live memory.

    Raises:
        Conflict: it was archived, expired or changed since the consolidation read it.
    """
    memory = t.find_stored(id)
    if memory is None or memory.kind != "memory" or memory.is_archived or memory.expired_at is not None:
        raise Conflict(
            f"The memory {id!r} was forgotten or replaced during consolidation. Nothing was stored; try again."
        )
    sql = "SELECT 1 FROM events WHERE doc = ? AND sequence > ? AND operation IN ('update', 'enrich')"
    if start is not None and t.db.execute(sql, (memory.doc, start)).fetchall():
        raise _changed(id)
    return memory


def _changed(id: str) -> Conflict:
    return Conflict(f"The memory {id!r} changed during consolidation. Nothing was stored; try again.")


def _promote(
    t: Transaction, promotion: types.Promotion, consolidation: str, number: int, start: int | None
) -> StoredPromotion:
    """Promote a memory and absorb its members; returns the undo data."""
    head = _get_live_memory(t, promotion.id, start)
    absorbed = [_get_live_memory(t, id_, start) for id_ in promotion.absorbed]
    doc, version = head.doc, head.version
    for member in absorbed:
        t.update(member.doc, tier_before=_tier(member.status), status="archived")
    if promotion.revised is not None:  # perhaps to the text of one that is absorbed
        if changes.revise(t, promotion.revised).outcome != "stored":
            raise _changed(promotion.id)
        version = promotion.revised.record.version
    for member in absorbed:
        t.event("absorb", member.doc, member.id, member.version, into=promotion.id, consolidation=consolidation)
        if _has_absorbed(t, member.doc, doc):
            t.drop_parent(member.doc, doc)
    undo = StoredPromotion(
        consolidation, number, doc, _tier(head.status), None if promotion.revised is None else version, undone=False,
        members={member.doc: int(_add_lineage(t, doc, member.doc)) for member in absorbed},
    )  # fmt: skip
    copy_links(t, undo)
    t.update(doc, status="long_term")
    t.event("promote", doc, promotion.id, version, consolidation=consolidation, sources=list(promotion.absorbed))
    return undo


def _has_absorbed(t: Transaction, doc: int, member: int) -> bool:
    """Whether a consolidation that was not undone added a lineage edge from one memory to another."""
    sql = f"""SELECT 1 FROM {PROMOTION_ROWS} WHERE p.user_id = ? AND p.doc = ? AND m.doc = ? AND m.descends = 1
        AND c.undone_at IS NULL"""
    return bool(t.db.execute(sql, (t.user_id, doc, member)).fetchall())


def _add_lineage(t: Transaction, doc: int, member: int) -> bool:
    """Add a lineage edge from a memory to a member, unless that would close a cycle; returns whether it was added."""
    return not t.db.execute(_MADE_FROM, (member, doc)).fetchall() and t.add_parent(doc, member)


def _tier(status: str) -> str:
    return "short_term" if status == "consolidating" else status


def copy_links(t: Transaction, promotion: StoredPromotion, among: Collection[Ends] | None = None) -> None:
    """Give a representative the links of its members, or those ``among`` some ends, unless it has them; theirs stay."""
    docs = [*promotion.members]
    where = f"WHERE source IN {AMONG} OR target IN {AMONG} ORDER BY {LINKS.key}"
    for link in rows.select(t.db, LINKS, where, (docs, docs)):
        source, target = (promotion.doc if link[end] in docs else link[end] for end in ("source", "target"))
        if source != target and (among is None or (source, target, link["type"]) in among):
            copy = {**link, "source": source, "target": target, "consolidation": promotion.consolidation}
            changes.insert(t.db, "links", copy, "ON CONFLICT DO NOTHING")


def drop_copies(t: Transaction, promotion: StoredPromotion) -> set[Ends]:
    """Remove the links that a representative has of its members; returns their ends."""
    sql = """DELETE FROM links WHERE user_id = ?1 AND consolidation = ?2 AND (source = ?3 OR target = ?3)
        RETURNING source, target, type"""
    return {*t.db.execute(sql, (t.user_id, promotion.consolidation, promotion.doc)).fetchall()}


def original(db: Connection, promotions: Sequence[StoredPromotion]) -> types.MemoryRecord | None:
    """A memory as it was before these promotions, as its next version; None if it was changed by other means since."""
    doc, versions = promotions[0].doc, [p.revised for p in promotions if p.revised]
    sql = f"SELECT version FROM memories WHERE doc = ? AND {LIVE} AND expired_at IS NULL"
    row = db.execute(sql, (doc,)).fetchone()
    if row is None or not versions or versions != list(range(versions[0], row[0] + 1)):
        return None
    old = db.execute("SELECT row FROM versions WHERE doc = ? AND version = ?", (doc, versions[0] - 1)).fetchone()
    status = cast("types.Status", promotions[0].status)
    return replace(rows.memory_from(rows.version_row(old[0])), version=row[0] + 1, status=status) if old else None


def undo(t: Transaction, change: types.Undo) -> types.Receipt:
    """Undo a consolidation; memories that changed since stay as they are."""
    key = (t.user_id, change.id)
    row = t.db.execute("SELECT undone_at FROM consolidations WHERE user_id = ? AND id = ?", key).fetchone()
    if row is None:
        raise NotFound(f"This user has no consolidation with the id {change.id!r}.")
    if row[0] is not None:
        return types.Receipt(id=change.id, outcome="duplicate", reason="already undone")
    _check_newest(t, change.id)
    unchanged = sum([undo_promotion(t, p) for p in reversed(promotions(t.db, t.user_id, "AND c.id = ?", (change.id,)))])
    sql = "SELECT source, target, type, invalid_at FROM decided_links WHERE user_id = ? AND consolidation = ?"
    for source, target, kind, invalid_at in t.db.execute(f"{sql} ORDER BY target DESC, source DESC", key).fetchall():
        if kind == "supersedes":
            unchanged += _undo_supersession(t, source, target, invalid_at)
        else:
            changes.delete_link(t.db, source, target, kind)
    t.db.execute("UPDATE consolidations SET undone_at = ? WHERE user_id = ? AND id = ?", (t.now, *key))
    reason = f"{unchanged} of its memories were forgotten or replaced since, and stay as they are" if unchanged else ""
    return types.Receipt(id=change.id, outcome="stored", reason=reason)


def _check_newest(t: Transaction, id: str) -> None:
    """Refuse to undo a consolidation while a later one builds on its texts.

    Raises:
        Conflict: a later consolidation rewrote a text of this one.
    """
    sql = """SELECT later.consolidation FROM promotions p JOIN promotions later ON later.user_id = p.user_id
        AND later.doc = p.doc AND later.consolidation != p.consolidation AND later.revised > p.revised
        JOIN consolidations c ON c.user_id = later.user_id AND c.id = later.consolidation AND c.undone_at IS NULL
        WHERE p.user_id = ? AND p.consolidation = ? LIMIT 1"""
    if later := t.db.execute(sql, (t.user_id, id)).fetchone():
        raise Conflict(
            f"The later consolidation {later[0]!r} rewrote a text of the consolidation {id!r}. Nothing was changed; undo "
            "that one first."
        )


def _undo_supersession(t: Transaction, source: int, target: int, invalid_at: int | None) -> int:
    """Undo a supersession; returns 1 if the memory stays expired: it has a successor, or its text or key is taken."""
    changes.delete_link(t.db, source, target, "supersedes")
    successors = t.db.execute("SELECT 1 FROM links WHERE target = ? AND type = 'supersedes'", (target,)).fetchall()
    if successors or changes.has_conflict(t, target):
        return 1
    t.update(target, expired_at=None, invalid_at=invalid_at)
    changes.record_reinstatement(t, t.by_doc(target), "undo")
    return 0


def undo_promotion(t: Transaction, promotion: StoredPromotion, *, restore_text: bool = False) -> int:
    """Undo one promotion; returns how many memories stay as they are, because they were changed since.

    If the representative was forgotten or replaced since, so were its members: they do not come back by themselves.

    Args:
        t: the transaction.
        promotion: the undo data.
        restore_text: its new text is undone even if it was changed since.

    Raises:
        Conflict: a later consolidation absorbed the representative.
    """
    doc, revised, consolidation = promotion.doc, promotion.revised, promotion.consolidation
    head = t.by_doc(doc)
    operation, detail = changes.last_transition(t, doc) if head.is_archived else ("", {})
    if operation == "absorb":
        raise Conflict(
            f"The memory {head.id!r} was absorbed by the later consolidation {detail.get('consolidation')!r}. Nothing was "
            "changed; undo that one first."
        )
    gone = head.is_archived or head.expired_at is not None
    if restore_text or not revised or (head.version == revised and not gone):
        # Else its text still derives from the members: the lineage stays, so that it is erased with them.
        _detach_members(t, promotion)
    returning = head.id if head.version == revised else None
    unchanged = release_members(t, promotion.members, consolidation, gone=gone, returning=returning)
    if gone:
        return 1 + unchanged
    drop_copies(t, promotion)
    if head.status == "long_term":
        t.update(doc, status=promotion.status)
        t.event("undo", doc, head.id, head.version, consolidation=consolidation)
    return unchanged


def _detach_members(t: Transaction, promotion: StoredPromotion) -> None:
    """Remove the lineage edges that a promotion added, and restore those that it took the place of."""
    for member, descends in promotion.members.items():
        if descends:
            t.drop_parent(promotion.doc, member)
        if _has_absorbed(t, member, promotion.doc):
            _add_lineage(t, member, promotion.doc)


def release_members(
    t: Transaction, docs: Iterable[int], consolidation: str, *, gone: bool, returning: str | None = None
) -> int:
    """Restore members that were not changed since; returns how many stay as they are.

    They stay archived if their representative is ``gone``, or another memory has their text or key, but for the one that is
    ``returning`` to its own text.
    """
    unchanged = 0
    for member in map(t.by_doc, docs):
        if not changes.is_absorbed(t, member.doc, consolidation):
            unchanged += 1
        elif gone or changes.has_conflict(t, member.doc, ignored=returning):
            reason = "its representative was forgotten" if gone else "another memory has its text or its key"
            t.event("archive", member.doc, member.id, member.version, reason=reason)
            unchanged += 1
        else:
            changes.bring_back(t, member, "undo", consolidation=consolidation)
    return unchanged
