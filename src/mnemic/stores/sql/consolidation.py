"""Consolidation applied and undone, each in one transaction, and the undo data."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import astuple, dataclass, replace
from typing import TypeVar, cast

from mnemic.errors import Conflict, NotFound
from mnemic.stores.schema import DECIDED_LINKS, MEMBERS, MOVED_LINKS, PROMOTIONS, Table
from mnemic.stores.sql import changes, rows
from mnemic.stores.sql.changes import Transaction
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.queries import AMONG
from mnemic.text.clock import from_micros
from mnemic.types import (
    Consolidate,
    Link,
    MarkConsolidating,
    MemoryRecord,
    Promotion,
    PutLink,
    Receipt,
    Status,
    Supersede,
    Touch,
    Undo,
)

__all__ = [
    "MovedLink", "StoredPromotion", "archive_for_good", "consolidate", "mark_consolidating", "previous", "promotions",
    "put_links", "record_access", "restore_link", "restore_member", "undo", "undo_promotion",
]  # fmt: skip

P = TypeVar("P")
Ends = tuple[int, int, str]
"""Source, target and type of a link."""


@dataclass(frozen=True, slots=True)
class Member:
    """An absorbed memory, as it was before.

    ``descends``: a lineage edge from the representative to it was added. ``turned``: it was the representative in an earlier
    consolidation, and the old lineage edge was reversed.
    """

    doc: int
    status: str
    descends: int
    turned: int


@dataclass(frozen=True, slots=True)
class MovedLink:
    """A link of a member as it was; ``moved``: it was transferred to the representative."""

    source: int
    target: int
    type: str
    strength: float
    reason: str
    created_at: int
    moved: int

    @property
    def identity(self) -> tuple[int, int, str, str, int]:
        """What identifies a link however often it was moved: source, target, type, reason and time."""
        return (self.source, self.target, self.type, self.reason, self.created_at)

    def ends_at(self, docs: Collection[int]) -> bool:
        """Whether its source or target is one of these docs."""
        return self.source in docs or self.target in docs


@dataclass(frozen=True, slots=True)
class StoredPromotion:
    """A promoted memory as it was before, with its members. ``revised`` is the version that its new text got."""

    consolidation: str
    number: int
    doc: int
    status: str
    revised: int | None
    undone: bool
    members: tuple[Member, ...]
    links: tuple[MovedLink, ...]

    @property
    def docs(self) -> set[int]:
        """The docs of the members."""
        return {member.doc for member in self.members}

    def ends(self, link: MovedLink) -> Ends:
        """The ends of a member's link after the promotion."""
        among = self.docs
        source = self.doc if link.source in among else link.source
        return (source, self.doc if link.target in among else link.target, link.type)


def promotions(db: Connection, user: int, where: str = "", values: Sequence[object] = ()) -> list[StoredPromotion]:
    """The promotions of a user, oldest first; ``where`` filters (aliases p: promotions, c: consolidations)."""
    sql = f"""SELECT p.consolidation, p.number, p.doc, p.status, p.revised, c.undone_at FROM promotions p
        JOIN consolidations c ON c.user_id = p.user_id AND c.id = p.consolidation WHERE p.user_id = ? {where}
        ORDER BY c.at, c.id, p.number"""
    found = db.execute(sql, (user, *values)).fetchall()
    chosen = (user, sorted({row[0] for row in found}))
    members = _parts(db, MEMBERS, Member, "doc", chosen)
    links = _parts(db, MOVED_LINKS, MovedLink, "source, target, type", chosen)
    return [
        StoredPromotion(
            *row[:5], undone=row[5] is not None, members=tuple(members[row[:2]]), links=tuple(links[row[:2]])
        )
        for row in found
    ]  # fmt: skip


def _parts(
    db: Connection, table: Table, part: Callable[..., P], order: str, chosen: tuple[object, ...]
) -> dict[tuple[str, int], list[P]]:
    """The rows of a table by consolidation and number of the promotion."""
    sql = f"SELECT {table.listed} FROM {table.name} WHERE user_id = ? AND consolidation IN {AMONG} ORDER BY {order}"
    found: dict[tuple[str, int], list[P]] = defaultdict(list)
    for _, id_, number, *rest in db.execute(sql, chosen):
        found[id_, number].append(part(*rest))
    return found


