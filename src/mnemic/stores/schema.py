"""The schema: tables, columns, references and indexes. Each engine renders its own DDL from it.

Every message, episode and memory is a row of ``records``; dependent rows reference it and are removed by ON DELETE CASCADE.
Users are integers from a table, so that no text of a caller becomes part of an index key or a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from mnemic import errors
from mnemic.text.sentences import LONG

OLDEST, LATEST = 6, 12
"""The first schema that can be brought up to date, and that of a new record; earlier ones belong to unreleased versions."""
LIVE = "status NOT IN ('archived', 'quarantined')"
"""Condition on live records: not forgotten, absorbed or quarantined."""
NOT_ENDED = """expired_at IS NULL AND (invalid_at IS NULL OR invalid_at > {now})
    AND (delete_after IS NULL OR delete_after > {now})"""
"""Condition on memories that hold at a moment or later; ``now`` is its parameter, in microseconds since 1970."""

Type = Literal["serial", "integer", "real", "text", "blob", "vector"]


@dataclass(frozen=True, eq=False)
class Column:
    """A column. ``check`` is a condition on its values; ``names`` marks a column that holds docs of records."""

    name: str
    type: Type
    required: bool = True
    default: str | None = None
    check: str | None = None
    names: bool = False


@dataclass(frozen=True, eq=False)
class Reference:
    """A foreign key: ``columns`` reference ``target_columns`` of ``table``; ``on_delete`` is the action of the database."""

    columns: str
    table: str
    target_columns: str
    on_delete: Literal["CASCADE", "SET NULL"] = "CASCADE"


@dataclass(frozen=True, eq=False)
class Index:
    """An index; ``where`` makes it partial, ``engine`` restricts it to one engine."""

    name: str
    columns: str
    where: str | None = None
    engine: str | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A table.

    Args:
        name: the name of the table.
        columns: the columns in order.
        key: the columns of the primary key; empty if a serial column is the key.
        unique: sets of columns that are unique together.
        references: foreign keys.
        checks: conditions on several columns.
        indexes: secondary indexes.
        clustered: rows are stored in the order of the key, if the engine supports it.
        busy: rows change often; pages keep free space for updates.
        kind: the kind of records that a view shows; empty for a table.

    Attributes:
        names: the names of the columns.
        listed: the same, comma-separated for SQL.
        docs: the names of the columns that hold docs of records.
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
    kind: str = ""
    names: tuple[str, ...] = field(init=False)
    listed: str = field(init=False)
    docs: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(column.name for column in self.columns))
        object.__setattr__(self, "listed", ", ".join(self.names))
        object.__setattr__(self, "docs", frozenset(column.name for column in self.columns if column.names))


@dataclass(frozen=True, eq=False)
class Engine:
    """SQL types of an engine, and its clauses for clustered and busy tables."""

    name: str
    types: Mapping[Type, str]
    clustered: str = ""
    busy: str = ""


_TYPES: Mapping[str, Type] = {
    "s": "serial", "i": "integer", "d": "integer", "r": "real", "t": "text", "b": "blob", "v": "vector",
}  # fmt: skip


def _columns(text: str, checks: Mapping[str, str] | None = None) -> tuple[Column, ...]:
    """Columns written as ``name:type``, with the first letter of the type (d: a doc), ``?`` if nullable, ``=default``.

    ``checks`` are conditions on their values by column, with ``{}`` for its name.
    """
    columns: list[Column] = []
    for word in text.split():
        declared, _, default = word.partition("=")
        name, _, kind = declared.partition(":")
        check = (checks or {}).get(name)
        columns.append(
            Column(
                name, _TYPES[kind[0]], required=not kind.endswith("?"), default=default or None, names=kind[0] == "d",
                check=check and check.format(name),
            )
        )  # fmt: skip
    return tuple(columns)


def _one_of(*words: str) -> str:
    return f"{{}} IN ({', '.join(map(repr, words))})"


def _record_references(*names: str) -> tuple[Reference, ...]:
    """Foreign keys to records of the same user."""
    return tuple(Reference(f"user_id, {name}", "records", "user_id, doc") for name in names or ("doc",))


_UNIT, _SIGNED = "{} BETWEEN 0 AND 1", "{} BETWEEN -1 AND 1"

_COMMON = _columns(
    # said_at: when the message was sent, the episode began, or the source of the memory was said
    """doc:d user_id:i kind:t id:t session:t? project:t? speaker:t? content:t hash:b length:i traits:i=0 told:t?
    metadata:t='{}' source:t trust:r status:t tier_before:t? version:i=1 utc_offset:i=0 created_at:i said_at:i?
    valence:r? arousal:r? emotion_confidence:r?""",
    {
        "kind": _one_of("message", "episode", "memory"),
        "traits": "{} BETWEEN 0 AND 2147483647",
        "trust": _UNIT,
        "status": _one_of("short_term", "consolidating", "long_term", "archived", "quarantined"),
        "valence": _SIGNED,
        "arousal": _SIGNED,
        "emotion_confidence": _UNIT,
    },
)
_MESSAGE = _columns("role:t? episode:d? waits:i?")  # waits is 1 until the message is processed
_EPISODE = _columns("title:t? ended_at:i?")
_MEMORY = _columns(
    """type:t? category:t? key:t? importance:r? salience:r? confidence:r? pinned:i? summary:t? context:t? keywords:t? tags:t?
    related_files:t? related_entities:t? valid_at:i? invalid_at:i? expired_at:i? delete_after:i? updated_at:i?""",
    {
        "type": _one_of("episodic", "semantic", "procedural", "emotional"),
        "importance": _UNIT,
        "salience": _UNIT,
        "confidence": _UNIT,
    },
)

RECORDS = Table(
    "records",
    (*_COMMON, *_MESSAGE, *_EPISODE, *_MEMORY),
    key="doc",
    unique=("user_id, id", "user_id, doc"),
    references=(Reference("user_id", "users", "user_id"), Reference("episode", "records", "doc", "SET NULL")),
    checks=(
        "kind != 'message' OR (role IS NOT NULL AND said_at IS NOT NULL AND waits IS NOT NULL)",
        "kind != 'episode' OR (title IS NOT NULL AND said_at IS NOT NULL AND ended_at IS NOT NULL)",
        """kind != 'memory' OR (type IS NOT NULL AND importance IS NOT NULL AND salience IS NOT NULL
        AND confidence IS NOT NULL AND pinned IS NOT NULL AND keywords IS NOT NULL AND tags IS NOT NULL
        AND related_files IS NOT NULL AND related_entities IS NOT NULL AND updated_at IS NOT NULL)""",
    ),
    indexes=(
        # Its last column, and those of memories_by_tier, are there for the counts, which read no row.
        Index("messages_by_time", "user_id, said_at, doc, status", "kind = 'message'"),
        Index("messages_by_session", "user_id, session, said_at", "kind = 'message'"),
        Index("messages_waiting", "user_id, project, session, said_at", f"waits = 1 AND {LIVE}"),
        Index("messages_by_episode", "episode", "episode IS NOT NULL"),
        Index("episodes_by_begin", "user_id, said_at", "kind = 'episode'"),
        Index("episodes_by_end", "user_id, ended_at", "kind = 'episode'"),
        Index("memories_by_time", "user_id, created_at", "kind = 'memory'"),
        Index("memories_by_tier", "user_id, status, type, category, expired_at", "kind = 'memory'"),
        Index("memories_by_key", "user_id, key", "key IS NOT NULL"),
        Index("records_by_project", "user_id, project", "project IS NOT NULL"),
        Index("memories_with_metadata", "user_id", "kind = 'memory' AND metadata != '{}'", engine="sqlite"),
        # Not unique: one text may be the value of two keys, or hold again after its time. Writers of a user wait for each
        # other, so what is checked in a transaction holds until its end.
        Index(
            "memories_live",
            "user_id, coalesce(project, ''), coalesce(session, ''), hash",
            f"kind = 'memory' AND {LIVE} AND expired_at IS NULL",
        ),
        Index("in_quarantine", "user_id", "status = 'quarantined'"),
        # Memories claimed by a running consolidation; queried whenever a record is opened.
        Index("at_work", "doc", "status = 'consolidating'"),
    ),
)


MESSAGES = Table("messages", (*_COMMON, *_MESSAGE), kind="message")
EPISODES = Table("episodes", (*_COMMON, *_EPISODE), kind="episode")
MEMORIES = Table("memories", (*_COMMON, *_MEMORY), kind="memory")
VIEWS = (MESSAGES, EPISODES, MEMORIES)
"""The records of one kind, with the columns of that kind."""

_LINK_TYPE = {"type": _one_of("extends", "contradicts", "implements", "references", "supersedes")}

USERS = Table("users", _columns("user_id:s name:t"), unique=("name",))
VERSIONS = Table(
    "versions",
    _columns("user_id:i doc:d version:i changed_at:i row:t"),
    key="doc, version",
    references=_record_references(),
)
LINEAGE = Table(
    "lineage",
    _columns("user_id:i child:d parent:d"),
    key="child, parent",
    references=_record_references("child", "parent"),
    indexes=(Index("lineage_by_parent", "parent"),),
    clustered=True,
)
LINKS = Table(
    # consolidation: the one that gave a representative this link of a member; empty for any other link.
    "links",
    _columns(
        "user_id:i source:d target:d type:t strength:r reason:t='' created_at:i consolidation:t=''",
        _LINK_TYPE | {"strength": _UNIT},
    ),
    key="source, target, type",
    references=_record_references("source", "target"),
    checks=("source != target",),
    indexes=(Index("links_by_target", "target"),),
    clustered=True,
)
EVENTS = Table(
    # The audit trail and the feed for caches of other processes; events never hold content. An event outlives its record,
    # so it has no foreign key to it.
    "events",
    _columns("sequence:s user_id:i at:i operation:t doc:d? id:t? version:i? detail:t='{}'"),
    indexes=(
        Index("events_by_user", "user_id, sequence"),
        Index("events_by_operation", "user_id, operation, sequence"),
        Index("events_by_doc", "doc"),
    ),
)
PENDING = Table(
    "pending",
    _columns("task:t doc:d user_id:i since:i attempts:i=0 error:t?"),
    key="task, doc",
    references=_record_references(),
    indexes=(Index("pending_by_user", "user_id, task"), Index("pending_by_doc", "doc")),
    clustered=True,
)
ACCESS = Table(
    "access",
    _columns("user_id:i doc:d count:i last_at:i"),
    key="doc",
    references=_record_references(),
    indexes=(Index("access_by_time", "last_at"),),
    busy=True,
)
JUDGED = Table("judged", _columns("user_id:i doc:d at:i"), key="doc", references=_record_references(), busy=True)
CONSOLIDATIONS = Table(
    "consolidations",
    _columns("user_id:i id:t at:i undone_at:i?"),
    key="user_id, id",
    references=(Reference("user_id", "users", "user_id"),),
    clustered=True,
)


def _outcome_table(name: str, key: str, columns: str, *docs: str, number: str = "") -> Table:
    """A table of undo data of consolidations; its rows are deleted with the consolidation or with the records they name.

    ``number`` is the column that refers to a promotion of the consolidation.
    """
    parent, target = ("promotions", "user_id, consolidation, number") if number else ("consolidations", "user_id, id")
    return Table(
        name,
        _columns(f"user_id:i consolidation:t {columns}", _LINK_TYPE),
        key=f"user_id, consolidation, {key}",
        references=(
            Reference("user_id, consolidation" + (f", {number}" if number else ""), parent, target),
            *_record_references(*docs),
        ),
        indexes=tuple(Index(f"{name}_by_{column}", column) for column in docs),
        clustered=True,
    )


PROMOTIONS = _outcome_table("promotions", "number", "number:i doc:d status:t revised:i?", "doc")
MEMBERS = _outcome_table("members", "number, doc", "number:i doc:d descends:i", "doc", number="number")
DECIDED_LINKS = _outcome_table(
    "decided_links", "source, target, type", "source:d target:d type:t invalid_at:i?", "source", "target"
)
OUTCOMES = (PROMOTIONS, MEMBERS, DECIDED_LINKS)
"""The undo data of consolidations."""


def _vector_table(name: str) -> Table:
    """Clustered by user: the vectors of one user are one sequential scan. ``passages`` are those of a long text, float16."""
    columns = _columns("user_id:i doc:d vector:v? passages:b?")
    return Table(name, columns, key="user_id, doc", references=_record_references(), clustered=True)


QUESTIONS = Table(
    # The last questions of a user, if they are kept.
    "questions",
    _columns("number:s user_id:i at:i text:t project:t? session:t? valence:r? arousal:r?"),
    references=(Reference("user_id", "users", "user_id"),),
    indexes=(Index("questions_by_user", "user_id, number"),),
)

CONTEXTS = Table(
    # The last contexts that were given for a user, if they are kept; data is JSON.
    "contexts",
    _columns("number:s user_id:i at:i project:t? session:t? data:t"),
    references=(Reference("user_id", "users", "user_id"),),
    indexes=(Index("contexts_by_user", "user_id, number"),),
)

VECTORS, VECTORS_NEXT = _vector_table("vectors"), _vector_table("vectors_next")

TOMBSTONES = Table(
    # What was erased, for records that still have it: digests of the name of the user and of the id, which is empty for the
    # user as a whole. No key to other tables: a tombstone outlives its record and its user.
    "tombstones",
    _columns("owner:b record:b at:i"),
    key="owner, record",
    clustered=True,
)

TABLES = (
    USERS, RECORDS, VERSIONS, LINEAGE, LINKS, EVENTS, PENDING, ACCESS, JUDGED, CONSOLIDATIONS, *OUTCOMES,
    QUESTIONS, CONTEXTS, VECTORS, VECTORS_NEXT, TOMBSTONES,
)  # fmt: skip
"""All tables that every engine has, in the order of their references."""


def check_version(where: str, version: int) -> None:
    """Refuse a record whose schema this version cannot read; 0 is an empty record.

    Raises:
        SchemaTooNew: a newer version wrote it.
        SchemaTooOld: an unreleased version wrote it.
    """
    if version > LATEST:
        raise errors.SchemaTooNew(
            f"{where} has schema {version}; this version of Mnemic knows {LATEST}. Nothing was changed. Upgrade with: "
            "pip install -U mnemic"
        )
    if 0 < version < OLDEST:
        raise errors.SchemaTooOld(
            f"{where} has schema {version}, from before the first release; this version reads {OLDEST} and later. Nothing was "
            "changed. Write each user to a file with the version that made it (mnemic export), and read it into a new place "
            "with this one: mnemic --dir NEW import FILE --format mnemic --user USER"
        )


def definitions(engine: Engine) -> Iterator[str]:
    """The statements that create all tables, indexes and views."""
    for table in TABLES:
        yield create_table(table, engine)
        for index in table.indexes:
            if index.engine in (None, engine.name):
                yield _create_index(table, index)
    yield from views()


def migration(version: int, engine: Engine) -> Iterator[str]:
    """The statements that bring a record from a schema, at least ``OLDEST``, to the latest one."""
    if version < 7:
        # Importance is worked out on reading since: what consolidation did to it needs no undo.
        yield "DROP TABLE weights"
        yield from (f"ALTER TABLE {table} DROP COLUMN importance" for table in ("promotions", "members"))
        yield "DROP INDEX memories_by_importance"
        wider = ("messages_by_time", "memories_by_tier")
        yield from (f"DROP INDEX {name}" for name in wider)
        yield from (
            _create_index(RECORDS, index) for index in RECORDS.indexes if index.name in (*wider, "records_by_project")
        )
        yield from (_create_index(EVENTS, index) for index in EVENTS.indexes if index.name == "events_by_operation")
        yield create_table(QUESTIONS, engine)
        yield from (_create_index(QUESTIONS, index) for index in QUESTIONS.indexes)
    if version < 8:
        yield create_table(CONTEXTS, engine)
        yield from (_create_index(CONTEXTS, index) for index in CONTEXTS.indexes)
    if version < 9:
        yield create_table(TOMBSTONES, engine)
    if version < 10:
        yield "DROP INDEX memories_live"
        yield from (_create_index(RECORDS, index) for index in RECORDS.indexes if index.name == "memories_live")
    if version < 11:
        # Links moved from an absorbed memory to its representative; since then it keeps them, and the other has copies.
        yield "ALTER TABLE links DROP COLUMN expired_at"
        yield f"ALTER TABLE links ADD COLUMN {_column(LINKS.columns[-1], engine)}"
        yield f"""INSERT INTO links(user_id, source, target, type, strength, reason, created_at)
            SELECT user_id, source, target, type, strength, reason, created_at FROM ({_MOVED}) k WHERE type != 'supersedes'
            OR EXISTS (SELECT 1 FROM records r WHERE r.doc = target AND r.expired_at IS NOT NULL) ON CONFLICT DO NOTHING"""
        yield f"""UPDATE links SET consolidation = k.consolidation FROM ({_MOVED}) k WHERE k.moved = 1
            AND links.source = k.new_source AND links.target = k.new_target AND links.type = k.type
            AND links.reason = k.reason AND links.created_at = k.created_at"""
        yield "DROP TABLE moved_links"
        yield from (f"ALTER TABLE members DROP COLUMN {name}" for name in ("status", "turned"))
    if version < 12:
        added = _column(VECTORS.columns[-1], engine)
        yield from (f"ALTER TABLE {table.name} ADD COLUMN {added}" for table in (VECTORS, VECTORS_NEXT))
        # Long texts have passages after the next idle time or flush().
        yield f"""INSERT INTO pending(task, doc, user_id, since)
            SELECT 'embed', r.doc, r.user_id, r.created_at FROM records r JOIN vectors v ON v.doc = r.doc
            WHERE length(r.content) > {LONG} AND (r.role = 'user' OR r.kind = 'memory') ON CONFLICT DO NOTHING"""


_MOVED = """SELECT k.*, CASE WHEN s.doc IS NULL THEN k.source ELSE p.doc END AS new_source,
    CASE WHEN t.doc IS NULL THEN k.target ELSE p.doc END AS new_target FROM moved_links k
    JOIN consolidations c ON c.user_id = k.user_id AND c.id = k.consolidation AND c.undone_at IS NULL
    JOIN promotions p ON p.user_id = k.user_id AND p.consolidation = k.consolidation AND p.number = k.number
    LEFT JOIN members s ON s.user_id = k.user_id AND s.consolidation = k.consolidation AND s.number = k.number
        AND s.doc = k.source
    LEFT JOIN members t ON t.user_id = k.user_id AND t.consolidation = k.consolidation AND t.number = k.number
        AND t.doc = k.target"""
"""Until schema 11: the links that consolidations moved, with the ends they have since."""


def views() -> Iterator[str]:
    """The statements that create the views."""
    for view in VIEWS:
        yield f"CREATE VIEW {view.name} AS SELECT {view.listed} FROM records WHERE kind = '{view.kind}'"


def create_table(table: Table, engine: Engine) -> str:
    """The statement that creates a table."""
    parts = [_column(column, engine) for column in table.columns]
    parts += [f"PRIMARY KEY({table.key})"] if table.key else []
    parts += [f"UNIQUE({columns})" for columns in table.unique]
    parts += [f"CHECK({condition})" for condition in table.checks]
    parts += [
        f"FOREIGN KEY({r.columns}) REFERENCES {r.table}({r.target_columns}) ON DELETE {r.on_delete}"
        for r in table.references
    ]
    options = engine.clustered if table.clustered else engine.busy if table.busy else ""
    return f"CREATE TABLE {table.name}({', '.join(parts)}){options}"


def _column(column: Column, engine: Engine) -> str:
    parts = [column.name, engine.types[column.type]]
    parts += ["NOT NULL"] if column.required and column.type != "serial" else []
    parts += [f"DEFAULT {column.default}"] if column.default is not None else []
    parts += [f"CHECK({column.check})"] if column.check else []
    return " ".join(parts)


def _create_index(table: Table, index: Index) -> str:
    where = f" WHERE {index.where}" if index.where else ""
    return f"CREATE INDEX {index.name} ON {table.name}({index.columns}){where}"
