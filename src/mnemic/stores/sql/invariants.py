"""What must be true of a record and no reference or condition of the schema holds, as statements that must find nothing.

Each row found is a number to look at.
"""

from __future__ import annotations

from mnemic.stores.schema import LIVE

__all__ = ["NEVER"]

_FATES = "('archive', 'absorb', 'restore', 'undo')"
_LAST_FATE = f"""(SELECT e.operation FROM events e WHERE e.doc = d.doc AND e.operation IN {_FATES}
    ORDER BY e.sequence DESC LIMIT 1)"""
_MADE = "FROM lineage l JOIN records c ON c.doc = l.child JOIN records p ON p.doc = l.parent"

NEVER = {
    "a record with no event": """SELECT doc FROM records WHERE doc NOT IN
        (SELECT doc FROM events WHERE doc IS NOT NULL)""",
    "an event of a record that is gone and was not erased": """SELECT DISTINCT doc FROM events WHERE doc IS NOT NULL
        AND operation != 'erase' AND doc NOT IN (SELECT doc FROM records)""",
    "an event filed under another user": """SELECT DISTINCT e.doc FROM events e JOIN records d ON d.doc = e.doc
        WHERE e.user_id != d.user_id""",
    "a record that was erased is there": """SELECT doc FROM events WHERE operation = 'erase'
        AND doc IN (SELECT doc FROM records)""",
    "an archived record that nobody forgot and nothing stands for": f"""SELECT d.doc FROM records d
        WHERE NOT d.{LIVE} AND coalesce({_LAST_FATE}, '') NOT IN ('archive', 'absorb')""",
    "a record that was forgotten or absorbed and is live": f"""SELECT d.doc FROM records d
        WHERE d.{LIVE} AND {_LAST_FATE} IN ('archive', 'absorb')""",
    "an absorbed memory whose representative is gone": f"""SELECT d.doc FROM memories d WHERE d.status = 'archived'
        AND {_LAST_FATE} = 'absorb' AND NOT EXISTS (SELECT 1 FROM lineage l JOIN memories r
        ON r.doc = CASE WHEN l.child = d.doc THEN l.parent ELSE l.child END WHERE l.parent = d.doc OR l.child = d.doc)""",
    "versions with a gap": """SELECT r.doc FROM records r LEFT JOIN versions v ON v.doc = r.doc
        GROUP BY r.doc, r.version HAVING count(v.version) != r.version - 1
        OR coalesce(max(v.version), r.version - 1) != r.version - 1""",
    "a record has neither a vector nor an entry in pending": """SELECT doc FROM records
        WHERE doc NOT IN (SELECT doc FROM vectors) AND doc NOT IN (SELECT doc FROM pending WHERE task = 'embed')""",
    "vectors, but no model in the header": """SELECT doc FROM vectors WHERE NOT EXISTS
        (SELECT 1 FROM header WHERE key = 'model') LIMIT 1""",
    "lineage that runs in a circle": """WITH RECURSIVE up(start, doc) AS (SELECT child, parent FROM lineage
        UNION SELECT start, parent FROM up JOIN lineage ON child = up.doc) SELECT start FROM up WHERE start = doc""",
    "a record more trusted than its source": f"SELECT DISTINCT c.doc {_MADE} WHERE c.trust > p.trust",
    "an episode of another project than its messages": f"""SELECT DISTINCT c.doc {_MADE}
        WHERE c.kind = 'episode' AND p.kind = 'message' AND c.project IS DISTINCT FROM p.project""",
    "an episode of another conversation than its messages": f"""SELECT DISTINCT c.doc {_MADE}
        WHERE c.kind = 'episode' AND p.kind = 'message' AND c.session IS NOT NULL
        AND c.session IS DISTINCT FROM p.session""",
    "a memory that stands for one of another level": f"""SELECT DISTINCT c.doc {_MADE}
        JOIN events e ON e.doc = p.doc AND e.operation = 'absorb' WHERE c.kind = 'memory' AND p.kind = 'memory'
        AND p.status = 'archived' AND (c.project IS DISTINCT FROM p.project OR c.session IS DISTINCT FROM p.session)""",
    "a message filed under an episode that does not tell of it": """SELECT m.doc FROM messages m
        WHERE m.episode IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM lineage l WHERE l.child = m.episode AND l.parent = m.doc)""",
    "an episode that tells of nothing": "SELECT doc FROM episodes WHERE doc NOT IN (SELECT child FROM lineage)",
    "a memory that was replaced and is still believed": """SELECT m.doc FROM links l JOIN memories m ON m.doc = l.target
        WHERE l.type = 'supersedes' AND m.expired_at IS NULL""",
}
"""Statements by what a row that they find would mean."""
