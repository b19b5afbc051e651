"""Quarantine: records with all that was made from them, out of every search until they are released.

A quarantined record is an archived one whose last event says so, and what it was before: there is no second place in which
that could be wrong.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mnemic.stores.sql import reading
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.transaction import Transaction
from mnemic.stores.sql.writing import in_quarantine
from mnemic.types import Quarantine, Receipt, Release

__all__ = ["QUARANTINED", "quarantine", "quarantined", "release"]

QUARANTINED = """SELECT e.doc FROM events e WHERE e.user_id = ? AND e.operation = 'archive' AND e.detail LIKE '%"quarantine":%'
    AND e.sequence = (SELECT max(f.sequence) FROM events f WHERE f.doc = e.doc
    AND f.operation IN ('absorb', 'archive', 'restore', 'undo'))"""
"""The quarantined docs of a user."""
_TABLES = ("messages", "episodes", "memories")
_NAMED = " UNION ALL ".join(f"SELECT doc FROM {t} WHERE doc IN (SELECT value FROM json_each(?1))" for t in _TABLES)
_DOWN = f"""WITH RECURSIVE named(doc) AS ({_NAMED}), down(doc) AS (SELECT doc FROM named
    UNION SELECT child FROM lineage JOIN down ON parent = down.doc) SELECT doc FROM down ORDER BY doc"""


def quarantined(db: Connection, user: int) -> list[str]:
    """The ids of what is in quarantine, in the order it was stored."""
    docs = [row[0] for row in db.execute(QUARANTINED, (user,)).fetchall()]
    found = reading.fetch(db, user, sorted(docs))
    return [str(found[doc].value.id) for doc in sorted(found)]


def _family(t: Transaction, ids: Sequence[str]) -> list[int]:
    """Records with all that was made from them; raises NotFound."""
    docs = [t.required(id_)[1] for id_ in ids]
    return [row[0] for row in t.db.execute(_DOWN, (t.many(docs),)).fetchall()]


def _row(t: Transaction, doc: int) -> tuple[str, str, str, int] | None:
    """Table, id, status and version of a doc."""
    for table in _TABLES:
        sql = f"SELECT id, status, version FROM {table} WHERE doc = ?"
        for row in t.db.execute(sql, (doc,)).fetchall():
            return (table, *row)
    return None


def _fate(t: Transaction, doc: int) -> tuple[str, dict[str, Any]]:
    """What last took a record out of the searches or brought it back."""
    sql = """SELECT operation, detail FROM events WHERE doc = ?
        AND operation IN ('absorb', 'archive', 'restore', 'undo') ORDER BY sequence DESC LIMIT 1"""
    row = t.db.execute(sql, (doc,)).fetchone()
    return (row[0], json.loads(row[1])) if row else ("", {})


def quarantine(t: Transaction, change: Quarantine) -> Receipt:
    """Take records and all that was made from them out of every search, forgotten and absorbed ones too."""
    count = 0
    for doc in _family(t, change.ids):
        row = _row(t, doc)
        fate, detail = _fate(t, doc)
        if row is None or "quarantine" in detail:
            continue
        table, id_, status, version = row
        before = [fate, detail] if status == "archived" else None
        if before is None:
            t.db.execute(f"UPDATE {table} SET tier_before = status, status = 'archived' WHERE doc = ?", (doc,))
        t.event("archive", doc, id_, version, reason=change.reason, quarantine=True, before=before)
        count += 1
    return Receipt(id=change.ids[0], outcome="quarantined" if count else "duplicate", reason=f"{count} records")


def release(t: Transaction, change: Release) -> Receipt:
    """Bring records back with all that was made from them, but for what something else in quarantine had a part in."""
    left = [doc for doc in _family(t, change.ids) if in_quarantine(t, doc)]
    count = 0
    while ready := [doc for doc in left if not _held(t, doc)]:
        for doc in ready:
            count += _released(t, doc)
        left = [doc for doc in left if doc not in ready]
    return Receipt(id=change.ids[0], outcome="restored" if count else "duplicate", reason=f"{count} records")


def _held(t: Transaction, doc: int) -> bool:
    """Whether something that a record was made from is in quarantine."""
    sql = "SELECT parent FROM lineage WHERE child = ?"
    return any(in_quarantine(t, parent) for (parent,) in t.db.execute(sql, (doc,)).fetchall())


def _released(t: Transaction, doc: int) -> int:
    row = _row(t, doc)
    before = _fate(t, doc)[1].get("before")
    if row is None:
        return 0
    table, id_, _, version = row
    if before is not None:  # it had been forgotten or absorbed, and is so again
        fate, detail = before
        if fate == "absorb" and not _stood_for(t, doc, detail.get("consolidation", "")):
            fate, detail = "archive", {"reason": "nothing stands for it any more"}
        t.event(fate or "archive", doc, id_, version, **detail)
        return 1
    if table == "memories" and _twin(t, doc):
        t.event("archive", doc, id_, version, reason="released, but another memory says the same by now")
        return 1
    sql = f"UPDATE {table} SET status = coalesce(tier_before, 'short_term'), tier_before = NULL WHERE doc = ?"
    t.db.execute(sql, (doc,))
    t.event("restore", doc, id_, version, reason="released from quarantine")
    return 1


def _stood_for(t: Transaction, doc: int, consolidation: str) -> bool:
    """Whether a memory is among those that a consolidation in force made another stand for."""
    sql = "SELECT plan FROM consolidations WHERE user_id = ? AND id = ? AND undone_at IS NULL"
    plans = [json.loads(plan) for (plan,) in t.db.execute(sql, (t.user, consolidation)).fetchall()]
    return any(held["doc"] == doc for plan in plans for p in plan["promotions"] for held in p["absorbed"])


def _twin(t: Transaction, doc: int) -> bool:
    """Whether a memory that would be believed again says what another one at its level says by now."""
    sql = """SELECT 1 FROM memories m JOIN memories o ON o.user_id = m.user_id AND o.hash = m.hash AND o.doc != m.doc
        AND coalesce(o.project, '') = coalesce(m.project, '') AND coalesce(o.session, '') = coalesce(m.session, '')
        WHERE m.doc = ? AND m.expired_at IS NULL AND o.status != 'archived' AND o.expired_at IS NULL"""
    return bool(t.db.execute(sql, (doc,)).fetchall())
