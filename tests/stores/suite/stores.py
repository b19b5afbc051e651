"""What every store promises: the contract as tests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime, timedelta, timezone
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest
from tests.internals import whole
from tests.stores.suite.knowledge import EpisodePromises, ValidityPromises, number_of, rows_of
from tests.stores.suite.lifecycle import LifecyclePromises, UndoPromises
from tests.stores.suite.links import LinkPromises, WorkPromises
from tests.stores.suite.quarantine import QuarantinePromises, WordingPromises

from mnemic import errors
from mnemic.admin import CountedField
from mnemic.stores.sql import changes
from mnemic.testing.fakes import MOMENT, add_memory, add_message, indexing
from mnemic.text.values import LATEST
from mnemic.types import Archive, Emotion, Kind, MemoryRecord, Message, RecordFilter, Restore, Revise

if TYPE_CHECKING:
    from mnemic.stores import Store

__all__ = ["StoreSuite"]

ALL = RecordFilter()


def together(work: list[Callable[[], None]]) -> None:
    """Run functions in threads and raise what any of them raised."""
    failures: list[BaseException] = []

    def guarded(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - carried to the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


class _Writing:
    """Writing and reading back."""

    def test_events_of_a_record_are_in_the_order_of_their_times_whatever_the_clock_says(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.apply("ana", [add_memory("kept", id="r1"), Archive(id="r1"), Restore(id="r1"), Archive(id="r1")])
        late = changes.now() - timedelta(hours=1)
        monkeypatch.setattr(changes, "now", lambda: late)
        store.apply("ana", [Restore(id="r1")])
        times = [event.at for event in store.history("ana", "r1")]
        assert times == sorted(set(times))
        assert [event.operation for event in store.history("ana", "r1")][-1] == "restore"

    def test_a_message_comes_back_as_it_was(self, store: Store) -> None:
        lisbon = timezone(timedelta(hours=1))
        change = add_message(
            "I moved\nto Lisbon \x00 🙂", id="m1", name="Ana", session="s1", project="p",
            metadata={"a": [1, {"b": None}]}, trust=0.9,
            sent_at=datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=lisbon),
        )  # fmt: skip
        (receipt,) = store.apply("ana", [change])
        assert (receipt.id, receipt.outcome, receipt.pending) == ("m1", "stored", ())
        stored = store.get("ana", "m1")
        assert stored.value == change.message
        assert isinstance(stored.value, Message)
        assert stored.value.sent_at is not None
        assert stored.value.sent_at.utcoffset() == timedelta(hours=1)
        assert (stored.project, stored.status) == ("p", "short_term")

    def test_a_memory_comes_back_as_it_was(self, store: Store) -> None:
        change = add_memory(
            "Prefers tea", id="r1", speaker="Rob", type="procedural", category="preference", importance=0.75, confidence=0.5,
            pinned=True, summary="tea", context="breakfast", keywords=("tea", "cup"), tags=("x", "y"),
            metadata={"k": 1.5},
            emotion=Emotion(valence=0.25, arousal=-0.5, confidence=0.75), related_files=("a.py",),
            related_entities=("Ana",), project="p", source="document", trust=0.25, valid_at=MOMENT,
            invalid_at=MOMENT + timedelta(days=1), delete_after=MOMENT + timedelta(days=9),
        )  # fmt: skip
        store.apply("ana", [change])
        assert store.get("ana", "r1").value == change.record

    def test_what_matches_tags_and_metadata(self, store: Store) -> None:
        store.apply("ana", [add_message("m", id="m", metadata={"k": 1}), add_memory("r", id="r", tags=("x",))])
        user = store.user("ana")
        assert user is not None
        docs = store.docs_of("ana", ["m", "r"])
        assert store.matching(user, replace(ALL, metadata={"k": 1})) == [docs["m"]]
        assert store.matching(user, replace(ALL, tags=("x",))) == [docs["r"]]
        assert sorted(store.matching(user, ALL)) == sorted(docs.values())

    def test_the_same_list_twice_changes_nothing(self, store: Store) -> None:
        changes = [add_message("one"), add_memory("two"), Archive(id="one"), add_memory("three")]
        store.apply("ana", changes)
        before = store.list_memories("ana", ALL, order="oldest", limit=None, offset=0)
        assert [r.outcome for r in store.apply("ana", changes)] == ["duplicate"] * 4
        assert store.list_memories("ana", ALL, order="oldest", limit=None, offset=0) == before
        assert store.get("ana", "one").status == "archived"

    def test_an_id_with_other_content_is_rejected_and_the_first_stays(self, store: Store) -> None:
        first, second = store.apply("ana", [add_message("first", id="m"), add_message("second", id="m")])
        assert (first.outcome, second.outcome) == ("stored", "rejected")
        assert store.get("ana", "m").value.content == "first"

    def test_all_or_nothing(self, store: Store) -> None:
        with pytest.raises(errors.NotFound):
            store.apply("ana", [add_message("one"), Archive(id="missing")])
        with pytest.raises(errors.NotFound):
            store.get("ana", "one")

    def test_what_is_not_json_is_refused(self, store: Store) -> None:
        for bad in ({"a": float("nan")}, {"a": object()}, {"a": {1, 2}}):
            with pytest.raises(errors.InvalidInput):
                store.apply("ana", [add_message("one", metadata=bad)])


class _Statements:
    """The same fact once, its versions and its lineage."""

    def test_one_live_row_per_statement_and_level(self, store: Store) -> None:
        same = [
            add_memory("A fact.", id="a"),
            add_memory("A  fact.", id="b"),
            add_memory("A fact.", id="c", project="p"),
        ]
        assert [(r.id, r.outcome) for r in store.apply("ana", same)] == [
            ("a", "stored"),
            ("a", "duplicate"),
            ("c", "stored"),
        ]

    def test_forgotten_statements_can_be_remembered_again(self, store: Store) -> None:
        store.apply("ana", [add_memory("A fact.", id="a"), Archive(id="a"), add_memory("A fact.", id="b")])
        assert store.get("ana", "b").status == "short_term"
        (receipt,) = store.apply("ana", [Restore(id="a")])
        assert receipt.outcome == "rejected"

    def test_the_same_fact_from_many_threads_is_one_row(self, store: Store) -> None:
        barrier = threading.Barrier(8)
        outcomes: list[str] = []

        def tell(number: int) -> None:
            barrier.wait()
            outcomes.append(store.apply("ana", [add_memory("A fact.", id=f"id{number}")])[0].outcome)

        together([lambda n=n: tell(n) for n in range(8)])
        assert sorted(outcomes) == ["duplicate"] * 7 + ["stored"]

    def test_versions_are_kept(self, store: Store) -> None:
        store.apply("ana", [add_memory("tea", id="r")])
        held = store.get("ana", "r").value
        assert isinstance(held, MemoryRecord)
        revised = replace(held, content="coffee", version=2)
        assert store.apply("ana", [Revise(record=revised, indexing=indexing(revised))])[0].outcome == "stored"
        assert [(e.version, e.content) for e in store.history("ana", "r")] == [(1, "tea"), (2, "coffee")]
        number = number_of(store)
        assert store.postings(number, "tea") == []
        assert len(store.postings(number, "coffe")) == 1

    def test_a_change_to_a_version_that_moved_is_refused(self, store: Store) -> None:
        store.apply("ana", [add_memory("tea", id="r")])
        held = store.get("ana", "r").value
        assert isinstance(held, MemoryRecord)
        two, other = replace(held, content="two", version=2), replace(held, content="other", version=3)
        assert store.apply("ana", [Revise(record=other, indexing=indexing(other))])[0].outcome == "rejected"
        assert store.apply("ana", [Revise(record=two, indexing=indexing(two))])[0].outcome == "stored"
        assert store.get("ana", "r").value.content == "two"

    def test_archived_records_leave_the_lists_and_come_back(self, store: Store) -> None:
        store.apply("ana", [add_message("m"), add_memory("r"), Archive(id="m"), Archive(id="r")])
        assert store.list_messages("ana", ALL, limit=None, newest=False) == ()
        assert store.list_memories("ana", ALL, order="newest", limit=None, offset=0) == ()
        store.apply("ana", [Restore(id="m"), Restore(id="r")])
        assert len(store.list_messages("ana", ALL, limit=None, newest=False)) == 1
        assert len(store.list_memories("ana", ALL, order="newest", limit=None, offset=0)) == 1

    def test_lineage_is_kept_and_must_exist(self, store: Store) -> None:
        store.apply("ana", [add_message("m1"), add_message("m2"), add_memory("r", source_ids=("m1", "m2"), trust=1.0)])
        record = store.get("ana", "r").value
        assert isinstance(record, MemoryRecord)
        assert record.source_ids == ("m1", "m2")
        with pytest.raises(errors.NotFound):
            store.apply("ana", [add_memory("q", source_ids=("nothing",))])


class _Walls:
    """Users never meet; filters and levels limit what is listed."""

    def test_users_never_meet(self, store: Store) -> None:
        names = ["ana", "Ana", "ana ", "an", "ana%", "a_a", "an\u0061\u0301", "an\u00e1", "1:ana", "ana\x00"]
        for name in names:
            store.apply(name, [add_message(f"secret of {name}", id="same"), add_memory(f"fact of {name}", id="fact")])
        for name in names:
            number = number_of(store, name)
            assert store.get(name, "same").value.content == f"secret of {name}"
            assert len(rows_of(store.catalog(number, after=-1, event=-1))) == 2
            assert len(store.postings(number, "secret")) == 1
            docs = store.postings(number, "secret") + store.postings(number, "fact")
            assert all(store.fetch(other, docs) == {} for n in names if n != name and (other := number_of(store, n)))

    def test_an_unknown_user_has_nothing(self, store: Store) -> None:
        assert store.user("nobody") is None
        assert store.list_messages("nobody", ALL, limit=None, newest=False) == ()
        with pytest.raises(errors.NotFound):
            store.history("nobody", "x")

    def test_filters_by_tag_and_metadata(self, store: Store) -> None:
        store.apply("ana", [
            add_memory("a", tags=("x",), metadata={"n": 1, "s": "1", "t": True}),
            add_memory("b", tags=("x", "y"), metadata={"n": 1.0, "list": [1, 2]}),
            add_memory("c", tags=('x"y',), metadata={'k"]': "v", "none": None}),
        ])  # fmt: skip

        def found(**wanted: Any) -> str:
            filters = replace(ALL, kinds=("memory",), **wanted)
            return "".join(
                sorted(r.content for r in store.list_memories("ana", filters, order="oldest", limit=None, offset=0))
            )

        assert found(tags=("x",)) == "ab"
        assert found(tags=("y", 'x"y')) == "bc"
        assert found(tags=("%",)) == found(tags=()) == ""
        assert found(metadata={"n": 1}) == "ab"
        assert found(metadata={"s": 1}) == ""
        assert found(metadata={"t": True}) == "a"
        assert found(metadata={"t": 1}) == ""
        assert found(metadata={"list": [1, 2]}) == "b"
        assert found(metadata={'k"]': "v"}) == "c"
        assert found(metadata={"none": None}) == "c"
        assert found(metadata={"missing": None}) == ""

    def test_levels(self, store: Store) -> None:
        store.apply("ana", [
            add_memory("user"), add_memory("p", project="p"), add_memory("q", project="q"),
            add_memory("s", project="p", session="s1"),
        ])  # fmt: skip

        def found(**wanted: Any) -> str:
            filters = replace(ALL, **wanted)
            records = store.list_memories("ana", filters, order="oldest", limit=None, offset=0)
            return " ".join(r.content for r in records)

        assert found() == "user p q"
        assert found(project="p") == "user p"
        assert found(project="p", reach="project") == "p"
        assert found(project="p", reach="user") == "user p q"
        assert found(project="p", session="s1") == "user p s"
        assert found(project="p", session="s1", reach="session") == "s"

    def test_messages_by_time_role_and_session(self, store: Store) -> None:
        for n in range(4):
            fields: dict[str, Any] = {
                "sent_at": MOMENT + timedelta(hours=n),
                "role": ("user", "assistant")[n % 2],
                "session": f"s{n // 2}",
            }
            store.apply("ana", [add_message(str(n), **fields)])

        def found(limit: int | None = None, *, newest: bool = False, **wanted: Any) -> str:
            return "".join(
                m.content for m in store.list_messages("ana", replace(ALL, **wanted), limit=limit, newest=newest)
            )

        start = int(MOMENT.timestamp()) * 1_000_000
        hour = 3_600_000_000
        assert found() == "0123"
        assert found(since=start + hour) == "123"
        assert found(until=start + hour) == "0"
        assert found(role="assistant") == "13"
        assert found(in_session="s1") == "23"
        assert found(2) == "01"
        assert found(2, newest=True) == "23"

        assert store.statistics.period("ana", "message", ALL) == (start, start + 3 * hour)
        assert store.statistics.histogram("ana", "message", ALL, [start, start + 3 * hour, start + 9 * hour]) == [3, 1]
        assert store.statistics.period("bo", "message", ALL) is None

    def test_values_are_counted(self, store: Store) -> None:
        store.apply(
            "ana", [add_memory("a", tags=("x",)), add_memory("b", tags=("x", "y")), add_memory("c", project="p")]
        )

        def counts(by: str, kind: Any = "memory", **wanted: Any) -> list[Any]:
            return [*map(tuple, store.statistics.counts("ana", kind, by, replace(ALL, **wanted), limit=5))]

        assert counts("tag") == [("x", 2), ("y", 1)]
        assert counts("project") == [(None, 2), ("p", 1)]
        assert counts("tag", tags=("y",)) == [("x", 1), ("y", 1)]
        assert counts("tag", "message") == counts("session", "message") == []
        assert store.statistics.counts("bo", "memory", "tag", ALL, limit=5) == []

    def test_every_count_takes_every_filter(self, store: Store) -> None:
        held: dict[str, Any] = {"project": "p", "session": "s", "metadata": {"path": 1}}
        own: dict[str, Any] = {
            "speaker": "Ana",
            "tags": ("x", "y"),
            "category": "work",
            "importance": 0.5,
            "trust": 1.0,
        }
        said = add_message("m", name="Ana", **held)
        store.apply("ana", [said, add_memory("a", **held, **own), add_memory("b", **held, **own)])
        always: dict[str, Any] = {  # what all of the above match
            "reach": "user", "project": "p", "session": "s", "in_session": "s", "types": ("semantic",),
            "category": ("work",), "tags": ("y",), "metadata": {"path": 1}, "status": ("short_term",), "role": "user",
            "speaker": "Ana", "since": 0, "until": LATEST, "at": LATEST - 1, "known_at": LATEST - 1, "expired": True,
            "min_trust": 0.1, "min_importance": 0.1, "exclude": ("other",),
        }  # fmt: skip
        assert {"kinds", *always} == {field.name for field in fields(RecordFilter)}
        foreign: dict[Kind, set[str]] = {"memory": {"role"}, "message": {"types", "category", "tags", "min_importance"}}
        of_session = replace(ALL, reach="user", session="s")
        for kind, by, name in product(foreign, get_args(CountedField), always):

            def counts(filters: RecordFilter, kind: Kind = kind, by: str = by) -> list[Any]:
                return store.statistics.counts("ana", kind, by, filters, limit=None)

            expected = [] if name in foreign[kind] else counts(of_session)
            assert counts(replace(of_session, **{name: always[name]})) == expected, (kind, by, name)


class _Caches:
    """What caches follow, and vectors."""

    def test_the_catalog_reports_new_and_changed_records(self, store: Store) -> None:
        store.apply("ana", [add_message("one"), add_memory("two")])
        number = number_of(store)
        first = store.catalog(number, after=-1, event=-1)
        assert list(rows_of(first).kind) == ["message", "memory"]
        assert first.vectors is not None
        assert first.vectors.doc.tolist() == rows_of(first).doc.tolist()
        before, last = rows_of(first).doc.tolist()
        nothing = store.catalog(number, after=last, event=first.event)
        assert nothing.rows is nothing.vectors is None
        store.apply("ana", [add_message("three"), Archive(id="one")])
        assert store.last_event(number) > first.event
        second = store.catalog(number, after=last, event=first.event)
        assert list(rows_of(second).kind) == ["message", "message"]
        assert list(rows_of(second).status) == ["archived", "short_term"]
        assert list(second.touched) == [before]

    def test_postings_count_occurrences(self, store: Store) -> None:
        store.apply("ana", [add_message("tea tea tea", id="a"), add_message("tea and cake", id="b")])
        number = number_of(store)
        docs = store.postings(number, "tea")
        assert len(docs) == 4
        assert docs == sorted(docs)
        assert store.postings(number, "tea OR cake") == store.postings(number, '"') == store.postings(number, "") == []

    def test_terms_of_any_script_and_mark(self, store: Store) -> None:
        store.apply("ana", [add_message("C++ and 3.14 at 7:30, naïve café 東京都 don't foo_bar")])
        number = number_of(store)
        for term in ("c++", "3.14", "7:30", "naiv", "cafe", "東京", "don", "foo", "bar"):
            assert store.postings(number, term), term

    def test_vectors_come_back_in_half_precision(self, store: Store) -> None:
        store.apply("ana", [add_message("one", vector=(0.6, 0.8))])
        held = store.catalog(number_of(store), after=-1, event=-1).vectors
        assert held is not None
        np.testing.assert_array_equal(held.values, np.array([(0.6, 0.8)], np.float16))

    def test_another_model_or_dimension_is_refused(self, store: Store) -> None:
        store.apply("ana", [add_message("one")])
        for model, vector in (("other", (1.0, 0.0)), ("m", (1.0, 0.0, 0.0))):
            with pytest.raises(errors.EmbeddingMismatch, match="reembed"):
                store.apply("ana", [add_message("two", vector=vector, model=model)])
        with pytest.raises(errors.NotFound):
            store.get("ana", "two")

    def test_what_is_mentioned_once_stays_mentioned(self, store: Store) -> None:
        assert [store.embedding.first_notice(word) for word in ("a", "a", "b", "a")] == [True, False, True, False]

    def test_records_without_a_vector_wait(self, store: Store) -> None:
        (receipt,) = store.apply("ana", [add_message("one", vector=None)])
        assert receipt.pending == ("embed",)
        assert store.statistics.stats("ana").pending == {"embed": 1, "process": 1}
        ((user, doc, text),) = store.embedding.pending(10)
        assert text == ("one", "one")
        store.embedding.failed([doc], "no luck")
        store.embedding.fill([(user, doc, text)], whole(np.array([[0.0, 1.0]], np.float32)), "m")
        assert store.statistics.stats("ana").pending == {"process": 1}
        held = store.catalog(user, after=-1, event=-1).vectors
        assert held is not None
        assert held.doc.tolist() == [doc]
        assert store.verify().ok

    def test_long_answers_wait_for_the_vectors_of_their_passages(self, store: Store) -> None:
        long, passages = "An answer of some length. " * 50, np.array([[0.6, 0.8], [1.0, 0.0]], np.float32)
        answers = [add_message(long, role="assistant", vector=vector) for vector in ((1.0, 0.0), None)]
        store.apply("ana", [*answers, add_message(long), add_message("short", role="assistant")])
        embedding, number = store.embedding, number_of(store)
        (doc,) = embedding.without_passages("ana")
        assert embedding.without_passages("ben") == []
        ((_, _, text),) = read = embedding.texts([doc])
        assert text.body == long
        with pytest.raises(errors.EmbeddingMismatch):
            embedding.put_passages(read, [passages], "other")
        embedding.put_passages([(number, doc, text._replace(body="changed meanwhile"))], [passages], "m")
        assert embedding.passages_of(number, [doc]) == {}
        embedding.put_passages(read, [passages], "m")
        np.testing.assert_allclose(embedding.passages_of(number, [doc])[doc], passages, atol=1e-3)
        assert embedding.without_passages("ana") == []
        assert store.verify().ok

    def test_a_rebuild_goes_on_where_it_stopped(self, store: Store) -> None:
        store.apply("ana", [add_message(str(n), model="old") for n in range(3)])
        assert store.embedding.begin("new") == 3
        first = store.embedding.missing(1)
        store.embedding.build(first, whole(np.array([[0.0, 0.0, 1.0]], np.float32)), "new")
        assert store.embedding.begin("new") == 2
        assert not store.embedding.swap("new", 3)
        rest = store.embedding.missing(10)
        store.embedding.build(rest, whole(np.array([[0.0, 1.0, 0.0]] * 2, np.float32)), "new")
        assert store.embedding.swap("new", 3)
        assert (store.statistics.stats("ana").embedding_model, store.statistics.stats("ana").dimension) == ("new", 3)
        assert store.verify().ok


class StoreSuite(
    _Writing,
    _Statements,
    _Walls,
    _Caches,
    EpisodePromises,
    ValidityPromises,
    LinkPromises,
    WorkPromises,
    LifecyclePromises,
    UndoPromises,
    QuarantinePromises,
    WordingPromises,
):
    """Subclass it and give a pytest fixture ``store``: an empty store, closed afterwards."""

    def test_many_threads_lose_nothing(self, store: Store) -> None:
        def write(worker: int) -> None:
            for n in range(25):
                store.apply(f"user{worker % 3}", [add_message(f"{worker}-{n}")])

        together([lambda w=w: write(w) for w in range(6)])
        total = sum(len(store.list_messages(f"user{u}", ALL, limit=None, newest=False)) for u in range(3))
        assert total == 150
        assert store.verify().ok

    def test_it_verifies(self, store: Store) -> None:
        store.apply(
            "ana",
            [add_message("m"), add_memory("r", source_ids=("m",)), Archive(id="m"), add_message("v", vector=None)],
        )
        report = store.verify(deep=True)
        assert report.ok, report.findings
        assert report.checks["messages"] == 2

    def test_closed_is_closed(self, store: Store) -> None:
        store.close()
        store.close()
        with pytest.raises(errors.StoreClosed):
            store.apply("ana", [add_message("m")])
        with pytest.raises(errors.StoreClosed):
            store.user("ana")
