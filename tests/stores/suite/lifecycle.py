"""What every store promises about tiers: consolidation and taking it back, the workbench, uses and feelings."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.stores.suite.knowledge import everything, memory_of, number_of, put_link

from mnemic import errors
from mnemic.stores.sql.rows import UNUSED, importances
from mnemic.testing.fakes import MOMENT, add_memory, add_message, indexing
from mnemic.text.values import from_micros, now, to_micros
from mnemic.types import (
    Archive,
    Candidates,
    Change,
    Consolidate,
    DropLink,
    Emotion,
    Erase,
    Link,
    MarkConsolidating,
    Promotion,
    RecordFilter,
    Restore,
    Revise,
    SetEmotions,
    Supersede,
    Touch,
    Undo,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mnemic.stores import Store

__all__ = ["LifecyclePromises", "UndoPromises"]

FAR = 2**60


def consolidation(*groups: str, id: str = "con", links: tuple[Link, ...] = (), judged: str = "") -> Consolidate:
    """A cycle that promotes the first letter of each group over the others."""
    promotions = tuple(Promotion(id=g[0], absorbed=tuple(g[1:])) for g in groups)
    return Consolidate(id=id, promotions=promotions, contradictions=links, judged=tuple(judged))


def _links(store: Store, user: str = "ana") -> set[tuple[str, str, float]]:
    return {(link.source, link.target, link.strength) for link in store.relations.all_links(user)}


def _shown(made: set[tuple[str, str, float]], heads: Mapping[str, str]) -> set[tuple[str, str, float]]:
    """Links as they are shown while memories are absorbed, given the representative of each."""

    def shown(id: str) -> str:
        return shown(heads[id]) if id in heads else id

    found = {(shown(source), shown(target), strength) for source, target, strength in made}
    return {link for link in found if link[0] != link[1]}


def _statuses(store: Store, ids: str) -> list[str]:
    return [memory_of(store, id_).status for id_ in ids]


def _candidates(store: Store, user: str = "ana") -> dict[str, dict[str, Any]]:
    """The candidates as rows, by id."""
    found = store.lifecycle.candidates(user, FAR)
    ids = store.relations.ids(number_of(store, user), found.doc.tolist())
    names = list(Candidates.__dataclass_fields__)
    return {ids[int(doc)]: {n: getattr(found, n)[at].item() for n in names} for at, doc in enumerate(found.doc)}


class LifecyclePromises:
    """Tiers change all at once."""

    def test_a_cycle_promotes_archives_and_links(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abcde"), put_link("b", "e"), put_link("a", "c")])
        link = Link(source="d", target="a", type="contradicts", reason="another number")
        change = consolidation("abc", links=(link,), judged="ad")
        assert store.apply("ana", [change])[0].outcome == "stored"
        assert _statuses(store, "abcde") == ["long_term", "archived", "archived", "short_term", "short_term"]
        assert memory_of(store, "a").source_ids == ("b", "c")
        links = store.relations.graph("ana", "a", depth=1, types=("contradicts", "extends"), most=9).links
        assert {(x.source, x.target, x.type) for x in links} == {("a", "e", "extends"), ("d", "a", "contradicts")}
        assert store.lifecycle.tiers("ana") == {"long_term": 1, "archived": 2, "short_term": 2}
        assert store.verify().ok

    def test_the_same_cycle_twice_changes_nothing(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abc")])
        changes: list[Change] = [consolidation("ab", judged="a"), Touch(uses={}, at=1)]
        store.apply("ana", changes)
        before = everything(store)
        assert store.apply("ana", changes)[0].outcome == "duplicate"
        assert everything(store) == before

    def test_what_moved_meanwhile_refuses_the_whole_cycle(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abcdef")])
        store.apply("ana", [MarkConsolidating(ids=("a",))])
        held = replace(memory_of(store, "b"), content="B", version=2)
        store.apply(
            "ana", [Archive(id="d"), Supersede(id="e", by="f", at=None), Revise(record=held, indexing=indexing(held))]
        )
        before = _statuses(store, "abcdef")
        for group in ("ab", "ad", "da", "ae", "ea"):
            with pytest.raises(errors.Conflict):
                store.apply("ana", [consolidation("fc", group)])
        with pytest.raises((errors.Conflict, errors.NotFound)):
            store.apply("bob", [consolidation("ac")])
        assert _statuses(store, "abcdef") == before

    def test_a_cycle_decided_on_after_the_change_is_stored(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "ab"), MarkConsolidating(ids=("a",))])
        store.lifecycle.release()
        held = replace(memory_of(store, "b"), content="B", version=2)
        store.apply("ana", [Revise(record=held, indexing=indexing(held))])
        assert (
            store.apply("ana", [MarkConsolidating(ids=("a",)), consolidation("ab", judged="a")])[1].outcome == "stored"
        )

    def test_a_promotion_with_another_text(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "ab")])
        merged = replace(memory_of(store, "a"), content="A and B", version=2)
        promotion = Promotion(id="a", absorbed=("b",), revised=Revise(record=merged, indexing=indexing(merged)))
        store.apply("ana", [Consolidate(id="con", promotions=(promotion,), contradictions=(), judged=())])
        assert (memory_of(store, "a").content, memory_of(store, "a").status) == ("A and B", "long_term")
        (before,) = store.lifecycle.previous_texts("ana", "con")
        assert (before.content, before.version, before.status) == ("a", 3, "short_term")
        assert store.lifecycle.previous_texts("ana", "nothing") == store.lifecycle.previous_texts("bob", "con") == []
        stale = replace(promotion, revised=Revise(record=merged, indexing=indexing(merged)), absorbed=())
        with pytest.raises(errors.Conflict):
            store.apply("ana", [Consolidate(id="con2", promotions=(stale,), contradictions=(), judged=())])

    def test_the_workbench(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abc"), Archive(id="c"), consolidation("b")])
        store.apply("bob", [add_memory("x")])
        store.apply("ana", [MarkConsolidating(ids=("a", "b", "c", "x"))])
        assert _statuses(store, "abc") == ["consolidating", "long_term", "archived"]
        assert memory_of(store, "x", "bob").status == "short_term"
        assert _candidates(store)["a"]["fresh"]
        store.lifecycle.release()
        assert _statuses(store, "abc") == ["short_term", "long_term", "archived"]
        store.apply("ana", [MarkConsolidating(ids=()), consolidation("a")])

    def test_uses_are_counted_for_ones_own(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "ab")])
        store.apply("bob", [add_memory("x")])
        docs = store.docs_of("ana", ["a"])
        store.apply("ana", [Touch(uses={docs["a"]: 2}, at=7)])
        store.apply("ana", [Touch(uses={docs["a"]: 3}, at=5), Touch(uses={99: 1}, at=9)])
        store.apply("bob", [Touch(uses={docs["a"]: 100}, at=100)])
        found = _candidates(store)
        assert (memory_of(store, "a").access_count, found["a"]["last_access"]) == (5, 7)
        assert (memory_of(store, "b").access_count, found["b"]["last_access"], found["b"]["boost"]) == (0, 0, 0)

    def test_a_record_shows_its_uses_and_what_they_are_worth(self, store: Store) -> None:
        felt = Emotion(valence=0.5, arousal=0.5, confidence=0.5)
        new = partial(add_memory, salience=0.4, created_at=now())
        store.apply("ana", [
            new("used"), new("stirring", emotion=felt), new("new"), new("pinned", importance=0.1, pinned=True),
            new("old", created_at=now() - timedelta(days=30)), add_message("m"),
        ])  # fmt: skip
        docs = store.docs_of("ana", ["used", "pinned"])
        last = to_micros(now())
        store.apply("ana", [Touch(uses=dict.fromkeys(docs.values(), 50), at=last)])
        held = {id_: memory_of(store, id_) for id_ in ("used", "stirring", "new", "pinned", "old")}
        assert (held["used"].access_count, held["used"].last_accessed_at) == (50, from_micros(last))
        assert (held["new"].access_count, held["new"].last_accessed_at) == (0, None)
        worth = {
            "used": 0.4 + 0.6 * 0.5,
            "stirring": 0.4 + 0.6 * 0.2 * 0.25,
            "new": 0.4,
            "old": 0.4 * 0.85,
            "pinned": 0.1,
        }
        assert {id_: record.importance for id_, record in held.items()} == pytest.approx(worth)
        least = RecordFilter(kinds=("memory",), min_importance=0.4)
        listed = store.list_memories("ana", least, order="oldest", limit=None, offset=0)
        assert {record.id for record in listed} == {"used", "stirring", "new"}
        number = number_of(store)
        named = store.docs_of("ana", list(worth))
        assert store.matching(number, least) == sorted(named[id_] for id_ in ("used", "stirring", "new"))
        for found in (store.lifecycle.candidates("ana", FAR), store.catalog(number, after=-1, event=-1).rows):
            assert found is not None
            values = importances(found.salience, found.boost, found.last_use, last).tolist()
            columns = dict(zip(found.doc.tolist(), values, strict=True))
            assert {id_: columns[doc] for id_, doc in named.items()} == pytest.approx(worth)
        assert store.lifecycle.over_capacity("ana", 4, last) == ["old"]

    def test_caches_follow_uses(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "ab")])
        number, docs = number_of(store), store.docs_of("ana", ["a", "b"])
        first = store.catalog(number, after=-1, event=-1)
        store.apply("ana", [Touch(uses={docs["b"]: 1}, at=to_micros(now()))])
        assert store.last_event(number) > first.event
        after = max(docs.values())
        second = store.catalog(number, after=after, event=first.event, used_since=first.moment)
        assert (second.touched, set(second.kept), second.vectors) == ([docs["b"]], {docs["b"]}, None)
        assert second.rows is not None
        assert second.rows.boost[0] > 0

    def test_a_record_names_what_superseded_it(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abc")])
        store.apply("ana", [Supersede(id="a", by="b", at=None), Supersede(id="a", by="c", at=None)])
        assert memory_of(store, "a").superseded_by == ("b", "c")
        store.apply("ana", [Archive(id="b")])
        assert (memory_of(store, "a").superseded_by, memory_of(store, "c").superseded_by) == (("c",), ())

    def test_who_may_be_consolidated(self, store: Store) -> None:
        felt = Emotion(valence=0.5, arousal=0.5, confidence=0.5)
        store.apply("ana", [
            add_memory("a", importance=0.25, salience=0.5, pinned=True, emotion=felt),
            add_memory("old", created_at=MOMENT - timedelta(days=1), trust=0.25), add_memory("gone"), add_memory("ended"),
            add_memory("brief", delete_after=MOMENT), add_memory("key", category="preference", metadata={"preference": "k"}),
            Archive(id="gone"), Supersede(id="ended", by=None, at=None),
        ])  # fmt: skip
        found = _candidates(store)
        assert found.keys() == {"a", "old", "key"}
        a = found["a"]
        assert (a["salience"], a["boost"], a["last_use"], a["fresh"]) == (0.25, 0, UNUSED, True)
        assert (a["judged"], a["trust"], found["old"]["trust"]) == (0, 1.0, 0.25)
        assert (a["apart"], found["key"]["apart"]) == (False, True)
        moment = int(MOMENT.timestamp()) * 1_000_000
        assert len(store.lifecycle.candidates("ana", moment - 1)) == 1
        assert len(store.lifecycle.candidates("nobody", FAR)) == 0
        store.apply("ana", [Consolidate(id="con", promotions=(), contradictions=(), judged=("old",))])
        assert _candidates(store)["old"]["judged"] > 0

    def test_candidates_follow_every_change(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abcdefg")])
        assert _candidates(store).keys() == set("abcdefg")
        store.apply("ana", [consolidation("ab", judged="ac"), Archive(id="d"), Supersede(id="e", by=None, at=None)])
        held = memory_of(store, "f")
        changed = replace(held, content="f again", importance=0.125, pinned=True, version=2)
        store.apply("ana", [Revise(record=changed, indexing=indexing(changed)), add_memory("h")])
        docs, moment = store.docs_of("ana", ["g"]), int(MOMENT.timestamp() * 1e6)
        later = 2**53
        store.apply("ana", [Touch(uses={docs["g"]: 3}, at=later)])
        found = _candidates(store)
        assert found.keys() == set("acfgh")
        assert (found["a"]["fresh"], found["c"]["fresh"], found["f"]["salience"]) == (False, True, 0.125)
        assert (found["c"]["judged"] > 0, found["g"]["boost"] > 0, found["g"]["last_access"]) == (True, True, later)
        store.apply("ana", [Undo(id="con"), Restore(id="d")])
        store.apply("bob", [add_memory("a")])
        assert _candidates(store, "bob").keys() == {"a"}
        assert _candidates(store).keys() == set("abcdfgh")
        assert store.lifecycle.candidates("ana", FAR).doc.tolist() == sorted(
            store.docs_of("ana", list("abcdfgh")).values()
        )
        assert len(store.lifecycle.candidates("ana", moment - 1)) == 0

    def test_what_has_had_its_time(self, store: Store) -> None:
        second = timedelta(seconds=1)
        store.apply("ana", [
            add_message("m1"), add_message("m2"), add_message("m3", sent_at=MOMENT + second), add_message("m4"),
            add_memory("a", source_ids=("m1",)), add_memory("b", source_ids=("m2",)), add_memory("c", source_ids=("m4",)),
            add_memory("d", delete_after=MOMENT, importance=0.1), add_memory("e", source_ids=("d",)), consolidation("ab"),
            add_memory("f", delete_after=MOMENT + second, importance=0.2), Archive(id="c"),
        ])  # fmt: skip
        moment = int(MOMENT.timestamp()) * 1_000_000
        assert store.lifecycle.uncited("ana", moment + 1) == ["m4"]  # m2 is the evidence of b, for which a stands
        assert store.lifecycle.uncited("ana", FAR) == ["m4", "m3"]
        assert store.lifecycle.overdue("ana", moment) == []  # e was made from d
        assert store.lifecycle.overdue("ana", FAR) == ["f"]
        assert store.lifecycle.over_capacity("ana", 4, moment - 1) == []
        assert store.lifecycle.over_capacity("ana", 3, moment - 1) == ["f"]
        assert store.lifecycle.over_capacity("ana", 0, moment - 1) == ["f", "e"]
        store.apply("ana", [
            *(add_memory(id_, importance=0.0) for id_ in ("replaced", "ended", "later")),
            Supersede(id="replaced", by="e", at=None), Supersede(id="ended", by="e", at=MOMENT),
        ])  # fmt: skip
        assert store.lifecycle.over_capacity("ana", 4, moment) == []  # a, e, f and later hold
        assert store.lifecycle.over_capacity("ana", 3, moment) == ["later"]
        assert store.lifecycle.over_capacity("ana", 0, FAR) == ["later", "e"]
        assert store.lifecycle.uncited("bob", FAR) == store.lifecycle.overdue("bob", FAR) == []
        assert store.lifecycle.over_capacity("bob", 0, FAR) == []

    def test_one_at_a_time(self, store: Store) -> None:
        with store.lifecycle.exclusive() as first, store.lifecycle.exclusive() as second:
            assert (first, second) == (True, False)
        with store.lifecycle.exclusive() as again:
            assert again

    def test_messages_feel(self, store: Store) -> None:
        store.apply(
            "ana", [add_message("m"), add_memory("r", emotion=Emotion(valence=-0.5, arousal=0.25, confidence=0.5))]
        )
        store.apply("bob", [add_message("m")])
        glad = Emotion(valence=0.5, arousal=-0.25, confidence=0.75)
        store.apply("ana", [SetEmotions(emotions={"m": glad, "nothing": glad})])
        docs = store.docs_of("ana", ["m", "r"])
        found = store.relations.emotions(number_of(store), list(docs.values()))
        assert found == {docs["m"]: glad, docs["r"]: Emotion(valence=-0.5, arousal=0.25, confidence=0.5)}
        assert store.relations.emotions(number_of(store, "bob"), [1, 2, 3]) == {}


class UndoPromises:
    """What a consolidation changed comes back, unless somebody changed it since."""

    def test_undone_it_was_never_there(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abcd"), put_link("b", "d"), put_link("a", "b")])
        before = everything(store)[:-1]
        link = Link(source="d", target="a", type="contradicts")
        store.apply("ana", [consolidation("abc", links=(link,), judged="ad")])
        assert store.apply("ana", [Undo(id="con")])[0].outcome == "stored"
        assert everything(store)[:-1] == before
        assert store.apply("ana", [Undo(id="con")])[0].outcome == "duplicate"
        for user, id_ in (("ana", "nothing"), ("bob", "con")):
            with pytest.raises(errors.NotFound):
                store.apply(user, [Undo(id=id_)])
        assert store.verify().ok

    @pytest.mark.parametrize("erased", [False, True])
    def test_representatives_show_the_links_of_all_that_they_stand_for(self, store: Store, *, erased: bool) -> None:
        draw, ids = random.Random(3), "abcdefgh"
        for user in (f"user {number}" for number in range(12)):
            made = {(source, target, 1.0) for source, target in (draw.sample(ids, 2) for _ in range(14))}
            store.apply(
                user, [*map(add_memory, ids), *(put_link(source, target) for source, target, _ in sorted(made))]
            )
            heads: dict[str, str] = {}  # of the absorbed ones
            for number in range(3):
                head, *members = draw.sample([id_ for id_ in ids if id_ not in heads], draw.randint(2, 3))
                store.apply(user, [consolidation(head + "".join(members), id=f"c{number}")])
                heads |= dict.fromkeys(members, head)
                assert _links(store, user) == _shown(made, heads)
            if erased:
                gone = draw.choice(sorted(heads))
                store.erasure.erase(user, Erase(ids=(gone,)))
                made = {link for link in made if gone not in link[:2]}
                heads = {id_: head for id_, head in heads.items() if gone not in (id_, head)}
                assert _links(store, user) == _shown(made, heads)
            for number in (2, 1, 0):
                store.apply(user, [Undo(id=f"c{number}")])
            assert _links(store, user) == made
        assert store.verify().ok

    def test_a_member_keeps_its_links_and_shows_them_when_it_is_back(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abcd"), put_link("b", "c"), consolidation("ab")])
        assert _links(store) == {("a", "c", 1.0)}
        store.apply("ana", [put_link("b", "d")])  # after it was absorbed
        assert _links(store) == {("a", "c", 1.0), ("b", "d", 1.0)}
        assert store.statistics.stats("ana").links == 2
        store.apply("ana", [Restore(id="b")])
        assert _links(store) == {("a", "c", 1.0), ("b", "c", 1.0), ("b", "d", 1.0)}
        store.apply("ana", [Undo(id="con")])
        assert _links(store) == {("b", "c", 1.0), ("b", "d", 1.0)}

    def test_what_was_changed_of_a_representatives_links_stays(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abcd"), put_link("b", "c"), Supersede(id="d", by="b", at=None)])
        store.apply("ana", [consolidation("ab"), put_link("a", "c", strength=0.5)])
        assert store.apply("ana", [DropLink(source="a", target="d")])[0].reason == "'d' holds again"
        store.apply("ana", [Undo(id="con")])
        assert _links(store) == {("a", "c", 0.5), ("b", "c", 1.0)}
        assert memory_of(store, "d").expired_at is None
        assert store.verify().ok, store.verify().findings

    def test_what_another_says_by_now_stays_forgotten(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abc"), consolidation("abc")])
        store.apply("ana", [add_memory("b", id="again")])
        assert store.apply("ana", [Undo(id="con")])[0].reason.startswith("1 of its memories")
        assert _statuses(store, "abc") == ["short_term", "archived", "short_term"]
        assert memory_of(store, "a").source_ids == ()
        assert store.verify().ok
        store.erasure.erase("ana", Erase(ids=("again",)))
        assert store.apply("ana", [Restore(id="b")])[0].outcome == "restored"
        store.erasure.erase("ana", Erase(ids=("b",)))
        assert _statuses(store, "ac") == ["short_term"] * 2
        assert store.verify().ok

    def test_a_decision_that_ends_a_time_and_back(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "ab"), add_memory("c", invalid_at=MOMENT + timedelta(days=9))])
        before = everything(store)[:-1]
        links = tuple(Link(source="a", target=id_, type="supersedes", reason="so read") for id_ in "bc")
        store.apply("ana", [Consolidate(id="con", promotions=(), contradictions=links, judged=())])
        assert (memory_of(store, "b").expired_at is None, memory_of(store, "b").invalid_at) == (False, MOMENT)
        store.apply("ana", [Undo(id="con")])
        assert everything(store)[:-1] == before

    def test_a_member_that_is_restored_alone(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abc"), consolidation("abc")])
        store.apply("ana", [Restore(id="b")])
        assert _statuses(store, "abc") == ["long_term", "short_term", "archived"]
        receipt = store.apply("ana", [Undo(id="con")])[0]
        assert _statuses(store, "abc") == ["short_term"] * 3
        assert "1 of its memories" in receipt.reason
        assert store.verify().ok

    def test_members_of_what_was_forgotten_meanwhile_are_forgotten_too(self, store: Store) -> None:
        store.apply("ana", [*map(add_memory, "abc"), consolidation("abc"), Archive(id="a")])
        assert store.apply("ana", [Undo(id="con")])[0].reason.startswith("3 of its memories")
        assert _statuses(store, "abc") == ["archived"] * 3
        assert [store.history("ana", id_)[-1].operation for id_ in "abc"] == ["archive"] * 3
        assert memory_of(store, "a").source_ids == ()
        store.erasure.erase("ana", Erase(ids=("a",)))
        assert store.verify().ok
        store.apply("ana", [Restore(id="b")])
        assert _statuses(store, "bc") == ["short_term", "archived"]
        assert store.verify().ok
