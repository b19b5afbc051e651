"""Quarantine: records with all that was made from them, out of every search until they are released.

The event of a quarantine says whether the record had been forgotten or absorbed before, which it is again afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mnemic.stores.schema import LIVE
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.transaction import Transaction
from mnemic.types import Quarantine, Receipt, Release

__all__ = ["quarantine", "quarantined", "release"]

_DOWN = """WITH RECURSIVE down(doc) AS (SELECT doc FROM records WHERE doc IN (SELECT value FROM json_each(?))
    UNION SELECT child FROM lineage JOIN down ON parent = down.doc) SELECT doc FROM down ORDER BY doc"""


def quarantined(db: Connection, user: int) -> list[str]:
    """The ids of what is in quarantine, in the order it was stored."""
    sql = "SELECT id FROM records WHERE user_id = ? AND status = 'quarantined' ORDER BY doc"
    return [id_ for (id_,) in db.execute(sql, (user,)).fetchall()]


def _family(t: Transaction, ids: Sequence[str]) -> list[int]:
    """Records with all that was made from them; raises NotFound."""
    docs = [t.required(id_)[1] for id_ in ids]
    return [row[0] for row in t.db.execute(_DOWN, (t.many(docs),)).fetchall()]


def _row(t: Transaction, doc: int) -> tuple[str, str, str, int]:
    """Kind, id, status and version of a doc."""
    return t.db.execute("SELECT kind, id, status, version FROM records WHERE doc = ?", (doc,)).fetchone()


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
        _, id_, status, version = _row(t, doc)
        if status == "quarantined":
            continue
        before = _fate(t, doc) if status == "archived" else None
        sql = "UPDATE records SET tier_before = ?, status = 'quarantined' WHERE doc = ?"
        if before is None:
            t.db.execute(sql, (status, doc))
        else:
            t.db.execute("UPDATE records SET status = 'quarantined' WHERE doc = ?", (doc,))
        t.event("archive", doc, id_, version, reason=change.reason, quarantine=True, before=before)
        count += 1
    return Receipt(id=change.ids[0], outcome="quarantined" if count else "duplicate", reason=f"{count} records")


def release(t: Transaction, change: Release) -> Receipt:
    """Bring records back with all that was made from them, but for what something else in quarantine had a part in."""
    left = [doc for doc in _family(t, change.ids) if _row(t, doc)[2] == "quarantined"]
    count = 0
    while ready := [doc for doc in left if not _held(t, doc)]:
        for doc in ready:
            _released(t, doc)
        count += len(ready)
        left = [doc for doc in left if doc not in ready]
    return Receipt(id=change.ids[0], outcome="restored" if count else "duplicate", reason=f"{count} records")


def _held(t: Transaction, doc: int) -> bool:
    """Whether something that a record was made from is in quarantine."""
    sql = """SELECT 1 FROM lineage l JOIN records p ON p.doc = l.parent
        WHERE l.child = ? AND p.status = 'quarantined'"""
    return bool(t.db.execute(sql, (doc,)).fetchall())


def _released(t: Transaction, doc: int) -> None:
    before = _fate(t, doc)[1].get("before")
    kind, id_, _, version = _row(t, doc)
    if before is not None:  # it had been forgotten or absorbed, and is so again
        fate, detail = before
        if fate == "absorb" and not _stood_for(t, doc, detail.get("consolidation", "")):
            fate, detail = "archive", {"reason": "nothing stands for it any more"}
        operation, status = fate or "archive", "archived"
    elif kind == "memory" and _twin(t, doc):
        operation, status = "archive", "archived"
        detail = {"reason": "released, but another memory says the same by now"}
    else:
        operation, status, detail = "restore", None, {"reason": "released from quarantine"}
    if status:
        t.db.execute("UPDATE records SET status = ? WHERE doc = ?", (status, doc))
    else:
        sql = "UPDATE records SET status = coalesce(tier_before, 'short_term'), tier_before = NULL WHERE doc = ?"
        t.db.execute(sql, (doc,))
    t.event(operation, doc, id_, version, **detail)


def _stood_for(t: Transaction, doc: int, consolidation: str) -> bool:
    """Whether a memory is among those that a consolidation in force made another stand for."""
    sql = """SELECT 1 FROM members m JOIN consolidations c ON c.user_id = m.user_id AND c.id = m.consolidation
        WHERE m.user_id = ? AND m.consolidation = ? AND m.doc = ? AND c.undone_at IS NULL"""
    return bool(t.db.execute(sql, (t.user, consolidation, doc)).fetchall())


def _twin(t: Transaction, doc: int) -> bool:
    """Whether a memory that would be believed again says what another one at its level says by now."""
    sql = f"""SELECT 1 FROM memories m JOIN memories o ON o.user_id = m.user_id AND o.hash = m.hash AND o.doc != m.doc
        AND coalesce(o.project, '') = coalesce(m.project, '') AND coalesce(o.session, '') = coalesce(m.session, '')
        WHERE m.doc = ? AND m.expired_at IS NULL AND o.{LIVE} AND o.expired_at IS NULL"""
    return bool(t.db.execute(sql, (doc,)).fetchall())