def _put(db: Connection, table: Table, *values: object, rest: str = "") -> None:
    db.execute(f"INSERT INTO {table.name} VALUES({', '.join('?' * len(values))}) {rest}", values)


def _put_promotion(db: Connection, user: int, p: StoredPromotion) -> None:
    """Store a promotion; its consolidation must exist."""
    _put(db, PROMOTIONS, user, p.consolidation, p.number, p.doc, p.status, p.revised)
    for member in p.members:
        _put(db, MEMBERS, user, p.consolidation, p.number, *astuple(member))
    put_links(db, user, p)


def put_links(db: Connection, user: int, p: StoredPromotion) -> None:
    """Store the links that a promotion moved, replacing those stored before."""
    own = (user, p.consolidation, p.number)
    db.execute("DELETE FROM moved_links WHERE user_id = ? AND consolidation = ? AND number = ?", own)
    for link in p.links:
        _put(db, MOVED_LINKS, *own, *astuple(link))


DecisionRow = tuple[int, int, str, int | None]
"""Source, target and type of a new link, and the ``invalid_at`` that its target had before."""
_LINK = "source, target, type, strength, reason, created_at"
_MADE_FROM = """WITH RECURSIVE up(doc) AS (SELECT parent FROM lineage WHERE child = ?
    UNION SELECT parent FROM lineage JOIN up ON child = up.doc) SELECT 1 FROM up WHERE doc = ?"""


def mark_consolidating(t: Transaction, change: MarkConsolidating) -> Receipt:
    """Move short-term memories to ``consolidating``, or back with ``done``; memories of other tiers stay unchanged."""
    begun, after = ("consolidating", "short_term") if change.done else ("short_term", "consolidating")
    sql = f"UPDATE records SET status = ? WHERE user_id = ? AND status = ? AND id IN {AMONG}"
    t.db.execute(sql, (after, t.user, begun, change.ids))
    if not change.done:  # later edits conflict with the outcome
        began = "INSERT INTO events(user_id, at, operation) VALUES(?, ?, 'consolidate')"
        t.db.execute(began, (t.user, t.at))
    return Receipt(id=change.ids[0] if change.ids else "", outcome="stored")


def record_access(t: Transaction, change: Touch) -> Receipt:
    """Add to the access counts of memories of this user; one event without a record tells caches of it."""
    for doc, uses in change.uses.items():
        t.add_uses(doc, uses, change.at)
    if change.uses:
        t.db.execute("INSERT INTO events(user_id, at, operation) VALUES(?, ?, 'use')", (t.user, t.at))
    return Receipt(id="", outcome="stored")


def consolidate(t: Transaction, change: Consolidate) -> Receipt:
    """Apply a consolidation: promote, archive, link, and store the undo data.

    A ``supersedes`` link among the contradictions also ends the validity of its target.
    """
    sql = "SELECT 1 FROM consolidations WHERE user_id = ? AND id = ?"
    if t.db.execute(sql, (t.user, change.id)).fetchall():
        return Receipt(id=change.id, outcome="duplicate", reason="this consolidation is stored")
    sql = "SELECT sequence FROM events WHERE user_id = ? AND operation = 'consolidate' ORDER BY sequence DESC LIMIT 1"
    began = t.db.execute(sql, (t.user,)).fetchone()
    t.db.execute("INSERT INTO consolidations(user_id, id, at) VALUES(?, ?, ?)", (t.user, change.id, t.at))
    for number, promotion in enumerate(change.promotions):
        _put_promotion(t.db, t.user, _promote(t, promotion, change.id, number, began[0] if began else None))
    for link in change.contradictions:
        if ends := (_store_supersession if link.type == "supersedes" else _store_contradiction)(t, link):
            _put(t.db, DECIDED_LINKS, t.user, change.id, *ends, rest="ON CONFLICT DO NOTHING")
    for id_ in change.judged:
        _mark_judged(t, id_)
    return Receipt(id=change.id, outcome="stored")


def _store_contradiction(t: Transaction, link: Link) -> DecisionRow | None:
    """Link two contradicting memories, unless they are linked: a link of the user is never overwritten."""
    ends = (t.required(link.source)[1], t.required(link.target)[1])
    sql = """SELECT 1 FROM links WHERE type = 'contradicts' AND
        ((source = ?1 AND target = ?2) OR (source = ?2 AND target = ?1))"""
    if t.db.execute(sql, ends).fetchall():
        return None
    stored = changes.put_link(t, PutLink(link=link)).outcome == "stored"
    return (*ends, link.type, None) if stored else None


