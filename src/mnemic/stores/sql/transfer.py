"""Users on their way into this record or out of it, page by page, so that it can be interrupted anywhere.

A user who is not here as a whole yet has a name that nobody can ask for, and an entry in the header that says how far the
pages are; both are written in the transaction of the page. Records have other numbers in another record: all numbers of a
user are moved by the same distance, so that their order stays.
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
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.transaction import check_header, put_vector, set_header
from mnemic.text.canonical import to_json
from mnemic.text.render import searchable
from mnemic.text.terms import analyse

__all__ = ["BESIDE", "Extent", "Model", "Page", "Row", "State", "Transfer", "beside", "decided", "happened", "records"]

Row = tuple[Any, ...]

BESIDE: Mapping[Table, str] = {
    schema.VERSIONS: "doc", schema.LINEAGE: "child", schema.LINKS: "source", schema.PENDING: "doc",
    schema.ACCESS: "doc", schema.JUDGED: "doc", schema.VECTORS: "doc",
}  # fmt: skip
"""What refers to a record, and the column that names it first."""
_TABLES: Mapping[str, Table] = {table.name: table for table in schema.TABLES}


@dataclass(frozen=True, slots=True)
class Page:
    """Rows by table, each with the columns in the order of the schema; ``last`` is where the next page begins."""

    rows: Mapping[str, Sequence[Row]]
    last: int

    @property
    def size(self) -> int:
        """How many records, events or consolidations."""
        return sum(len(self.rows.get(table, ())) for table in ("records", "events", "consolidations"))

    def columns(self, table: str) -> Sequence[str]:
        """The names of the values of a row."""
        return _TABLES[table].names

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
    """An earlier version with the numbers in it moved."""
    held = json.loads(text)
    docs = {name: held[name] + by for name in RECORDS.docs if held.get(name)}
    return to_json(held | docs | {"user_id": user})


def records(kind: str) -> Callable[[Connection, int, int, int], Page]:
    """The next records of a kind."""

    def page(db: Connection, user: int, after: int, limit: int) -> Page:
        rows = _read(db, RECORDS, "user_id = ? AND kind = ? AND doc > ? ORDER BY doc LIMIT ?", user, kind, after, limit)
        return Page({"records": rows}, rows[-1][0] if rows else after)

    return page


def beside(db: Connection, user: int, after: int, limit: int) -> Page:
    """What refers to the next records: it follows when all of them are there."""
    sql = "SELECT doc FROM records WHERE user_id = ? AND doc > ? ORDER BY doc LIMIT ?"
    docs = [doc for (doc,) in db.execute(sql, (user, after, limit))]
    if not docs:
        return Page({}, after)
    listed = db.dialect.many(docs)
    rows = {
        table.name: _read(db, table, f"user_id = ? AND {key} IN (SELECT value FROM json_each(?))", user, listed)
        for table, key in BESIDE.items()
    }
    return Page(rows, docs[-1])


def happened(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next events of a user."""
    where = "user_id = ? AND sequence > ? ORDER BY sequence LIMIT ?"
    rows = _read(db, schema.EVENTS, where, user, after, limit)
    return Page({"events": rows}, rows[-1][0] if rows else after)


