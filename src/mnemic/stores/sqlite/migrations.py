"""The schema, as numbered functions. Each runs once, in one transaction with the record of its number.

Names are opaque: users are integers of a table, so that no text of a caller becomes part of an index key or a query.
"""

from __future__ import annotations

from collections.abc import Callable

from mnemic.stores.sqlite.connection import SqliteConnection

__all__ = ["APPLICATION_ID", "FULLTEXT", "MIGRATIONS"]

APPLICATION_ID = 0x4D4E454D  # "MNEM": tells our files from other SQLite files

Migration = Callable[[SqliteConnection], None]

_COMMON = """
    doc INTEGER PRIMARY KEY,
    user INTEGER NOT NULL REFERENCES users(user),
    id TEXT NOT NULL,
    session TEXT,
    project TEXT,
    content TEXT NOT NULL,
    hash BLOB NOT NULL,
    length INTEGER NOT NULL,
    traits INTEGER NOT NULL DEFAULT 0,
    told TEXT,
    metadata TEXT NOT NULL DEFAULT '{}',
    source TEXT NOT NULL,
    trust REAL NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    utc_offset INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    delete_after INTEGER,
    valence REAL, arousal REAL, emotion_confidence REAL,
    tier_before TEXT,
"""

FULLTEXT = (
    # Terms arrive analysed and prefixed by their user, separated by spaces: every other character is part of a term.
    # detail=full: with less, the counts that scoring reads are silently wrong.
    """CREATE VIRTUAL TABLE fulltext USING fts5(terms, content='', contentless_delete=1, detail=full,
        tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~'''")""",
    "CREATE VIRTUAL TABLE postings USING fts5vocab('fulltext', 'instance')",
)
"""The full text: derived from the texts, and made anew where it is wrong."""

