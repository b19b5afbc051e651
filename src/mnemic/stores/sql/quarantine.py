"""Quarantine: records and their descendants are removed from search until they are released.

The quarantine event stores whether a record was forgotten or absorbed before; its release restores that state.
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

_DESCENDANTS = """WITH RECURSIVE down(doc) AS (SELECT doc FROM records WHERE doc IN (SELECT value FROM json_each(?))
    UNION SELECT child FROM lineage JOIN down ON parent = down.doc) SELECT doc FROM down ORDER BY doc"""


def quarantined(db: Connection, user: int) -> list[str]:
    """The ids of the quarantined records, oldest first."""
    sql = "SELECT id FROM records WHERE user_id = ? AND status = 'quarantined' ORDER BY doc"
    return [id_ for (id_,) in db.execute(sql, (user,)).fetchall()]


def _descendants(t: Transaction, ids: Sequence[str]) -> list[int]:
    """Docs of records and their descendants; raises NotFound."""
    docs = [t.required(id_)[1] for id_ in ids]
    return [row[0] for row in t.db.execute(_DESCENDANTS, (t.bind_list(docs),)).fetchall()]


def _row(t: Transaction, doc: int) -> tuple[str, str, str, int]:
    """Kind, id, status and version of a doc."""
    return t.db.execute("SELECT kind, id, status, version FROM records WHERE doc = ?", (doc,)).fetchone()


def _last_transition(t: Transaction, doc: int) -> tuple[str, dict[str, Any]]:
    """The last operation that archived or restored a record, with its detail."""
    sql = """SELECT operation, detail FROM events WHERE doc = ?
        AND operation IN ('absorb', 'archive', 'restore', 'undo') ORDER BY sequence DESC LIMIT 1"""
    row = t.db.execute(sql, (doc,)).fetchone()
    return (row[0], json.loads(row[1])) if row else ("", {})


def quarantine(t: Transaction, change: Quarantine) -> Receipt:
    """Remove records and their descendants from search, including forgotten and absorbed ones."""
    count = 0
    for doc in _descendants(t, change.ids):
        _, id_, status, version = _row(t, doc)
        if status == "quarantined":
            continue
        before = _last_transition(t, doc) if status == "archived" else None
        sql = "UPDATE records SET tier_before = ?, status = 'quarantined' WHERE doc = ?"
        if before is None:
            t.db.execute(sql, (status, doc))
        else:
            t.db.execute("UPDATE records SET status = 'quarantined' WHERE doc = ?", (doc,))
        t.event("archive", doc, id_, version, reason=change.reason, quarantine=True, before=before)
        count += 1
    return Receipt(id=change.ids[0], outcome="quarantined" if count else "duplicate", reason=f"{count} records")


def release(t: Transaction, change: Release) -> Receipt:
    """Release records and their descendants, except those with another source in quarantine."""
    left = [doc for doc in _descendants(t, change.ids) if _row(t, doc)[2] == "quarantined"]
    count = 0
    while ready := [doc for doc in left if not _has_quarantined_source(t, doc)]:
        for doc in ready:
            _release_record(t, doc)
        count += len(ready)
        left = [doc for doc in left if doc not in ready]
    return Receipt(id=change.ids[0], outcome="restored" if count else "duplicate", reason=f"{count} records")


def _has_quarantined_source(t: Transaction, doc: int) -> bool:
    """Whether a source of a record is in quarantine."""
    sql = """SELECT 1 FROM lineage l JOIN records p ON p.doc = l.parent
        WHERE l.child = ? AND p.status = 'quarantined'"""
    return bool(t.db.execute(sql, (doc,)).fetchall())


def _release_record(t: Transaction, doc: int) -> None:
    before = _last_transition(t, doc)[1].get("before")
    kind, id_, _, version = _row(t, doc)
    if before is not None:  # it was forgotten or absorbed before the quarantine
        fate, detail = before
        if fate == "absorb" and not _is_absorbed(t, doc, detail.get("consolidation", "")):
            fate, detail = "archive", {"reason": "it has no representative any more"}
        operation, status = fate or "archive", "archived"
    elif kind == "memory" and _has_duplicate(t, doc):
        operation, status = "archive", "archived"
        detail = {"reason": "released, but another memory has the same text"}
    else:
        operation, status, detail = "restore", None, {"reason": "released from quarantine"}
    if status:
        t.db.execute("UPDATE records SET status = ? WHERE doc = ?", (status, doc))
    else:
        sql = "UPDATE records SET status = coalesce(tier_before, 'short_term'), tier_before = NULL WHERE doc = ?"
        t.db.execute(sql, (doc,))
    t.event(operation, doc, id_, version, **detail)


def _is_absorbed(t: Transaction, doc: int, consolidation: str) -> bool:
    """Whether a memory is absorbed by a consolidation that was not undone."""
    sql = """SELECT 1 FROM members m JOIN consolidations c ON c.user_id = m.user_id AND c.id = m.consolidation
        WHERE m.user_id = ? AND m.consolidation = ? AND m.doc = ? AND c.undone_at IS NULL"""
    return bool(t.db.execute(sql, (t.user, consolidation, doc)).fetchall())


def _has_duplicate(t: Transaction, doc: int) -> bool:
    """Whether an unexpired memory has a live duplicate at its level."""
    sql = f"""SELECT 1 FROM memories m JOIN memories o ON o.user_id = m.user_id AND o.hash = m.hash AND o.doc != m.doc
        AND coalesce(o.project, '') = coalesce(m.project, '') AND coalesce(o.session, '') = coalesce(m.session, '')
        WHERE m.doc = ? AND m.expired_at IS NULL AND o.{LIVE} AND o.expired_at IS NULL"""
    return bool(t.db.execute(sql, (doc,)).fetchall())