def decided(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next consolidations of a user."""
    where = "user_id = ? ORDER BY at, id LIMIT ? OFFSET ?"
    found = _read(db, schema.CONSOLIDATIONS, where, user, limit, after)
    ids = db.dialect.many([row[1] for row in found])
    mine = "user_id = ? AND consolidation IN (SELECT value FROM json_each(?))"
    parts = {table.name: _read(db, table, mine, user, ids) for table in schema.OUTCOMES}
    return Page({"consolidations": found, **parts}, after + len(found))


def _read(db: Connection, table: Table, where: str, *values: object) -> list[Row]:
    return db.execute(f"SELECT {table.listed} FROM {table.name} WHERE {where}", values).fetchall()


Stage = Literal["episodes", "messages", "memories", "beside", "events", "consolidations"]
STAGES: Sequence[Stage] = ("episodes", "messages", "memories", "beside", "events", "consolidations")
"""In an order in which no row refers to one that is not there yet."""
UNFINISHED = "\x00on the way: "
PAGE = 1_000
Model = tuple[str, int]

_READ: dict[Stage, Callable[[Connection, int, int, int], Page]] = {
    "episodes": records("episode"), "messages": records("message"), "memories": records("memory"),
    "beside": beside, "events": happened, "consolidations": decided,
}  # fmt: skip
_COUNTS = ", ".join(
    f"(SELECT count(*) FROM {table} WHERE user_id = ?1)" for table in ("records", "events", "consolidations")
)


@dataclass(frozen=True, slots=True)
class Extent:
    """A user at one moment: the last event, the lowest and highest number of a record, and how many rows there are."""

    event: int
    low: int
    high: int
    records: int
    events: int
    consolidations: int

    @property
    def size(self) -> int:
        """Records, events and consolidations."""
        return self.records + self.events + self.consolidations


@dataclass(frozen=True, slots=True)
class State:
    """How far a user is: from which record and moment, by how much numbers are moved, and where the next page begins."""

    origin: str
    event: int
    by: int
    stage: Stage | None = STAGES[0]
    after: int = 0
    done: int = 0


class Transfer:
    """The side of a record that users are moved from and to.

    Args:
        database: connections to it.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    # Out

    @property
    def origin(self) -> str:
        """A word that this record has and a new one has not."""
        with self._db.read() as db:
            return str(queries.header(db)["fence"])

    @property
    def model(self) -> Model | None:
        """The embedder of the vectors and their dimension, once there are any."""
        with self._db.read() as db:
            held = queries.header(db)
        return (str(held["model"]), int(held["dimension"])) if "dimension" in held else None

    def users(self) -> list[str]:
        """Everybody who is here as a whole, in the order they came."""
        with self._db.read() as db:
            names = [row[0] for row in db.execute("SELECT name FROM users ORDER BY user_id").fetchall()]
        return [name for name in names if not name.startswith(UNFINISHED)]

    def extent(self, name: str) -> Extent | None:
        """What there is of a user; None for nothing."""
        with self._db.read() as db, db:
            user = queries.user_number(db, name)
            return None if user is None else _extent(db, user)

    def page(self, name: str, stage: Stage, after: int) -> Page:
        """The next rows of a user."""
        with self._db.read() as db, db:
            user = queries.user_number(db, name)
            return Page({}, after) if user is None else _READ[stage](db, user, after, PAGE)

    def digest(self, name: str, step: Callable[[int], None], *, unfinished: bool = False) -> str:
        """A hash over all rows of a user: equal for equal rows, whatever the engine and the numbers."""
        held = UNFINISHED + name if unfinished else name
        extent, found = self.extent(held), hashlib.blake2b(digest_size=16)
        for page in self._all(held) if extent else ():
            for line in page.moved(0, 1 - extent.low if extent else 0).lines():
                found.update(line.encode("utf-8", "surrogatepass") + b"\n")
            step(page.size)
        return found.hexdigest()

    def _all(self, name: str) -> Iterator[Page]:
        for stage in STAGES:
            after = 0
            while (page := self.page(name, stage, after)).last != after:
                yield page
                after = page.last

    # In

    def begin(self, name: str, origin: str, extent: Extent) -> State:
        """Go on with a user, or begin: what came from elsewhere, or from another moment, is thrown away.

        Raises:
            Conflict: this user is here already.
        """

        def work(db: Connection) -> State:
            _refuse(db, name)
            user, state = db.dialect.begin(db, UNFINISHED + name), _state(db, name)
            if state and (state.origin, state.event) == (origin, extent.event):
                return state
            if state:
                _discard(db, user, name)
                db.dialect.begin(db, UNFINISHED + name)
            span = extent.high - extent.low + 1
            state = State(origin, extent.event, db.dialect.next_docs(db, span) - extent.low)
            _keep(db, name, state)
            return state

        return self._db.apply(work)

    def put(self, name: str, state: State, page: Page, after: State, model: Model | None) -> None:
        """Store a page, and how far that is.

        Raises:
            Conflict: somebody else moves the same user.
            EmbeddingMismatch: this record holds vectors of another model.
        """

        def work(db: Connection) -> None:
            user = db.dialect.begin(db, UNFINISHED + name)
            if _state(db, name) != state:
                raise Conflict(f"Another process is moving the user {name!r} to the same place. Let one of them do it.")
            _write(db, user, page.moved(user, state.by), model)
            _keep(db, name, after)

        self._db.apply(work)

    def discard(self, name: str) -> None:
        """Throw away what is here of a user who is not here as a whole."""
        with self._db.write() as db:
            user = queries.user_number(db, UNFINISHED + name)
            if user is not None:
                _discard(db, user, name)

    def finish(self, name: str) -> None:
        """From now on the user is here.

        Raises:
            Conflict: somebody has begun to write for a user of this name.
        """
        with self._db.write() as db:
            _refuse(db, name)
            db.execute("DELETE FROM users WHERE name = ?", (name,))  # who has nothing
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


def _keep(db: Connection, name: str, state: State) -> None:
    set_header(db, **{_key(name): json.dumps(asdict(state))})


def _refuse(db: Connection, name: str) -> None:
    user = queries.user_number(db, name)
    if user is not None and _extent(db, user):
        raise Conflict(
            f"The user {name!r} has memories at the place to move to, and they are not the same. Nothing of this user was "
            "changed there; move to an empty place, or erase the user there first."
        )


def _discard(db: Connection, user: int, name: str) -> None:
    for (doc,) in db.execute("SELECT doc FROM records WHERE user_id = ?", (user,)).fetchall():
        db.dialect.unindex(db, doc)
    for table in ("records", "events", "users"):
        db.execute(f"DELETE FROM {table} WHERE user_id = ?", (user,))
    db.execute("DELETE FROM header WHERE key = ?", (_key(name),))


def _write(db: Connection, user: int, page: Page, model: Model | None) -> None:
    """The rows of a page, with full text and what filters look up made from them."""
    for table, found in page.rows.items():
        if table == "vectors":
            _write_vectors(db, found, model)
            continue
        skip = int(table == "events")  # whose numbers are given by the database
        for values in found:
            row = dict(zip(page.columns(table)[skip:], values[skip:], strict=True))
            if table == "records":
                db.dialect.index(db, user, row["doc"], analyse(searchable(rows.record_from(row)))[0])
                row |= db.dialect.filters.columns(row)
            marks = ", ".join("?" * len(row))
            db.execute(f"INSERT INTO {table}({', '.join(row)}) VALUES({marks})", tuple(row.values()))


def _write_vectors(db: Connection, found: Sequence[Row], model: Model | None) -> None:
    if not found:
        return
    assert model is not None  # vectors without a model are damage, which is looked for before
    check_header(db, *model, claim=True)
    for user, doc, blob in found:
        put_vector(db, user, doc, np.frombuffer(blob, "<f2").astype(np.float32))
