"""Changes of tier: what consolidation decided, carried out or taken back in one transaction, and what that takes."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, replace

from mnemic.errors import Conflict, NotFound
from mnemic.stores.schema import LIVE
from mnemic.stores.sql import changes, rows
from mnemic.stores.sql.changes import last_fate
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.transaction import Transaction
from mnemic.text.clock import from_micros
from mnemic.types import Consolidate, Link, Promotion, PutLink, Receipt, Supersede, Touch, Undo, Work

__all__ = [
    "Ends",
    "Member",
    "MovedLink",
    "Promoted",
    "consolidate",
    "demote",
    "last_fate",
    "promotions",
    "put_back",
    "put_links",
    "put_promotion",
    "touch",
    "twin",
    "undo",
    "work",
]

Ends = tuple[int, int, str]
"""Source, target and type of a link."""


@dataclass(frozen=True, slots=True)
class Member:
    """A memory that went into another one, as it was before.

    ``descends``: its representative was noted to be made from it. ``turned``: it was made from its representative before, for
    which it had once stood.
    """

    doc: int
    status: str
    importance: float
    descends: int
    turned: int


@dataclass(frozen=True, slots=True)
class MovedLink:
    """A link of a member as it was; ``moved``: it became one of the representative."""

    source: int
    target: int
    type: str
    strength: float
    reason: str
    created_at: int
    moved: int

    @property
    def known(self) -> tuple[int, int, str, str, int]:
        """By what a link is known, however often it was moved on: its ends and type, its reason and its time."""
        return (self.source, self.target, self.type, self.reason, self.created_at)

    def ends_at(self, docs: Collection[int]) -> bool:
        """Whether it begins or ends at one of some records."""
        return self.source in docs or self.target in docs


@dataclass(frozen=True, slots=True)
class Promoted:
    """One memory promoted by a consolidation, as it was before, over its members. ``revised`` is the version it got."""

    consolidation: str
    number: int
    doc: int
    status: str
    importance: float
    revised: int | None
    undone: bool
    members: tuple[Member, ...]
    links: tuple[MovedLink, ...]

    @property
    def docs(self) -> set[int]:
        """The members."""
        return {member.doc for member in self.members}

    def ends(self, link: MovedLink) -> Ends:
        """Where a link of a member begins and ends since."""
        among = self.docs
        source = self.doc if link.source in among else link.source
        return (source, self.doc if link.target in among else link.target, link.type)


def promotions(db: Connection, user: int, where: str = "", values: Sequence[object] = ()) -> list[Promoted]:
    """The promotions of a user in the order they were made; ``where`` chooses some (p: promotions, c: consolidations)."""
    sql = f"""SELECT p.consolidation, p.number, p.doc, p.status, p.importance, p.revised, c.undone_at FROM promotions p
        JOIN consolidations c ON c.user_id = p.user_id AND c.id = p.consolidation WHERE p.user_id = ? {where}
        ORDER BY c.at, c.id, p.number"""
    found = db.execute(sql, (user, *values)).fetchall()
    named = db.dialect.many(sorted({row[0] for row in found}))
    among = "WHERE user_id = ? AND consolidation IN (SELECT value FROM json_each(?))"
    members: dict[tuple[str, int], list[Member]] = {}
    columns = "consolidation, number, doc, status, importance, descends, turned"
    for id_, number, *rest in db.execute(f"SELECT {columns} FROM members {among} ORDER BY doc", (user, named)):
        members.setdefault((id_, number), []).append(Member(*rest))
    links: dict[tuple[str, int], list[MovedLink]] = {}
    columns = "consolidation, number, source, target, type, strength, reason, created_at, moved"
    order = "ORDER BY source, target, type"
    for id_, number, *rest in db.execute(f"SELECT {columns} FROM moved_links {among} {order}", (user, named)):
        links.setdefault((id_, number), []).append(MovedLink(*rest))
    return [
        Promoted(
            *row[:6],
            undone=row[6] is not None,
            members=tuple(members.get(row[:2], ())),
            links=tuple(links.get(row[:2], ())),
        )
        for row in found
    ]


def put_promotion(db: Connection, user: int, p: Promoted) -> None:
    """Keep a promotion, behind its consolidation."""
    own = (user, p.consolidation, p.number)
    db.execute("INSERT INTO promotions VALUES(?, ?, ?, ?, ?, ?, ?)", (*own, p.doc, p.status, p.importance, p.revised))
    for member in p.members:
        db.execute("INSERT INTO members VALUES(?, ?, ?, ?, ?, ?, ?, ?)", (*own, *astuple(member)))
    put_links(db, user, p)


def put_links(db: Connection, user: int, p: Promoted) -> None:
    """Keep the links that a promotion moved, in the place of those it held."""
    own = (user, p.consolidation, p.number)
    db.execute("DELETE FROM moved_links WHERE user_id = ? AND consolidation = ? AND number = ?", own)
    for link in p.links:
        db.execute("INSERT INTO moved_links VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*own, *astuple(link)))


Decided = tuple[int, int, str, int | None]
"""Source, target and type of a link that was decided on, and when its target was no longer true before."""
_LINK = "source, target, type, strength, reason, created_at"
_MADE_FROM = """WITH RECURSIVE up(doc) AS (SELECT parent FROM lineage WHERE child = ?
    UNION SELECT parent FROM lineage JOIN up ON child = up.doc) SELECT 1 FROM up WHERE doc = ?"""


def work(t: Transaction, change: Work) -> Receipt:
    """Mark memories as being worked on, or as no longer; those that are not in the tier it expects are left alone."""
    begun, after = ("consolidating", "short_term") if change.done else ("short_term", "consolidating")
    sql = "UPDATE records SET status = ? WHERE user_id = ? AND status = ? AND id IN (SELECT value FROM json_each(?))"
    t.db.execute(sql, (after, t.user, begun, t.many(change.ids)))
    if not change.done:  # what is rewritten from here on is not what the outcome was decided on
        began = "INSERT INTO events(user_id, at, operation) VALUES(?, ?, 'consolidate')"
        t.db.execute(began, (t.user, t.at))
    return Receipt(id=change.ids[0] if change.ids else "", outcome="stored")


def touch(t: Transaction, change: Touch) -> Receipt:
    """Count uses; only records of this user have any."""
    sql = """INSERT INTO access(user_id, doc, count, last_at) SELECT user_id, doc, ?, ? FROM memories
        WHERE doc = ? AND user_id = ?
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
    t.db.execute("INSERT INTO consolidations(user_id, id, at) VALUES(?, ?, ?)", (t.user, change.id, t.at))
    for number, promotion in enumerate(change.promotions):
        put_promotion(t.db, t.user, _promoted(t, promotion, change.id, number, began[0] if began else None))
    for link in change.contradictions:
        if ends := (_ended if link.type == "supersedes" else _contradicted)(t, link):
            t.db.execute(
                "INSERT INTO decided_links VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", (t.user, change.id, *ends)
            )
    for id_, importance in change.weighed.items():
        if held := _weigh(t, id_, importance):
            t.db.execute("INSERT INTO weights VALUES(?, ?, ?, ?, ?)", (t.user, change.id, *held))
    return Receipt(id=change.id, outcome="stored")


