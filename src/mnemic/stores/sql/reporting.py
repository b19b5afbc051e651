"""Counts of the record."""

from __future__ import annotations

from typing import Any

from mnemic.stores.sql import reading
from mnemic.stores.sql.connection import Connection
from mnemic.types import Stats

__all__ = ["stats"]


def stats(db: Connection, user: str, location: str, schema_version: int) -> Stats:
    """Counts of one user; size, model and schema are the whole record's."""
    number = reading.user_number(db, user)

    def count(sql: str) -> dict[Any, int]:
        return dict(db.execute(sql, (number,)).fetchall())

    messages = count("SELECT status = 'archived', count(*) FROM messages WHERE user_id = ? GROUP BY 1")
    sessions = count("SELECT 1, count(DISTINCT session) FROM messages WHERE user_id = ?")
    projects = count("""SELECT 1, count(DISTINCT project) FROM (SELECT user_id, project FROM messages UNION ALL
        SELECT user_id, project FROM memories) p WHERE user_id = ?""")
    held = reading.header(db)
    return Stats(
        messages=messages.get(0, 0),
        episodes=count("SELECT 1, count(*) FROM episodes WHERE user_id = ? AND status != 'archived'")[1],
        memories=count("SELECT status, count(*) FROM memories WHERE user_id = ? GROUP BY 1"),
        links=count("SELECT 1, count(*) FROM links WHERE user_id = ?")[1],
        sessions=sessions[1],
        projects=projects[1],
        pending={
            **count("""SELECT task, count(*) FROM pending p WHERE user_id = ? AND (task = 'embed' OR NOT EXISTS
                (SELECT 1 FROM memories m WHERE m.doc = p.doc AND m.status = 'archived') AND NOT EXISTS
                (SELECT 1 FROM episodes e WHERE e.doc = p.doc AND e.status = 'archived')) GROUP BY 1"""),
            **count(
                "SELECT 'process', count(*) FROM messages WHERE user_id = ? AND episode IS NULL AND status != 'archived' "
                "HAVING count(*) > 0"
            ),
        },
        embedding_model=held.get("model"),
        dimension=held.get("dimension"),
        schema_version=schema_version,
        bytes_on_disk=db.dialect.size(db),
        location=location,
    )
