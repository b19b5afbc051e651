"""What every store promises about erasing: rows that are gone with all that speaks of them, and no more than these."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.stores.suite.knowledge import rows_of

from mnemic import errors
from mnemic.stores.sql.tombstones import EVERYTHING, digest
from mnemic.testing.fakes import add_episode, add_memory, add_message, indexing
from mnemic.types import (
    Archive,
    Consolidate,
    Episode,
    Erase,
    EraseUser,
    Link,
    MemoryRecord,
    Promotion,
    PutLink,
    RecordFilter,
    Revise,
    Supersede,
    Touch,
)

if TYPE_CHECKING:
    from mnemic.stores import Store

__all__ = ["ErasureSuite"]

ALL = RecordFilter(reach="user", expired=True, status=("short_term", "consolidating", "long_term", "archived"))


def _sound(store: Store) -> None:
    report = store.verify()
    assert report.ok, report.findings


def _memory(store: Store, id: str) -> MemoryRecord:
    value = store.get("ana", id).value
    assert isinstance(value, MemoryRecord)
    return value


class ErasureSuite:
    """Subclass it and give a fixture ``store``: a new, empty record."""

    def test_a_family_is_all_that_was_made_at_any_remove(self, store: Store) -> None:
        store.apply("ana", [add_message("m1"), add_message("m2"), add_episode("e1", ["m1", "m2"])])
        store.apply(
            "ana", [add_memory("r1", source_ids=("m1",)), add_memory("r2", source_ids=("r1", "e1")), add_memory("r3")]
        )
        store.apply("bob", [add_message("m1")])
        family = store.erasure.lineage("ana", ["m1", "nobody"])
        assert set(family.nodes) == {"m1", "e1", "r1", "r2"}
        assert {id_: kin.kind for id_, kin in family.nodes.items()} == {
            "m1": "message", "e1": "episode", "r1": "memory", "r2": "memory",
        }  # fmt: skip
        assert set(family.nodes["r2"].sources) == {"r1", "e1"}
        assert store.erasure.lineage("nobody", ["m1"]).nodes == {}

    def test_what_was_erased_is_remembered_as_a_digest_until_the_whole_user_is(self, store: Store) -> None:
        store.apply("ana", [add_message("m1"), add_message("m2")])
        store.apply("bob", [add_message("m1")])
        store.erasure.erase("ana", Erase(ids=("m1",)))
        held = store.synced.read("ana").tombstones
        assert [*held] == [digest("m1")]
        store.apply("ana", [add_message("m1")])
        (again,) = store.synced.states("ana", ["m1"]).values()
        assert again.began > held[digest("m1")]
        store.erasure.erase("ana", EraseUser())
        assert [*store.synced.read("ana").tombstones] == [EVERYTHING]
        assert store.synced.read("bob").tombstones == {}
        assert store.user("ana") is None

    def test_erased_records_are_gone_and_others_are_whole(self, store: Store) -> None:
        store.apply("ana", [add_message("goes", id="m1"), add_message("stays", id="m2"), add_memory("kept", id="r2")])
        store.apply(
            "ana",
            [
                add_memory("made of it", id="r1", source_ids=("m1",)),
                PutLink(link=Link(source="r2", target="r1", type="extends", reason="of r1")),
            ],
        )
        store.apply("bob", [add_message("his", id="m1")])
        kept = [store.get("ana", "m2"), store.get("ana", "r2"), store.get("bob", "m1")]
        number = store.user("ana")
        assert number is not None
        assert store.postings(number, "goe") or store.postings(number, "goes")
        counts = store.erasure.erase("ana", Erase(ids=("m1", "r1")))
        assert counts["messages"] == counts["memories"] == counts["links"] == 1
        assert counts["vectors"] == 2
        for id_ in ("m1", "r1"):
            with pytest.raises(errors.NotFound):
                store.get("ana", id_)
        assert [store.get("ana", "m2"), store.get("ana", "r2"), store.get("bob", "m1")] == kept
        assert store.postings(number, "goe") == []
        assert store.postings(number, "goes") == []
        assert "r1" not in str(store.history("ana", "r2"))
        assert store.erasure.unfinished()
        assert not store.erasure.purge().pending
        assert not store.erasure.unfinished()
        _sound(store)

    def test_a_second_time_there_is_nothing_to_do(self, store: Store) -> None:
        store.apply("ana", [add_message("one", id="m1")])
        change = Erase(ids=("m1", "nobody"))
        assert store.erasure.erase("ana", change) == {"messages": 1, "vectors": 1, "events": 1, "fulltext": 1}
        assert store.erasure.erase("ana", change) == {}
        assert store.apply("ana", [add_message("one", id="m1")])[0].outcome == "stored"
        _sound(store)

    def test_what_was_made_of_it_and_is_not_named_refuses_it(self, store: Store) -> None:
        store.apply("ana", [add_message("m1"), add_memory("r1", source_ids=("m1",))])
        with pytest.raises(errors.Conflict):
            store.erasure.erase("ana", Erase(ids=("m1",)))
        assert store.get("ana", "m1").value.content == "m1"
        assert not store.erasure.unfinished()

    def test_caches_learn_of_it_without_a_text(self, store: Store) -> None:
        store.apply("ana", [add_message("secret one", id="secret id"), add_message("two")])
        number = store.user("ana")
        assert number is not None
        before = store.catalog(number, after=-1, event=-1)
        erased, last = rows_of(before).doc.tolist()
        store.erasure.erase("ana", Erase(ids=("secret id",)))
        after = store.catalog(number, after=last, event=before.event)
        assert after.event > before.event
        assert after.rows is None
        assert list(after.touched) == [erased]

    def test_an_episode_is_told_again_and_its_past_forgotten(self, store: Store) -> None:
        store.apply("ana", [add_message("m1"), add_message("m2")])
        store.apply("ana", [add_episode("e1", ["m1"], content="Of m1.")])
        store.apply("ana", [add_episode("e1", ["m1", "m2"], content="Of m1 and m2.", version=2)])
        again = add_episode("e1", ["m2"], title="Of m2", content="Of m2.", version=3)
        store.erasure.erase("ana", Erase(ids=("m1",), remade=(again,)))
        episode = store.get("ana", "e1").value
        assert isinstance(episode, Episode)
        assert (episode.content, episode.message_ids, episode.version) == ("Of m2.", ("m2",), 3)
        assert "m1" not in str(store.history("ana", "e1"))
        _sound(store)

    def test_messages_of_an_erased_episode_stay(self, store: Store) -> None:
        store.apply("ana", [add_message("m1"), add_episode("e1", ["m1"])])
        store.erasure.erase("ana", Erase(ids=("e1",)))
        assert store.get("ana", "m1").episode in (0, None)
        assert store.knowledge.conversations("ana") == []
        _sound(store)

    def test_members_of_an_erased_representative_come_back(self, store: Store) -> None:
        store.apply("ana", [add_memory("best"), add_memory("twin"), add_memory("other")])
        store.apply("ana", [PutLink(link=Link(source="twin", target="other", type="extends"))])
        promotion = Promotion(id="best", absorbed=("twin",))
        store.apply("ana", [Consolidate(id="c", promotions=(promotion,), contradictions=(), judged=("best",))])
        assert store.get("ana", "twin").status == "archived"
        (absorption,) = store.erasure.lineage("ana", ["best"]).absorptions
        assert (absorption.id, absorption.members, absorption.edges) == ("best", ("twin",), ("twin",))
        store.erasure.erase("ana", Erase(ids=("best",)))
        assert store.get("ana", "twin").status == "short_term"
        assert {
            link.source for link in store.relations.graph("ana", "other", depth=1, types=("extends",), most=9).links
        } == {"twin"}
        _sound(store)

    def test_a_representative_stays_when_a_member_goes(self, store: Store) -> None:
        store.apply("ana", [add_memory("best"), add_memory("twin"), add_memory("third"), add_memory("other")])
        store.apply("ana", [PutLink(link=Link(source="twin", target="other", type="extends", reason="of twin"))])
        promotion = Promotion(id="best", absorbed=("twin", "third"))
        store.apply("ana", [Consolidate(id="c", promotions=(promotion,), contradictions=(), judged=())])
        store.erasure.erase("ana", Erase(ids=("twin",)))
        assert (store.get("ana", "best").status, store.get("ana", "third").status) == ("long_term", "archived")
        assert store.relations.graph("ana", "other", depth=1, types=("extends",), most=9).links == ()
        assert "twin" not in str(store.history("ana", "best"))
        _sound(store)

    def test_a_reworded_representative_gets_its_own_text_back(self, store: Store) -> None:
        store.apply("ana", [add_memory("own words", id="best"), add_memory("secret", id="twin")])
        record = replace(_memory(store, "best"), content="own words and secret", version=2)
        revised = Revise(record=record, indexing=indexing(record))
        promotion = Promotion(id="best", absorbed=("twin",), revised=revised)
        store.apply("ana", [Consolidate(id="c", promotions=(promotion,), contradictions=(), judged=())])
        (absorption,) = store.erasure.lineage("ana", ["twin"]).absorptions
        assert absorption.reworded
        assert absorption.before is not None
        assert (absorption.before.content, absorption.before.version) == ("own words", 3)
        back = Revise(record=absorption.before, indexing=indexing(absorption.before))
        store.erasure.erase("ana", Erase(ids=("twin",), restored=(back,)))
        assert _memory(store, "best").content == "own words"
        assert "secret" not in str(store.history("ana", "best"))
        _sound(store)

    def test_what_it_had_replaced_stays_ended(self, store: Store) -> None:
        store.apply(
            "ana", [add_memory("old"), add_memory("new"), Supersede(id="old", by="new", at=None, reason="of new")]
        )
        store.apply("ana", [add_memory("gone"), Archive(id="gone", reason="in jest")])
        before = replace(_memory(store, "old"), superseded_by=())
        store.erasure.erase("ana", Erase(ids=("new", "gone")))
        assert _memory(store, "old") == before
        assert "new" not in str([event.detail for event in store.history("ana", "old")])
        _sound(store)

    def test_a_user_with_everything(self, store: Store) -> None:
        store.apply(
            "ana",
            [add_message("m1"), add_episode("e1", ["m1"]), add_memory("r1", source_ids=("m1",)), add_memory("r2")],
        )
        store.apply("ana", [PutLink(link=Link(source="r2", target="r1", type="extends"))])
        store.apply("bob", [add_message("m1"), add_memory("r1")])
        number = store.user("ana")
        counts = store.erasure.erase("ana", EraseUser())
        assert (counts["messages"], counts["episodes"], counts["memories"], counts["links"], counts["users"]) == (
            1,
            1,
            2,
            1,
            1,
        )
        assert store.user("ana") is None
        assert store.get("bob", "m1").value.content == "m1"
        assert not store.erasure.purge().pending
        _sound(store)
        store.apply("ana", [add_message("anew")])
        assert store.user("ana") != number
        assert [m.id for m in store.list_messages("ana", ALL, limit=None, newest=False)] == ["anew"]
        _sound(store)

    def test_the_name_of_an_erased_user_is_not_written_again(self, store: Store) -> None:
        store.apply("ana", [add_memory("r1")])
        doc = store.docs_of("ana", ["r1"])["r1"]
        store.erasure.erase("ana", EraseUser())
        assert store.apply("ana", [Touch(uses={doc: 2}, at=7)])[0].outcome == "duplicate"
        assert store.erasure.erase("ana", Erase(ids=("r1",))) == {}
        assert store.erasure.erase("ana", EraseUser()) == {}
        assert store.user("ana") is None