def _store_supersession(t: Transaction, link: Link) -> DecisionRow | None:
    """End the validity of a superseded memory when that of its successor begins."""
    source, target = t.required(link.source)[1], t.required(link.target)[1]
    for id_ in (link.source, link.target):
        _require_live(t, id_)
    sql = "SELECT coalesce(valid_at, said_at, created_at), invalid_at FROM memories WHERE doc = ?"
    since, _ = t.db.execute(sql, (source,)).fetchone()
    _, invalid = t.db.execute(sql, (target,)).fetchone()
    end = Supersede(id=link.target, by=link.source, at=from_micros(since), reason=link.reason)
    stored = changes.supersede(t, end).outcome == "stored"
    return (source, target, link.type, invalid) if stored else None


def _mark_judged(t: Transaction, id: str) -> None:
    """Note when a seed was judged, and move it back from ``consolidating`` unless it was promoted."""
    found = t.db.execute(
        "SELECT doc, version, status FROM memories WHERE user_id = ? AND id = ?", (t.user, id)
    ).fetchone()
    if found is None:
        return
    doc, version, status = found
    t.db.execute("UPDATE records SET status = ? WHERE doc = ?", (_tier(status), doc))
    # After the clock was set back, an access may lie in the future: without max() the memory would stay a seed for ever.
    used = t.db.execute("SELECT last_at FROM access WHERE doc = ?", (doc,)).fetchone()
    at = max(t.at, used[0]) if used else t.at
    sql = "INSERT INTO judged VALUES(?, ?, ?) ON CONFLICT(doc) DO UPDATE SET at = excluded.at"
    t.db.execute(sql, (t.user, doc, at))
    t.event("weigh", doc, id, version)


def _require_live(t: Transaction, id: str, began: int | None = None) -> tuple[int, str, int]:
    """Doc, status and version of a live memory.

    Raises:
        Conflict: it was archived, expired or changed since the consolidation read it.
    """
    sql = "SELECT doc, status, version, expired_at FROM memories WHERE user_id = ? AND id = ?"
    row = t.db.execute(sql, (t.user, id)).fetchone()
    if row is None or rows.public_status(row[1]) == "archived" or row[3] is not None:
        raise Conflict(
            f"The memory {id!r} was forgotten or replaced during consolidation. Nothing was stored; try again."
        )
    sql = "SELECT 1 FROM events WHERE doc = ? AND sequence > ? AND operation IN ('update', 'enrich')"
    if began is not None and t.db.execute(sql, (row[0], began)).fetchall():
        raise Conflict(f"The memory {id!r} changed during consolidation. Nothing was stored; try again.")
    return row[0], row[1], row[2]


def _promote(
    t: Transaction, promotion: Promotion, consolidation: str, number: int, began: int | None
) -> StoredPromotion:
    """Promote a memory and absorb its members; returns the undo data."""
    doc, status, version = _require_live(t, promotion.id, began)
    absorbed = [(id_, *_require_live(t, id_, began)) for id_ in promotion.absorbed]
    if promotion.revised is not None:
        if changes.revise(t, promotion.revised).outcome != "stored":
            raise Conflict(f"The memory {promotion.id!r} changed during consolidation. Nothing was stored; try again.")
        version = promotion.revised.record.version
    for id_, member, tier, its_version in absorbed:
        t.db.execute("UPDATE records SET tier_before = ?, status = 'archived' WHERE doc = ?", (_tier(tier), member))
        t.event("absorb", member, id_, its_version, into=promotion.id, consolidation=consolidation)
    turned = {member for id_, member, *_ in absorbed if _reverse_lineage(t, doc, member, id_)}
    undo = StoredPromotion(
        consolidation, number, doc, _tier(status), None if promotion.revised is None else version,
        undone=False,
        members=tuple(
            Member(member, _tier(tier), int(_add_lineage(t, doc, member)), int(member in turned))
            for _, member, tier, _ in absorbed
        ),
        links=(),
    )  # fmt: skip
    undo = replace(undo, links=_move_links(t, undo))
    t.db.execute("UPDATE records SET status = 'long_term' WHERE doc = ?", (doc,))
    t.event("promote", doc, promotion.id, version, consolidation=consolidation, sources=list(promotion.absorbed))
    return undo


