"""What a store reads and writes in its file, each a function of a connection inside a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_mnemic.store.file import REMOVED, Db, mark_removed

__all__ = [
    "all_texts", "delete", "erase", "header", "item", "item_ids", "items", "items_by_id", "note",
    "paths", "postings", "put", "put_text", "put_vectors", "refresh", "sweep", "texts",
]  # fmt: skip

MANY = 500

_LIVE = "path >= ? AND path < ? AND (expires_at IS NULL OR expires_at > ?)"


def item(db: Db, path: str, key: str, at: int) -> tuple[Any, ...] | None:
    """(id, path, key, value, created_at, updated_at, ttl) of a live item."""
    sql = "SELECT id, path, key, value, created_at, updated_at, ttl FROM items WHERE path = ? AND key = ?"
    return db.execute(f"{sql} AND (expires_at IS NULL OR expires_at > ?)", (path, key, at)).fetchone()


def items(db: Db, span: tuple[str, str], at: int, *, limit: int = -1, offset: int = 0) -> Iterable[tuple[Any, ...]]:
    """Live items of a span of paths, in the order they were first put."""
    columns = "id, path, key, value, created_at, updated_at, ttl"
    sql = f"SELECT {columns} FROM items WHERE {_LIVE} ORDER BY id LIMIT ? OFFSET ?"  # noqa: S608 - constants
    return db.execute(sql, (*span, at, limit, offset))


def item_ids(db: Db, span: tuple[str, str], at: int) -> list[int]:
    """The ids of ``items``."""
    sql = f"SELECT id FROM items WHERE {_LIVE} ORDER BY id"  # noqa: S608 - constants
    return [id_ for (id_,) in db.execute(sql, (*span, at))]


def items_by_id(db: Db, ids: Sequence[int]) -> dict[int, tuple[Any, ...]]:
    """Rows of ``items`` by their id."""
    columns = "id, path, key, value, created_at, updated_at, ttl"
    found: dict[int, tuple[Any, ...]] = {}
    for some in _chunks(ids):
        sql = f"SELECT {columns} FROM items WHERE id IN ({_marks(some)})"  # noqa: S608 - constants
        found.update((row[0], row) for row in db.execute(sql, some))
    return found


def texts(db: Db, span: tuple[str, str], at: int) -> Iterable[tuple[int, int, int, bytes | None]]:
    """(id, item, length, vector) of the texts of live items."""
    sql = "SELECT t.id, t.item, t.length, t.vector FROM items i JOIN texts t ON t.item = i.id"
    return db.execute(f"{sql} WHERE {_LIVE} ORDER BY t.id", (*span, at))


def postings(db: Db, words: Iterable[str]) -> Iterable[tuple[str, int, int]]:
    """(term, text, count) of some terms."""
    for word in {*words}:
        yield from db.execute("SELECT term, text, count FROM postings WHERE term = ?", (word,))


def all_texts(db: Db) -> list[tuple[int, str]]:
    """(id, text) of every text."""
    return db.execute("SELECT id, text FROM texts ORDER BY id").fetchall()


def put_vectors(db: Db, made: Sequence[tuple[bytes, int, str]]) -> None:
    """Replace every vector by these (vector, id, text); a text that changed meanwhile has none."""
    db.execute("UPDATE texts SET vector = NULL")
    db.execute("DELETE FROM header WHERE name != ?", (REMOVED,))
    db.executemany("UPDATE texts SET vector = ? WHERE id = ? AND text = ?", made)


def paths(db: Db, at: int) -> list[str]:
    """The paths with live items."""
    sql = "SELECT DISTINCT path FROM items WHERE expires_at IS NULL OR expires_at > ?"
    return [path for (path,) in db.execute(sql, (at,))]


def header(db: Db) -> dict[str, str]:
    """What is noted about the vectors of the whole file."""
    return dict(db.execute("SELECT name, value FROM header WHERE name != ?", (REMOVED,)))


def note(db: Db, **values: str) -> None:
    """Note something about the whole file."""
    db.executemany("INSERT OR REPLACE INTO header VALUES (?, ?)", [*values.items()])


def put(db: Db, path: str, key: str, value: str, at: int, ttl: float | None) -> int:
    """Store an item without its texts; its id. One that exists keeps its place and when it was made."""
    sql = (
        "INSERT INTO items (path, key, value, created_at, updated_at, ttl, expires_at) VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)"
        " ON CONFLICT (path, key) DO UPDATE SET value = ?3, updated_at = ?4, ttl = ?5, expires_at = ?6 RETURNING id"
    )
    rows = db.execute(sql, (path, key, value, at, ttl, None if ttl is None else at + _micros(ttl))).fetchall()
    item = int(rows[0][0])
    db.execute("DELETE FROM texts WHERE item = ?", (item,))
    if db.changes():
        mark_removed(db)
    return item


def put_text(db: Db, item: int, text: str, counts: dict[str, int], vector: bytes | None) -> None:
    """Store a text of an item with its words."""
    length = sum(counts.values())
    sql = "INSERT INTO texts (item, text, length, vector) VALUES (?, ?, ?, ?)"
    db.execute(sql, (item, text, length, vector))
    made = db.last_insert_rowid()
    db.executemany("INSERT INTO postings VALUES (?, ?, ?)", [(term, made, count) for term, count in counts.items()])


def delete(db: Db, path: str, key: str) -> bool:
    """Remove an item with everything it is found by; whether there was one."""
    db.execute("DELETE FROM items WHERE path = ? AND key = ?", (path, key))
    return _removed(db) > 0


def erase(db: Db, span: tuple[str, str], key: str | None) -> dict[str, int]:
    """Remove the items of a span of paths, or those of them with a key, live or not; how many items and texts."""
    where, values = ("path >= ? AND path < ?", span) if key is None else ("path = ? AND key = ?", (span[0], key))
    sql = f"SELECT count(*) FROM texts WHERE item IN (SELECT id FROM items WHERE {where})"  # noqa: S608 - constants
    texts = int(db.execute(sql, values).fetchone()[0])
    db.execute(f"DELETE FROM items WHERE {where}", values)  # noqa: S608 - constants
    return {"items": _removed(db), "texts": texts}


def sweep(db: Db, at: int) -> int:
    """Remove the items whose time is over; how many."""
    db.execute("DELETE FROM items WHERE expires_at <= ?", (at,))
    return _removed(db)


def _removed(db: Db) -> int:
    """How many items the statement before removed; marked, if any."""
    if count := db.changes():
        mark_removed(db)
    return count


def refresh(db: Db, ids: Sequence[int], at: int) -> None:
    """Let the time of items begin anew, unless it is over."""
    sql = "UPDATE items SET expires_at = ? + CAST(ttl * 60e6 AS INTEGER) WHERE id = ? AND expires_at > ?"
    db.executemany(sql, [(at, id_, at) for id_ in ids])


def _micros(minutes: float) -> int:
    return int(minutes * 60e6)


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _chunks(values: Sequence[int]) -> Iterable[Sequence[int]]:
    return (values[at : at + MANY] for at in range(0, len(values), MANY))
