"""``doctor --fix``: what can be put right without guessing. Texts, lineage, links and the audit trail are never touched."""

from __future__ import annotations

from mnemic.stores.sql.connection import Connection
from mnemic.text.clock import now, to_micros

__all__ = ["mend", "unclaim", "unclaimed"]

_DOCS = "SELECT doc FROM messages UNION ALL SELECT doc FROM episodes UNION ALL SELECT doc FROM memories"
_OWNED = " UNION ALL ".join(f"SELECT user_id, doc FROM {table}" for table in ("messages", "episodes", "memories"))

_STEPS = {
    "work for records that are gone taken off the list": f"DELETE FROM pending WHERE doc NOT IN ({_DOCS}) RETURNING doc",
    "uses of records that are gone removed": f"DELETE FROM access WHERE doc NOT IN ({_DOCS}) RETURNING doc",
    "judgements of records that are gone removed": f"DELETE FROM judged WHERE doc NOT IN ({_DOCS}) RETURNING doc",
    "vectors without a record removed": f"DELETE FROM vectors WHERE doc NOT IN ({_DOCS}) RETURNING doc",
    "vectors under another user removed, to be made anew": f"""DELETE FROM vectors WHERE NOT EXISTS
        (SELECT 1 FROM ({_OWNED}) d WHERE d.doc = vectors.doc AND d.user_id = vectors.user_id) RETURNING doc""",
    "messages whose episode is gone wait to be processed again": """UPDATE messages SET episode = NULL WHERE episode > 0
        AND episode NOT IN (SELECT doc FROM episodes) RETURNING doc""",
}
_UNVECTORED = f"""INSERT INTO pending(task, doc, user_id, since) SELECT 'embed', d.doc, d.user_id, CAST(? AS BIGINT)
    FROM ({_OWNED}) d WHERE d.doc NOT IN (SELECT doc FROM vectors)
    AND d.doc NOT IN (SELECT doc FROM pending WHERE task = 'embed') RETURNING doc"""
_RELEASED = "UPDATE memories SET status = 'short_term' WHERE status = 'consolidating' RETURNING doc"


_HALF = """DELETE FROM header WHERE key IN ('model', 'dimension')
    AND 1 = (SELECT count(*) FROM header WHERE key IN ('model', 'dimension')) RETURNING key"""


def unclaimed(db: Connection) -> list[str]:
    """A header that names half of a model names none: the vectors are made anew."""
    return ["the header named half of a model: vectors are made anew"] if db.execute(_HALF).fetchall() else []


def unclaim(db: Connection) -> None:
    """Where no vector is left, the next model may claim the record: what the header said was true of none of them."""
    db.execute("DELETE FROM header WHERE key IN ('model', 'dimension') AND NOT EXISTS (SELECT 1 FROM vectors)")


def mend(db: Connection, *, idle: bool) -> list[str]:
    """Put right what is safe, in the caller's transaction; a line for each thing that was done."""
    done: list[str] = []
    for what, sql in _STEPS.items():
        done += _told(what, len(db.execute(sql).fetchall()))
    waiting = db.execute(_UNVECTORED, (to_micros(now()),)).fetchall()
    done += _told("records without a vector wait for one", len(waiting))
    if idle:
        released = db.execute(_RELEASED).fetchall()
        done += _told("memories of an interrupted consolidation put back", len(released))
    return done


def _told(what: str, count: int) -> list[str]:
    return [f"{count} {what}"] if count else []
