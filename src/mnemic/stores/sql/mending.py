"""``doctor --fix``: what can be put right without guessing. Texts, lineage, links and the audit trail are never touched."""

from __future__ import annotations

from mnemic.stores.sql.connection import Connection
from mnemic.text.clock import now, to_micros

__all__ = ["mend", "unclaim", "unclaimed"]

_DERIVED = ("pending", "access", "judged", "vectors")
"""What may be removed where its record is gone or another user's: it can be made again, or is of no use without it."""
_ASTRAY = "NOT EXISTS (SELECT 1 FROM records r WHERE r.user_id = {0}.user_id AND r.doc = {0}.doc)"
_UNFILED = """UPDATE records SET episode = NULL, waits = 1 WHERE episode IS NOT NULL
    AND episode NOT IN (SELECT doc FROM episodes) RETURNING doc"""
_UNVECTORED = """INSERT INTO pending(task, doc, user_id, since) SELECT 'embed', r.doc, r.user_id, CAST(? AS BIGINT)
    FROM records r WHERE r.doc NOT IN (SELECT doc FROM vectors)
    AND r.doc NOT IN (SELECT doc FROM pending WHERE task = 'embed') RETURNING doc"""
_RELEASED = "UPDATE records SET status = 'short_term' WHERE status = 'consolidating' RETURNING doc"


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
    for table in _DERIVED:
        gone = db.execute(f"DELETE FROM {table} WHERE {_ASTRAY.format(table)} RETURNING doc").fetchall()
        done += _told(f"rows of {table} that refer to no record removed", len(gone))
    unfiled = db.execute(_UNFILED).fetchall()
    done += _told("messages whose episode is gone wait to be processed again", len(unfiled))
    waiting = db.execute(_UNVECTORED, (to_micros(now()),)).fetchall()
    done += _told("records without a vector wait for one", len(waiting))
    if idle:
        released = db.execute(_RELEASED).fetchall()
        done += _told("memories of an interrupted consolidation put back", len(released))
    return done


def _told(what: str, count: int) -> list[str]:
    return [f"{count} {what}"] if count else []
