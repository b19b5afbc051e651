"""Faults planted on purpose: the walks of ``test_model`` must find nearly all of them, or they prove nothing.

Each fault is a small change of the kind that a slip makes: a condition that is missing, a row that is not written, a `>` for
a `>=`. A walk over a faulty memory has to fail within the short form.
"""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import Phase
from hypothesis.stateful import run_state_machine_as_test
from tests.battery import count, note

from mnemic import EmbeddingMismatch
from mnemic.indexes.catalog import Catalog, Columns
from mnemic.knowledge import remember
from mnemic.recall import search
from mnemic.runtime.indexer import Indexer
from mnemic.stores.sql import changes, consolidation
from mnemic.stores.sql.changes import Transaction
from mnemic.stores.sqlite import database
from mnemic.stores.sqlite.database import SqliteDialect
from mnemic.transfer import export

from .test_model import FolderWalk, Walk, limits


def rewritten(before, after):
    """A statement of SQL that says something else."""

    def plant(patch):
        execute, seen = database._Connection.execute, []

        def other(self, sql, *more, **named):
            if before in sql:
                seen.append(sql)
            return execute(self, sql.replace(before, after), *more, **named)

        patch.setattr(database._Connection, "execute", other)
        return seen

    return plant


def replaced(owner, name, make):
    """A function that does something else; ``make`` is given the right one."""

    def plant(patch):
        right, seen = getattr(owner, name), []
        wrong = make(right)

        def other(*given, **named):
            seen.append(name)
            return wrong(*given, **named)

        patch.setattr(owner, name, other)
        return seen

    return plant


def nothing(_):
    return lambda *given, **named: None


def without_exclude(right):
    return lambda engine, scope, filters, view: right(engine, scope, replace(filters, exclude=()), view)


def one_more(right):
    return lambda engine, scope, query: right(engine, scope, replace(query, k=query.k + 1))


def anywhere(right):
    def reach(self, filters):
        return right(replace(self, session=self.session * 0), filters)

    return reach


def lenient(right):
    def check(*given, **named):
        with suppress(EmbeddingMismatch):
            right(*given, **named)

    return check


BUGS = {
    # A row that is not written, or not removed
    "the vector of a new record is dropped": (Walk, replaced(changes, "put_vector", nothing)),
    "what waits for its vector is not noted": (Walk, replaced(Transaction, "add_pending", nothing)),
    "an erased record stays in the full text": (Walk, replaced(SqliteDialect, "unindex", nothing)),
    "erasing leaves the records": (
        Walk,
        rewritten("DELETE FROM records WHERE doc IN", "DELETE FROM records WHERE 0 AND doc IN"),
    ),
    "what a memory was made from is not noted": (Walk, replaced(Transaction, "add_lineage", nothing)),
    "an update keeps the version": (
        Walk,
        rewritten("version = ?, type", "version = coalesce(version, ?), type"),
    ),
    # Isolation that leaks
    "messages of all users are listed": (
        Walk,
        rewritten("FROM messages WHERE user_id = ? AND", "FROM messages WHERE user_id >= 0 * ? AND"),
    ),
    "a statement of one user is known for another": (
        Walk,
        rewritten(
            "SELECT id FROM memories WHERE user_id = ? AND coalesce",
            "SELECT id FROM memories WHERE user_id >= 0 * ? AND coalesce",
        ),
    ),
    "a statement of one project is known in another": (
        Walk,
        rewritten(
            "AND coalesce(project, '') = ? AND coalesce(session",
            "AND coalesce(project, '') >= substr(?, 1, 0) AND coalesce(session",
        ),
    ),
    "what belongs to a session is seen everywhere": (Walk, replaced(Columns, "_reach_mask", anywhere)),
    # A state that is not what was asked for
    "a forgotten record stays live": (
        Walk,
        rewritten("SET tier_before = ?, status = ?", "SET tier_before = ?, status = coalesce(status, ?)"),
    ),
    "restoring forgets the tier": (
        Walk,
        rewritten("SET status = coalesce(tier_before, 'short_term')", "SET status = 'short_term'"),
    ),
    "what was replaced is still believed": (
        Walk,
        rewritten("SET expired_at = ?, invalid_at", "SET expired_at = NULLIF(1, ? > 0), invalid_at"),
    ),
    "a cache does not hear of changes": (Walk, replaced(Catalog, "_replace", nothing)),
    "undoing a consolidation leaves its links": (
        Walk,
        replaced(consolidation, "drop_copies", lambda _: lambda *given: set()),
    ),
    "what is made of a doubtful source is trusted": (
        Walk,
        replaced(remember, "least_trust", lambda _: lambda trusts: 1.0),
    ),
    # A question that is answered wrongly
    "> for >= in the time of a message": (Walk, rewritten("said_at >= ?", "said_at > ?")),
    "a search gives one hit more": (Walk, replaced(search, "_search", one_more)),
    "a search shows what was to be left out": (Walk, replaced(search, "allowed_rows", without_exclude)),
    "an export leaves out the links": (Walk, replaced(export, "_edges", lambda _: lambda *given: ([], 0))),
    "vectors of two models are compared": (FolderWalk, replaced(Indexer, "check_model", lenient)),
}


@pytest.fixture(scope="module", autouse=True)
def _witness():
    yield
    Walk.witness.close()


def failure(machine, walks):
    """Why so many short walks fail, if they do."""
    try:
        run_state_machine_as_test(machine, settings=limits(walks, 30, phases=(Phase.generate,)))
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - whatever a fault leads to
        return error
    return None


def test_nearly_every_fault_is_found():
    missed, planted = [], list(BUGS.items())[:: count(3, 1)]
    for name, (machine, plant) in planted:
        for walks in (120, 400):  # it ends with the first that fails; few may not reach it
            with pytest.MonkeyPatch.context() as patch:
                passed = plant(patch)
                found = failure(machine, walks)
            if passed:
                break
        assert passed, f"{name}: planted where nothing passes"
        if found is None:
            missed.append(name)
    note("seeded bugs", planted=len(planted), caught=len(planted) - len(missed), missed=missed)
    assert len(missed) <= len(planted) // 20, missed
