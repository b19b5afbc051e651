"""The schema, as numbered functions. Each runs once, in one transaction with the record of its number.

It is that of the SQLite store, but for what PostgreSQL does in a way of its own: numbers of records come from a sequence,
full text is a table of postings, and tags and metadata are filed as hashes that an index finds.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from mnemic.stores.sql.connection import Connection

__all__ = ["MIGRATIONS"]

Migration = Callable[[Connection], None]

TEXT = 'text COLLATE "C"'  # ordered by its bytes, as in SQLite, whatever the locale of the server

_COMMON = f"""
    doc bigint PRIMARY KEY,
    user bigint NOT NULL REFERENCES users(user),
    id {TEXT} NOT NULL,
    session {TEXT},
    project {TEXT},
    content {TEXT} NOT NULL,
    hash bytea NOT NULL,
    length bigint NOT NULL,
    traits bigint NOT NULL DEFAULT 0,
    told {TEXT},
    metadata {TEXT} NOT NULL DEFAULT '{{}}',
    source {TEXT} NOT NULL,
    trust double precision NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    utc_offset bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    delete_after bigint,
    valence double precision, arousal double precision, emotion_confidence double precision,
    tier_before {TEXT},
"""

_STATEMENTS = (
    "CREATE SEQUENCE docs",
    f"CREATE TABLE users(user bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name {TEXT} NOT NULL UNIQUE)",
    f"""CREATE TABLE messages({_COMMON}
        role {TEXT} NOT NULL,
        name {TEXT},
        sent_at bigint NOT NULL,
        episode bigint,
        status {TEXT} NOT NULL CHECK(status IN ('short_term', 'archived')),
        UNIQUE(user, id))""",
    "CREATE INDEX messages_by_user ON messages(user, doc)",
    "CREATE INDEX messages_by_time ON messages(user, sent_at)",
    "CREATE INDEX messages_by_session ON messages(user, session, sent_at)",
    # What waits to be processed: no episode yet (0: needs none).
    """CREATE INDEX messages_waiting ON messages(user, project, session, sent_at)
        WHERE episode IS NULL AND status != 'archived'""",
    "CREATE INDEX messages_by_episode ON messages(episode) WHERE episode > 0",
    f"""CREATE TABLE episodes({_COMMON}
        title {TEXT} NOT NULL,
        started_at bigint NOT NULL,
        ended_at bigint NOT NULL,
        status {TEXT} NOT NULL CHECK(status IN ('short_term', 'archived')),
        UNIQUE(user, id))""",
    "CREATE INDEX episodes_by_user ON episodes(user, doc)",
    "CREATE INDEX episodes_by_begin ON episodes(user, started_at)",
    "CREATE INDEX episodes_by_end ON episodes(user, ended_at)",
    f"""CREATE TABLE memories({_COMMON}
        type {TEXT} NOT NULL CHECK(type IN ('episodic', 'semantic', 'procedural', 'emotional')),
        category {TEXT},
        status {TEXT} NOT NULL CHECK(status IN ('short_term', 'consolidating', 'long_term', 'archived')),
        importance double precision NOT NULL,
        salience double precision NOT NULL,
        confidence double precision NOT NULL,
        pinned bigint NOT NULL DEFAULT 0,
        summary {TEXT},
        context {TEXT},
        keywords {TEXT} NOT NULL DEFAULT '[]',
        tags {TEXT} NOT NULL DEFAULT '[]',
        related_files {TEXT} NOT NULL DEFAULT '[]',
        related_entities {TEXT} NOT NULL DEFAULT '[]',
        said_at bigint, valid_at bigint, invalid_at bigint, expired_at bigint,
        updated_at bigint NOT NULL,
        UNIQUE(user, id))""",
    "CREATE INDEX memories_by_user ON memories(user, doc)",
    "CREATE INDEX memories_by_time ON memories(user, created_at)",
    "CREATE INDEX memories_by_importance ON memories(user, importance)",
    "CREATE INDEX memories_by_tier ON memories(user, status) WHERE expired_at IS NULL",
    # The same fact told many times at once is one row: an index, not a check that two writers could both pass.
    """CREATE UNIQUE INDEX memories_live ON memories(user, coalesce(project, ''), coalesce(session, ''), hash)
        WHERE status != 'archived' AND expired_at IS NULL""",
    "CREATE INDEX memories_at_work ON memories(doc) WHERE status = 'consolidating'",
    f"CREATE TABLE versions(doc bigint, version bigint, changed_at bigint, row {TEXT}, PRIMARY KEY(doc, version))",
    "CREATE TABLE lineage(child bigint, parent bigint, PRIMARY KEY(child, parent))",
    "CREATE INDEX lineage_by_parent ON lineage(parent)",
    f"""CREATE TABLE links(user bigint NOT NULL, source bigint NOT NULL, target bigint NOT NULL,
        type {TEXT} NOT NULL CHECK(type IN ('extends', 'contradicts', 'implements', 'references', 'supersedes')),
        strength double precision NOT NULL, reason {TEXT} NOT NULL DEFAULT '', created_at bigint NOT NULL,
        expired_at bigint, PRIMARY KEY(source, target, type))""",
    "CREATE INDEX links_by_target ON links(target)",
    # Events are both the audit trail and the feed that caches of other processes follow. Those of one user are written one
    # transaction after the other (PostgresDialect.begin), so that no reader sees a number before a lower one.
    f"""CREATE TABLE events(sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user bigint NOT NULL,
        at bigint NOT NULL, operation {TEXT} NOT NULL, doc bigint, id {TEXT}, version bigint,
        detail {TEXT} NOT NULL DEFAULT '{{}}')""",
    "CREATE INDEX events_by_user ON events(user, sequence)",
    "CREATE INDEX events_by_doc ON events(doc)",
    f"""CREATE TABLE pending(task {TEXT}, doc bigint, user bigint NOT NULL, since bigint NOT NULL,
        attempts bigint NOT NULL DEFAULT 0, error {TEXT}, PRIMARY KEY(task, doc))""",
    "CREATE INDEX pending_by_user ON pending(user, task)",
    # Apart, because an update of a row writes a new one beside it, with an entry in every index.
    "CREATE TABLE access(doc bigint PRIMARY KEY, count bigint NOT NULL, last_at bigint NOT NULL) WITH (fillfactor = 70)",
    "CREATE INDEX access_by_time ON access(last_at)",
    "CREATE TABLE judged(doc bigint PRIMARY KEY, at bigint NOT NULL) WITH (fillfactor = 70)",
    f"""CREATE TABLE consolidations(user bigint NOT NULL, id {TEXT} NOT NULL, at bigint NOT NULL, plan {TEXT} NOT NULL,
        undone_at bigint, PRIMARY KEY(user, id))""",
    # The dimension is known when the first vector arrives; the index over them is made then.
    "CREATE TABLE vectors(user bigint, doc bigint, vector halfvec, PRIMARY KEY(user, doc))",
    "CREATE TABLE vectors_next(user bigint, doc bigint, vector halfvec, PRIMARY KEY(user, doc))",
    # The key begins with the user and holds all that is read: one term of one user is one range of it.
    f"""CREATE TABLE postings(user bigint, term {TEXT}, doc bigint, count bigint NOT NULL,
        PRIMARY KEY(user, term, doc) INCLUDE (count))""",
    "CREATE INDEX postings_by_doc ON postings(doc)",
    "CREATE TABLE facets(user bigint, facet bytea, doc bigint, PRIMARY KEY(user, facet, doc))",
    "CREATE INDEX facets_by_doc ON facets(doc)",
)


def m001_record(db: Connection) -> None:
    """The whole record: messages, episodes, memories, links, lineage, clocks, events, vectors and full text."""
    for statement in _STATEMENTS:
        db.execute(statement)
    db.execute("INSERT INTO header VALUES('fence', ?)", (secrets.token_hex(4),))


def m002_speakers(db: Connection) -> None:
    """Who said what became a memory."""
    db.execute(f"ALTER TABLE memories ADD COLUMN speaker {TEXT}")


def m003_keys(db: Connection) -> None:
    """What a memory is a value of, by name."""
    db.execute("DROP TABLE IF EXISTS slots")
    db.execute(f"ALTER TABLE memories ADD COLUMN key {TEXT}")
    db.execute("UPDATE memories SET key = metadata::json ->> 'preference' WHERE category = 'preference'")
    db.execute("CREATE INDEX memories_by_key ON memories(user, key) WHERE key IS NOT NULL")


MIGRATIONS: tuple[Migration, ...] = (m001_record, m002_speakers, m003_keys)
