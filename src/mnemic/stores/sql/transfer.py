"""Moving users between records, page by page, resumable after any interruption.

An incompletely moved user has a name that no caller can use, and a header entry with the progress; both are written in the
transaction of the page. All docs of a user are shifted by the same offset, which preserves their order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from mnemic.errors import Conflict
from mnemic.stores import schema
from mnemic.stores.schema import RECORDS, Table
from mnemic.stores.sql import queries, rows
from mnemic.stores.sql.changes import check_header, insert, lock_user, put_vector, set_header
from mnemic.stores.sql.connection import Connection, Database
from mnemic.text.canonical import to_json
from mnemic.text.render import searchable
from mnemic.text.terms import analyse

__all__ = [
    "DEPENDENTS",
    "Extent",
    "Model",
    "Page",
    "Row",
    "State",
    "Transfer",
    "consolidations",
    "dependents",
    "events",
    "records",
]

Row = tuple[Any, ...]

DEPENDENTS: Mapping[Table, str] = {
    schema.VERSIONS: "doc", schema.LINEAGE: "child", schema.LINKS: "source", schema.PENDING: "doc",
    schema.ACCESS: "doc", schema.JUDGED: "doc", schema.VECTORS: "doc",
}  # fmt: skip
"""Tables with rows that refer to records, and the column of the first reference."""
_TABLES: Mapping[str, Table] = {table.name: table for table in schema.TABLES}


@dataclass(frozen=True, slots=True)
class Page:
    """Rows by table, with columns in schema order; ``last`` is the position where the next page begins."""

    rows: Mapping[str, Sequence[Row]]
    last: int

    @property
    def size(self) -> int:
        """The number of records, events or consolidations."""
        return sum(len(self.rows.get(table, ())) for table in ("records", "events", "consolidations"))

    def columns(self, table: str) -> Sequence[str]:
        """The column names of a table."""
        return _TABLES[table].names

    def renumbered(self, user: int, by: int) -> Page:
        """The same rows for another user number, with docs shifted by ``by``."""
        return Page(
            {table: [_renumber(table, row, user, by) for row in rows] for table, rows in self.rows.items()}, self.last
        )

    def lines(self) -> Iterator[str]:
        """One line per row, in an order independent of the engine; event numbers are left out."""
        for table in sorted(self.rows):
            rows = self.rows[table]
            if table == "events":  # in chronological order
                yield from (_line(table, row[1:]) for row in rows)
            else:
                yield from sorted(_line(table, row) for row in rows)


def _line(table: str, row: Row) -> str:
    return to_json([table, *(v.hex() if isinstance(v, bytes) else v for v in row)])


def _renumber(table: str, row: Row, user: int, by: int) -> Row:
    docs = _TABLES[table].docs
    made: list[Any] = []
    for name, value in zip(_TABLES[table].names, row, strict=True):
        if name == "user_id":
            made.append(user)
        elif name in docs and value is not None:
            made.append(value + by)
        elif name == "row" and value is not None:
            made.append(_version(value, user, by))
        else:
            made.append(value)
    return tuple(made)


def _version(text: str, user: int, by: int) -> str:
    """A row of ``versions`` with its docs shifted."""
    held = json.loads(text)
    docs = {name: held[name] + by for name in RECORDS.docs if held.get(name)}
    return to_json(held | docs | {"user_id": user})


def records(kind: str) -> Callable[[Connection, int, int, int], Page]:
    """A reader of the next records of a kind."""

    def page(db: Connection, user: int, after: int, limit: int) -> Page:
        rows = _read(db, RECORDS, "user_id = ? AND kind = ? AND doc > ? ORDER BY doc LIMIT ?", user, kind, after, limit)
        return Page({"records": rows}, rows[-1][0] if rows else after)

    return page


def dependents(db: Connection, user: int, after: int, limit: int) -> Page:
    """The rows that refer to the next records; read after all records, so that references resolve."""
    sql = "SELECT doc FROM records WHERE user_id = ? AND doc > ? ORDER BY doc LIMIT ?"
    docs = [doc for (doc,) in db.execute(sql, (user, after, limit))]
    if not docs:
        return Page({}, after)
    listed = db.dialect.bind_list(docs)
    rows = {
        table.name: _read(db, table, f"user_id = ? AND {key} IN (SELECT value FROM json_each(?))", user, listed)
        for table, key in DEPENDENTS.items()
    }
    return Page(rows, docs[-1])


def events(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next events of a user."""
    where = "user_id = ? AND sequence > ? ORDER BY sequence LIMIT ?"
    rows = _read(db, schema.EVENTS, where, user, after, limit)
    return Page({"events": rows}, rows[-1][0] if rows else after)


