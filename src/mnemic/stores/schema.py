"""The schema, stated once: tables, columns, references and indexes. Each engine renders its own definitions from it.

Every message, episode and memory is a row of ``records``, and what hangs on it refers to that row: where a record is erased
the database removes the rest. Names are opaque: users are integers of a table, so that no text of a caller becomes part of
an index key or a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from mnemic import errors

__all__ = [
    "EPISODES",
    "LIVE",
    "MEMORIES",
    "MESSAGES",
    "OLDEST",
    "OUTCOMES",
    "RECORDS",
    "TABLES",
    "VECTORS_NEXT",
    "VIEWS",
    "Column",
    "Engine",
    "Index",
    "Reference",
    "Table",
    "View",
    "check_version",
    "created",
    "definitions",
    "views",
]

OLDEST = 6
"""The number of the first migration; those before were of unreleased versions."""
LIVE = "status NOT IN ('archived', 'quarantined')"
"""What is neither forgotten, nor absorbed, nor in quarantine."""

Type = Literal["serial", "integer", "real", "text", "blob", "vector"]


@dataclass(frozen=True, eq=False)
class Column:
    """A column; ``check`` is a condition on its values, ``names`` says that its integers are the docs of records."""

    name: str
    type: Type
    required: bool = True
    default: str | None = None
    check: str | None = None
    names: bool = False


@dataclass(frozen=True, eq=False)
class Reference:
    """Columns that name a row of another table, and what becomes of theirs when that row goes."""

    columns: str
    table: str
    others: str
    removed: Literal["CASCADE", "SET NULL"] = "CASCADE"


@dataclass(frozen=True, eq=False)
class Index:
    """An index; ``where`` restricts it to some rows."""

    name: str
    columns: str
    where: str | None = None
    unique: bool = False
    engine: str | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A table.

    Args:
        name: of the table.
        columns: in order.
        key: the columns of the primary key; empty where a serial column is the key.
        unique: columns that are unique together, one set after the other.
        references: to rows of other tables.
        checks: conditions on several columns.
        indexes: further ones.
        clustered: the rows are stored in the order of the key, where the engine can do that.
        busy: rows change often, so that a page keeps some room for their next state.
    """

    name: str
    columns: tuple[Column, ...]
    key: str = ""
    unique: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    checks: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    clustered: bool = False
    busy: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def listed(self) -> str:
        """The names of the columns, as in a statement."""
        return ", ".join(self.names)

    @cached_property
    def docs(self) -> frozenset[str]:
        """The columns that hold docs of records."""
        return frozenset(column.name for column in self.columns if column.names)


@dataclass(frozen=True, eq=False)
class View:
    """The records of one kind with the columns that they have."""

    name: str
    kind: str
    names: tuple[str, ...]

    @cached_property
    def listed(self) -> str:
        """The names of the columns, as in a statement."""
        return ", ".join(self.names)


@dataclass(frozen=True, eq=False)
class Engine:
    """How an engine writes the types, and what it adds to a table that is clustered or busy."""

    name: str
    types: Mapping[Type, str]
    clustered: str = ""
    busy: str = ""


def _integer(name: str, default: str | None = None, check: str | None = None) -> Column:
    return Column(name, "integer", default=default, check=check)


def _text(name: str, default: str | None = None) -> Column:
    return Column(name, "text", default=default)


def _real(name: str, check: str | None = None) -> Column:
    return Column(name, "real", check=check)


def _maybe(type: Type, *names: str, check: str | None = None) -> tuple[Column, ...]:
    """Columns that may be empty."""
    return tuple(Column(name, type, required=False, check=check and check.format(name)) for name in names)


def _doc(name: str = "doc") -> Column:
    return Column(name, "integer", names=True)


def _words(name: str, *words: str, required: bool = True) -> Column:
    return Column(name, "text", required=required, check=f"{name} IN ({', '.join(map(repr, words))})")


def _of_record(*names: str) -> tuple[Reference, ...]:
    """Each column names a record of the same user."""
    return tuple(Reference(f"user_id, {name}", "records", "user_id, doc") for name in names or ("doc",))


_SHARE = "{} BETWEEN 0 AND 1"
_FEELING = "{} BETWEEN -1 AND 1"

