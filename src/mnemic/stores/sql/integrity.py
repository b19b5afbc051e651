"""Invariants that the schema cannot express, and repairs that need no guessing.

``verify`` checks, ``doctor --fix`` repairs; texts, lineage, links and the audit trail are never changed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from mnemic.stores.schema import LIVE, RECORDS
from mnemic.stores.sql import rows
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.queries import AMONG
from mnemic.text.values import now, to_micros
from mnemic.types import VerifyReport, searchable
from mnemic.types.literals import TRANSITIONS

PAGE = 500


class Searchable(NamedTuple):
    """A record with its searchable text and its row by column name."""

    doc: int
    user_id: int
    text: str
    values: dict[str, Any]


def pages(db: Connection) -> Generator[list[Searchable]]:
    """All readable records in pages; other checks report the unreadable ones."""
    after = 0
    while page := rows.select(db, RECORDS, "WHERE doc > ? ORDER BY doc LIMIT ?", (after, PAGE)):
        records: list[Searchable] = []
        for row in page:
            with suppress(ValueError):
                records.append(Searchable(row["doc"], row["user_id"], searchable(rows.record_from(row)), row))
        yield records
        after = page[-1]["doc"]


def texts(db: Connection) -> Generator[Searchable]:
    """All readable records."""
    for page in pages(db):
        yield from page


_LAST_TRANSITION = f"""(SELECT e.operation FROM events e WHERE e.doc = d.doc AND e.operation IN {TRANSITIONS}
    ORDER BY e.sequence DESC LIMIT 1)"""
_MADE = "FROM lineage l JOIN records c ON c.doc = l.child JOIN records p ON p.doc = l.parent"

INVARIANTS = {
    "a record with no event": """SELECT doc FROM records WHERE doc NOT IN
        (SELECT doc FROM events WHERE doc IS NOT NULL)""",
    "an event of a missing record that was not erased": """SELECT DISTINCT doc FROM events WHERE doc IS NOT NULL
        AND operation != 'erase' AND doc NOT IN (SELECT doc FROM records)""",
    "an event filed under another user": """SELECT DISTINCT e.doc FROM events e JOIN records d ON d.doc = e.doc
        WHERE e.user_id != d.user_id""",
    "an erased record still exists": """SELECT doc FROM events WHERE operation = 'erase'
        AND doc IN (SELECT doc FROM records)""",
    "an archived record that was neither forgotten nor absorbed": f"""SELECT d.doc FROM records d
        WHERE NOT d.{LIVE} AND coalesce({_LAST_TRANSITION}, '') NOT IN ('archive', 'absorb')""",
    "a live record that was forgotten or absorbed": f"""SELECT d.doc FROM records d
        WHERE d.{LIVE} AND {_LAST_TRANSITION} IN ('archive', 'absorb')""",
    "an absorbed memory without its representative": f"""SELECT d.doc FROM memories d WHERE d.status = 'archived'
        AND {_LAST_TRANSITION} = 'absorb' AND NOT EXISTS (SELECT 1 FROM lineage l JOIN memories r
        ON r.doc = CASE WHEN l.child = d.doc THEN l.parent ELSE l.child END WHERE l.parent = d.doc OR l.child = d.doc)""",
    "versions with a gap": """SELECT r.doc FROM records r LEFT JOIN versions v ON v.doc = r.doc
        GROUP BY r.doc, r.version HAVING count(v.version) != r.version - 1
        OR coalesce(max(v.version), r.version - 1) != r.version - 1""",
    "a record has neither a vector nor an entry in pending": """SELECT doc FROM records
        WHERE doc NOT IN (SELECT doc FROM vectors) AND doc NOT IN (SELECT doc FROM pending WHERE task = 'embed')""",
    "vectors, but no model in the header": """SELECT doc FROM vectors WHERE NOT EXISTS
        (SELECT 1 FROM header WHERE key = 'model') LIMIT 1""",
    "a cycle in the lineage": """WITH RECURSIVE up(start, doc) AS (SELECT child, parent FROM lineage
        UNION SELECT start, parent FROM up JOIN lineage ON child = up.doc) SELECT start FROM up WHERE start = doc""",
    "a record more trusted than its source": f"SELECT DISTINCT c.doc {_MADE} WHERE c.trust > p.trust",
    "an episode of another project than its messages": f"""SELECT DISTINCT c.doc {_MADE}
        WHERE c.kind = 'episode' AND p.kind = 'message' AND c.project IS DISTINCT FROM p.project""",
    "an episode of another conversation than its messages": f"""SELECT DISTINCT c.doc {_MADE}
        WHERE c.kind = 'episode' AND p.kind = 'message' AND c.session IS NOT NULL
        AND c.session IS DISTINCT FROM p.session""",
    "a representative of another level than its member": f"""SELECT DISTINCT c.doc {_MADE}
        JOIN events e ON e.doc = p.doc AND e.operation = 'absorb' WHERE c.kind = 'memory' AND p.kind = 'memory'
        AND p.status = 'archived' AND (c.project IS DISTINCT FROM p.project OR c.session IS DISTINCT FROM p.session)""",
    "a message assigned to an episode that does not contain it": """SELECT m.doc FROM messages m
        WHERE m.episode IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM lineage l WHERE l.child = m.episode AND l.parent = m.doc)""",
    "an episode without messages": "SELECT doc FROM episodes WHERE doc NOT IN (SELECT child FROM lineage)",
    "a superseded memory that has not expired": """SELECT m.doc FROM links l JOIN memories m ON m.doc = l.target
        WHERE l.type = 'supersedes' AND m.expired_at IS NULL""",
}
"""Queries that must return no rows, by the finding that a row means."""


_JSON = {
    "metadata": dict, "told": list, "keywords": list, "tags": list, "related_files": list, "related_entities": list
}  # fmt: skip
_COUNTED = ("messages", "episodes", "memories", "vectors", "events")
SHOWN = 5
LONGEST = 65_536
"""The highest dimension that any store supports."""


def _hash_findings(db: Connection) -> Generator[str]:
    """Findings on records whose text does not match its hash."""
    text = "CASE WHEN kind != 'memory' OR speaker IS NULL THEN content ELSE speaker || ': ' || content END"
    for id_, kind, content, stored in db.execute(f"SELECT id, kind, {text}, hash FROM records"):
        digest = rows.message_hash if kind == "message" else rows.content_hash
        if digest(content) != bytes(stored):
            yield f"the text of {id_} does not match its hash"


def _json_findings(db: Connection) -> Generator[str]:
    """Findings on JSON columns with invalid content."""
    for doc, *values in db.execute(f"SELECT doc, {', '.join(_JSON)} FROM records"):
        for (name, kind), value in zip(_JSON.items(), values, strict=True):
            if value is not None and not _is_json(value, kind):
                yield f"{name} of a record is not valid JSON of its type (number {doc})"
    for what, sql in (
        ("the detail of an event", "SELECT sequence, detail FROM events"),
        ("an earlier version", "SELECT doc, row FROM versions"),
    ):
        for number, value in db.execute(sql):
            if not _is_json(value, dict):
                yield f"{what} cannot be read (number {number})"


def _is_json(text: object, kind: type) -> bool:
    try:
        return isinstance(json.loads(str(text)), kind)
    except ValueError:
        return False


def finding(what: str, docs: Sequence[int]) -> list[str]:
    """A line on records with a finding, if there are any."""
    shown = ", ".join(map(str, docs[:SHOWN])) + (" ..." if len(docs) > SHOWN else "")
    return [f"{what}: {len(docs)} (number {shown})"] if docs else []


def _truncate(findings: Iterable[str]) -> list[str]:
    """The first findings, and the number of the others."""
    lines = list(findings)
    remainder = [f"... and {len(lines) - SHOWN} more like the last"] if len(lines) > SHOWN else []
    return lines[:SHOWN] + remainder


_DERIVED = ("pending", "access", "judged", "vectors")
"""Tables whose rows may be deleted if they belong to no record of their user: they are derived, or useless without it."""
_ORPHANS = """DELETE FROM {0} WHERE NOT EXISTS
    (SELECT 1 FROM records r WHERE r.user_id = {0}.user_id AND r.doc = {0}.doc) RETURNING doc"""
_UNFILED = """UPDATE records SET episode = NULL, waits = 1 WHERE episode IS NOT NULL
    AND episode NOT IN (SELECT doc FROM episodes) RETURNING doc"""
_UNVECTORED = """INSERT INTO pending(task, doc, user_id, since) SELECT 'embed', r.doc, r.user_id, CAST(? AS BIGINT)
    FROM records r WHERE r.doc NOT IN (SELECT doc FROM vectors)
    AND r.doc NOT IN (SELECT doc FROM pending WHERE task = 'embed') RETURNING doc"""
_RELEASED = "UPDATE records SET status = 'short_term' WHERE status = 'consolidating' RETURNING doc"
_HALF = """DELETE FROM header WHERE key IN ('model', 'dimension')
    AND 1 = (SELECT count(*) FROM header WHERE key IN ('model', 'dimension')) RETURNING key"""
_WRONG_LENGTH = "a vector of another length than the header says"


class Integrity:
    """Checks and repairs of a record. Engines add those of their full text, vectors and filters.

    Attributes:
        entries: the keys that every header must have.
        invariants: queries that must return no rows, by the finding that a row means.
        dangling: the query for broken foreign keys, a row with the table for each.
        misfits: the condition on vectors of another length than the header says.
    """

    entries: Sequence[str] = ("fence",)
    invariants: Mapping[str, str] = {}
    dangling = "SELECT 1 WHERE 1 = 0"
    misfits = ""

    def damage(self, db: Connection) -> list[str]:
        """Damage that the engine itself detects."""
        raise NotImplementedError

    def unusable_vectors(self, db: Connection) -> Sequence[int]:
        """Docs whose vector is invalid."""
        raise NotImplementedError

    def underivable(self, db: Connection) -> list[str]:
        """Findings on data that does not match the texts it is derived from."""
        raise NotImplementedError

    def verify(self, db: Connection, *, deep: bool, idle: Callable[[], bool]) -> VerifyReport:
        """Check the record. ``deep`` also reads every page and every text.

        The invariants: one status per id, every record indexed or pending, lineage complete and acyclic, trust never above
        that of the sources, users and levels never mixed.

        Args:
            db: a connection, as one snapshot.
            deep: whether to read everything.
            idle: returns whether no consolidation is running; called only if memories are claimed.
        """
        findings = self.damage(db) if deep else []
        if findings:  # on damaged pages further results mean nothing
            return VerifyReport(checks={}, findings=tuple(findings))
        counts = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in _COUNTED}
        dangling = Counter(str(table) for table, *_ in db.execute(self.dangling))
        findings += [f"{table} refers to rows that are not there: {count}" for table, count in dangling.items()]
        wrong_length = {_WRONG_LENGTH: f"SELECT doc FROM vectors WHERE {self.misfits}"}
        invariants = {**INVARIANTS, **self.invariants, **wrong_length}
        for what, sql in invariants.items():
            findings += finding(what, [row[0] for row in db.execute(sql).fetchall()])
        findings += [*self._header_findings(db), *_claim_findings(db, idle)]
        if deep:
            changed = _truncate(_hash_findings(db))
            findings += [*_truncate(_json_findings(db)), *changed]
            if not changed:  # else the full text does not match either
                findings += [*self.underivable(db), *finding("an invalid vector", self.unusable_vectors(db))]
        return VerifyReport(checks=counts | {"invariants": len(invariants) + 2}, findings=tuple(findings))

    def _header_findings(self, db: Connection) -> Generator[str]:
        """Findings on the header: missing or invalid entries."""
        entries = dict(db.execute("SELECT key, value FROM header").fetchall())
        for key in self.entries:
            if key not in entries:
                yield f"the header has no {key}"
        if ("model" in entries) != ("dimension" in entries):
            yield "the header has a model without a dimension, or a dimension without a model"
        if not 0 < int(length if (length := str(entries.get("dimension", 1))).isdecimal() else 0) <= LONGEST:
            yield "the dimension in the header is invalid"

    def repair(self, db: Connection, *, idle: bool) -> list[str]:
        """Repair what is safe, in the caller's transaction; returns a line for each repair."""
        repairs = ["incomplete model removed from the header: vectors will be computed again"] * _count(db, _HALF)
        repairs += self._repair_vectors(db)
        for table in _DERIVED:
            repairs += _line(f"rows of {table} that refer to no record removed", _count(db, _ORPHANS.format(table)))
        repairs += _line("messages without their episode marked as unprocessed", _count(db, _UNFILED))
        repairs += _line("records without a vector queued for embedding", _count(db, _UNVECTORED, to_micros(now())))
        if idle:
            repairs += _line("memories of an interrupted consolidation returned to short-term", _count(db, _RELEASED))
        return repairs

    def _repair_vectors(self, db: Connection) -> list[str]:
        unknown = "NOT EXISTS (SELECT 1 FROM header WHERE key = 'dimension')"
        misfits = _count(db, f"DELETE FROM vectors WHERE {self.misfits} OR {unknown} RETURNING doc")
        if misfits:
            self.after_misfits(db)
            # without vectors the next model can claim the record
            db.execute("DELETE FROM header WHERE key IN ('model', 'dimension') AND NOT EXISTS (SELECT 1 FROM vectors)")
        unusable = self.unusable_vectors(db)
        db.execute(f"DELETE FROM vectors WHERE doc IN {AMONG}", (unusable,))
        return [
            *_line("vectors of the wrong length removed, to be computed again", misfits),
            *_line("invalid vectors removed, to be computed again", len(unusable)),
        ]

    def after_misfits(self, db: Connection) -> None:
        """Called when vectors of another length were removed."""


def _claim_findings(db: Connection, idle: Callable[[], bool]) -> list[str]:
    docs = [doc for (doc,) in db.execute("SELECT doc FROM records WHERE status = 'consolidating'").fetchall()]
    return finding("a memory is being consolidated, and no consolidation is under way", docs) if docs and idle() else []


def _count(db: Connection, sql: str, *values: object) -> int:
    return len(db.execute(sql, values).fetchall())


def _line(what: str, count: int) -> list[str]:
    return [f"{count} {what}"] if count else []
