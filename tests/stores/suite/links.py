"""What every store promises about links and about what is left to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import pytest
from tests.stores.suite.knowledge import LATER, TYPES, everything, memory_of, number_of, put_link

from mnemic import errors
from mnemic.testing.fakes import add_episode, add_memory, add_message, indexing
from mnemic.types import (
    AddMemory,
    Archive,
    Change,
    Consolidate,
    DropLink,
    Graph,
    Link,
    LinkType,
    MarkProcessed,
    Promotion,
    Restore,
    Revise,
    Supersede,
)

if TYPE_CHECKING:
    from mnemic.stores import Store

__all__ = ["LinkPromises", "WorkPromises"]


class LinkPromises:
    """Links, and the graph they make."""

    def _graph(self, store: Store, id: str, depth: int = 10, *, types: Sequence[LinkType] = TYPES) -> Graph:
        return store.relations.graph("ana", id, depth=depth, types=types, most=100)

    def test_a_link_is_put_once_and_takes_its_last_strength(self, store: Store) -> None:
        store.apply("ana", [add_memory("a"), add_memory("b")])
        outcomes = [
            store.apply("ana", [change])[0].outcome
            for change in (
                put_link("a", "b"), put_link("a", "b"), put_link("a", "b", strength=0.5, reason="why"), put_link("b", "a"),
                put_link("a", "b", "references"),
            )
        ]  # fmt: skip
        assert outcomes == ["stored", "duplicate", "stored", "stored", "stored"]
        assert self._graph(store, "a").links == (
            Link(source="a", target="b", type="extends", strength=0.5, reason="why"),
            Link(source="a", target="b", type="references"),
            Link(source="b", target="a", type="extends"),
        )
        assert store.statistics.stats("ana").links == 3
        assert [e.operation for e in store.history("ana", "b")].count("link") == 4
        assert store.verify().ok

    def test_a_forgotten_memory_that_holds_again_stays_forgotten(self, store: Store) -> None:
        store.apply("ana", [add_memory("a"), add_memory("b")])
        store.apply("ana", [Supersede(id="b", by="a", at=LATER), Archive(id="b", reason="in jest")])
        store.apply("ana", [DropLink(source="a", target="b")])
        held = memory_of(store, "b")
        assert (held.status, held.expired_at) == ("archived", None)
        assert store.verify().ok, store.verify().findings
        store.apply("ana", [Restore(id="b")])
        assert memory_of(store, "b").status == "short_term"

    def test_an_event_of_a_link_carries_the_version_that_was_linked(self, store: Store) -> None:
        store.apply("ana", [add_memory("a"), add_memory("b")])
        record = replace(memory_of(store, "a"), content="the second text", version=2)
        store.apply("ana", [Revise(record=record, indexing=indexing(record)), put_link("a", "b")])
        store.apply("ana", [DropLink(source="a", target="b")])
        for operation in ("link", "unlink"):
            (event,) = (e for e in store.history("ana", "a") if e.operation == operation)
            assert (event.version, event.content) == (2, "the second text")
            (event,) = (e for e in store.history("ana", "b") if e.operation == operation)
            assert event.version == 1

    def test_a_receipt_names_a_memory_by_its_id(self, store: Store) -> None:
        store.apply("ana", [add_memory("a")])
        told = replace(memory_of(store, "a"), id="b", version=1)
        record = replace(told, version=2, content="the second text")
        receipts = store.apply("ana", [
            AddMemory(record=told, indexing=indexing(told)), Revise(record=record, indexing=indexing(record)),
        ])  # fmt: skip
        assert receipts[1].reason == "the memory 'a' already says this"

    def test_what_cannot_be_linked(self, store: Store) -> None:
        store.apply("ana", [add_memory("a"), add_memory("b"), add_message("m")])
        store.apply("bob", [add_memory("c")])
        refused: list[tuple[type[Exception], Change]] = [
            (errors.InvalidInput, put_link("a", "a")), (errors.InvalidInput, put_link("a", "m")),
            (errors.NotFound, put_link("a", "c")), (errors.NotFound, put_link("c", "a")), (errors.NotFound, put_link("a", "z")),
            (errors.NotFound, DropLink(source="a", target="c")),
        ]  # fmt: skip
        for error, change in refused:
            with pytest.raises(error):
                store.apply("ana", [put_link("a", "b"), change])
        assert (store.statistics.stats("ana").links, store.statistics.stats("bob").links) == (0, 0)

    def test_links_are_dropped_by_type_or_all(self, store: Store) -> None:
        store.apply(
            "ana",
            [
                add_memory("a"),
                add_memory("b"),
                put_link("a", "b"),
                put_link("a", "b", "references"),
                put_link("b", "a"),
            ],
        )
        drop = DropLink(source="a", target="b", type="references")
        assert [store.apply("ana", [drop])[0].outcome for _ in range(2)] == ["stored", "duplicate"]
        assert [link.type for link in self._graph(store, "a").links] == ["extends", "extends"]
        store.apply("ana", [DropLink(source="a", target="b")])
        assert self._graph(store, "a").links == (Link(source="b", target="a", type="extends"),)

    def test_the_graph_goes_so_deep_in_both_directions_and_through_circles(self, store: Store) -> None:
        names = "abcdef"
        edges = [put_link(source, target) for source, target in ("ab", "cb", "cd", "da")]
        store.apply("ana", [*map(add_memory, names), *edges, put_link("d", "e", "references")])
        assert self._graph(store, "a", 0).depths == {"a": 0}
        assert self._graph(store, "a", 1).depths == {"a": 0, "b": 1, "d": 1}
        deep = self._graph(store, "a")
        assert deep.depths == {"a": 0, "b": 1, "d": 1, "c": 2, "e": 2}
        assert {m.id for m in deep.memories} == set("abcde")
        assert deep.memories[0].id == "a"
        assert len(deep.links) == 5
        only = self._graph(store, "a", types=["references"])
        assert (only.depths, only.links) == ({"a": 0}, ())
        assert self._graph(store, "e", types=["references"]).depths == {"e": 0, "d": 1}
        most = store.relations.graph("ana", "a", depth=10, types=TYPES, most=3)
        assert most.depths == {"a": 0, "b": 1, "d": 1}
        assert all({link.source, link.target} <= {"a", "b", "d"} for link in most.links)

    def test_archived_memories_are_no_part_of_the_graph(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abc"), put_link("a", "b"), put_link("b", "c"), Archive(id="b")])
        assert self._graph(store, "a").depths == {"a": 0}
        assert self._graph(store, "a").links == ()
        store.apply("ana", [Restore(id="b")])
        assert self._graph(store, "a").depths == {"a": 0, "b": 1, "c": 2}

    def test_the_graph_is_one_of_this_users_memories(self, store: Store) -> None:
        store.apply("ana", [add_memory("a"), add_message("m")])
        store.apply("bob", [add_memory("c")])
        for id_ in ("c", "m", "nothing"):
            with pytest.raises(errors.NotFound):
                self._graph(store, id_)
        with pytest.raises(errors.NotFound):
            store.relations.graph("nobody", "a", depth=1, types=TYPES, most=5)

    def test_links_bynumber_of(self, store: Store) -> None:
        store.apply(
            "ana", [*map(add_memory, "abc"), put_link("a", "b", strength=0.25), put_link("b", "c"), put_link("c", "a")]
        )
        number = number_of(store)
        ends = [[link[:2] for link in store.relations.links(number, docs)] for docs in ([1], [1, 3])]
        assert ends == [[(1, 2), (3, 1)], [(1, 2), (2, 3), (3, 1)]]
        assert [link[3] for link in store.relations.links(number, [1])] == [0.25, 1.0]
        assert store.relations.links(number, []) == store.relations.links(number + 1, [1]) == []


class WorkPromises:
    """What is left to do, and doing it again."""

    def test_enrichment_is_left_until_it_is_done(self, store: Store) -> None:
        changes = [replace(add_memory(text), enrich=True) for text in ("one", "two")]
        store.apply("ana", changes)
        store.apply("bob", [replace(add_memory("three"), enrich=True)])
        assert store.knowledge.pending("ana", "enrich") == ["one", "two"]
        held = replace(memory_of(store, "one"), summary="1", version=2)
        store.apply("ana", [Revise(record=held, indexing=indexing(held), operation="enrich")])
        assert store.knowledge.pending("ana", "enrich") == ["two"]
        assert store.statistics.stats("ana").pending == {"enrich": 1}
        assert store.apply("ana", changes)[0].outcome == "duplicate"
        assert store.statistics.stats("ana").pending == {"enrich": 1}

    def test_a_new_version_leaves_what_consolidation_promoted_meanwhile(self, store: Store) -> None:
        store.apply("ana", [replace(add_memory(text), enrich=True) for text in "ab"])
        read = {id_: memory_of(store, id_) for id_ in "ab"}
        best = Promotion(id="b", absorbed=())
        store.apply("ana", [Consolidate(id="con", promotions=(best,), contradictions=(), judged=("a",))])
        operations: tuple[Literal["update", "enrich"], ...] = ("enrich", "update")
        for version, operation in enumerate(operations, start=2):
            for id_, status in (("a", "short_term"), ("b", "long_term")):
                later = replace(read[id_], summary=operation, version=version)
                change = Revise(record=later, indexing=indexing(later), operation=operation)
                assert store.apply("ana", [change])[0].outcome == "stored"
                held = memory_of(store, id_)
                assert (held.summary, held.status) == (operation, status)
        assert store.verify().ok

    def test_records_come_in_the_order_of_the_ids(self, store: Store) -> None:
        store.apply("ana", [add_memory(text) for text in ("one", "two", "three", "four")])
        for wanted in (["four", "one", "three", "two"], ["two", "none", "one", "two"]):
            found = store.knowledge.records("ana", wanted)
            assert list(found) == [id_ for id_ in dict.fromkeys(wanted) if id_ != "none"]

    def test_what_is_forgotten_is_not_enriched(self, store: Store) -> None:
        store.apply("ana", [replace(add_memory("one"), enrich=True), Archive(id="one")])
        assert store.knowledge.pending("ana", "enrich") == []
        store.apply("ana", [Restore(id="one")])
        assert store.knowledge.pending("ana", "enrich") == ["one"]

    def test_episodes_are_left_to_be_told_until_they_are(self, store: Store) -> None:
        told = [replace(add_episode(id_, [text]), refine=True) for id_, text in (("e", "a"), ("f", "b"), ("g", "c"))]
        store.apply("ana", [*map(add_message, "abc"), *told, Archive(id="g")])
        assert [e.id for e in store.knowledge.unrefined("ana", 10)] == ["e", "f"]
        assert [e.id for e in store.knowledge.unrefined("ana", 1)] == ["e"]
        assert store.knowledge.unrefined("bob", 10) == []
        store.apply("ana", [add_episode("e", ["a"], version=2, content="better")])
        assert [e.id for e in store.knowledge.unrefined("ana", 10)] == ["f"]
        store.apply("ana", [replace(add_episode("f", ["b"], version=2), refine=True)])
        assert [e.id for e in store.knowledge.unrefined("ana", 10)] == ["f"]

    def test_the_first_of_many_are_not_hidden_behind_archived_ones(self, store: Store) -> None:
        told = [replace(add_episode(f"e{text}", [text]), refine=True) for text in "abc"]
        store.apply("ana", [*map(add_message, "abc"), *told, Archive(id="ea"), Archive(id="eb")])
        assert [e.id for e in store.knowledge.unrefined("ana", 1)] == ["ec"]

    def test_the_same_list_of_every_change_twice_changes_nothing(self, store: Store) -> None:
        changes: list[Change] = [
            *map(add_message, "abcd"), replace(add_episode("e", ["a"]), refine=True), add_episode("f", ["b"]),
            add_episode("g", ["a", "b"], source_ids=("e", "f")), Archive(id="e"), Archive(id="f"), MarkProcessed(ids=("c",)),
            replace(add_memory("Lisbon", source_ids=("a",)), enrich=True), add_memory("Porto", source_ids=("b",)),
            Supersede(id="Lisbon", by="Porto", at=LATER, reason="moved"), put_link("Porto", "Lisbon", "contradicts"),
            add_memory("Tea"), put_link("Tea", "Porto", strength=0.5, reason="why"), Archive(id="Tea"),
        ]  # fmt: skip
        store.apply("ana", changes[:4])
        store.apply("ana", changes[4:9])
        store.apply("ana", changes[9:])
        before = everything(store)
        again = changes[:4] + changes[6:7] + changes[9:]  # what was merged is a conflict, as it must be
        store.apply("ana", again)
        assert everything(store) == before
        with pytest.raises(errors.Conflict):
            store.apply("ana", changes)
        assert everything(store) == before
        assert store.verify().ok

    def test_every_episode_that_tells_of_messages(self, store: Store) -> None:
        store.apply("ana", [*map(add_message, "abc"), add_episode("e", ["a"]), add_episode("f", ["b"])])
        merged = add_episode("g", ["a", "b"], source_ids=("e", "f"))
        store.apply("ana", [merged, Archive(id="e"), Archive(id="f"), add_memory("r", source_ids=("a",))])
        assert store.relations.episodes_of("ana", ["a"]) == [4, 6]
        assert store.relations.episodes_of("ana", ["b", "a", "e", "nothing"]) == [4, 5, 6]
        assert store.relations.episodes_of("ana", ["c"]) == store.relations.episodes_of("bob", ["a"]) == []

    def test_what_came_after_a_moment_and_records_by_id(self, store: Store) -> None:
        store.apply("ana", [add_message("a"), add_memory("r"), add_episode("e", ["a"])])
        number = number_of(store)
        assert store.relations.stored_after(number, 0) == [1, 3]
        assert store.relations.stored_after(number, 2**60) == store.relations.stored_after(number + 1, 0) == []
        assert store.relations.ids(number, [1, 2, 3, 9]) == {2: "r", 3: "e"}
        found = store.knowledge.records("ana", ["a", "r", "e", "nothing"])
        assert {id_: type(value).__name__ for id_, value in found.items()} == {
            "a": "Message", "r": "MemoryRecord", "e": "Episode",
        }  # fmt: skip
        assert store.knowledge.vectors("ana", ["a", "r", "nothing"]).keys() == {"a", "r"}
        assert store.knowledge.records("bob", ["a"]) == store.knowledge.vectors("bob", ["a"]) == {}