_COMMON = (
    _doc(),
    _integer("user_id"),
    _words("kind", "message", "episode", "memory"),
    _text("id"),
    *_maybe("text", "session", "project", "speaker"),
    _text("content"),
    Column("hash", "blob"),
    _integer("length"),
    _integer("traits", "0", "traits BETWEEN 0 AND 2147483647"),
    *_maybe("text", "told"),
    _text("metadata", "'{}'"),
    _text("source"),
    _real("trust", _SHARE.format("trust")),
    _words("status", "short_term", "consolidating", "long_term", "archived", "quarantined"),
    *_maybe("text", "tier_before"),
    _integer("version", "1"),
    _integer("utc_offset", "0"),
    _integer("created_at"),
    *_maybe("integer", "said_at"),  # when a message was sent, an episode began, and the source of a memory spoke
    *_maybe("real", "valence", "arousal", check=_FEELING),
    *_maybe("real", "emotion_confidence", check=_SHARE),
)
_MESSAGE = (
    *_maybe("text", "role"),
    Column("episode", "integer", required=False, names=True),
    *_maybe("integer", "waits"),  # 1: to be processed
)
_EPISODE = (*_maybe("text", "title"), *_maybe("integer", "ended_at"))
_MEMORY = (
    _words("type", "episodic", "semantic", "procedural", "emotional", required=False),
    *_maybe("text", "category", "key"),
    *_maybe("real", "importance", "salience", "confidence", check=_SHARE),
    *_maybe("integer", "pinned"),
    *_maybe("text", "summary", "context", "keywords", "tags", "related_files", "related_entities"),
    *_maybe("integer", "valid_at", "invalid_at", "expired_at", "delete_after", "updated_at"),
)

RECORDS = Table(
    "records",
    (*_COMMON, *_MESSAGE, *_EPISODE, *_MEMORY),
    key="doc",
    unique=("user_id, id", "user_id, doc"),
    references=(
        Reference("user_id", "users", "user_id"),
        Reference("episode", "records", "doc", "SET NULL"),
    ),
    checks=(
        "kind != 'message' OR (role IS NOT NULL AND said_at IS NOT NULL AND waits IS NOT NULL)",
        "kind != 'episode' OR (title IS NOT NULL AND said_at IS NOT NULL AND ended_at IS NOT NULL)",
        """kind != 'memory' OR (type IS NOT NULL AND importance IS NOT NULL AND salience IS NOT NULL
        AND confidence IS NOT NULL AND pinned IS NOT NULL AND keywords IS NOT NULL AND tags IS NOT NULL
        AND related_files IS NOT NULL AND related_entities IS NOT NULL AND updated_at IS NOT NULL)""",
    ),
    indexes=(
        Index("messages_by_time", "user_id, said_at", "kind = 'message'"),
        Index("messages_by_session", "user_id, session, said_at", "kind = 'message'"),
        Index("messages_waiting", "user_id, project, session, said_at", f"waits = 1 AND {LIVE}"),
        Index("messages_by_episode", "episode", "episode IS NOT NULL"),
        Index("episodes_by_begin", "user_id, said_at", "kind = 'episode'"),
        Index("episodes_by_end", "user_id, ended_at", "kind = 'episode'"),
        Index("memories_by_time", "user_id, created_at", "kind = 'memory'"),
        Index("memories_by_importance", "user_id, importance", "kind = 'memory'"),
        Index("memories_by_tier", "user_id, status", "kind = 'memory' AND expired_at IS NULL"),
        Index("memories_by_key", "user_id, key", "key IS NOT NULL"),
        Index("memories_with_metadata", "user_id", "kind = 'memory' AND metadata != '{}'", engine="sqlite"),
        # The same fact stored many times at once is one row: an index, not a check that two writers could both pass.
        Index(
            "memories_live",
            "user_id, coalesce(project, ''), coalesce(session, ''), hash",
            f"kind = 'memory' AND {LIVE} AND expired_at IS NULL",
            unique=True,
        ),
        Index("in_quarantine", "user_id", "status = 'quarantined'"),
        # What a consolidation under way has claimed; looked for at every opening.
        Index("at_work", "doc", "status = 'consolidating'"),
    ),
)


def _view(name: str, kind: str, own: tuple[Column, ...]) -> View:
    return View(name, kind, tuple(column.name for column in (*_COMMON, *own)))