def _contradicted(t: Transaction, link: Link) -> Decided | None:
    """Link two memories that differ, unless somebody did before; a link of the user's own is never overwritten."""
    ends = (t.required(link.source)[1], t.required(link.target)[1])
    sql = """SELECT 1 FROM links WHERE type = 'contradicts' AND
        ((source = ?1 AND target = ?2) OR (source = ?2 AND target = ?1))"""
    if t.db.execute(sql, ends).fetchall():
        return None
    stored = changes.put_link(t, PutLink(link=link)).outcome == "stored"
    return (*ends, link.type, None) if stored else None


def _ended(t: Transaction, link: Link) -> Decided | None:
    """End the time of what another memory replaces, from when that one is true."""
    source, target = t.required(link.source)[1], t.required(link.target)[1]
    _live(t, link.source)
    _live(t, link.target)
    (since,) = t.db.execute(
        "SELECT coalesce(valid_at, said_at, created_at) FROM memories WHERE doc = ?", (source,)
    ).fetchone()
    (invalid,) = t.db.execute("SELECT invalid_at FROM memories WHERE doc = ?", (target,)).fetchone()
    end = Supersede(id=link.target, by=link.source, at=from_micros(since), reason=link.reason)
    stored = changes.supersede(t, end).outcome == "stored"
    return (source, target, link.type, invalid) if stored else None


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
    t.db.execute("UPDATE records SET status = ?, importance = ? WHERE doc = ?", (_tier(status), now, doc))
    # A clock that was set back must not leave a use in the future: the memory would be looked at for ever.
    used = t.db.execute("SELECT last_at FROM access WHERE doc = ?", (doc,)).fetchone()
    at = max(t.at, used[0]) if used else t.at
    sql = "INSERT INTO judged VALUES(?, ?, ?) ON CONFLICT(doc) DO UPDATE SET at = excluded.at"
    t.db.execute(sql, (t.user, doc, at))
    t.event("weigh", doc, id, version)
    return [doc, before, now] if _tier(status) == "short_term" else None


