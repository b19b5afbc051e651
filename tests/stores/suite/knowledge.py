"""What every store promises about knowledge: episodes, what replaced what, links, and what is left to do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from mnemic import errors
from mnemic.testing.fakes import MOMENT, add_episode, add_memory, add_message, memory_record
from mnemic.text.values import to_micros
from mnemic.types import (
    Archive,
    CatalogDelta,
    CatalogRows,
    Change,
    Link,
    LinkType,
    MarkProcessed,
    MemoryRecord,
    PutLink,
    Quarantine,
    RecordFilter,
    Release,
    Restore,
    Supersede,
)

if TYPE_CHECKING:
    from mnemic.stores import Store

__all__ = [
    "LATER",
    "TYPES",
    "EpisodePromises",
    "ValidityPromises",
    "everything",
    "listed",
    "memory_of",
    "number_of",
    "put_link",
    "rows_of",
]

HERE: tuple[str | None, str | None] = (None, None)
LATER = MOMENT + timedelta(days=30)


def number_of(store: Store, user: str = "ana") -> int:
    """The number of a user that has something."""
    found = store.user(user)
    assert found is not None
    return found


def rows_of(delta: CatalogDelta) -> CatalogRows:
    """The rows of a delta that has some."""
    assert delta.rows is not None
    return delta.rows


def memory_of(store: Store, id: str, user: str = "ana") -> MemoryRecord:
    """A memory as it is stored."""
    found = store.get(user, id).value
    assert isinstance(found, MemoryRecord)
    return found


def _validity(store: Store, user: str = "ana") -> dict[str, tuple[Any, ...]]:
    """The clocks of memories by id, as a cache is told of them."""
    number = number_of(store, user)
    rows = {row[0]: row for row in store.catalog(number, after=-1, event=-1).validity}
    return {id_: rows[doc] for doc, id_ in store.relations.ids(number, list(rows)).items()}


def _waiting(store: Store, level: tuple[str | None, str | None] = HERE, limit: int = 100) -> list[str]:
    return [waiting.message.content for waiting in store.knowledge.waiting("ana", level, limit)]


def everything(store: Store, user: str = "ana") -> tuple[object, ...]:
    """All that can be asked of a user's knowledge."""
    ids = [record.id for record in listed(store, user)]
    graphs = [store.relations.graph(user, id_, depth=3, types=TYPES, most=100) for id_ in ids]
    return (
        listed(store, user), store.knowledge.episodes(user, RecordFilter(), limit=None, newest=False), graphs,
        store.knowledge.conversations(user), _validity(store, user), replace(store.statistics.stats(user), bytes_on_disk=0),
        store.last_event(number_of(store)),
    )  # fmt: skip


TYPES: tuple[LinkType, ...] = ("extends", "contradicts", "implements", "references", "supersedes")


def listed(store: Store, user: str = "ana", **wanted: Any) -> tuple[MemoryRecord, ...]:
    """The memories of a user, expired ones among them unless said otherwise."""
    filters = replace(RecordFilter(expired=True), **wanted)
    return store.list_memories(user, filters, order="oldest", limit=None, offset=0)


def _current(store: Store, **wanted: Any) -> list[str]:
    return [record.id for record in listed(store, expired=False, **wanted)]


def put_link(source: str, target: str, type: LinkType = "extends", **fields: Any) -> PutLink:
    """The change that puts a link."""
    return PutLink(link=Link(source=source, target=target, type=type, **fields))


