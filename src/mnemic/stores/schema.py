"""The schema, stated once: tables, columns and indexes. Each engine renders its own definitions from it.

Names are opaque: users are integers of a table, so that no text of a caller becomes part of an index key or a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from mnemic import errors

__all__ = [
    "EPISODES",
    "MEMORIES",
    "MESSAGES",
    "OLDEST",
    "RECORDS",
    "TABLES",
    "VECTORS_NEXT",
    "Column",
    "Engine",
    "Index",
    "Table",
    "check_version",
    "created",
    "definitions",
]

OLDEST = 3
"""The number of the first migration; 1 and 2 were those of unreleased versions."""

Type = Literal["serial", "integer", "real", "text", "blob", "vector"]


@dataclass(frozen=True, eq=False)
class Column:
    """A column; ``names`` says that its integers are the docs of records, ``among`` which words it may hold."""

    name: str
    type: Type
    required: bool = True
    default: str | None = None
    among: tuple[str, ...] = ()
    refers: str | None = None
    names: bool = False


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
        unique: columns that are unique together.
        indexes: further ones.
        clustered: the rows are stored in the order of the key, where the engine can do that.
        busy: rows change often, so that a page keeps some room for their next state.
    """

    name: str
    columns: tuple[Column, ...]
    key: str = ""
    unique: str = ""
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
class Engine:
    """How an engine writes the types, and what it adds to a table that is clustered or busy."""

    name: str
    types: Mapping[Type, str]
    clustered: str = ""
    busy: str = ""


def _integer(name: str, default: str | None = None) -> Column:
    return Column(name, "integer", default=default)


def _text(name: str, default: str | None = None) -> Column:
    return Column(name, "text", default=default)


def _real(name: str) -> Column:
    return Column(name, "real")


def _maybe(type: Type, *names: str) -> tuple[Column, ...]:
    """Columns that may be empty."""
    return tuple(Column(name, type, required=False) for name in names)


def _doc(name: str = "doc") -> Column:
    return Column(name, "integer", names=True)


_COMMON = (
    _doc(),
    Column("user_id", "integer", refers="users"),
    _text("id"),
    *_maybe("text", "session", "project"),
    _text("content"),
    Column("hash", "blob"),
    _integer("length"),
    _integer("traits", "0"),
    *_maybe("text", "told"),
    _text("metadata", "'{}'"),
    _text("source"),
    _real("trust"),
    _integer("version", "1"),
    _integer("utc_offset", "0"),
    _integer("created_at"),
    *_maybe("integer", "delete_after"),
    *_maybe("real", "valence", "arousal", "emotion_confidence"),
    *_maybe("text", "tier_before"),
)
_LINKS = ("extends", "contradicts", "implements", "references", "supersedes")
_VECTORS = (_integer("user_id"), _doc(), Column("vector", "vector", required=False))

MESSAGES = Table(
    "messages",
    (
        *_COMMON,
        _text("role"),
        *_maybe("text", "name"),
        _integer("sent_at"),
        Column("episode", "integer", required=False, names=True),
        Column("status", "text", among=("short_term", "archived")),
    ),
    key="doc",
    unique="user_id, id",
    indexes=(
        Index("messages_by_user", "user_id, doc"),
        Index("messages_by_time", "user_id, sent_at"),
        Index("messages_by_session", "user_id, session, sent_at"),
        # What waits to be processed: no episode yet (0: needs none).
        Index("messages_waiting", "user_id, project, session, sent_at", "episode IS NULL AND status != 'archived'"),
        Index("messages_by_episode", "episode", "episode > 0"),
    ),
)
EPISODES = Table(
    "episodes",
    (
        *_COMMON,
        _text("title"),
        _integer("started_at"),
        _integer("ended_at"),
        Column("status", "text", among=("short_term", "archived")),
    ),
    key="doc",
    unique="user_id, id",
    indexes=(
        Index("episodes_by_user", "user_id, doc"),
        Index("episodes_by_begin", "user_id, started_at"),
        Index("episodes_by_end", "user_id, ended_at"),
    ),
)
MEMORIES = Table(
    "memories",
    (
        *_COMMON,
        Column("type", "text", among=("episodic", "semantic", "procedural", "emotional")),
        *_maybe("text", "category", "key", "speaker"),
        Column("status", "text", among=("short_term", "consolidating", "long_term", "archived")),
        _real("importance"),
        _real("salience"),
        _real("confidence"),
        _integer("pinned", "0"),
        *_maybe("text", "summary", "context"),
        _text("keywords", "'[]'"),
        _text("tags", "'[]'"),
        _text("related_files", "'[]'"),
        _text("related_entities", "'[]'"),
        *_maybe("integer", "said_at", "valid_at", "invalid_at", "expired_at"),
        _integer("updated_at"),
    ),
    key="doc",
    unique="user_id, id",
    indexes=(
        Index("memories_by_user", "user_id, doc"),
        Index("memories_by_time", "user_id, created_at"),
        Index("memories_by_importance", "user_id, importance"),
        Index("memories_by_tier", "user_id, status", "expired_at IS NULL"),
        Index("memories_by_key", "user_id, key", "key IS NOT NULL"),
        Index("memories_with_metadata", "user_id", "metadata != '{}'", engine="sqlite"),
        # The same fact stored many times at once is one row: an index, not a check that two writers could both pass.
        Index(
            "memories_live",
            "user_id, coalesce(project, ''), coalesce(session, ''), hash",
            "status != 'archived' AND expired_at IS NULL",
            unique=True,
        ),
        # What a consolidation under way has claimed; looked for at every opening.
        Index("memories_at_work", "doc", "status = 'consolidating'"),
    ),
)
RECORDS = (MESSAGES, EPISODES, MEMORIES)
"""The tables whose rows are records."""

