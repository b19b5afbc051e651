"""Counts of a user's records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from mnemic.stores.schema import EPISODES, LIVE, MEMORIES, MESSAGES
from mnemic.stores.schema import LATEST as SCHEMA
from mnemic.stores.sql import rows
from mnemic.stores.sql.connection import Database
from mnemic.stores.sql.queries import ALL, Reader, filter_clause, header, size
from mnemic.types import Kind, RecordFilter, Stats

VIEWS = {"message": MESSAGES, "episode": EPISODES, "memory": MEMORIES}

# Grouped in the order of the index that covers it.
_MEMORIES = """SELECT status, type, category, count(*), count(*) FILTER (WHERE expired_at IS NULL) FROM memories
    WHERE user_id = ? GROUP BY status, type, category"""


def _sums(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Sums by name, the largest first, those of one size by name."""
    sums = Counter[str]()
    for name, count in counts:
        sums[name] += count
    return dict(sorted((+sums).items(), key=lambda item: (-item[1], item[0])))


class Statistics(Reader[Database]):
    """Counts of a user's records."""

    def stats(self, user: str) -> Stats:
        """Counts of a user's records and pending work; size, model and schema describe the whole record."""
        with self._snapshot(user) as (db, user_id):

            def count(sql: str) -> dict[Any, int]:
                return dict(db.execute(sql, (user_id,)).fetchall())

            entries = header(db)
            memories = db.execute(_MEMORIES, (user_id,)).fetchall()
            current = [row for row in memories if row[0] not in ("archived", "quarantined")]
            return Stats(
                messages=count("SELECT 1, count(*) FROM messages WHERE user_id = ? AND status = 'short_term'")[1],
                episodes=count(f"SELECT 1, count(*) FROM episodes WHERE user_id = ? AND {LIVE}")[1],
                memories=rows.counts_by_status((status, count) for status, _, _, count, _ in memories),
                types=_sums((type_, count) for _, type_, _, _, count in current),
                categories=_sums((category, count) for _, _, category, _, count in current if category is not None),
                links=count("SELECT 1, count(*) FROM links WHERE user_id = ? AND consolidation = ''")[1],
                sessions=count("SELECT 1, count(DISTINCT session) FROM messages WHERE user_id = ?")[1],
                projects=count("SELECT 1, count(DISTINCT project) FROM records WHERE user_id = ? AND project IS NOT NULL")[1],
                pending={
                    **count(f"""SELECT p.task, count(*) FROM pending p JOIN records r ON r.doc = p.doc WHERE p.user_id = ?
                        AND (p.task = 'embed' OR r.{LIVE}) GROUP BY 1"""),
                    **count(f"""SELECT 'process', count(*) FROM records WHERE user_id = ? AND waits = 1 AND {LIVE}
                        HAVING count(*) > 0"""),
                },
                embedding_model=entries.get("model"), dimension=entries.get("dimension"), schema_version=SCHEMA,
                bytes_on_disk=size(db), location=self._db.name,
            )  # fmt: skip

    def size(self, user_id: int) -> int:
        """The number of records of a user."""
        return self._column(user_id, "SELECT count(*) FROM records WHERE user_id = ?")[0]

    def counts(
        self, user: str, kind: Kind, by: str, filters: RecordFilter, *, limit: int | None
    ) -> list[tuple[str | float | None, int]]:
        """How many records of a kind have each value of a column, or each tag, the most frequent first."""
        view, column = VIEWS[kind], by
        if (column if by != "tag" else "tags") not in view.names:
            return []
        with self._snapshot(user) as (db, user_id):
            where, values = filter_clause(db.dialect, user_id, view, filters)
            source = f"{view.name} {where}"
            if by == "tag":  # filtered before the join, whose columns have names of their own
                source, column = db.dialect.each_tag(f"SELECT tags FROM {source}"), "value"
            sql = f"SELECT {column}, count(*) FROM {source} GROUP BY {column} ORDER BY 2 DESC, 1 LIMIT ?"
            return db.execute(sql, (*values, ALL if limit is None else limit)).fetchall()

    def period(self, user: str, kind: Kind, filters: RecordFilter) -> tuple[int, int] | None:
        """When the first and the last record of a kind were said."""
        view = VIEWS[kind]
        with self._snapshot(user) as (db, user_id):
            where, values = filter_clause(db.dialect, user_id, view, filters)
            first, last = (
                db.execute(f"SELECT {end}({_time_column(kind)}) FROM {view.name} {where}", values).fetchone()[0]
                for end in ("min", "max")
            )
            return None if first is None else (first, last)

    def histogram(self, user: str, kind: Kind, filters: RecordFilter, bounds: Sequence[int]) -> list[int]:
        """How many records of a kind were said between each bound and the next."""
        view = VIEWS[kind]
        with self._snapshot(user) as (db, user_id):
            where, values = filter_clause(db.dialect, user_id, view, filters)
            sql = f"SELECT count(*) FROM {view.name} {where} AND {_time_column(kind)} >= ? AND {_time_column(kind)} < ?"
            return [db.execute(sql, (*values, begin, end)).fetchone()[0] for begin, end in pairwise(bounds)]


def _time_column(kind: Kind) -> str:
    return "coalesce(said_at, created_at)" if kind == "memory" else "said_at"
