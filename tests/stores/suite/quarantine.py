"""What every store promises about quarantine, and about letting everything be read that is written in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.stores.suite.knowledge import everything, memory_of, number_of, put_link, rows_of

from mnemic import errors
from mnemic.testing.fakes import MOMENT, add_episode, add_memory, add_message, indexing
from mnemic.types import (
    Archive,
    Consolidate,
    Erase,
    Promotion,
    Quarantine,
    RecordFilter,
    Release,
    Restore,
    Revise,
    Supersede,
    Undo,
)

if TYPE_CHECKING:
    from mnemic.stores import Store

__all__ = ["QuarantinePromises", "WordingPromises"]


def _family(store: Store) -> None:
    """A message, the episode and the memories made from it at two removes, and a memory and a message of their own."""
    store.apply("ana", [add_message("m1"), add_message("m2"), add_episode("e1", ["m1"])])
    store.apply(
        "ana", [add_memory("r1", source_ids=("e1",)), add_memory("r2", source_ids=("r1",)), add_memory("alone")]
    )
    store.apply("bob", [add_message("m1"), add_memory("r1", source_ids=("m1",))])


def _put(store: Store, *ids: str, reason: str = "") -> str:
    (receipt,) = store.apply("ana", [Quarantine(ids=ids, reason=reason)])
    return receipt.outcome


def _released(store: Store, *ids: str) -> str:
    (receipt,) = store.apply("ana", [Release(ids=ids)])
    return receipt.outcome


def _sound(store: Store) -> None:
    report = store.verify()
    assert report.ok, report.findings


def _without_events(store: Store, user: str = "ana") -> tuple[object, ...]:
    return everything(store, user)[:-1]


class QuarantinePromises:
    """What is doubted goes out of every search with all that was made from it, and comes back as it was."""

    def test_it_takes_what_was_made_along_and_nothing_of_others(self, store: Store) -> None:
        _family(store)
        his = _without_events(store, "bob")
        assert _put(store, "m1", reason="a strange page") == "quarantined"
        assert store.lifecycle.quarantined("ana") == ["m1", "e1", "r1", "r2"]
        assert store.lifecycle.quarantined("bob") == []
        assert _without_events(store, "bob") == his
        live = RecordFilter(reach="user")
        assert [m.id for m in store.list_messages("ana", live, limit=None, newest=False)] == ["m2"]
        assert store.knowledge.episodes("ana", live, limit=None, newest=False) == []
        assert [m.id for m in store.list_memories("ana", live, order="oldest", limit=None, offset=0)] == ["alone"]
        rows = rows_of(store.catalog(number_of(store), after=-1, event=-1))
        assert sorted(rows.status) == ["quarantined"] * 4 + ["short_term"] * 2
        (event,) = (e for e in store.history("ana", "r2") if e.operation == "archive")
        assert event.detail["quarantine"]
        assert event.detail["reason"] == "a strange page"
        _sound(store)

    def test_it_can_be_listed_by_its_own_name_alone(self, store: Store) -> None:
        _family(store)
        store.apply("ana", [add_memory("forgotten"), Archive(id="forgotten")])
        _put(store, "r1")

        def listed(*status: str) -> list[str | None]:
            filters = RecordFilter(reach="user", expired=True, status=status)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            return [m.id for m in store.list_memories("ana", filters, order="oldest", limit=None, offset=0)]

        assert listed("quarantined") == ["r1", "r2"]
        assert sorted(map(str, listed("archived", "quarantined"))) == ["forgotten", "r1", "r2"]
        _released(store, "r1")
        assert listed("quarantined") == []

    def test_it_comes_back_as_it_was(self, store: Store) -> None:
        _family(store)
        promoted = Promotion(id="r2", absorbed=())
        cycle = Consolidate(id="con", promotions=(promoted,), contradictions=(), judged=())
        store.apply("ana", [put_link("r1", "alone"), cycle])
        before = _without_events(store)
        assert memory_of(store, "r2").status == "long_term"
        _put(store, "m1")
        assert _released(store, "m1") == "restored"
        assert _without_events(store) == before
        assert store.lifecycle.quarantined("ana") == []
        _sound(store)

    def test_a_second_time_nothing_happens(self, store: Store) -> None:
        _family(store)
        _put(store, "r1")
        held = everything(store)
        assert _put(store, "r1") == "duplicate"
        assert _put(store, "r2") == "duplicate"
        assert everything(store) == held
        _released(store, "r1")
        held = everything(store)
        assert _released(store, "r1") == "duplicate"
        assert everything(store) == held

    def test_what_does_not_exist_is_an_error_and_changes_nothing(self, store: Store) -> None:
        _family(store)
        held = everything(store)
        for change in (Quarantine(ids=("r1", "nobody")), Release(ids=("nobody",))):
            with pytest.raises(errors.NotFound):
                store.apply("ana", [change])
        with pytest.raises(errors.NotFound):
            store.apply("bob", [Quarantine(ids=("alone",))])
        assert everything(store) == held

    def test_what_two_sources_made_waits_for_both(self, store: Store) -> None:
        store.apply("ana", [add_memory("a"), add_memory("b")])
        store.apply("ana", [add_memory("c", source_ids=("a", "b"))])
        _put(store, "a")
        _put(store, "b")
        _released(store, "a")
        assert store.lifecycle.quarantined("ana") == ["b", "c"]
        _released(store, "b")
        assert store.lifecycle.quarantined("ana") == []
        _sound(store)

    def test_one_that_was_made_from_what_is_quarantined_is_not_released_alone(self, store: Store) -> None:
        _family(store)
        _put(store, "r1")
        assert _released(store, "r2") == "duplicate"
        assert store.lifecycle.quarantined("ana") == ["r1", "r2"]

    def test_forgotten_before_is_forgotten_after(self, store: Store) -> None:
        _family(store)
        store.apply("ana", [Archive(id="r2", reason="no longer wanted")])
        _put(store, "r1")
        assert store.lifecycle.quarantined("ana") == ["r1", "r2"]
        _released(store, "r1")
        assert memory_of(store, "r1").status == "short_term"
        assert memory_of(store, "r2").status == "archived"
        (receipt,) = store.apply("ana", [Restore(id="r2")])
        assert receipt.outcome == "restored"
        _sound(store)

    def test_only_release_brings_it_back(self, store: Store) -> None:
        _family(store)
        _put(store, "r1")
        (receipt,) = store.apply("ana", [Restore(id="r2")])
        assert receipt.outcome == "rejected"
        assert store.lifecycle.quarantined("ana") == ["r1", "r2"]

    def test_undoing_a_consolidation_lets_nothing_out(self, store: Store) -> None:
        store.apply("ana", [add_memory("a"), add_memory("b")])
        promoted = Promotion(id="a", absorbed=("b",))
        store.apply("ana", [Consolidate(id="con", promotions=(promoted,), contradictions=(), judged=())])
        _put(store, "a", "b")
        store.apply("ana", [Undo(id="con")])
        assert [memory_of(store, id_).status for id_ in "ab"] == ["archived", "archived"]
        _released(store, "a", "b")
        assert memory_of(store, "a").status != "archived"
        assert store.history("ana", "b")[-1].operation == "archive"
        _sound(store)
        store.apply("ana", [Restore(id="b")])
        assert memory_of(store, "b").status != "archived"
        _sound(store)

    def test_what_stood_for_it_may_be_gone_when_it_is_released(self, store: Store) -> None:
        store.apply("ana", [add_memory("a"), add_memory("b")])
        promoted = Promotion(id="a", absorbed=("b",))
        store.apply("ana", [Consolidate(id="con", promotions=(promoted,), contradictions=(), judged=())])
        _put(store, "a", "b")
        store.erasure.erase("ana", Erase(ids=("a",)))
        _released(store, "b")
        _sound(store)
        store.apply("ana", [Restore(id="b")])
        assert memory_of(store, "b").status != "archived"
        _sound(store)

    def test_what_another_says_by_now_stays_away(self, store: Store) -> None:
        store.apply("ana", [add_memory("The API runs on port 8080.", id="first")])
        _put(store, "first")
        store.apply("ana", [add_memory("The API runs on port 8080.", id="second")])
        _released(store, "first")
        live = store.list_memories("ana", RecordFilter(reach="user"), order="oldest", limit=None, offset=0)
        assert [m.id for m in live] == ["second"]
        assert store.lifecycle.quarantined("ana") == []
        _sound(store)

    def test_caches_are_told(self, store: Store) -> None:
        _family(store)
        user = number_of(store)
        last = max(store.docs_of("ana", ["m1", "m2", "e1", "r1", "r2", "alone"]).values())
        for change, status in ((Quarantine(ids=("r1",)), "quarantined"), (Release(ids=("r1",)), "short_term")):
            before = store.last_event(user)
            store.apply("ana", [change])
            delta = store.catalog(user, after=last, event=before)
            assert delta.event == store.last_event(user)
            assert delta.event > before
            assert set(delta.touched) == set(store.docs_of("ana", ["r1", "r2"]).values())
            assert list(rows_of(delta).status) == [status, status]


class WordingPromises:
    """Everything that is written in a record can be read, page by page, to look for what should not stand in it."""

    def test_everything_that_was_ever_said_is_there(self, store: Store) -> None:
        store.apply("ana", [add_message("said", id="m1", name="Ana B.", session="s", metadata={"deep": [{"k": "v"}]})])
        store.apply("ana", [add_episode("e1", ["m1"], title="A title", content="A story")])
        first = add_memory(
            "before", id="r1", summary="sum", context="con", category="cat", keywords=("kw",), tags=("tag",),
            related_files=("file.py",), related_entities=("entity",), metadata={"x": "y"},
        )  # fmt: skip
        store.apply("ana", [first, add_memory("other", id="r2")])
        after = replace(first.record, content="after", version=2, updated_at=MOMENT + timedelta(minutes=1))
        store.apply("ana", [Revise(record=after, indexing=indexing(after)), put_link("r1", "r2", reason="because")])
        store.apply("ana", [Supersede(id="r2", by="r1", at=None, reason="replaced"), Archive(id="r2", reason="why")])
        store.apply("bob", [add_message("his", id="m1")])
        said = self._read(store, 100)
        assert [id_ for id_, _ in said] == ["m1", "e1", "r1", "r2", "m1"]
        strings = [self._strings(values) for _, values in said]
        assert {"said", "Ana B.", "user", "s", "deep", "k", "v"} <= strings[0]
        assert {"A title", "A story"} <= strings[1]
        assert {
            "before",
            "after",
            "sum",
            "con",
            "cat",
            "kw",
            "tag",
            "file.py",
            "entity",
            "x",
            "y",
            "because",
        } <= strings[2]
        assert {"other", "why"} <= strings[3]
        assert "his" in strings[4]

    def test_pages_leave_nothing_out(self, store: Store) -> None:
        for n in range(4):
            store.apply("ana", [add_message(f"m{n}"), add_memory(f"r{n}")])
            store.apply("bob", [add_message(f"b{n}")])
        whole = self._read(store, 100)
        assert len(whole) == 12
        assert self._read(store, 1) == self._read(store, 5) == whole

    @staticmethod
    def _read(store: Store, limit: int) -> list[tuple[str, list[Any]]]:
        found: list[tuple[str, list[Any]]] = []
        after = 0
        while page := store.knowledge.texts(after, limit):
            assert len(page) <= limit
            found += [(id_, says) for _, id_, says in page]
            after = page[-1][0]
        return found

    def _strings(self, value: Any) -> set[str]:
        """All strings of a JSON value, keys as well."""
        if isinstance(value, dict):
            value = [*value.keys(), *value.values()]  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(value, (list, tuple)):
            return {text for item in value for text in self._strings(item)}  # pyright: ignore[reportUnknownVariableType]
        return {value} if isinstance(value, str) else set()
