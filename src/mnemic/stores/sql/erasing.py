"""Erasing: rows that go for good, with every row that speaks of them, in one transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from mnemic.errors import Conflict
from mnemic.stores.schema import EPISODES, MEMORIES, Table
from mnemic.stores.sql import consolidating, relating, writing
from mnemic.stores.sql.rows import select
from mnemic.stores.sql.transaction import Transaction, kept, set_header
from mnemic.text.canonical import to_json
from mnemic.types import AddEpisode, Erase, EraseUser, Receipt

__all__ = ["MARK", "erase", "erase_user", "erased", "erased_user"]

MARK = "erasing"
"""The key of the header that says: bytes of erased rows may still be on disk."""

_TABLES = {"messages": "message", "episodes": "episode", "memories": "memory"}
_AMONG = "(SELECT value FROM json_each(?))"
_BY_DOC = ("pending", "access", "judged", "versions", "events")
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
        if writing.revise(t, revise).outcome != "stored":
            raise Conflict(f"The memory {revise.record.id!r} changed meanwhile. Nothing was erased; try again.")
        _overwrite(t, MEMORIES, t.required(revise.record.id)[1], reworded)
    told = [_told_again(t, episode) for episode in change.remade]
    _nothing_else(t, victims, {*told, *restored})
    counts = _removed(t, list(victims))
    _scrub_events(t, set(victims.values()))
    _mark(t, list(victims))
    return counts


def erase_user(t: Transaction, _: EraseUser) -> dict[str, int]:
    """Remove all that a user has, and the user; returns the rows that went, by table."""
    docs = [
        row[0]
        for table in _TABLES
        for row in t.db.execute(f"SELECT doc FROM {table} WHERE user_id = ?", (t.user,)).fetchall()
    ]
    counts = Counter(_removed(t, docs))
    for table in ("links", "events", "consolidations", "users"):
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
    receipt = relating.add_episode(t, change)
    doc = t.required(record.id)[1]
    held = t.db.execute("SELECT title, content FROM episodes WHERE doc = ?", (doc,)).fetchone()
    if receipt.outcome != "stored" and held != (record.title, record.content):
        raise Conflict(f"The episode {record.id!r} changed meanwhile. Nothing was erased; try again.")
    _overwrite(t, EPISODES, doc, {doc: 1})
    return doc


def _overwrite(t: Transaction, table: Table, doc: int, since: Mapping[int, int]) -> None:
    """Earlier versions say what the present one says, from the first on that may tell of something erased."""
    (row,) = select(t.db, table, "WHERE doc = ?", (doc,))
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
    """Delete all rows of some records; how many, by table."""
    counts: Counter[str] = Counter()
    for part in _chunks(docs):
        named = t.many(part)
        counts["links"] += _gone(t, f"links WHERE source IN {_AMONG} OR target IN {_AMONG}", named, named)
        counts["lineage"] += _gone(t, f"lineage WHERE child IN {_AMONG} OR parent IN {_AMONG}", named, named)
        t.db.execute(f"UPDATE messages SET episode = 0 WHERE episode IN {_AMONG}", (named,))
        for table in (*_BY_DOC, *_TABLES):
            counts[table] += _gone(t, f"{table} WHERE doc IN {_AMONG}", named)
        for table in ("vectors", "vectors_next"):
            counts[table] += _gone(t, f"{table} WHERE user_id = ? AND doc IN {_AMONG}", t.user, named)
        for doc in part:
            t.unindex(doc)
        counts["fulltext"] += len(part)
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
    return {name: _kept(value, ids) for name, value in detail.items() if not _names(value, ids)}


def _kept(value: Any, ids: Collection[str]) -> Any:
    if isinstance(value, dict):
        return _without_ids(cast("dict[str, Any]", value), ids)
    if isinstance(value, list):
        return [_kept(item, ids) for item in cast("list[Any]", value) if not _names(item, ids)]
    return value


def _names(value: Any, ids: Collection[str]) -> bool:
    return isinstance(value, str) and value in ids


# Consolidations that the records were part of


def _take_back(t: Transaction, victims: set[int], restored: set[int]) -> dict[int, int]:
    """Take victims out of every consolidation: members of a victim come back, and what took one in stands for it no more.

    Returns:
        For each memory to be restored the first version that a consolidation wrote.
    """
    since: dict[int, int] = {}
    sql = "SELECT id, plan, undone_at FROM consolidations WHERE user_id = ? ORDER BY at DESC, id DESC"
    held = [(id_, text, json.loads(text), undone) for id_, text, undone in t.db.execute(sql, (t.user,)).fetchall()]
    oldest_first = [promotion for _, _, plan, _ in reversed(held) for promotion in plan["promotions"]]
    _cut_links(t, oldest_first, victims)
    telling = _telling(oldest_first, victims)
    for id_, text, plan, undone in held:
        kept: list[dict[str, Any]] = []
        for promotion in reversed(plan["promotions"]):
            doc = promotion["doc"]
            if doc in restored and undone is None:
                since[doc] = promotion["revised"] or since.get(doc, 1)
                if consolidating.demote(t, promotion, id_, texts_back=True) > len(promotion["absorbed"]):
                    raise Conflict("A memory that was to be restored changed meanwhile. Nothing was erased; try again.")
            elif doc in victims:
                if undone is None:
                    _release(t, promotion, victims, id_)
            else:
                if undone is not None and promotion["revised"]:
                    _unsay(t, promotion, telling)
                kept.append(_without(t, promotion, victims, undone=undone is not None))
        left = {
            "promotions": kept[::-1],
            "contradictions": [pair for pair in plan["contradictions"] if not victims & set(pair)],
            "ended": [end for end in plan["ended"] if not victims & set(end[:2])],
            "weighed": [weight for weight in plan["weighed"] if weight[0] not in victims],
        }
        if (changed := to_json(left)) != text:
            t.db.execute("UPDATE consolidations SET plan = ? WHERE user_id = ? AND id = ?", (changed, t.user, id_))
    return since


def _cut_links(t: Transaction, promotions: Iterable[dict[str, Any]], victims: set[int]) -> None:
    """Take links of victims out of the plans and out of what stands for the victims, however often they were moved on.

    A link is known by its ends, its reason and its time, which stay when it is moved. Where another member had one to the same
    end, that one takes its place.

    Args:
        t: the transaction.
        promotions: all of the user, oldest first; changed in place.
        victims: the records that go.
    """
    cut: dict[tuple[Any, ...], list[Any] | None] = {}
    for promotion in promotions:
        doc, members = promotion["doc"], {held["doc"] for held in promotion["absorbed"]}

        def moved(link: Sequence[Any], to: int = doc, among: Collection[int] = members) -> tuple[Any, ...]:
            return (to if link[0] in among else link[0], to if link[1] in among else link[1], link[2])

        gone = [link for link in promotion["links"] if victims & set(link[:2]) or _known(link) in cut]
        instead = [
            [*link[:3], *tail] for link in gone if (tail := cut.get(_known(link))) and not victims & set(link[:2])
        ]
        promotion["links"] = [link for link in promotion["links"] if link not in gone] + instead
        others = {moved(link): link[3:] for link in reversed(promotion["links"])}
        cut |= {(*moved(link), *link[4:]): others.get(moved(link)) for link in gone}
        ended = {moved(link) for link in gone} - set(others)
        promotion["moved"] = [m for m in promotion["moved"] if tuple(m) not in ended and not victims & set(m[:2])]
    for (source, target, kind, *rest), tail in cut.items():
        sql = "links WHERE user_id = ? AND source = ? AND target = ? AND type = ? AND reason = ? AND created_at = ?"
        if _gone(t, sql, t.user, source, target, kind, *rest) and tail:
            consolidating.put_back(t, [source, target, kind, *tail])


def _known(link: Sequence[Any]) -> tuple[Any, ...]:
    """By what a link is known: its ends and type, its reason and its time."""
    return (*link[:3], *link[4:])


def _release(t: Transaction, promotion: dict[str, Any], victims: set[int], consolidation: str) -> None:
    """The members of a memory that goes: they speak for themselves again, unless it had been forgotten for all of them."""
    status, expired = t.db.execute(
        "SELECT status, expired_at FROM memories WHERE doc = ?", (promotion["doc"],)
    ).fetchone()
    fate = consolidating.last_fate(t, promotion["doc"])[0] if status == "archived" else ""
    for held in promotion["absorbed"]:
        doc = held["doc"]
        if doc in victims or consolidating.last_fate(t, doc) != ("absorb", consolidation):
            continue
        sql = "SELECT id, version FROM memories WHERE doc = ? AND status = 'archived'"
        for id_, version in t.db.execute(sql, (doc,)).fetchall():
            if fate == "archive" or expired is not None or consolidating.twin(t, doc):
                t.event("archive", doc, id_, version, reason="what stood for it was forgotten")
                continue
            sql = "UPDATE memories SET status = ?, tier_before = NULL WHERE doc = ?"
            t.db.execute(sql, (held["status"], doc))
            t.event("undo", doc, id_, version, consolidation=consolidation)
    for link in promotion["links"]:
        if not victims & set(link[:2]):
            consolidating.put_back(t, link)


def _telling(promotions: Iterable[dict[str, Any]], victims: set[int]) -> set[int]:
    """The victims, and what consolidations, oldest first, ever made a text of theirs for."""
    telling = set(victims)
    for promotion in promotions:
        if promotion["revised"] and any(held["doc"] in telling for held in promotion["absorbed"]):
            telling.add(promotion["doc"])
    return telling


def _unsay(t: Transaction, promotion: dict[str, Any], telling: set[int]) -> None:
    """The version that told what victims told, by a consolidation that was taken back, says what the one before it says."""
    if any(held["doc"] in telling for held in promotion["absorbed"]):
        sql = """UPDATE versions SET row = (SELECT v.row FROM versions v WHERE v.doc = versions.doc
            AND v.version = versions.version - 1) WHERE doc = ? AND version = ?"""
        t.db.execute(sql, (promotion["doc"], promotion["revised"]))


def _without(t: Transaction, promotion: dict[str, Any], victims: set[int], *, undone: bool) -> dict[str, Any]:
    """A promotion without the victims among its members."""
    if not undone:
        for member in victims & set(promotion["lineage"]):
            t.db.execute("DELETE FROM lineage WHERE child = ? AND parent = ?", (promotion["doc"], member))
    return promotion | {
        "absorbed": [held for held in promotion["absorbed"] if held["doc"] not in victims],
        "lineage": [member for member in promotion["lineage"] if member not in victims],
        "turned": [member for member in promotion["turned"] if member not in victims],
    }
