"""``verify``: what must be true of a record, looked up rather than assumed."""

from __future__ import annotations

from mnemic.stores.sqlite import rows
from mnemic.stores.sqlite.connection import Connection
from mnemic.types import VerifyReport

__all__ = ["verify"]

_TABLES = ("messages", "episodes", "memories")
_DOCS = "SELECT doc FROM messages UNION ALL SELECT doc FROM episodes UNION ALL SELECT doc FROM memories"

# What must find nothing; each row found becomes one finding.
_NEVER = {
    "two records share a number": f"SELECT doc FROM ({_DOCS}) GROUP BY doc HAVING count(*) > 1",
    "a record has no full text": f"SELECT doc FROM ({_DOCS}) WHERE doc NOT IN (SELECT id FROM fulltext_docsize)",
    "full text without a record": f"SELECT id FROM fulltext_docsize WHERE id NOT IN ({_DOCS})",
    "a record has neither a vector nor an entry in pending": f"""SELECT doc FROM ({_DOCS})
        WHERE doc NOT IN (SELECT doc FROM vectors) AND doc NOT IN (SELECT doc FROM pending WHERE task = 'embed')""",
    "a vector without a record": f"SELECT doc FROM vectors WHERE doc NOT IN ({_DOCS})",
    "a vector of another length than the header says": """SELECT doc FROM vectors WHERE length(vector) !=
        2 * (SELECT value FROM header WHERE key = 'dimension')""",
    "vectors, but no model in the header": """SELECT doc FROM vectors WHERE NOT EXISTS
        (SELECT 1 FROM header WHERE key = 'model') LIMIT 1""",
    "work pending for a record that is gone": f"SELECT doc FROM pending WHERE doc NOT IN ({_DOCS})",
    "lineage from or to a record that is gone": f"""SELECT child FROM lineage
        WHERE child NOT IN ({_DOCS}) OR parent NOT IN ({_DOCS})""",
    "a memory more trusted than its source": """SELECT r.doc FROM lineage l JOIN memories r ON r.doc = l.child
        LEFT JOIN messages m ON m.doc = l.parent LEFT JOIN memories p ON p.doc = l.parent
        LEFT JOIN episodes e ON e.doc = l.parent WHERE r.trust > coalesce(m.trust, p.trust, e.trust)""",
    "lineage between two users": """SELECT r.doc FROM lineage l JOIN memories r ON r.doc = l.child
        LEFT JOIN messages m ON m.doc = l.parent LEFT JOIN memories p ON p.doc = l.parent
        LEFT JOIN episodes e ON e.doc = l.parent WHERE r.user != coalesce(m.user, p.user, e.user)""",
    "a message filed under an episode that is gone": """SELECT doc FROM messages WHERE episode > 0 AND episode NOT IN
        (SELECT doc FROM episodes)""",
    "an episode that tells of nothing": "SELECT doc FROM episodes WHERE doc NOT IN (SELECT child FROM lineage)",
    "a slot of a record that is gone": "SELECT doc FROM slots WHERE doc NOT IN (SELECT doc FROM memories)",
    "a memory that was replaced and is still believed": """SELECT m.doc FROM links l JOIN memories m ON m.doc = l.target
        WHERE l.type = 'supersedes' AND m.expired_at IS NULL""",
    "a link between two users": """SELECT l.source FROM links l LEFT JOIN memories a ON a.doc = l.source
        LEFT JOIN memories b ON b.doc = l.target WHERE a.user IS NOT b.user OR a.user IS NULL""",
    "lineage that runs in a circle": """WITH RECURSIVE up(start, doc) AS (SELECT child, parent FROM lineage
        UNION SELECT start, parent FROM up JOIN lineage ON child = up.doc) SELECT start FROM up WHERE start = doc""",
    "a vector filed under another user": """SELECT v.doc FROM vectors v LEFT JOIN messages m ON m.doc = v.doc
        LEFT JOIN memories r ON r.doc = v.doc LEFT JOIN episodes e ON e.doc = v.doc
        WHERE v.user != coalesce(m.user, r.user, e.user)""",
    "a record with no event": f"""SELECT doc FROM ({_DOCS}) WHERE doc NOT IN
        (SELECT doc FROM events WHERE doc IS NOT NULL)""",
}


def _damage(db: Connection) -> list[str]:
    """What SQLite itself says of the file and of the full-text index."""
    found = [f"the file is damaged: {row[0]}" for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
    found += [f"a reference to nothing in {row[0]}" for row in db.execute("PRAGMA foreign_key_check")]
    return found


def _hashes(db: Connection) -> list[str]:
    """Records whose text is not the text that was stored."""
    found: list[str] = []
    for table, digest in (("messages", rows.message_hash), ("memories", rows.content_hash)):
        for id_, content, held in db.execute(f"SELECT id, content, hash FROM {table}"):
            if digest(content) != held:
                found.append(f"the text of {id_} does not match its hash")
    return found


def _shorten(what: str, docs: list[int]) -> str:
    shown = ", ".join(map(str, docs[:5])) + (" ..." if len(docs) > 5 else "")
    return f"{what}: {len(docs)} (number {shown})"


def verify(db: Connection, *, deep: bool) -> VerifyReport:
    """Check the record. ``deep`` also reads every page and every text.

    The invariants are those of the design: one status per id, every record found by text and by vector or noted as
    pending, lineage complete and without circles, trust never above its sources, users never mixed.
    """
    counts = {
        table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in (*_TABLES, "vectors", "events")
    }
    findings: list[str] = _damage(db) if deep else []
    if not findings:  # damaged pages make every further answer meaningless
        for what, sql in _NEVER.items():
            docs = [row[0] for row in db.execute(sql)]
            if docs:
                findings.append(_shorten(what, docs))
        if deep:
            findings += _hashes(db)
    return VerifyReport(checks=counts | {"invariants": len(_NEVER)}, findings=tuple(findings))
