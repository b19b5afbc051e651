"""Users on their way into this record or out of it, page by page, so that it can be interrupted anywhere.

A user who is not here as a whole yet has a name that nobody can ask for, and an entry in the header that says how far the
pages are; both are written in the transaction of the page.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from mnemic.errors import Conflict
from mnemic.stores.sql import pages, reading, rows
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.pages import Page, Row
from mnemic.stores.sql.transaction import check_header, put_vector, set_header
from mnemic.text.render import searchable
from mnemic.text.terms import analysed

__all__ = ["Extent", "Model", "Moving", "State"]

Stage = Literal["episodes", "messages", "memories", "beside", "events", "consolidations"]
STAGES: Sequence[Stage] = ("episodes", "messages", "memories", "beside", "events", "consolidations")
"""In an order in which no row refers to one that is not there yet."""
UNFINISHED = "\x00on the way: "
PAGE = 1_000
Model = tuple[str, int]

_READ: dict[Stage, Callable[[Connection, int, int, int], Page]] = {
    "episodes": pages.records("episode"), "messages": pages.records("message"), "memories": pages.records("memory"),
    "beside": pages.beside, "events": pages.happened, "consolidations": pages.decided,
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


class Moving:
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
            return str(reading.header(db)["fence"])

    @property
    def model(self) -> Model | None:
        """The embedder of the vectors and their dimension, once there are any."""
        with self._db.read() as db:
            held = reading.header(db)
        return (str(held["model"]), int(held["dimension"])) if "dimension" in held else None

    def users(self) -> list[str]:
        """Everybody who is here as a whole, in the order they came."""
        with self._db.read() as db:
            names = [row[0] for row in db.execute("SELECT name FROM users ORDER BY user_id").fetchall()]
        return [name for name in names if not name.startswith(UNFINISHED)]

    def extent(self, name: str) -> Extent | None:
        """What there is of a user; None for nothing."""
        with self._db.read() as db, db:
            user = reading.user_number(db, name)
            return None if user is None else _extent(db, user)

    def page(self, name: str, stage: Stage, after: int) -> Page:
        """The next rows of a user."""
        with self._db.read() as db, db:
            user = reading.user_number(db, name)
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
            user = reading.user_number(db, UNFINISHED + name)
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
    user = reading.user_number(db, name)
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
        skip = int(table == "events")  # whose numbers are given anew
        names = page.columns(table)[skip:]
        sql = f"INSERT INTO {table}({', '.join(names)}) VALUES({', '.join('?' * len(names))})"
        for row in found:
            db.execute(sql, row[skip:])
            if table == "records":
                _index(db, user, dict(zip(names, row, strict=True)))


def _index(db: Connection, user: int, values: dict[str, Any]) -> None:
    text = searchable(rows.record_from(values))
    db.dialect.index(db, user, values["doc"], analysed(text)[0])
    db.dialect.filters.filed(db, user, values)


def _write_vectors(db: Connection, found: Sequence[Row], model: Model | None) -> None:
    if not found:
        return
    assert model is not None  # vectors without a model are damage, which is looked for before
    check_header(db, *model, claim=True)
    for user, doc, blob in found:
        put_vector(db, user, doc, np.frombuffer(blob, "<f2").astype(np.float32))
