"""Promotions: memories that a consolidation made stand for others, and what it takes to take that back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass

from mnemic.stores.sql.connection import Connection

__all__ = ["Ends", "Member", "MovedLink", "Promoted", "promotions", "put_links", "put_promotion"]

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
