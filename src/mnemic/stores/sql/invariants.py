"""What must be true of a record, as statements that must find nothing; each row found is a number to look at."""

from __future__ import annotations

__all__ = ["NEVER", "TABLES"]

TABLES = ("messages", "episodes", "memories")
_DOCS = "SELECT doc FROM messages UNION ALL SELECT doc FROM episodes UNION ALL SELECT doc FROM memories"
_COLUMNS = "doc, user_id, id, status, project, session, trust"
_ALL = " UNION ALL ".join(f"SELECT {_COLUMNS} FROM {table}" for table in TABLES)
_FATES = "('archive', 'absorb', 'restore', 'undo')"
_LAST_FATE = f"""(SELECT e.operation FROM events e WHERE e.doc = d.doc AND e.operation IN {_FATES}
    ORDER BY e.sequence DESC LIMIT 1)"""
_MADE = f"FROM lineage l JOIN ({_ALL}) c ON c.doc = l.child JOIN ({_ALL}) p ON p.doc = l.parent"
_VERSIONED = "(SELECT doc, version FROM memories UNION ALL SELECT doc, version FROM episodes)"

_IDENTITY = {
    "two records share a number": f"SELECT doc FROM ({_DOCS}) d GROUP BY doc HAVING count(*) > 1",
    "two records of a user share an id": f"""SELECT min(doc) FROM ({_ALL}) d GROUP BY user_id, id HAVING count(*) > 1""",
    "a record with no event": f"""SELECT doc FROM ({_DOCS}) d WHERE doc NOT IN
        (SELECT doc FROM events WHERE doc IS NOT NULL)""",
    "an event of a record that is gone and was not erased": f"""SELECT DISTINCT doc FROM events WHERE doc IS NOT NULL
        AND operation != 'erase' AND doc NOT IN ({_DOCS})""",
    "an event filed under another user": f"""SELECT DISTINCT e.doc FROM events e JOIN ({_ALL}) d ON d.doc = e.doc
        WHERE e.user_id != d.user_id """,
    "a record that was erased is there": f"SELECT doc FROM events WHERE operation = 'erase' AND doc IN ({_DOCS})",
    "an archived record that nobody forgot and nothing stands for": f"""SELECT d.doc FROM ({_ALL}) d
        WHERE d.status = 'archived' AND coalesce({_LAST_FATE}, '') NOT IN ('archive', 'absorb')""",
    "a record that was forgotten or absorbed and is live": f"""SELECT d.doc FROM ({_ALL}) d
        WHERE d.status != 'archived' AND {_LAST_FATE} IN ('archive', 'absorb')""",
    "an absorbed memory whose representative is gone": f"""SELECT d.doc FROM memories d WHERE d.status = 'archived'
        AND {_LAST_FATE} = 'absorb' AND NOT EXISTS (SELECT 1 FROM lineage l JOIN memories r
        ON r.doc = CASE WHEN l.child = d.doc THEN l.parent ELSE l.child END WHERE l.parent = d.doc OR l.child = d.doc)""",
    "versions with a gap": f"""SELECT r.doc FROM {_VERSIONED} r LEFT JOIN versions v ON v.doc = r.doc
        GROUP BY r.doc, r.version HAVING count(v.version) != r.version - 1
        OR coalesce(max(v.version), r.version - 1) != r.version - 1""",
    "a version of a record that is gone": f"SELECT DISTINCT doc FROM versions WHERE doc NOT IN ({_DOCS})",
}
_INDEXES = {
    "a record has neither a vector nor an entry in pending": f"""SELECT doc FROM ({_DOCS}) d
        WHERE doc NOT IN (SELECT doc FROM vectors) AND doc NOT IN (SELECT doc FROM pending WHERE task = 'embed')""",
    "a vector without a record": f"SELECT doc FROM vectors WHERE doc NOT IN ({_DOCS})",
    "a vector filed under another user": f"""SELECT v.doc FROM vectors v JOIN ({_ALL}) d ON d.doc = v.doc
        WHERE v.user_id != d.user_id """,
    "vectors, but no model in the header": """SELECT doc FROM vectors WHERE NOT EXISTS
        (SELECT 1 FROM header WHERE key = 'model') LIMIT 1""",
    "traits that no text has": " UNION ALL ".join(
        f"SELECT doc FROM {table} WHERE traits NOT BETWEEN 0 AND 2147483647"
        for table in ("messages", "episodes", "memories")
    ),
    "work pending for a record that is gone": f"SELECT doc FROM pending WHERE doc NOT IN ({_DOCS})",
    "uses of a record that is gone": f"""SELECT doc FROM access WHERE doc NOT IN ({_DOCS})
        UNION SELECT doc FROM judged WHERE doc NOT IN ({_DOCS})""",
}
_ORIGINS = {
    "lineage from or to a record that is gone": f"""SELECT child FROM lineage
        WHERE child NOT IN ({_DOCS}) OR parent NOT IN ({_DOCS})""",
    "lineage that runs in a circle": """WITH RECURSIVE up(start, doc) AS (SELECT child, parent FROM lineage
        UNION SELECT start, parent FROM up JOIN lineage ON child = up.doc) SELECT start FROM up WHERE start = doc""",
    "lineage between two users": f"""SELECT c.doc {_MADE} WHERE c.user_id != p.user_id """,
    "a record more trusted than its source": f"SELECT DISTINCT c.doc {_MADE} WHERE c.trust > p.trust",
    "an episode of another project than its messages": """SELECT DISTINCT e.doc FROM lineage l JOIN episodes e
        ON e.doc = l.child JOIN messages m ON m.doc = l.parent WHERE e.project IS DISTINCT FROM m.project""",
    "an episode of another conversation than its messages": """SELECT DISTINCT e.doc FROM lineage l JOIN episodes e
        ON e.doc = l.child JOIN messages m ON m.doc = l.parent
        WHERE e.session IS NOT NULL AND e.session IS DISTINCT FROM m.session""",
    "a memory that stands for one of another level": """SELECT DISTINCT r.doc FROM lineage l JOIN memories r
        ON r.doc = l.child JOIN memories m ON m.doc = l.parent JOIN events e ON e.doc = m.doc AND e.operation = 'absorb'
        WHERE m.status = 'archived' AND (r.project IS DISTINCT FROM m.project OR r.session IS DISTINCT FROM m.session)""",
    "a message filed under an episode that is gone": """SELECT doc FROM messages WHERE episode > 0 AND episode NOT IN
        (SELECT doc FROM episodes)""",
    "a message filed under an episode that does not tell of it": """SELECT m.doc FROM messages m JOIN episodes e
        ON e.doc = m.episode WHERE NOT EXISTS (SELECT 1 FROM lineage l WHERE l.child = e.doc AND l.parent = m.doc)""",
    "an episode that tells of nothing": "SELECT doc FROM episodes WHERE doc NOT IN (SELECT child FROM lineage)",
}
_VALUES = {
    "a memory that was replaced and is still believed": """SELECT m.doc FROM links l JOIN memories m ON m.doc = l.target
        WHERE l.type = 'supersedes' AND m.expired_at IS NULL""",
    "a link between two users, or to nothing": """SELECT l.source FROM links l LEFT JOIN memories a ON a.doc = l.source
        LEFT JOIN memories b ON b.doc = l.target WHERE a.doc IS NULL OR b.doc IS NULL OR a.user_id != b.user_id
        OR l.user_id != a.user_id """,
    "a link to itself": "SELECT source FROM links WHERE source = target",
    "a number outside its range": """SELECT doc FROM memories WHERE importance NOT BETWEEN 0 AND 1 OR salience NOT BETWEEN
        0 AND 1 OR confidence NOT BETWEEN 0 AND 1 UNION SELECT source FROM links WHERE strength NOT BETWEEN 0 AND 1"""
    + "".join(f" UNION SELECT doc FROM {table} WHERE trust NOT BETWEEN 0 AND 1" for table in TABLES),
    "a feeling outside its range": " UNION ".join(
        f"""SELECT doc FROM {table} WHERE valence NOT BETWEEN -1 AND 1 OR arousal NOT BETWEEN -1 AND 1
        OR emotion_confidence NOT BETWEEN 0 AND 1"""
        for table in TABLES
    ),
}

NEVER = _IDENTITY | _INDEXES | _ORIGINS | _VALUES
"""Statements by what a row that they find would mean."""
