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
from mnemic.protocols import Model
from mnemic.stores import schema
from mnemic.stores.schema import RECORDS, Table
from mnemic.stores.sql import queries, rows
from mnemic.stores.sql.changes import check_header, insert, lock_user, put_tombstones, put_vector, set_header
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.queries import AMONG, Reader
from mnemic.text.terms import analyse
from mnemic.text.values import to_json
from mnemic.types import searchable

Row = tuple[Any, ...]
Stage = Literal["episodes", "messages", "memories", "dependents", "events", "consolidations"]

UNFINISHED = "\x00on the way: "
PAGE = 1_000
COUNTED = ("records", "events", "consolidations")

_RECORDS = "SELECT doc FROM records WHERE user_id = ?1 AND doc > ?2 {} ORDER BY doc LIMIT ?3"
_PAGES: Mapping[Stage, tuple[str, Mapping[Table, str]]] = {
    "episodes": (_RECORDS.format("AND kind = 'episode'"), {RECORDS: "doc"}),
    "messages": (_RECORDS.format("AND kind = 'message'"), {RECORDS: "doc"}),
    "memories": (_RECORDS.format("AND kind = 'memory'"), {RECORDS: "doc"}),
    "dependents": (
        _RECORDS.format(""),
        {
            schema.VERSIONS: "doc", schema.LINEAGE: "child", schema.LINKS: "source", schema.PENDING: "doc",
            schema.ACCESS: "doc", schema.JUDGED: "doc", schema.VECTORS: "doc",
        },
    ),
    "events": (
        "SELECT sequence FROM events WHERE user_id = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3",
        {schema.EVENTS: "sequence"},
    ),
    "consolidations": (
        "SELECT id FROM consolidations WHERE user_id = ?1 ORDER BY at, id LIMIT ?3 OFFSET ?2",
        {schema.CONSOLIDATIONS: "id", **dict.fromkeys(schema.OUTCOMES, "consolidation")},
    ),
}  # fmt: skip
"""The query for the keys of a page, and the tables with the columns of these keys."""
STAGES: Sequence[Stage] = (*_PAGES,)
"""In an order in which every reference resolves."""
_TABLES: Mapping[str, Table] = {table.name: table for table in schema.TABLES}


@dataclass(frozen=True, slots=True)
class Page:
    """Rows by table, with columns in schema order; ``last`` is the position where the next page begins."""

    rows: Mapping[str, Sequence[Row]]
    last: int

    @property
    def size(self) -> int:
        """The number of records, events or consolidations."""
        return sum(len(self.rows.get(table, ())) for table in COUNTED)

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

    def renumbered(name: str, value: Any) -> Any:
        if value is None or name == "user_id":
            return None if value is None else user
        if name == "row":
            return _version(value, user, by)
        return value + by if name in docs else value

    return tuple(map(renumbered, _TABLES[table].names, row))


def _version(text: str, user: int, by: int) -> str:
    """A row of ``versions`` with its docs shifted."""
    held = json.loads(text)
    docs = {name: held[name] + by for name in RECORDS.docs if held.get(name)}
    return to_json(held | docs | {"user_id": user})


def _page(db: Connection, user: int, stage: Stage, after: int) -> Page:
    """The next rows of a stage."""
    sql, tables = _PAGES[stage]
    keys = [key for (key,) in db.execute(sql, (user, after, PAGE))]
    if not keys:
        return Page({}, after)
    rows = {
        table.name: db.execute(
            f"SELECT {table.listed} FROM {table.name} WHERE user_id = ? AND {key} IN {AMONG} ORDER BY {key}",
            (user, keys),
        ).fetchall()
        for table, key in tables.items()
    }
    return Page(rows, after + len(keys) if stage == "consolidations" else keys[-1])


_COUNTS = ", ".join(f"(SELECT count(*) FROM {table} WHERE user_id = ?1)" for table in COUNTED)


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


class Transfer(Reader[Database]):
    """Reads users from a record, and writes users to it."""

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
            return queries.model_of(db)

    def users(self) -> list[str]:
        """All complete users, oldest first."""
        names = self._all("SELECT name FROM users ORDER BY user_id")
        return [name for (name,) in names if not name.startswith(UNFINISHED)]

    def extent(self, name: str) -> Extent | None:
        """The extent of a user; None without rows."""
        with self._snapshot(name) as (db, user):
            return _extent(db, user)

    def page(self, name: str, stage: Stage, after: int) -> Page:
        """The next rows of a user."""
        with self._snapshot(name) as (db, user):
            return _page(db, user, stage, after)

    def digest(self, name: str, step: Callable[[int], None], *, unfinished: bool = False) -> str:
        """A hash over all rows of a user, independent of engine and docs."""
        held = UNFINISHED + name if unfinished else name
        extent, found = self.extent(held), hashlib.blake2b(digest_size=16)
        for page in self._pages(held) if extent else ():
            for line in page.renumbered(0, 1 - extent.low if extent else 0).lines():
                found.update(line.encode("utf-8", "surrogatepass") + b"\n")
            step(page.size)
        return found.hexdigest()

    def _pages(self, name: str) -> Iterator[Page]:
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
            _discard(db, queries.number_of(db, UNFINISHED + name), name)

    def tombstones(self) -> list[Row]:
        """What was erased, of all users."""
        return self._all(f"SELECT {schema.TOMBSTONES.listed} FROM tombstones")

    def add_tombstones(self, found: Sequence[Row]) -> None:
        """Add the tombstones of another record."""
        with self._db.write() as db:
            for owner, record, at in found:
                put_tombstones(db, owner, {record: at})

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
    if _extent(db, queries.number_of(db, name)):
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
            row = dict(zip(_TABLES[table].names[skip:], values[skip:], strict=True))
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