def _reverse_lineage(t: Transaction, doc: int, member: int, id: str) -> bool:
    """Remove the lineage edge from a member to its representative, if an earlier consolidation added it.

    That is the case if the member had absorbed the representative, which was restored since. Edges of the caller stay.
    """
    sql = "SELECT detail FROM events WHERE doc = ? AND operation = 'absorb'"
    if not any(json.loads(detail).get("into") == id for (detail,) in t.db.execute(sql, (doc,)).fetchall()):
        return False
    sql = """SELECT 1 FROM promotions p JOIN consolidations c ON c.user_id = p.user_id AND c.id = p.consolidation
        JOIN members m ON m.user_id = p.user_id AND m.consolidation = p.consolidation AND m.number = p.number
        WHERE p.user_id = ? AND p.doc = ? AND m.doc = ? AND m.descends = 1 AND c.undone_at IS NULL"""
    if not t.db.execute(sql, (t.user, member, doc)).fetchall():
        return False
    sql = "DELETE FROM lineage WHERE child = ? AND parent = ? RETURNING 1"
    return bool(t.db.execute(sql, (member, doc)).fetchall())


def _add_lineage(t: Transaction, doc: int, member: int) -> bool:
    """Add a lineage edge from a memory to a member, unless that would close a cycle; returns whether it was added."""
    if t.db.execute(_MADE_FROM, (member, doc)).fetchall():
        return False
    return t.add_parent(doc, member)


def _tier(status: str) -> str:
    return "short_term" if status == "consolidating" else status


def _move_links(t: Transaction, promoted: StoredPromotion) -> tuple[MovedLink, ...]:
    """Transfer the links of the members to their representative; returns the links as they were."""
    if not promoted.members:
        return ()
    sql = f"DELETE FROM links WHERE source IN {AMONG} OR target IN {AMONG} RETURNING {_LINK}"
    gone = t.db.execute(sql, (promoted.docs, promoted.docs)).fetchall()
    old = [MovedLink(*row, moved=0) for row in sorted(gone)]
    return tuple(replace(link, moved=int(restore_link(t, link, promoted.ends(link)))) for link in old)


def restore_link(t: Transaction, link: MovedLink, ends: Ends | None = None) -> bool:
    """Insert a link, optionally with other ends, unless one exists; returns whether it was inserted."""
    source, target, kind = ends or (link.source, link.target, link.type)
    if source == target:
        return False
    sql = f"INSERT INTO links(user_id, {_LINK}) VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1"
    row = (t.user, source, target, kind, link.strength, link.reason, link.created_at)
    return bool(t.db.execute(sql, row).fetchall())


def previous(promotion: StoredPromotion, row: str, version: int) -> MemoryRecord:
    """A promoted memory as it was before, from its row in ``versions``, as a new version."""
    record, status = rows.memory_from(rows.version_row(row)), cast("Status", promotion.status)
    return replace(record, version=version, status=status)


def undo(t: Transaction, change: Undo) -> Receipt:
    """Undo a consolidation; memories that changed since stay as they are."""
    own = (t.user, change.id)
    row = t.db.execute("SELECT undone_at FROM consolidations WHERE user_id = ? AND id = ?", own).fetchone()
    if row is None:
        raise NotFound(f"This user has no consolidation with the id {change.id!r}.")
    if row[0] is not None:
        return Receipt(id=change.id, outcome="duplicate", reason="already undone")
    _check_newest(t, change.id)
    left = sum([undo_promotion(t, p) for p in reversed(promotions(t.db, t.user, "AND c.id = ?", (change.id,)))])
    sql = "SELECT source, target, type, invalid_at FROM decided_links WHERE user_id = ? AND consolidation = ?"
    for source, target, kind, invalid in t.db.execute(f"{sql} ORDER BY target DESC, source DESC", own).fetchall():
        if kind == "supersedes":
            left += _undo_supersession(t, source, target, invalid)
        else:
            sql = "DELETE FROM links WHERE source = ? AND target = ? AND type = ?"
            t.db.execute(sql, (source, target, kind))
    t.db.execute("UPDATE consolidations SET undone_at = ? WHERE user_id = ? AND id = ?", (t.at, *own))
    reason = f"{left} of its memories were forgotten or replaced since, and stay as they are" if left else ""
    return Receipt(id=change.id, outcome="stored", reason=reason)