MESSAGES = _view("messages", "message", _MESSAGE)
EPISODES = _view("episodes", "episode", _EPISODE)
MEMORIES = _view("memories", "memory", _MEMORY)
VIEWS = (MESSAGES, EPISODES, MEMORIES)

_LINKS = ("extends", "contradicts", "implements", "references", "supersedes")
_VECTORS = (_integer("user_id"), _doc(), Column("vector", "vector", required=False))

USERS = Table("users", (Column("user_id", "serial"), _text("name")), unique=("name",))
VERSIONS = Table(
    "versions",
    (_integer("user_id"), _doc(), _integer("version"), _integer("changed_at"), _text("row")),
    key="doc, version",
    references=_of_record(),
)
LINEAGE = Table(
    "lineage",
    (_integer("user_id"), _doc("child"), _doc("parent")),
    key="child, parent",
    references=_of_record("child", "parent"),
    indexes=(Index("lineage_by_parent", "parent"),),
    clustered=True,
)
LINKS = Table(
    "links",
    (
        _integer("user_id"),
        _doc("source"),
        _doc("target"),
        _words("type", *_LINKS),
        _real("strength", _SHARE.format("strength")),
        _text("reason", "''"),
        _integer("created_at"),
        *_maybe("integer", "expired_at"),
    ),
    key="source, target, type",
    references=_of_record("source", "target"),
    checks=("source != target",),
    indexes=(Index("links_by_target", "target"),),
    clustered=True,
)
EVENTS = Table(
    # Both the audit trail and the feed that caches of other processes follow; they never hold content. An event
    # outlives its record, so that it does not refer to it.
    "events",
    (
        Column("sequence", "serial"),
        _integer("user_id"),
        _integer("at"),
        _text("operation"),
        Column("doc", "integer", required=False, names=True),
        *_maybe("text", "id"),
        *_maybe("integer", "version"),
        _text("detail", "'{}'"),
    ),
    indexes=(Index("events_by_user", "user_id, sequence"), Index("events_by_doc", "doc")),
)
PENDING = Table(
    "pending",
    (
        _text("task"),
        _doc(),
        _integer("user_id"),
        _integer("since"),
        _integer("attempts", "0"),
        *_maybe("text", "error"),
    ),
    key="task, doc",
    references=_of_record(),
    indexes=(Index("pending_by_user", "user_id, task"), Index("pending_by_doc", "doc")),
    clustered=True,
)
ACCESS = Table(
    "access",
    (_integer("user_id"), _doc(), _integer("count"), _integer("last_at")),
    key="doc",
    references=_of_record(),
    indexes=(Index("access_by_time", "last_at"),),
    busy=True,
)
JUDGED = Table(
    "judged",
    (_integer("user_id"), _doc(), _integer("at")),
    key="doc",
    references=_of_record(),
    busy=True,
)
CONSOLIDATIONS = Table(
    "consolidations",
    (_integer("user_id"), _text("id"), _integer("at"), *_maybe("integer", "undone_at")),
    key="user_id, id",
    references=(Reference("user_id", "users", "user_id"),),
    clustered=True,
)


def _of_consolidation(name: str, key: str, *columns: Column, docs: tuple[str, ...] = ("doc",)) -> Table:
    """Part of what it takes to undo a consolidation; gone with it, and with the records that it names."""
    parent = ("promotions", "consolidation, number") if key.startswith("number") and name != "promotions" else None
    of, others = (parent[0], f"user_id, {parent[1]}") if parent else ("consolidations", "user_id, id")
    return Table(
        name,
        (_integer("user_id"), _text("consolidation"), *columns),
        key=f"user_id, consolidation, {key}",
        references=(
            Reference("user_id, consolidation" + (", number" if parent else ""), of, others),
            *_of_record(*docs),
        ),
        indexes=tuple(Index(f"{name}_by_{column}", column) for column in docs),
        clustered=True,
    )