def _live(t: Transaction, id: str, began: int | None = None) -> tuple[int, str, float, int]:
    """Doc, status, importance and version of a memory that is still as consolidation read it."""
    sql = "SELECT doc, status, importance, version, expired_at FROM memories WHERE user_id = ? AND id = ?"
    row = t.db.execute(sql, (t.user, id)).fetchone()
    if row is None or rows.shown(row[1]) == "archived" or row[4] is not None:
        raise Conflict(
            f"The memory {id!r} was forgotten or replaced during consolidation. Nothing was stored; try again."
        )
    sql = "SELECT 1 FROM events WHERE doc = ? AND sequence > ? AND operation IN ('update', 'enrich')"
    if began is not None and t.db.execute(sql, (row[0], began)).fetchall():
        raise Conflict(f"The memory {id!r} changed during consolidation. Nothing was stored; try again.")
    return row[0], row[1], row[2], row[3]


def _promoted(t: Transaction, promotion: Promotion, consolidation: str, number: int, began: int | None) -> Promoted:
    """One memory promoted over those it stands for; returns what undoing it takes."""
    doc, status, importance, version = _live(t, promotion.id, began)
    absorbed = [(id_, *_live(t, id_, began)) for id_ in promotion.absorbed]
    if promotion.revised is not None:
        if changes.revise(t, promotion.revised).outcome != "stored":
            raise Conflict(f"The memory {promotion.id!r} changed during consolidation. Nothing was stored; try again.")
        version = promotion.revised.record.version
    for id_, member, tier, _, its_version in absorbed:
        t.db.execute("UPDATE records SET tier_before = ?, status = 'archived' WHERE doc = ?", (_tier(tier), member))
        t.event("absorb", member, id_, its_version, into=promotion.id, consolidation=consolidation)
    turned = {member for id_, member, *_ in absorbed if _turned(t, doc, member, id_)}
    undo = Promoted(
        consolidation, number, doc, _tier(status), importance, None if promotion.revised is None else version,
        undone=False,
        members=tuple(
            Member(member, _tier(tier), held, int(_descends(t, doc, member)), int(member in turned))
            for _, member, tier, held, _ in absorbed
        ),
        links=(),
    )  # fmt: skip
    undo = replace(undo, links=_move_links(t, undo))
    t.db.execute(
        """UPDATE records SET status = 'long_term',
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
    sql = """SELECT 1 FROM promotions p JOIN consolidations c ON c.user_id = p.user_id AND c.id = p.consolidation
        JOIN members m ON m.user_id = p.user_id AND m.consolidation = p.consolidation AND m.number = p.number
        WHERE p.user_id = ? AND p.doc = ? AND m.doc = ? AND m.descends = 1 AND c.undone_at IS NULL"""
    if not t.db.execute(sql, (t.user, member, doc)).fetchall():
        return False
    sql = "DELETE FROM lineage WHERE child = ? AND parent = ? RETURNING 1"
    return bool(t.db.execute(sql, (member, doc)).fetchall())


def _descends(t: Transaction, doc: int, member: int) -> bool:
    """Note that a memory now stands for a member; not where that was made from it itself: lineage has no circles."""
    if t.db.execute(_MADE_FROM, (member, doc)).fetchall():
        return False
    return t.descend(doc, member)


def _tier(status: str) -> str:
    return "short_term" if status == "consolidating" else status


def _move_links(t: Transaction, promoted: Promoted) -> tuple[MovedLink, ...]:
    """Links of the members now begin and end at their representative; returns them as they were."""
    if not promoted.members:
        return ()
    named = t.many(sorted(promoted.docs))
    among = "links WHERE source IN (SELECT value FROM json_each(?)) OR target IN (SELECT value FROM json_each(?))"
    old = [MovedLink(*row, moved=0) for row in t.db.execute(f"SELECT {_LINK} FROM {among}", (named, named)).fetchall()]
    t.db.execute(f"DELETE FROM {among}", (named, named))
    return tuple(replace(link, moved=int(put_back(t, link, promoted.ends(link)))) for link in old)


def put_back(t: Transaction, link: MovedLink, ends: Ends | None = None) -> bool:
    """Write a link, at other ends if they are given, unless there is one; whether it was written."""
    source, target, kind = ends or (link.source, link.target, link.type)
    if source == target:
        return False
    sql = f"INSERT INTO links(user_id, {_LINK}) VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1"
    row = (t.user, source, target, kind, link.strength, link.reason, link.created_at)
    return bool(t.db.execute(sql, row).fetchall())


def undo(t: Transaction, change: Undo) -> Receipt:
    """Put everything back that a consolidation changed and nobody has changed since."""
    own = (t.user, change.id)
    row = t.db.execute("SELECT undone_at FROM consolidations WHERE user_id = ? AND id = ?", own).fetchone()
    if row is None:
        raise NotFound(f"This user has no consolidation with the id {change.id!r}.")
    if row[0] is not None:
        return Receipt(id=change.id, outcome="duplicate", reason="it was taken back before")
    _check_newest(t, change.id)
    left = sum([demote(t, p) for p in reversed(promotions(t.db, t.user, "AND c.id = ?", (change.id,)))])
    sql = "SELECT source, target, type, invalid_at FROM decided_links WHERE user_id = ? AND consolidation = ?"
    for source, target, kind, invalid in t.db.execute(f"{sql} ORDER BY target DESC, source DESC", own).fetchall():
        if kind == "supersedes":
            left += _believe(t, source, target, invalid)
        else:
            sql = "DELETE FROM links WHERE source = ? AND target = ? AND type = ?"
            t.db.execute(sql, (source, target, kind))
    sql = "SELECT doc, before, after FROM weights WHERE user_id = ? AND consolidation = ?"
    for doc, before, after in t.db.execute(sql, own).fetchall():
        sql = "UPDATE records SET importance = ? WHERE doc = ? AND importance = ? AND pinned = 0 AND status = 'short_term'"
        t.db.execute(sql, (before, doc, after))
    t.db.execute("UPDATE consolidations SET undone_at = ? WHERE user_id = ? AND id = ?", (t.at, *own))
    reason = f"{left} of its memories were forgotten or replaced since, and stay as they are" if left else ""
    return Receipt(id=change.id, outcome="stored", reason=reason)


def _check_newest(t: Transaction, id: str) -> None:
    """Refuse to take a text back while a later consolidation made another of it.

    Raises:
        Conflict: there is one.
    """
    sql = """SELECT later.consolidation FROM promotions p JOIN promotions later ON later.user_id = p.user_id
        AND later.doc = p.doc AND later.consolidation != p.consolidation AND later.revised > p.revised
        JOIN consolidations c ON c.user_id = later.user_id AND c.id = later.consolidation AND c.undone_at IS NULL
        WHERE p.user_id = ? AND p.consolidation = ? LIMIT 1"""
    if later := t.db.execute(sql, (t.user, id)).fetchone():
        raise Conflict(
            f"What the consolidation {id!r} made went into a text that {later[0]!r} made. Nothing was changed; undo that one "
            "first."
        )


def _believe(t: Transaction, source: int, target: int, invalid: int | None) -> int:
    """Give a memory the time back that a decision had ended; 1 if something else ended it as well, or says the same."""
    t.db.execute("DELETE FROM links WHERE source = ? AND target = ? AND type = 'supersedes'", (source, target))
    if t.db.execute("SELECT 1 FROM links WHERE target = ? AND type = 'supersedes'", (target,)).fetchall():
        return 1
    if twin(t, target):
        return 1
    sql = "UPDATE records SET expired_at = NULL, invalid_at = ? WHERE doc = ? RETURNING id, version"
    for id_, version in t.db.execute(sql, (invalid, target)).fetchall():
        t.event("undo", target, id_, version)
    return 0


def twin(t: Transaction, doc: int) -> bool:
    """Whether another live memory of the same level says the same by now."""
    sql = f"""SELECT 1 FROM memories m JOIN memories o ON o.user_id = m.user_id AND o.hash = m.hash AND o.doc != m.doc
        AND coalesce(o.project, '') = coalesce(m.project, '') AND coalesce(o.session, '') = coalesce(m.session, '')
        WHERE m.doc = ? AND o.{LIVE} AND o.expired_at IS NULL"""
    return bool(t.db.execute(sql, (doc,)).fetchall())


def demote(t: Transaction, promotion: Promoted, *, texts_back: bool = False) -> int:
    """Take one promotion back; returns how many memories stay as they are, because they were changed since.

    What was forgotten or replaced since was so for all that it stood for: its members do not come back by themselves.

    Args:
        t: the transaction.
        promotion: what its consolidation kept of it.
        texts_back: a text that it was given is taken back, whoever changed it since.

    Raises:
        Conflict: a later consolidation rests on this one.
    """
    doc, revised, fate = promotion.doc, promotion.revised, ("absorb", promotion.consolidation)
    sql = "SELECT id, status, expired_at, version FROM records WHERE doc = ?"
    id_, status, expired, version = t.db.execute(sql, (doc,)).fetchone()
    archived = rows.shown(status) == "archived"
    if archived and (last := last_fate(t, doc))[0] == "absorb":
        raise Conflict(
            f"The memory {id_!r} went into another one by the consolidation {last[1]!r}. Nothing was changed; undo that "
            "one first."
        )
    gone = archived or expired is not None
    if texts_back or not revised or (version == revised and not gone):
        _part(t, promotion)  # else its text still tells what they told: it is made of them, and is erased with them
    if gone:
        for member in promotion.members:
            if last_fate(t, member.doc) == fate:
                _left_alone(t, member.doc, "what stood for it was forgotten")
        return 1 + len(promotion.members)
    for link in promotion.links:
        if link.moved:
            sql = "DELETE FROM links WHERE source = ? AND target = ? AND type = ?"
            t.db.execute(sql, promotion.ends(link))
    for link in promotion.links:
        put_back(t, link)
    _put_back(t, promotion, "long_term", promotion.consolidation)
    return sum(not _speaks_again(t, member, promotion.consolidation) for member in promotion.members)


def _part(t: Transaction, promotion: Promoted) -> None:
    """A memory is no longer made of those it stood for."""
    for member in promotion.members:
        if member.descends:
            t.db.execute("DELETE FROM lineage WHERE child = ? AND parent = ?", (promotion.doc, member.doc))
        if member.turned:
            t.descend(member.doc, promotion.doc)


def _left_alone(t: Transaction, doc: int, reason: str) -> None:
    """What nothing stands for any more and does not come back by itself is forgotten."""
    id_, version = t.db.execute("SELECT id, version FROM records WHERE doc = ?", (doc,)).fetchone()
    t.event("archive", doc, id_, version, reason=reason)


def _speaks_again(t: Transaction, member: Member, consolidation: str) -> bool:
    """Whether a member comes back: not one that was changed since, and not where somebody says the same by now."""
    if last_fate(t, member.doc) != ("absorb", consolidation):
        return False
    if twin(t, member.doc):
        _left_alone(t, member.doc, "another memory says the same")
        return False
    _put_back(t, member, "archived", consolidation)
    return True


def _put_back(t: Transaction, held: Promoted | Member, expected: str, consolidation: str) -> None:
    sql = """UPDATE records SET status = ?, importance = CASE pinned WHEN 0 THEN ? ELSE importance END,
        tier_before = NULL WHERE doc = ? AND status = ? RETURNING id, version"""
    for id_, version in t.db.execute(sql, (held.status, held.importance, held.doc, expected)).fetchall():
        t.event("undo", held.doc, id_, version, consolidation=consolidation)