def consolidations(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next consolidations of a user."""
    where = "user_id = ? ORDER BY at, id LIMIT ? OFFSET ?"
    found = _read(db, schema.CONSOLIDATIONS, where, user, limit, after)
    ids = db.dialect.bind_list([row[1] for row in found])
    mine = "user_id = ? AND consolidation IN (SELECT value FROM json_each(?))"
    parts = {table.name: _read(db, table, mine, user, ids) for table in schema.OUTCOMES}
    return Page({"consolidations": found, **parts}, after + len(found))


def _read(db: Connection, table: Table, where: str, *values: object) -> list[Row]:
    return db.execute(f"SELECT {table.listed} FROM {table.name} WHERE {where}", values).fetchall()


Stage = Literal["episodes", "messages", "memories", "dependents", "events", "consolidations"]
STAGES: Sequence[Stage] = ("episodes", "messages", "memories", "dependents", "events", "consolidations")
"""In an order in which every reference resolves."""
UNFINISHED = "\x00on the way: "
PAGE = 1_000
Model = tuple[str, int]

_READ: dict[Stage, Callable[[Connection, int, int, int], Page]] = {
    "episodes": records("episode"), "messages": records("message"), "memories": records("memory"),
    "dependents": dependents, "events": events, "consolidations": consolidations,
}  # fmt: skip
_COUNTS = ", ".join(
    f"(SELECT count(*) FROM {table} WHERE user_id = ?1)" for table in ("records", "events", "consolidations")
)


@dataclass(frozen=True, slots=True)
class Extent:
    """A user at one moment: the last event, the lowest and highest doc, and the numbers of rows."""

    event: int
    low: int
    high: int
    records: int
    events: int
    consolidations: int

    @property
    def size(self) -> int:
        """The total of records, events and consolidations."""
        return self.records + self.events + self.consolidations


@dataclass(frozen=True, slots=True)
class State:
    """The progress of a move: source record and event, the shift of docs, and the position of the next page."""

    origin: str
    event: int
    by: int
    stage: Stage | None = STAGES[0]
    after: int = 0
    done: int = 0


class Transfer:
    """Reads users from a record, and writes users to it.

    Args:
        database: connections to the record.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    # Read

    @property
    def origin(self) -> str:
        """A random identifier of this record."""
        with self._db.read() as db:
            return str(queries.header(db)["fence"])

    @property
    def model(self) -> Model | None:
        """The embedder of the vectors and their dimension; None without vectors."""
        with self._db.read() as db:
            held = queries.header(db)
        return (str(held["model"]), int(held["dimension"])) if "dimension" in held else None

    def users(self) -> list[str]:
        """All complete users, oldest first."""
        with self._db.read() as db:
            names = [row[0] for row in db.execute("SELECT name FROM users ORDER BY user_id").fetchall()]
        return [name for name in names if not name.startswith(UNFINISHED)]

    def extent(self, name: str) -> Extent | None:
        """The extent of a user; None without rows."""
        with self._db.read() as db, db:
            user = queries.user_number(db, name)
            return None if user is None else _extent(db, user)

    def page(self, name: str, stage: Stage, after: int) -> Page:
        """The next rows of a user."""
        with self._db.read() as db, db:
            user = queries.user_number(db, name)
            return Page({}, after) if user is None else _READ[stage](db, user, after, PAGE)

    def digest(self, name: str, step: Callable[[int], None], *, unfinished: bool = False) -> str:
        """A hash over all rows of a user, independent of engine and docs."""
        held = UNFINISHED + name if unfinished else name
        extent, found = self.extent(held), hashlib.blake2b(digest_size=16)
        for page in self._all(held) if extent else ():
            for line in page.renumbered(0, 1 - extent.low if extent else 0).lines():
                found.update(line.encode("utf-8", "surrogatepass") + b"\n")
            step(page.size)
        return found.hexdigest()

    def _all(self, name: str) -> Iterator[Page]:
        for stage in STAGES:
            after = 0
            while (page := self.page(name, stage, after)).last != after:
                yield page
                after = page.last

    # Write

    def begin(self, name: str, origin: str, extent: Extent) -> State:
        """Start or resume the move of a user; an unfinished one from another record or event is discarded.

        Raises:
            Conflict: this user exists already.
        """

        def work(db: Connection) -> State:
            _check_absent(db, name)
            user, state = lock_user(db, UNFINISHED + name), _state(db, name)
            if state and (state.origin, state.event) == (origin, extent.event):
                return state
            if state:
                _discard(db, user, name)
                lock_user(db, UNFINISHED + name)
            span = extent.high - extent.low + 1
            state = State(origin, extent.event, db.dialect.next_docs(db, span) - extent.low)
            _save_state(db, name, state)
            return state

        return self._db.apply(work)

    def put(self, name: str, state: State, page: Page, after: State, model: Model | None) -> None:
        """Store a page and the progress after it.

        Raises:
            Conflict: another process is moving the same user.
            EmbeddingMismatch: this record holds vectors of another model.
        """

        def work(db: Connection) -> None:
            user = lock_user(db, UNFINISHED + name)
            if _state(db, name) != state:
                raise Conflict(f"Another process is moving the user {name!r} to the same place. Let one of them do it.")
            _write(db, user, page.renumbered(user, state.by), model)
            _save_state(db, name, after)

        self._db.apply(work)

    def discard(self, name: str) -> None:
        """Delete the rows of an incompletely moved user."""
        with self._db.write() as db:
            user = queries.user_number(db, UNFINISHED + name)
            if user is not None:
                _discard(db, user, name)

    def finish(self, name: str) -> None:
        """Make the moved user visible.

        Raises:
            Conflict: a user of this name was written to in the meantime.
        """
        with self._db.write() as db:
            _check_absent(db, name)
            db.execute("DELETE FROM users WHERE name = ?", (name,))  # a user without rows
            db.execute("UPDATE users SET name = ? WHERE name = ?", (name, UNFINISHED + name))
            db.execute("DELETE FROM header WHERE key = ?", (_key(name),))


def _extent(db: Connection, user: int) -> Extent | None:
    docs = """SELECT doc FROM records WHERE user_id = ?1
        UNION ALL SELECT doc FROM events WHERE user_id = ?1 AND doc IS NOT NULL"""
    low, high = db.execute(f"SELECT min(doc), max(doc) FROM ({docs}) d", (user,)).fetchone()
    records, events, consolidations = db.execute(f"SELECT {_COUNTS}", (user,)).fetchone()
    if not (records or events or consolidations):
        return None
    (last,) = db.execute("SELECT max(sequence) FROM events WHERE user_id = ?", (user,)).fetchone()
    return Extent(last or 0, low or 1, high or 1, records, events, consolidations)


def _key(name: str) -> str:
    return f"moving {name}"


def _state(db: Connection, name: str) -> State | None:
    row = db.execute("SELECT value FROM header WHERE key = ?", (_key(name),)).fetchone()
    return State(**json.loads(row[0])) if row else None


def _save_state(db: Connection, name: str, state: State) -> None:
    set_header(db, **{_key(name): json.dumps(asdict(state))})


def _check_absent(db: Connection, name: str) -> None:
    user = queries.user_number(db, name)
    if user is not None and _extent(db, user):
        raise Conflict(
            f"The user {name!r} has other memories in the target. Nothing of this user was changed there; move to an empty "
            "place, or erase the user there first."
        )


def _discard(db: Connection, user: int, name: str) -> None:
    for (doc,) in db.execute("SELECT doc FROM records WHERE user_id = ?", (user,)).fetchall():
        db.dialect.unindex(db, doc)
    for table in ("records", "events", "users"):
        db.execute(f"DELETE FROM {table} WHERE user_id = ?", (user,))
    db.execute("DELETE FROM header WHERE key = ?", (_key(name),))


def _write(db: Connection, user: int, page: Page, model: Model | None) -> None:
    """Insert the rows of a page, with full text and filter columns."""
    for table, found in page.rows.items():
        if table == "vectors":
            _write_vectors(db, found, model)
            continue
        skip = int(table == "events")  # the database assigns event numbers
        for values in found:
            row = dict(zip(page.columns(table)[skip:], values[skip:], strict=True))
            if table == "records":
                db.dialect.index(db, user, row["doc"], analyse(searchable(rows.record_from(row)))[0])
                row |= db.dialect.filter_columns(row)
            insert(db, table, row)


def _write_vectors(db: Connection, found: Sequence[Row], model: Model | None) -> None:
    if not found:
        return
    assert model is not None  # the source was verified: it has no vectors without a model
    check_header(db, *model, claim=True)
    for user, doc, blob in found:
        put_vector(db, user, doc, np.frombuffer(blob, "<f2").astype(np.float32))
