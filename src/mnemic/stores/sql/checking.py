"""``verify``: what must be true of a record, looked up rather than assumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable

from mnemic.stores.sql import rows
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.invariants import NEVER
from mnemic.types import VerifyReport

__all__ = ["verify"]

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