def _check_newest(t: Transaction, id: str) -> None:
    """Refuse to undo a consolidation while a later one builds on its texts.

    Raises:
        Conflict: a later consolidation rewrote a text of this one.
    """
    sql = """SELECT later.consolidation FROM promotions p JOIN promotions later ON later.user_id = p.user_id
        AND later.doc = p.doc AND later.consolidation != p.consolidation AND later.revised > p.revised
        JOIN consolidations c ON c.user_id = later.user_id AND c.id = later.consolidation AND c.undone_at IS NULL
        WHERE p.user_id = ? AND p.consolidation = ? LIMIT 1"""
    if later := t.db.execute(sql, (t.user, id)).fetchone():
        raise Conflict(
            f"The later consolidation {later[0]!r} rewrote a text of the consolidation {id!r}. Nothing was changed; undo "
            "that one first."
        )


def _undo_supersession(t: Transaction, source: int, target: int, invalid: int | None) -> int:
    """Undo a supersession; returns 1 if the memory stays expired: it has another successor or a live duplicate."""
    t.db.execute("DELETE FROM links WHERE source = ? AND target = ? AND type = 'supersedes'", (source, target))
    held = t.db.execute("SELECT 1 FROM links WHERE target = ? AND type = 'supersedes'", (target,)).fetchall()
    if held or changes.has_duplicate(t, target):
        return 1
    sql = "UPDATE records SET expired_at = NULL, invalid_at = ? WHERE doc = ? RETURNING id, version"
    for id_, version in t.db.execute(sql, (invalid, target)).fetchall():
        t.event("undo", target, id_, version)
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
    sql = "SELECT id, status, expired_at, version FROM records WHERE doc = ?"
    id_, status, expired, version = t.db.execute(sql, (doc,)).fetchone()
    archived = rows.public_status(status) == "archived"
    operation, detail = changes.last_transition(t, doc) if archived else ("", {})
    if operation == "absorb":
        raise Conflict(
            f"The memory {id_!r} was absorbed by the later consolidation {detail.get('consolidation')!r}. Nothing was "
            "changed; undo that one first."
        )
    gone = archived or expired is not None
    if restore_text or not revised or (version == revised and not gone):
        # Else its text still derives from the members: the lineage stays, so that it is erased with them.
        _detach_members(t, promotion)
    if gone:
        for member in promotion.members:
            if changes.is_absorbed(t, member.doc, consolidation):
                archive_for_good(t, member.doc, "its representative was forgotten")
        return 1 + len(promotion.members)
    for link in promotion.links:
        if link.moved:
            sql = "DELETE FROM links WHERE source = ? AND target = ? AND type = ?"
            t.db.execute(sql, promotion.ends(link))
    for link in promotion.links:
        restore_link(t, link)
    _restore_tier(t, promotion, "long_term", consolidation)
    return sum(not restore_member(t, member, consolidation) for member in promotion.members)


def _detach_members(t: Transaction, promotion: StoredPromotion) -> None:
    """Remove the lineage edges that a promotion added, and restore those it reversed."""
    for member in promotion.members:
        if member.descends:
            t.db.execute("DELETE FROM lineage WHERE child = ? AND parent = ?", (promotion.doc, member.doc))
        if member.turned:
            t.add_parent(member.doc, promotion.doc)


def archive_for_good(t: Transaction, doc: int, reason: str) -> None:
    """Write an archive event for a member that is not restored."""
    id_, version = t.db.execute("SELECT id, version FROM records WHERE doc = ?", (doc,)).fetchone()
    t.event("archive", doc, id_, version, reason=reason)


def restore_member(t: Transaction, member: Member, consolidation: str) -> bool:
    """Restore a member, unless it was changed since or has a live duplicate; returns whether it was restored."""
    if not changes.is_absorbed(t, member.doc, consolidation):
        return False
    if changes.has_duplicate(t, member.doc):
        archive_for_good(t, member.doc, "another memory says the same")
        return False
    _restore_tier(t, member, "archived", consolidation)
    return True


def _restore_tier(t: Transaction, held: StoredPromotion | Member, expected: str, consolidation: str) -> None:
    sql = "UPDATE records SET status = ?, tier_before = NULL WHERE doc = ? AND status = ? RETURNING id, version"
    for id_, version in t.db.execute(sql, (held.status, held.doc, expected)).fetchall():
        t.event("undo", held.doc, id_, version, consolidation=consolidation)
