"""What must be true of a record and no key can say, and what of it can be put right without guessing.

``verify`` looks, ``doctor --fix`` mends; texts, lineage, links and the audit trail are never touched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable

from mnemic.stores.schema import LIVE
from mnemic.stores.sql import rows
from mnemic.stores.sql.connection import Connection
from mnemic.text.clock import now, to_micros
from mnemic.types import VerifyReport

__all__ = ["NEVER", "mend", "unclaim", "unclaimed", "verify"]

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


_JSON = {
    "metadata": dict, "told": list, "keywords": list, "tags": list, "related_files": list, "related_entities": list
}  # fmt: skip
_COUNTED = ("messages", "episodes", "memories", "vectors", "events")
SHOWN = 5
LONGEST = 65_536
"""Dimensions of the longest vector that any store keeps."""


def _hashes(db: Connection) -> Generator[str]:
    """Records whose text is not the text that was stored."""
    text = "CASE WHEN kind != 'memory' OR speaker IS NULL THEN content ELSE speaker || ': ' || content END"
    for id_, kind, content, held in db.execute(f"SELECT id, kind, {text}, hash FROM records"):
        digest = rows.message_hash if kind == "message" else rows.content_hash
        if digest(content) != bytes(held):
            yield f"the text of {id_} does not match its hash"


def _documents(db: Connection) -> Generator[str]:
    """Columns that must hold JSON of a kind and do not."""
    for doc, *values in db.execute(f"SELECT doc, {', '.join(_JSON)} FROM records"):
        for (name, kind), value in zip(_JSON.items(), values, strict=True):
            if value is not None and not _is(value, kind):
                yield f"{name} of a record is not what it must be (number {doc})"
    for what, sql in (
        ("the detail of an event", "SELECT sequence, detail FROM events"),
        ("an earlier version", "SELECT doc, row FROM versions"),
    ):
        for number, value in db.execute(sql):
            if not _is(value, dict):
                yield f"{what} cannot be read (number {number})"


def _is(text: object, kind: type) -> bool:
    try:
        return isinstance(json.loads(str(text)), kind)
    except ValueError:
        return False


def _shorten(what: str, docs: list[int]) -> str:
    shown = ", ".join(map(str, docs[:SHOWN])) + (" ..." if len(docs) > SHOWN else "")
    return f"{what}: {len(docs)} (number {shown})"


def _first(found: Iterable[str]) -> list[str]:
    """The first findings of a kind, and how many more there are."""
    listed = list(found)
    more = [f"... and {len(listed) - SHOWN} more like the last"] if len(listed) > SHOWN else []
    return listed[:SHOWN] + more


def _header(db: Connection) -> Generator[str]:
    """What the header of every record holds and this one does not."""
    held = dict(db.execute("SELECT key, value FROM header").fetchall())
    for key in db.dialect.header:
        if key not in held:
            yield f"the header has no {key}"
    if ("model" in held) != ("dimension" in held):
        yield "the header has a model without a dimension, or a dimension without a model"
    if not 0 < int(length if (length := str(held.get("dimension", 1))).isdecimal() else 0) <= LONGEST:
        yield "the dimension in the header is no length of a vector"


def _consolidating(db: Connection, idle: Callable[[], bool]) -> list[str]:
    sql = "SELECT doc FROM records WHERE status = 'consolidating'"
    docs = [row[0] for row in db.execute(sql).fetchall()]
    return (
        [_shorten("a memory is being consolidated, and no consolidation is under way", docs)] if docs and idle() else []
    )


def verify(db: Connection, *, deep: bool, idle: Callable[[], bool] = lambda: True) -> VerifyReport:
    """Check the record. ``deep`` also reads every page and every text.

    The invariants are those of the design: one status per id, every record found by text and by vector or noted as
    pending, lineage complete and without circles, trust never above its sources, users and levels never mixed.

    Args:
        db: a connection, at one moment.
        deep: whether to read everything.
        idle: whether no consolidation is under way now; asked only when it matters.
    """
    findings = db.dialect.damage(db) if deep else []
    if findings:  # damaged pages make every further answer meaningless
        return VerifyReport(checks={}, findings=tuple(findings))
    counts = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in _COUNTED}
    findings += db.dialect.dangling(db)
    never = NEVER | db.dialect.never
    for what, sql in never.items():
        if docs := [row[0] for row in db.execute(sql).fetchall()]:
            findings.append(_shorten(what, docs))
    findings += [*_header(db), *_consolidating(db, idle)]
    if deep:
        findings += [*_first(_documents(db)), *_first(_hashes(db))]
    return VerifyReport(checks=counts | {"invariants": len(never) + 2}, findings=tuple(findings))


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