class EpisodePromises:
    """Episodes and the messages they tell of."""

    def test_messages_wait_until_they_are_filed_or_settled(self, store: Store) -> None:
        said = [add_message(text, sent_at=MOMENT + timedelta(minutes=n)) for n, text in enumerate("abcd")]
        store.apply("ana", [said[2], said[0], said[3], said[1], Archive(id="d")])
        assert store.knowledge.conversations("ana") == [(None, None, 3)]
        assert _waiting(store) == ["a", "b", "c"]
        assert _waiting(store, limit=2) == ["a", "b"]
        store.apply("ana", [add_episode("e", ["a"]), MarkProcessed(ids=("b", "d"))])
        assert _waiting(store) == ["c"]
        store.apply("ana", [MarkProcessed(ids=("c", "a"))])
        assert store.knowledge.conversations("ana") == []
        assert store.fetch(number_of(store), [1, 2, 3, 4]).keys() == {1, 2, 3, 4}
        assert store.knowledge.episodes("ana", RecordFilter(), limit=None, newest=False)[0].message_ids == ("a",)

    def test_what_was_settled_while_archived_waits_no_more_and_the_rest_does(self, store: Store) -> None:
        store.apply("ana", [add_message("a"), add_message("b"), Archive(id="a")])
        store.apply("ana", [MarkProcessed(ids=("b",)), Restore(id="a")])
        assert _waiting(store) == ["a"]

    def test_conversations_are_those_of_one_user_longest_waiting_first(self, store: Store) -> None:
        for n, (project, session) in enumerate([("p", "s"), (None, "s"), (None, None), ("p", None), ("q", "s")]):
            moment = MOMENT - timedelta(hours=n % 3, minutes=n)
            store.apply("ana", [add_message(str(n), project=project, session=session, sent_at=moment)])
        store.apply("bob", [add_message("other", session="s")])
        assert store.knowledge.conversations("ana") == [
            (None, None, 1), ("q", "s", 1), (None, "s", 1), ("p", None, 1), ("p", "s", 1),
        ]  # fmt: skip
        assert [_waiting(store, level) for level in (("p", "s"), (None, "s"), ("p", None), ("q", None))] == [
            ["0"], ["1"], ["3"], [],
        ]  # fmt: skip
        assert store.knowledge.conversations("nobody") == []

    def test_waiting_messages_bring_their_vectors(self, store: Store) -> None:
        store.apply("ana", [add_message("a", vector=(0.0, 1.0)), add_message("b", vector=None)])
        first, second = store.knowledge.waiting("ana", HERE, 10)
        assert first.vector is not None
        assert first.vector.tolist() == [0.0, 1.0]
        assert second.vector is None

    def test_a_message_is_known_by_what_was_forgotten_of_it(self, store: Store) -> None:
        store.apply("ana", [add_message(text) for text in "abc"])
        derived = [add_memory(f"r{text}", source_ids=(text,), said_at=MOMENT) for text in "abc"]
        store.apply("ana", [*derived, Archive(id="ra", everywhere=True), Archive(id="rb")])
        docs = store.docs_of("ana", ["a", "b", "c"])
        assert store.relations.with_forgotten([*docs.values()]) == [docs["a"]]
        store.apply("ana", [Restore(id="ra")])
        assert store.relations.with_forgotten([*docs.values()]) == []

    def test_an_episode_comes_back_as_it_was(self, store: Store) -> None:
        said = [add_message(text, project="p", session="s") for text in "abc"]
        change = add_episode("e", ["a", "b", "c"], project="p", session="s", title="Three letters", trust=0.25,
                             source="document", metadata={"k": [1]}, ended_at=LATER)  # fmt: skip
        (receipt,) = store.apply("ana", [*said, change])[3:]
        assert (receipt.id, receipt.outcome, receipt.pending) == ("e", "stored", ())
        assert store.get("ana", "e").value == change.record
        assert store.knowledge.latest("ana", ("p", "s"), 5) == [change.record]
        assert [m.id for m in store.knowledge.messages_of("ana", change.record)] == ["a", "b", "c"]
        assert store.postings(number_of(store), "letter") == [4]
        held = store.fetch(number_of(store), [1])
        assert held[1].episode == 4

    def test_the_next_version_of_an_episode_takes_its_place(self, store: Store) -> None:
        store.apply("ana", [*map(add_message, "abc"), add_episode("e", ["a"], content="tea")])
        longer = add_episode("e", ["a", "b"], content="coffee", version=2)
        assert store.apply("ana", [longer])[0].outcome == "stored"
        assert store.knowledge.episodes("ana", RecordFilter(), limit=None, newest=False) == [longer.record]
        assert _waiting(store) == ["c"]
        assert store.postings(number_of(store), "tea") == []
        assert [(e.version, e.content) for e in store.history("ana", "e")] == [(1, "tea"), (2, "coffee")]
        assert store.apply("ana", [longer])[0].outcome == "duplicate"
        assert store.verify().ok

    def test_a_version_behind_the_stored_one_is_a_conflict(self, store: Store) -> None:
        store.apply("ana", [*map(add_message, "abc"), add_episode("e", ["a"]), add_episode("e", ["a", "b"], version=2)])
        with pytest.raises(errors.Conflict):
            store.apply("ana", [add_episode("e", ["a", "c"], version=1)])
        assert _waiting(store) == ["c"]

    def test_a_message_of_another_episode_is_a_conflict_and_nothing_is_stored(self, store: Store) -> None:
        store.apply("ana", [*map(add_message, "abc"), add_episode("e", ["a"]), MarkProcessed(ids=("c",))])
        for ids in (["b", "a"], ["b", "c"], ["b", "missing"]):
            with pytest.raises(errors.Conflict):
                store.apply("ana", [add_memory("a thing"), add_episode("f", ids)])
        assert _waiting(store) == ["b"]
        assert listed(store) == ()
        with pytest.raises(errors.NotFound):
            store.get("ana", "f")

    def test_episodes_never_take_messages_of_another_user(self, store: Store) -> None:
        store.apply("bob", [add_message("a")])
        with pytest.raises(errors.Conflict):
            store.apply("ana", [add_episode("e", ["a"])])
        assert [w.message.id for w in store.knowledge.waiting("bob", HERE, 5)] == ["a"]

    def test_merging_moves_the_messages_and_archives_the_parents(self, store: Store) -> None:
        store.apply("ana", [*map(add_message, "ab"), add_episode("e", ["a"]), add_episode("f", ["b"])])
        merged = add_episode("g", ["a", "b"], source_ids=("e", "f"), trust=0.5)
        changes: list[Change] = [merged, Archive(id="e", reason="merged"), Archive(id="f", reason="merged")]
        assert [r.outcome for r in store.apply("ana", changes)] == ["stored", "forgotten", "forgotten"]
        assert store.knowledge.episodes("ana", RecordFilter(), limit=None, newest=False) == [merged.record]
        doc = store.docs_of("ana", ["g"])["g"]
        messages = store.fetch(number_of(store), [1, 2])
        assert [stored.episode for stored in messages.values()] == [doc, doc]
        assert (store.get("ana", "e").status, store.statistics.stats("ana").episodes) == ("archived", 1)
        with pytest.raises(errors.Conflict):
            store.apply("ana", [add_episode("e", ["a"], version=2)])
        assert store.verify().ok

    def test_the_latest_of_a_conversation_and_the_recent_of_a_project(self, store: Store) -> None:
        levels = [("p", "s"), ("p", "t"), (None, "s"), ("p", "s")]
        for n, (project, session) in enumerate(levels):
            at = MOMENT + timedelta(hours=n)
            store.apply("ana", [
                add_message(f"m{n}", project=project, session=session),
                add_episode(f"e{n}", [f"m{n}"], project=project, session=session, started_at=at, ended_at=at),
            ])  # fmt: skip
        store.apply("bob", [add_message("m"), add_episode("e", ["m"])])
        knowledge = store.knowledge
        assert [e.id for e in knowledge.latest("ana", ("p", "s"), 5)] == ["e3", "e0"]
        assert [e.id for e in knowledge.latest("ana", ("p", "s"), 1)] == ["e3"]
        assert [e.id for e in knowledge.recent("ana", "p", 2)] == ["e3", "e1"]
        assert [e.id for e in knowledge.recent("ana", None, 9)] == ["e2"]
        assert knowledge.latest("ana", HERE, 5) == knowledge.latest("nobody", ("p", "s"), 5) == []
        found = knowledge.episodes("ana", RecordFilter(reach="user"), limit=2, newest=True)
        assert [e.id for e in found] == ["e2", "e3"]
        found = knowledge.episodes(
            "ana", RecordFilter(in_session="s", project="p", reach="project"), limit=None, newest=False
        )
        assert [e.id for e in found] == ["e0", "e3"]


