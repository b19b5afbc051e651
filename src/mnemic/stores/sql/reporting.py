"""Counts of the record."""

from __future__ import annotations

from typing import Any

from mnemic.stores.schema import LIVE
from mnemic.stores.sql import reading
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.rows import counted
from mnemic.types import Stats

__all__ = ["stats"]


def stats(db: Connection, user: str, location: str, schema_version: int) -> Stats:
    """Counts of one user; size, model and schema are the whole record's."""
    number = reading.user_number(db, user)

    def count(sql: str) -> dict[Any, int]:
        return dict(db.execute(sql, (number,)).fetchall())

    messages = count("SELECT status, count(*) FROM messages WHERE user_id = ? GROUP BY 1")
    sessions = count("SELECT 1, count(DISTINCT session) FROM messages WHERE user_id = ?")
    projects = count("SELECT 1, count(DISTINCT project) FROM records WHERE user_id = ? AND kind != 'episode'")
    held = reading.header(db)
    return Stats(
        messages=messages.get("short_term", 0),
        episodes=count(f"SELECT 1, count(*) FROM episodes WHERE user_id = ? AND {LIVE}")[1],
        memories=counted(count("SELECT status, count(*) FROM memories WHERE user_id = ? GROUP BY 1").items()),
        links=count("SELECT 1, count(*) FROM links WHERE user_id = ?")[1],
        sessions=sessions[1],
        projects=projects[1],
        pending={
            **count(f"""SELECT p.task, count(*) FROM pending p JOIN records r ON r.doc = p.doc WHERE p.user_id = ?
                AND (p.task = 'embed' OR r.{LIVE}) GROUP BY 1"""),
            **count(
                f"SELECT 'process', count(*) FROM records WHERE user_id = ? AND waits = 1 AND {LIVE} HAVING count(*) > 0"
            ),
        },
        embedding_model=held.get("model"),
        dimension=held.get("dimension"),
        schema_version=schema_version,
        bytes_on_disk=db.dialect.size(db),
        location=location,
    )