PROMOTIONS = _of_consolidation(
    "promotions", "number", _integer("number"), _doc(), _text("status"), _real("importance"),
    *_maybe("integer", "revised"),
)  # fmt: skip
MEMBERS = _of_consolidation(
    "members", "number, doc", _integer("number"), _doc(), _text("status"), _real("importance"), _integer("descends"),
    _integer("turned"),
)  # fmt: skip
MOVED_LINKS = _of_consolidation(
    "moved_links", "number, source, target, type", _integer("number"), _doc("source"), _doc("target"),
    _words("type", *_LINKS), _real("strength"), _text("reason"), _integer("created_at"), _integer("moved"),
    docs=("source", "target"),
)  # fmt: skip
DECIDED_LINKS = _of_consolidation(
    "decided_links", "source, target, type", _doc("source"), _doc("target"), _words("type", *_LINKS),
    *_maybe("integer", "invalid_at"), docs=("source", "target"),
)  # fmt: skip
WEIGHTS = _of_consolidation("weights", "doc", _doc(), _real("before"), _real("after"))
OUTCOMES = (PROMOTIONS, MEMBERS, MOVED_LINKS, DECIDED_LINKS, WEIGHTS)
"""What it takes to undo a consolidation."""
# Narrow, and clustered by user: the vectors of one user are read in one sweep.
VECTORS = Table("vectors", _VECTORS, key="user_id, doc", references=_of_record(), clustered=True)
VECTORS_NEXT = Table("vectors_next", _VECTORS, key="user_id, doc", references=_of_record(), clustered=True)

TABLES = (
    USERS, RECORDS, VERSIONS, LINEAGE, LINKS, EVENTS, PENDING, ACCESS, JUDGED, CONSOLIDATIONS, *OUTCOMES,
    VECTORS, VECTORS_NEXT,
)  # fmt: skip
"""All tables but those that only one engine has; what a table refers to comes before it."""


def check_version(where: str, version: int, newest: int) -> None:
    """Refuse a record with a schema that this version cannot read; 0 is that of an empty one.

    Raises:
        SchemaTooNew: a newer version wrote it.
        SchemaTooOld: a version before the first release wrote it.
    """
    if version > newest:
        raise errors.SchemaTooNew(
            f"{where} has schema {version}; this version of Mnemic knows {newest}. Nothing was changed. Upgrade with: "
            "pip install -U mnemic"
        )
    if 0 < version < OLDEST:
        raise errors.SchemaTooOld(
            f"{where} has schema {version}, from before the first release; this version reads {OLDEST} and later. Nothing was "
            "changed. Write each user to a file with the version that made it (mnemic export), and read it into a new place "
            "with this one: mnemic --dir NEW import FILE --format mnemic --user USER"
        )


def definitions(engine: Engine) -> Iterator[str]:
    """The statements that create all tables with their indexes, and the views."""
    for table in TABLES:
        yield created(table, engine)
        for index in table.indexes:
            if index.engine in (None, engine.name):
                yield _indexed(table, index)
    yield from views()


def views() -> Iterator[str]:
    """The statements that create the views."""
    for view in VIEWS:
        yield f"CREATE VIEW {view.name} AS SELECT {view.listed} FROM records WHERE kind = '{view.kind}'"


def created(table: Table, engine: Engine) -> str:
    """The statement that creates a table."""
    parts = [_column(column, engine) for column in table.columns]
    parts += [f"PRIMARY KEY({table.key})"] if table.key else []
    parts += [f"UNIQUE({columns})" for columns in table.unique]
    parts += [f"CHECK({condition})" for condition in table.checks]
    parts += [
        f"FOREIGN KEY({r.columns}) REFERENCES {r.table}({r.others}) ON DELETE {r.removed}" for r in table.references
    ]
    options = engine.clustered if table.clustered else engine.busy if table.busy else ""
    return f"CREATE TABLE {table.name}({', '.join(parts)}){options}"


def _column(column: Column, engine: Engine) -> str:
    parts = [column.name, engine.types[column.type]]
    parts += ["NOT NULL"] if column.required and column.type != "serial" else []
    parts += [f"DEFAULT {column.default}"] if column.default is not None else []
    parts += [f"CHECK({column.check})"] if column.check else []
    return " ".join(parts)


def _indexed(table: Table, index: Index) -> str:
    unique = "UNIQUE " if index.unique else ""
    where = f" WHERE {index.where}" if index.where else ""
    return f"CREATE {unique}INDEX {index.name} ON {table.name}({index.columns}){where}"