class ValidityPromises:
    """What is held true, since when, and what took its place."""

    def _moved(self, store: Store, at: datetime | None = LATER) -> Supersede:
        store.apply("ana", [add_memory("Lisbon", id="old"), add_memory("Porto", id="new")])
        change = Supersede(id="old", by="new", at=at, reason="moved")
        assert store.apply("ana", [change])[0].outcome == "stored"
        return change

    def test_what_is_superseded_ends_and_is_linked(self, store: Store) -> None:
        self._moved(store)
        old, new = memory_of(store, "old"), memory_of(store, "new")
        assert (old.invalid_at, old.status, new.invalid_at, new.expired_at) == (LATER, "short_term", None, None)
        assert old.expired_at is not None
        graph = store.relations.graph("ana", "old", depth=1, types=["supersedes"], most=10)
        assert graph.links == (Link(source="new", target="old", type="supersedes", reason="moved"),)
        assert store.relations.predecessors("ana", ["new", "old"]) == {"new": [old]}
        assert (_current(store), [r.id for r in listed(store)]) == (["new"], ["old", "new"])
        assert [event.operation for event in store.history("ana", "old")] == ["remember", "supersede"]
        assert store.verify().ok

    def test_a_message_is_told_without_what_has_ended_unless_it_came_back(self, store: Store) -> None:
        text, left = "I live in Lisbon. I have two cats.", "[...] I have two cats."
        said = add_message(text, id="m")
        old = add_memory("I live in Lisbon.", id="old", source_ids=("m",), said_at=MOMENT)
        new, again = add_memory("I live in Porto.", id="new"), add_memory("The user lives in Lisbon.", id="again")
        store.apply("ana", [said, old, new, Supersede(id="old", by="new", at=LATER)])
        relations, before = store.relations, RecordFilter(at=to_micros(LATER) - 1)

        def shown(filters: RecordFilter = RecordFilter()) -> tuple[str, bool | None]:  # noqa: B008 - it is frozen
            (one,) = relations.standing("ana", [said.message], filters)
            return one.message.content, one.holds

        assert (shown(), shown(before)) == ((left, True), (text, None))
        assert [m.content for m in relations.holding("ana", [said.message])] == [left]
        assert relations.without_forgotten("ana", [said.message]) == [said.message]
        assert store.knowledge.with_outdated("ana") == []
        store.apply("ana", [add_memory(text, id="longer", source_ids=("m",), said_at=MOMENT)])
        assert [m.id for m in store.knowledge.with_outdated("ana")] == ["m"]
        store.apply("ana", [again, Supersede(id="new", by="again", at=None)])
        assert shown() == (text, True)

    def test_superseding_twice_changes_nothing(self, store: Store) -> None:
        change = self._moved(store)
        before = everything(store)
        assert store.apply("ana", [change])[0].outcome == "duplicate"
        assert everything(store) == before

    def test_a_strength_that_was_given_stays(self, store: Store) -> None:
        store.apply("ana", [add_memory("Lisbon", id="old"), add_memory("Porto", id="new")])
        changes = [put_link("new", "old", "supersedes", strength=0.5), Supersede(id="old", by="new", at=None)]
        store.apply("ana", changes)
        before = everything(store)
        assert [r.outcome for r in store.apply("ana", changes)] == ["duplicate", "duplicate"]
        assert everything(store) == before
        assert store.relations.graph("ana", "old", depth=1, types=TYPES, most=10).links[0].strength == 0.5

    def test_an_end_that_is_known_already_is_not_put_off(self, store: Store) -> None:
        earlier = MOMENT + timedelta(days=1)
        store.apply("ana", [add_memory("Lisbon", id="old", invalid_at=earlier), add_memory("Porto", id="new")])
        store.apply("ana", [Supersede(id="old", by="new", at=LATER)])
        assert memory_of(store, "old").invalid_at == earlier

    def test_an_open_end_stays_open(self, store: Store) -> None:
        self._moved(store, at=None)
        old = memory_of(store, "old")
        assert old.invalid_at is None
        assert old.expired_at is not None

    def test_only_memories_are_superseded_and_only_by_memories(self, store: Store) -> None:
        store.apply("ana", [add_message("m"), add_memory("r"), add_memory("q")])
        store.apply("bob", [add_memory("s")])
        refused: list[tuple[type[Exception], str, str]] = [
            (errors.InvalidInput, "m", "r"), (errors.InvalidInput, "r", "m"), (errors.NotFound, "r", "s"),
            (errors.NotFound, "s", "r"), (errors.InvalidInput, "r", "r"),
        ]  # fmt: skip
        for error, id_, by in refused:
            with pytest.raises(error):
                store.apply("ana", [Supersede(id="q", by=None, at=None), Supersede(id=id_, by=by, at=None)])
        assert all(memory_of(store, id_).expired_at is None for id_ in ("r", "q"))
        assert memory_of(store, "s", "bob").expired_at is None

    def test_what_held_before_may_hold_again(self, store: Store) -> None:
        """A -> B -> A -> B: four rows, one of them believed, each once for its time."""
        for n, content in enumerate(["Lisbon", "Porto", "Lisbon", "Porto"]):
            changes: list[Change] = [add_memory(content, id=f"r{n}")]
            if n:
                changes.append(Supersede(id=f"r{n - 1}", by=f"r{n}", at=MOMENT + timedelta(days=n)))
            assert [r.outcome for r in store.apply("ana", changes)] == ["stored"] * len(changes)
        assert _current(store) == ["r3"]
        assert [r.id for r in listed(store)] == ["r0", "r1", "r2", "r3"]
        assert store.apply("ana", [add_memory("Porto", id="again")])[0].outcome == "duplicate"
        assert store.verify().ok

    def test_twins_are_what_is_believed_at_a_level(self, store: Store) -> None:
        self._moved(store)
        store.apply("ana", [add_memory("Faro", id="p", project="p"), add_memory("Evora", id="x"), Archive(id="x")])

        def twins(user: str, *texts: str, **level: str) -> dict[str, str]:
            return store.knowledge.duplicates(user, [memory_record(text, **level) for text in texts])

        assert twins("ana", "Lisbon", "Porto", "Faro", "Evora", " Porto  ") == {"Porto": "new", " Porto  ": "new"}
        assert twins("ana", "Faro", "Porto", project="p") == {"Faro": "p"}
        assert twins("ana", "Porto", session="s") == {}
        assert twins("bob", "Porto") == twins("ana") == {}

    @pytest.mark.parametrize("end", ["invalid_at", "delete_after"])
    def test_what_is_said_again_is_known_only_while_it_holds(self, store: Store, end: str) -> None:
        until, day = MOMENT + timedelta(days=9), timedelta(days=1)
        store.apply("ana", [add_memory("Gym", said_at=MOMENT, **{end: until})])
        within, after = (
            add_memory("Gym", id=f"{end}{moment}", said_at=moment) for moment in (until - day, until + day)
        )
        assert store.knowledge.duplicates("ana", [within.record, after.record]) == {within.record.id: "Gym"}
        assert [r.outcome for r in store.apply("ana", [within, after])] == ["duplicate", "stored"]
        assert store.apply("ana", [add_memory("Gym", id="now")])[0].id == after.record.id
        assert store.verify().ok

    def test_what_begins_later_is_not_known_now(self, store: Store) -> None:
        soon = add_memory("Gym", id="soon", valid_at=datetime.now(UTC) + timedelta(days=1))
        store.apply("ana", [soon])
        again = replace(soon, record=replace(soon.record, id="again"))
        assert store.apply("ana", [again, add_memory("Gym")])[0].id == "soon"
        assert _current(store) == ["Gym"]

    def test_the_same_words_of_two_people_are_two_memories(self, store: Store) -> None:
        said = [add_memory("I love tea", id=name, speaker=name) for name in ("Ana", "Rob")]
        assert [r.outcome for r in store.apply("ana", said)] == ["stored", "stored"]
        assert store.apply("ana", [add_memory("I love tea", id="again", speaker="Rob")])[0].outcome == "duplicate"
        anew = [memory_record("I love tea", id="said", speaker="Ana"), memory_record("I love tea", id="nobody")]
        assert store.knowledge.duplicates("ana", anew) == {"said": "Ana"}
        assert store.verify().ok

    def test_caches_are_told_of_clocks_origins_and_successors(self, store: Store) -> None:
        store.apply("ana", [add_message("m"), add_memory("Lisbon", id="old", source_ids=("m",), valid_at=MOMENT)])
        number = number_of(store)
        first = store.catalog(number, after=-1, event=-1)
        (row,) = first.validity
        micros = int(MOMENT.timestamp()) * 1_000_000
        assert (row[1], row[2], row[3], row[4], row[6]) == (micros, None, None, micros, None)
        assert row[5] in ("[1]", [1])
        store.apply("ana", [add_memory("Porto", id="new"), Supersede(id="old", by="new", at=LATER)])
        second = store.catalog(number, after=2, event=first.event)
        rows = {row[0]: row for row in second.validity}
        assert rows.keys() == {2, 3}
        assert (rows[2][2], rows[2][6]) == (int(LATER.timestamp()) * 1_000_000, 3)
        assert rows[2][3] is not None
        assert rows[3][2:4] == (None, None)

    def test_at_which_time_what_islisted(self, store: Store) -> None:
        micros = int(MOMENT.timestamp()) * 1_000_000
        day = 86_400_000_000
        store.apply("ana", [
            add_memory("always"),
            add_memory("ended", valid_at=MOMENT, invalid_at=LATER),
            add_memory("to come", valid_at=LATER),
        ])  # fmt: skip
        assert _current(store) == ["always", "to come"]
        assert _current(store, at=micros + day) == ["always", "ended"]
        assert _current(store, at=micros + 30 * day) == ["always", "to come"]
        assert _current(store, at=micros - 1) == []
        assert _current(store, known_at=micros - 1) == []

    def test_what_is_to_come_is_not_true_yet_and_what_it_ends_still_is(self, store: Store) -> None:
        ahead = datetime(2999, 1, 1, tzinfo=UTC)
        store.apply("ana", [
            add_memory("Oslo"), add_memory("Berlin", valid_at=ahead), Supersede(id="Oslo", by="Berlin", at=ahead),
        ])  # fmt: skip
        micros = int(ahead.timestamp()) * 1_000_000
        assert _current(store) == ["Oslo"]
        assert _current(store, at=micros - 1) == ["Oslo"]
        assert _current(store, at=micros) == ["Berlin"]
        assert store.verify().ok

    @pytest.mark.parametrize("order", list(permutations(range(3))))
    def test_one_value_of_a_key_holds_at_a_time_whatever_the_order_they_come_in(
        self, store: Store, order: tuple[int, ...]
    ) -> None:
        moments = [MOMENT + timedelta(days=days) for days in range(3)]
        for place in order:
            value = add_memory(f"v{place}", key="home", valid_at=moments[place])
            store.apply("ana", [replace(value, settle=True)])
        assert _current(store) == ["v2"]
        for place, moment in enumerate(moments):
            assert _current(store, at=to_micros(moment)) == [f"v{place}"]
        assert store.verify().ok

    def test_a_value_ends_only_those_of_its_key_user_and_level(self, store: Store) -> None:
        values = [
            ("ana", add_memory("Lisbon", key="home")), ("ana", add_memory("Rex", key="pet")), ("ana", add_memory("plain")),
            ("ana", add_memory("elsewhere", key="home", project="p")), ("ana", add_memory("s", key="home", session="s")),
            ("bob", add_memory("bob's", key="home")), ("ana", add_memory("forgotten", key="home")),
        ]  # fmt: skip
        for user, change in values:
            store.apply(user, [change])
        store.apply("ana", [Archive(id="forgotten")])
        (receipt,) = store.apply("ana", [replace(add_memory("Porto", key="home"), settle=True)])
        assert (receipt.outcome, receipt.reason) == ("superseded", "replaces 'Lisbon': the same key, home")
        ended = {record.id for user in ("ana", "bob") for record in listed(store, user) if record.expired_at}
        assert ended == {"Lisbon"}
        assert memory_of(store, "forgotten").expired_at is None

    def test_what_is_trusted_less_ends_no_value_and_is_linked(self, store: Store) -> None:
        store.apply("ana", [add_memory("Lisbon", key="home")])
        store.apply("ana", [replace(add_memory("Faro", key="home", trust=0.4), settle=True)])
        assert _current(store) == ["Lisbon", "Faro"]
        (link,) = store.relations.all_links("ana")
        assert (link.source, link.target, link.type) == ("Faro", "Lisbon", "contradicts")
        (receipt,) = store.apply("ana", [replace(add_memory("Porto", key="home"), settle=True)])
        assert receipt.reason == "replaces 'Lisbon', 'Faro': the same key, home"
        assert _current(store) == ["Porto"]

    def test_a_released_value_stays_archived_while_another_has_its_key(self, store: Store) -> None:
        store.apply("ana", [add_memory("Lisbon", key="home"), Quarantine(ids=("Lisbon",))])
        store.apply("ana", [replace(add_memory("Porto", key="home"), settle=True), Release(ids=("Lisbon",))])
        assert memory_of(store, "Lisbon").status == "archived"
        assert _current(store) == ["Porto"]

    def test_what_holds_in_place_of_a_memory_ends_with_it(self, store: Store) -> None:
        changes = [add_memory(name) for name in ("a", "b", "c", "aside", "d")]
        steps = [Supersede(id="a", by="b", at=None), Supersede(id="b", by="c", at=None)]
        store.apply("ana", [*changes, *steps])
        (receipt,) = store.apply("ana", [Supersede(id="a", by="d", at=None, with_successors=True)])
        assert receipt.reason == "'c', which had replaced it, ended too"
        assert _current(store) == ["aside", "d"]
        assert store.apply("ana", [Supersede(id="a", by="d", at=None, with_successors=True)])[0].outcome == "duplicate"
        assert store.verify().ok