_STATEMENTS = (
    "CREATE TABLE header(key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "INSERT INTO header VALUES('next_doc', 1), ('fence', lower(hex(randomblob(4))))",
    # A number is never given twice: what another process still holds of an erased user is nobody else's.
    "CREATE TABLE users(user INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE)",
    f"""CREATE TABLE messages({_COMMON}
        role TEXT NOT NULL,
        name TEXT,
        sent_at INTEGER NOT NULL,
        episode INTEGER,
        status TEXT NOT NULL CHECK(status IN ('short_term', 'archived')),
        UNIQUE(user, id))""",
    "CREATE INDEX messages_by_user ON messages(user, doc)",
    "CREATE INDEX messages_by_time ON messages(user, sent_at)",
    "CREATE INDEX messages_by_session ON messages(user, session, sent_at)",
    # What waits to be processed: no episode yet (0: needs none).
    """CREATE INDEX messages_waiting ON messages(user, project, session, sent_at)
        WHERE episode IS NULL AND status != 'archived'""",
    "CREATE INDEX messages_by_episode ON messages(episode) WHERE episode > 0",
    f"""CREATE TABLE episodes({_COMMON}
        title TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        ended_at INTEGER NOT NULL,
        status TEXT NOT NULL CHECK(status IN ('short_term', 'archived')),
        UNIQUE(user, id))""",
    "CREATE INDEX episodes_by_user ON episodes(user, doc)",
    "CREATE INDEX episodes_by_begin ON episodes(user, started_at)",
    "CREATE INDEX episodes_by_end ON episodes(user, ended_at)",
    f"""CREATE TABLE memories({_COMMON}
        type TEXT NOT NULL CHECK(type IN ('episodic', 'semantic', 'procedural', 'emotional')),
        category TEXT,
        status TEXT NOT NULL CHECK(status IN ('short_term', 'consolidating', 'long_term', 'archived')),
        importance REAL NOT NULL,
        salience REAL NOT NULL,
        confidence REAL NOT NULL,
        pinned INTEGER NOT NULL DEFAULT 0,
        summary TEXT,
        context TEXT,
        keywords TEXT NOT NULL DEFAULT '[]',
        tags TEXT NOT NULL DEFAULT '[]',
        related_files TEXT NOT NULL DEFAULT '[]',
        related_entities TEXT NOT NULL DEFAULT '[]',
        said_at INTEGER, valid_at INTEGER, invalid_at INTEGER, expired_at INTEGER,
        updated_at INTEGER NOT NULL,
        UNIQUE(user, id))""",
    "CREATE INDEX memories_by_user ON memories(user, doc)",
    "CREATE INDEX memories_by_time ON memories(user, created_at)",
    "CREATE INDEX memories_by_importance ON memories(user, importance)",
    "CREATE INDEX memories_by_tier ON memories(user, status) WHERE expired_at IS NULL",
    "CREATE INDEX memories_with_metadata ON memories(user) WHERE metadata != '{}'",
    # The same fact told many times at once is one row: an index, not a check that two writers could both pass.
    """CREATE UNIQUE INDEX memories_live ON memories(user, coalesce(project, ''), coalesce(session, ''), hash)
        WHERE status != 'archived' AND expired_at IS NULL""",
    # What consolidation has on its workbench; looked for at every opening.
    "CREATE INDEX memories_at_work ON memories(doc) WHERE status = 'consolidating'",
    "CREATE TABLE versions(doc INTEGER, version INTEGER, changed_at INTEGER, row TEXT, PRIMARY KEY(doc, version))",
    "CREATE TABLE lineage(child INTEGER, parent INTEGER, PRIMARY KEY(child, parent)) WITHOUT ROWID",
    "CREATE INDEX lineage_by_parent ON lineage(parent)",
    """CREATE TABLE links(user INTEGER NOT NULL, source INTEGER NOT NULL, target INTEGER NOT NULL,
        type TEXT NOT NULL CHECK(type IN ('extends', 'contradicts', 'implements', 'references', 'supersedes')),
        strength REAL NOT NULL, reason TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL, expired_at INTEGER,
        PRIMARY KEY(source, target, type)) WITHOUT ROWID""",
    "CREATE INDEX links_by_target ON links(target)",
    # Events are both the audit trail and the feed that caches of other processes follow; they never hold content.
    """CREATE TABLE events(sequence INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER NOT NULL, at INTEGER NOT NULL,
        operation TEXT NOT NULL, doc INTEGER, id TEXT, version INTEGER, detail TEXT NOT NULL DEFAULT '{}')""",
    "CREATE INDEX events_by_user ON events(user, sequence)",
    "CREATE INDEX events_by_doc ON events(doc)",
    """CREATE TABLE pending(task TEXT, doc INTEGER, user INTEGER NOT NULL, since INTEGER NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0, error TEXT, PRIMARY KEY(task, doc)) WITHOUT ROWID""",
    "CREATE INDEX pending_by_user ON pending(user, task)",
    "CREATE TABLE access(doc INTEGER PRIMARY KEY, count INTEGER NOT NULL, last_at INTEGER NOT NULL)",
    "CREATE INDEX access_by_time ON access(last_at)",
    "CREATE TABLE judged(doc INTEGER PRIMARY KEY, at INTEGER NOT NULL)",
    """CREATE TABLE consolidations(user INTEGER NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, plan TEXT NOT NULL,
        undone_at INTEGER, PRIMARY KEY(user, id)) WITHOUT ROWID""",
    # Narrow, and clustered by user: one user's vectors are read in one sweep.
    "CREATE TABLE vectors(user INTEGER, doc INTEGER, vector BLOB NOT NULL, PRIMARY KEY(user, doc)) WITHOUT ROWID",
    "CREATE TABLE vectors_next(user INTEGER, doc INTEGER, vector BLOB, PRIMARY KEY(user, doc)) WITHOUT ROWID",
    *FULLTEXT,
)


def m001_record(db: SqliteConnection) -> None:
    """The whole record: messages, episodes, memories, links, lineage, clocks, events, vectors and full text."""
    for statement in _STATEMENTS:
        db.execute(statement)


def m002_speakers(db: SqliteConnection) -> None:
    """Who said what became a memory."""
    db.execute("ALTER TABLE memories ADD COLUMN speaker TEXT")


def m003_keys(db: SqliteConnection) -> None:
    """What a memory is a value of, by name."""
    db.execute("DROP TABLE IF EXISTS slots")
    db.execute("ALTER TABLE memories ADD COLUMN key TEXT")
    db.execute("UPDATE memories SET key = metadata ->> 'preference' WHERE category = 'preference'")
    db.execute("CREATE INDEX memories_by_key ON memories(user, key) WHERE key IS NOT NULL")


MIGRATIONS: tuple[Migration, ...] = (m001_record, m002_speakers, m003_keys)