USERS = Table("users", (Column("user_id", "serial"), _text("name")), unique="name")
VERSIONS = Table("versions", (_doc(), _integer("version"), _integer("changed_at"), _text("row")), key="doc, version")
LINEAGE = Table(
    "lineage",
    (_doc("child"), _doc("parent")),
    key="child, parent",
    indexes=(Index("lineage_by_parent", "parent"),),
    clustered=True,
)
LINKS = Table(
    "links",
    (
        _integer("user_id"),
        _doc("source"),
        _doc("target"),
        Column("type", "text", among=_LINKS),
        _real("strength"),
        _text("reason", "''"),
        _integer("created_at"),
        *_maybe("integer", "expired_at"),
    ),
    key="source, target, type",
    indexes=(Index("links_by_target", "target"),),
    clustered=True,
)
EVENTS = Table(
    # Both the audit trail and the feed that caches of other processes follow; they never hold content. An event may
    # outlive its record.
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
    indexes=(Index("pending_by_user", "user_id, task"),),
    clustered=True,
)
ACCESS = Table(
    "access",
    (_doc(), _integer("count"), _integer("last_at")),
    key="doc",
    indexes=(Index("access_by_time", "last_at"),),
    busy=True,
)
JUDGED = Table("judged", (_doc(), _integer("at")), key="doc", busy=True)
CONSOLIDATIONS = Table(
    "consolidations",
    (_integer("user_id"), _text("id"), _integer("at"), _text("plan"), *_maybe("integer", "undone_at")),
    key="user_id, id",
    clustered=True,
)
# Narrow, and clustered by user: the vectors of one user are read in one sweep.
VECTORS = Table("vectors", _VECTORS, key="user_id, doc", clustered=True)
VECTORS_NEXT = Table("vectors_next", _VECTORS, key="user_id, doc", clustered=True)

TABLES = (
    USERS, *RECORDS, VERSIONS, LINEAGE, LINKS, EVENTS, PENDING, ACCESS, JUDGED, CONSOLIDATIONS, VECTORS, VECTORS_NEXT,
)  # fmt: skip
"""All tables but those that only one engine has."""


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
    """The statements that create all tables and their indexes."""
    for table in TABLES:
        yield created(table, engine)
        for index in table.indexes:
            if index.engine in (None, engine.name):
                yield _indexed(table, index)


def created(table: Table, engine: Engine) -> str:
    """The statement that creates a table."""
    parts = [_column(column, engine) for column in table.columns]
    parts += [f"PRIMARY KEY({table.key})"] if table.key else []
    parts += [f"UNIQUE({table.unique})"] if table.unique else []
    options = engine.clustered if table.clustered else engine.busy if table.busy else ""
    return f"CREATE TABLE {table.name}({', '.join(parts)}){options}"


def _column(column: Column, engine: Engine) -> str:
    parts = [column.name, engine.types[column.type]]
    parts += ["NOT NULL"] if column.required and column.type != "serial" else []
    parts += [f"DEFAULT {column.default}"] if column.default is not None else []
    parts += [f"CHECK({column.name} IN ({', '.join(map(repr, column.among))}))"] if column.among else []
    parts += [f"REFERENCES {column.refers}"] if column.refers else []
    return " ".join(parts)


def _indexed(table: Table, index: Index) -> str:
    unique = "UNIQUE " if index.unique else ""
    where = f" WHERE {index.where}" if index.where else ""
    return f"CREATE {unique}INDEX {index.name} ON {table.name}({index.columns}){where}"
