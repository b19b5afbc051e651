"""Rows of one user on their way from one record to another: a page at a time, as they are.

Records have other numbers in another record. All numbers of a user are moved by the same distance, so that their order stays
and what is said of the rows does not depend on where they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemic.stores.sql.connection import Connection
from mnemic.text.canonical import to_json

__all__ = ["BESIDE", "RECORDS", "Page", "Row", "decided", "happened", "records"]

Row = tuple[Any, ...]

_COMMON = (
    "doc, user, id, session, project, content, hash, length, traits, told, metadata, source, trust, version, utc_offset, "
    "created_at, delete_after, valence, arousal, emotion_confidence, tier_before, "
)
RECORDS: Mapping[str, str] = {
    "messages": _COMMON + "role, name, sent_at, episode, status",
    "episodes": _COMMON + "title, started_at, ended_at, status",
    "memories": _COMMON
    + "type, category, status, importance, salience, confidence, pinned, summary, context, keywords, "
    "tags, related_files, related_entities, said_at, valid_at, invalid_at, expired_at, updated_at, speaker, "
    "key",
}
"""The columns of the tables of records."""
BESIDE: Mapping[str, tuple[str, str]] = {
    "versions": ("doc, version, changed_at, row", "doc"),
    "lineage": ("child, parent", "child"),
    "links": ("user, source, target, type, strength, reason, created_at, expired_at", "source"),
    "pending": ("task, doc, user, since, attempts, error", "doc"),
    "access": ("doc, count, last_at", "doc"),
    "judged": ("doc, at", "doc"),
    "vectors": ("user, doc, vector", "doc"),
}
"""The columns of what hangs on a record, and which of them names it."""
_EVENTS = "sequence, user, at, operation, doc, id, version, detail"
_CONSOLIDATIONS = "user, id, at, plan, undone_at"
_COLUMNS = {
    **RECORDS, **{table: columns for table, (columns, _) in BESIDE.items()},
    "events": _EVENTS, "consolidations": _CONSOLIDATIONS,
}  # fmt: skip
_NUMBERS = {
    "messages": ("doc", "episode"), "lineage": ("child", "parent"), "links": ("source", "target"), "consolidations": (),
}  # fmt: skip
"""The columns that hold numbers of records; ``doc`` where nothing else is said."""
_NEXT = " UNION ALL ".join(
    f"SELECT doc FROM (SELECT doc FROM {table} WHERE user = ?1 AND doc > ?2 ORDER BY doc LIMIT ?3) {table[:2]}"
    for table in RECORDS
)


@dataclass(frozen=True, slots=True)
class Page:
    """Rows by table, each with the columns in the order stated here; ``last`` is where the next page begins."""

    rows: Mapping[str, Sequence[Row]]
    last: int

    @property
    def size(self) -> int:
        """How many records, events or consolidations."""
        return sum(len(self.rows.get(table, ())) for table in (*RECORDS, "events", "consolidations"))

    def columns(self, table: str) -> list[str]:
        """The names of the values of a row."""
        return _COLUMNS[table].split(", ")

    def moved(self, user: int, by: int) -> Page:
        """The same rows for another user, with all numbers of records moved."""
        return Page(
            {table: [_moved(table, row, user, by) for row in rows] for table, rows in self.rows.items()}, self.last
        )

    def lines(self) -> Iterator[str]:
        """One line for each row, in an order that no engine has a say in; the numbers of events are left out."""
        for table in sorted(self.rows):
            rows = self.rows[table]
            if table == "events":  # in the order in which they happened
                yield from (_line(table, row[1:]) for row in rows)
            else:
                yield from sorted(_line(table, row) for row in rows)


def _line(table: str, row: Row) -> str:
    return to_json([table, *(v.hex() if isinstance(v, bytes) else v for v in row)])


def _moved(table: str, row: Row, user: int, by: int) -> Row:
    numbers = _NUMBERS.get(table, ("doc",))
    made: list[Any] = []
    for name, value in zip(_COLUMNS[table].split(", "), row, strict=True):
        if name == "user":
            made.append(user)
        elif name in numbers and value:  # an episode of 0 is none
            made.append(value + by)
        elif name in ("row", "plan"):
            made.append(_document(name, value, user, by))
        else:
            made.append(value)
    return tuple(made)


def _document(name: str, text: str, user: int, by: int) -> str:
    """An earlier version, or what it takes to undo a consolidation, with the numbers in it moved."""
    held = json.loads(text)
    if name == "row":
        return to_json(held | {"doc": held["doc"] + by, "user": user})
    return to_json(_plan(held, lambda doc: doc + by))


def _plan(plan: dict[str, Any], move: Callable[[int], int]) -> dict[str, Any]:
    return plan | {
        "promotions": [_promotion(promotion, move) for promotion in plan["promotions"]],
        "contradictions": [[move(source), move(target)] for source, target in plan["contradictions"]],
        "ended": [[move(source), move(target), *rest] for source, target, *rest in plan["ended"]],
        "weighed": [[move(doc), *rest] for doc, *rest in plan["weighed"]],
    }


def _promotion(promotion: dict[str, Any], move: Callable[[int], int]) -> dict[str, Any]:
    return promotion | {
        "doc": move(promotion["doc"]),
        "absorbed": [held | {"doc": move(held["doc"])} for held in promotion["absorbed"]],
        **{name: [move(doc) for doc in promotion[name]] for name in ("turned", "lineage")},
        **{
            name: [[move(source), move(target), *rest] for source, target, *rest in promotion[name]]
            for name in ("links", "moved")
        },
    }


def records(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next records of a user with all that hangs on them."""
    found = db.execute(f"SELECT doc FROM ({_NEXT}) d ORDER BY doc LIMIT ?3", (user, after, limit)).fetchall()
    docs = [row[0] for row in found]
    if not docs:
        return Page({}, after)
    listed = db.dialect.many(docs)
    rows: dict[str, Sequence[Row]] = {}
    for table, columns in RECORDS.items():
        sql = f"SELECT {columns} FROM {table} WHERE doc IN (SELECT value FROM json_each(?))"
        rows[table] = db.execute(sql, (listed,)).fetchall()
    for table, (columns, key) in BESIDE.items():
        sql = f"SELECT {columns} FROM {table} WHERE {key} IN (SELECT value FROM json_each(?))"
        mine = " AND user = ?" if table in ("vectors", "pending") else ""
        rows[table] = db.execute(sql + mine, (listed, user) if mine else (listed,)).fetchall()
    return Page(rows, docs[-1])


def happened(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next events of a user."""
    sql = f"SELECT {_EVENTS} FROM events WHERE user = ? AND sequence > ? ORDER BY sequence LIMIT ?"
    rows = db.execute(sql, (user, after, limit)).fetchall()
    return Page({"events": rows}, rows[-1][0] if rows else after)


def decided(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next consolidations of a user."""
    sql = f"SELECT {_CONSOLIDATIONS} FROM consolidations WHERE user = ? ORDER BY at, id LIMIT ? OFFSET ?"
    rows = db.execute(sql, (user, limit, after)).fetchall()
    return Page({"consolidations": rows}, after + len(rows))
